"""A number that is at least the sum of others: a bill and its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.columns import Binned, Floats, Number
from sfumato.errors import InputError
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Total:
    """A column, and those whose sum it is not below.

    >>> Total.parse("trip_total = fare + tips")
    Total(name='trip_total', items=('fare', 'tips'))
    """

    name: str
    items: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Total:
        """The rule of a text such as `trip_total = fare + tips`."""
        name, equals, right = text.partition("=")
        items = tuple(part.strip() for part in right.split("+"))
        if not equals or not name.strip() or not all(items):
            raise InputError(f"total '{text}' is not of the form 'trip_total = fare + tips'")
        return cls(name.strip(), items)

    def __str__(self) -> str:
        return f"{self.name} = {' + '.join(self.items)}"

    def check(self, schema: Schema, filled: Sequence[str]) -> None:
        """Raise unless all of them are numbers that are filled in."""
        for name in (self.name, *self.items):
            if not isinstance(schema[name], Number) or name not in filled:
                raise InputError(f"total '{self}': '{name}' is not a column of numbers that completion fills")

    def raised(self, found: Mapping[str, Any], schema: Schema) -> pa.Array:
        """The totals, raised to the sum of their items where all are known, but not beyond the column's own end."""
        import pyarrow as pa

        totals, *items = (_known(found[name], schema[name]) for name in (self.name, *self.items))
        column = schema[self.name]
        assert isinstance(column, Number)
        least = np.minimum(np.sum(items, axis=0), column.ends[1])
        low = (totals < least) & ~np.isin(least, column.marks)
        now = _floats(found[self.name])
        raised = np.where(low, least, now)
        lost = np.isnan(raised)
        kind = found[self.name].type
        whole = np.where(lost, 0, raised).astype(np.int64 if column.integer else np.float64)
        return pa.array(whole, kind, mask=lost if lost.any() else None)


def _floats(values: pa.Array) -> Floats:
    return np.asarray(values.to_numpy(zero_copy_only=False), float)


def _known(values: pa.Array, column: Binned) -> Floats:
    """Numbers, NaN where one is missing."""
    assert isinstance(column, Number)
    numbers = _floats(values)
    return np.where(np.isin(numbers, column.marks), np.nan, numbers)
