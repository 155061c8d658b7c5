"""MGD: marginal-wise grouped difference, one number for how far a synthetic table is from the truth.

For each marginal the approximate earth mover cost (`sfumato.metrics.aemc`) says what it takes to turn the synthetic
counts into the true ones: moving a record to a neighbouring bin costs little, adding or removing one costs `cost`, and
a difference up to `tolerance` in a cell costs nothing; the sum is divided by the number of true records. MGD is the
weighted mean over marginals. 0 is equal; adding and removing everything costs about 2.

The score is computed from exact counts of both tables. Where the truth is private, so is the score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.columns import Binned
from sfumato.errors import InputError
from sfumato.marginal import Marginal
from sfumato.metrics.aemc import Axis
from sfumato.schema import Schema

if TYPE_CHECKING:
    pass

MAX_CELLS = 20_000_000  # over all marginals; some seconds and a GB
MAX_DEFAULT = 2_000_000  # cells of one marginal that is chosen without being asked for
WORST = 10  # bins kept for each marginal

Weights = Mapping[str, float]


@dataclass(frozen=True)
class Weighed:
    """A marginal, its weight in the mean, and how easily records move along its columns.

    `columns` gives a weight to some or all columns: infinity forbids moving along one, the finite ones sum to 1.
    Without it ordered columns share the weight equally and the others forbid moving.
    """

    marginal: Marginal
    weight: float = 1.0
    columns: Weights | None = None
    tolerance: float | None = None

    def axes(self, schema: Schema) -> list[Axis]:
        """The axes of its table of counts."""
        bound = list(self.marginal.bound_axes(schema))
        weights = (
            _default_weights([c for c, _ in bound]) if self.columns is None else self._given([c for c, _ in bound])
        )
        return [_axis(column, level, weights[column.name]) for column, level in bound]

    def _given(self, columns: Sequence[Binned]) -> dict[str, float]:
        assert self.columns is not None
        names = [c.name for c in columns]
        if odd := [n for n in self.columns if n not in names]:
            raise InputError(f"the marginal {self.marginal} has no column '{odd[0]}' to weigh")
        if lost := [n for n in names if n not in self.columns]:
            raise InputError(f"the marginal {self.marginal} gives column '{lost[0]}' no weight; give all or none")
        return dict(self.columns)


def _default_weights(columns: Sequence[Binned]) -> dict[str, float]:
    """Equal weights for ordered columns, infinity for the others."""
    ordered = [c.name for c in columns if c.is_ordered or c.is_cyclic]
    return {c.name: 1 / len(ordered) if c.name in ordered else math.inf for c in columns}


def _axis(column: Binned, level: int, weight: float) -> Axis:
    if column.is_cyclic:
        return Axis.ordinal(weight=weight, cyclic=True)
    if column.is_ordered:
        return Axis.ordinal(weight=weight)
    return Axis.categorical(weight=weight, levels=_groups(column, level))


def _groups(column: Binned, level: int) -> list[list[int]] | None:
    """For every level between "all" and this one, the group of each of this one's bins, coarse to fine."""
    if level < 2:
        return None
    _, first = np.unique(column.coarsen(level), return_index=True)
    return [column.coarsen(s)[first].tolist() for s in range(1, level)]
