"""How large the noise is in what the report shows: from the ledger's questions, never from the data.

A number on a map is a sum of cells of a noisy table. Each cell has independent noise of known size, so the sum of k of
them has √k times its standard deviation: σ for Gaussian noise, √2·b for Laplace. Clean-up after the noise (no negative
counts) can only move a number nearer to what is possible, so this is an upper bound on what noise does to it.
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
class Noise:
    """The noisy tables of counts that a release asked for, each with the standard deviation of a cell."""

    schema: Schema
    tables: tuple[tuple[Marginal, float], ...]

    @classmethod
    def of(cls, schema: Schema, charges: Sequence[Charge]) -> Noise:
        """The noise of a ledger's charges; questions that are no tables of counts say nothing here."""
        found = []
        for charge in charges:
            marginal = _marginal(charge.columns, schema)
            if marginal is not None:
                spread = math.sqrt(2) if "laplace" in charge.mechanism else 1.0
                found.append((marginal, spread * charge.noise))
        return cls(schema, tuple(found))

    def level(self, fixed: Mapping[Seen, int]) -> float | None:
        """The noise in a number that fixes some columns: each with how many of its bins are summed up.

        Of several tables that can tell, the one with the least noise; None where none can.
        """
        told = [deviation * math.sqrt(k) for m, deviation in self.tables if (k := self._cells(m, fixed)) is not None]
        return SPREAD * min(told) if told else None

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
