"""How large the noise is in what the report shows: from the ledger's questions, never from the data.

A number on a map is a sum of k cells of a noisy table, each with independent noise of known law. Of nothing, noise
alone makes a sum with √k times the standard deviation of a cell (σ for Gaussian noise, √2·b for Laplace). Where
negative counts are cleaned up to zero before the sum, what is left is above zero on average: a cell has mean σ/√(2π)
or b/2 and variance σ²·(1/2 − 1/(2π)) or ¾·b² then. The level given here is the larger of the two, at two standard
deviations; a number below it says no more than zero would.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.errors import InputError
from sfumato.marginal import Axis, Marginal
from sfumato.privacy.ledger import Charge
from sfumato.report.reading import Seen
from sfumato.schema import Schema

SPREAD = 2.0  # standard deviations that are called "the noise": 19 of 20 draws stay within


@dataclass(frozen=True)
class Law:
    """The noise of a cell: its standard deviation, and what is left of it where negative counts become zero."""

    deviation: float
    kept_mean: float
    kept_deviation: float

    @classmethod
    def of(cls, charge: Charge) -> Law:
        """That of a charge."""
        size = charge.noise
        if "laplace" in charge.mechanism:
            return cls(math.sqrt(2) * size, size / 2, math.sqrt(3) / 2 * size)
        return cls(size, size / math.sqrt(2 * math.pi), size * math.sqrt(0.5 - 0.5 / math.pi))

    def level(self, cells: int) -> float:
        """What noise alone makes of nothing in a sum of cells, in 19 of 20 cases."""
        root = SPREAD * math.sqrt(cells)
        return max(root * self.deviation, cells * self.kept_mean + root * self.kept_deviation)


@dataclass(frozen=True)
class Noise:
    """The noisy tables of counts that a release asked for, each with the noise of a cell."""

    schema: Schema
    tables: tuple[tuple[Marginal, Law], ...]

    @classmethod
    def of(cls, schema: Schema, charges: Sequence[Charge]) -> Noise:
        """The noise of a ledger's charges; questions that are no tables of counts say nothing here."""
        found = []
        for charge in charges:
            marginal = _marginal(charge.columns, schema)
            if marginal is not None:
                found.append((marginal, Law.of(charge)))
        return cls(schema, tuple(found))

    def level(self, fixed: Mapping[Seen, int]) -> float | None:
        """The level for a number that fixes some columns: each with how many of its bins are summed up.

        Of several tables that can tell, the one with the least noise; None where none can.
        """
        told = [law.level(k) for m, law in self.tables if (k := self._cells(m, fixed)) is not None]
        return min(told, default=None)

    def _cells(self, marginal: Marginal, fixed: Mapping[Seen, int]) -> int | None:
        """How many cells are summed up, None where the table does not tell the columns apart."""
        total = 1
        columns = {seen.name: (seen, bins) for seen, bins in fixed.items()}
        for column, level in marginal.bound_axes(self.schema):
            if column.name not in columns:
                total *= column.size(level)
                continue
            seen, bins = columns.pop(column.name)
            if level < seen.level:
                return None
            total *= -(-bins * column.size(level) // seen.size)
        return None if columns else total


def _marginal(text: str, schema: Schema) -> Marginal | None:
    """The marginal that a ledger writes as `a × b@level`, None where it is none of this schema."""
    try:
        marginal = Marginal(tuple(Axis.parse(part) for part in text.split(" × ")))
        list(marginal.bound_axes(schema))
    except InputError:
        return None
    return marginal
