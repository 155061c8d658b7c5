"""MGD, the utility metric of earth moved: how much of the synthetic counts is in the wrong bin, and how far off.

For each marginal, the approximate earth mover cost (AEMC) is the least that it costs to turn the synthetic counts into
the true ones, over the number of true records: a count may move to a near bin for its distance, or be added or removed
for α, and each bin may differ by the tolerance for free. MGD is the mean of these costs, weighted by marginal. 0 is the
same counts; 1 is as much as removing every true record; releases drowned in noise go beyond.

It is not symmetric, and it needs counts: tables of any size are scored from grouped counts of their cells.

>>> import pyarrow as pa
>>> from sfumato.columns import Category
>>> schema = Schema(columns=(Category(name="hour", values=(0, 1, 2, 3, 4), ordered=True),))
>>> truth = pa.table({"hour": [0] * 6 + [1] * 3 + [3] * 5 + [4] * 4})
>>> synthetic = pa.table({"hour": [0] * 10 + [3] * 5 + [4] * 7})
>>> round(MGD(schema, tolerance=1).score(truth, synthetic).value, 6)
0.083333
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.marginal import Cells
from sfumato.metrics.aemc import Aemc, aemc
from sfumato.metrics.aemc.problem import MOST_CELLS
from sfumato.metrics.mgd_score import MarginalScore, MGDScore
from sfumato.metrics.weighing import Weighed, Weighing, weighing
from sfumato.schema import Schema
from sfumato.table import Table

_TOGETHER = 24  # marginals counted in one scan


@dataclass(frozen=True)
class MGD:
    """The earth moved between two tables, over marginals given as a file, an example's name, or a list.

    `tolerance` and `alpha` stand above what a file says; without either they are 0 and 1. `jobs` threads may work.
    """

    schema: Schema
    marginals: str | Path | Sequence[Any] | Mapping[str, Any] | None = None
    tolerance: float | None = None
    alpha: float | None = None
    jobs: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("tolerance", self.tolerance), ("alpha", self.alpha)):
            if value is not None and not (isinstance(value, int | float) and 0 <= value < math.inf):
                raise InputError(f"{name} is a number from 0 on, not {value!r}")
        if self.jobs is not None and self.jobs < 1:
            raise InputError(f"jobs is the number of threads, 1 or more; got {self.jobs}")
        for weighed in self.weighing.marginals:
            self._check_size(weighed)

    @cached_property
    def weighing(self) -> Weighing:
        """The marginals, checked against the schema."""
        return weighing(self.marginals, self.schema)

    @property
    def stages(self) -> int:
        """How many marginals there are to score."""
        return len(self.weighing.marginals)

    def score(self, truth: Any, synthetic: Any, advance: Callable[[int], object] = lambda done: None) -> MGDScore:
        """How much earth has to be moved; `advance` is called after each marginal."""
        found = self.weighing
        tables = [Table.open(data, self.schema) for data in (truth, synthetic)]
        scores = []
        for start in range(0, len(found.marginals), _TOGETHER):
            some = found.marginals[start : start + _TOGETHER]
            true, made = (table.cells([w.marginal for w in some]) for table in tables)
            for weighed, p, q in zip(some, made, true, strict=True):
                scores.append(self._score(weighed, p, q))
                advance(1)
        return MGDScore.of(tuple(scores), found.notes, self._tolerance(None), self._alpha)

    def cost(self, weighed: Weighed, synthetic: Cells, truth: Cells) -> Aemc:
        """The earth mover cost of one marginal."""
        try:
            return aemc(
                (synthetic.numbers, synthetic.values), (truth.numbers, truth.values), weighed.axes(self.schema),
                tolerance=self._tolerance(weighed), alpha=self._alpha, shape=weighed.marginal.shape(self.schema),
                jobs=self.jobs,
            )  # fmt: skip
        except InputError as error:
            raise InputError(f"marginal {weighed.marginal}: {error}") from None

    def _score(self, weighed: Weighed, synthetic: Cells, truth: Cells) -> MarginalScore:
        found = self.cost(weighed, synthetic, truth)
        return MarginalScore.of(self.schema, weighed, found, synthetic, truth, self._tolerance(weighed))

    def _tolerance(self, weighed: Weighed | None) -> float:
        if self.tolerance is not None:
            return self.tolerance
        own = weighed.tolerance if weighed is not None else None
        return next((float(t) for t in (own, self.weighing.tolerance) if t is not None), 0.0)

    @property
    def _alpha(self) -> float:
        return next((float(a) for a in (self.alpha, self.weighing.alpha) if a is not None), 1.0)

    def _check_size(self, weighed: Weighed) -> None:
        """Raise where even one component, within which counts move, is too large."""
        sizes = zip(weighed.axes(self.schema), weighed.marginal.shape(self.schema), strict=True)
        cells = math.prod(k for axis, k in sizes if math.isfinite(axis.weight))
        if cells > MOST_CELLS:
            raise InputError(
                f"marginal {weighed.marginal}: counts would move among {cells:,} cells, more than the {MOST_CELLS:,} "
                'that fit; take coarser levels, or weight "inf" for a column'
            )
