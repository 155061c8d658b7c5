"""A slow reading of the rules, record by record in plain Python, that the engines are compared with."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.columns import Category, Number, Person
from sfumato.marginal import Marginal
from sfumato.schema import Schema

Cell = tuple[int, ...]


def code(column: Any, value: Any, level: int) -> int | None:
    """The code of a value, or None where it is in no bin."""
    finest = _finest(column, value)
    return None if finest is None else int(column.coarsen(level)[finest])


def _finest(column: Any, value: Any) -> int | None:
    if isinstance(column, Category):
        if value in column.values:
            return column.values.index(value)
        return None if column.other is None else column.values.index(column.other)
    assert isinstance(column, Number)
    shift = 1 if column.missing else 0
    if value is None or value != value or value in [m for m in column.missing if m is not None]:
        return 0 if column.missing else None
    low, high = column.ends
    if column.outside == "drop" and not low <= value <= high:
        return None
    passed = [c for c in column.cuts if (value >= c if column.closed == "left" else value > c)]
    return shift + len(passed)


def cells(table: pa.Table, schema: Schema, marginal: Marginal) -> list[tuple[Any, Cell]]:
    """(person, cell) of every record that has a person and falls into a cell."""
    out = []
    person = next(c.name for c in schema.columns if isinstance(c, Person))
    for row in table.to_pylist():
        codes = [code(c, row[c.name], level) for c, level in marginal.bound_axes(schema)]
        if row[person] is not None and row[person] != "" and None not in codes:
            out.append((row[person], tuple(codes)))
    return out


def histograms(table: pa.Table, schema: Schema, marginal: Marginal) -> dict[Any, np.ndarray]:
    """Each person's own table of counts."""
    found: dict[Any, np.ndarray] = defaultdict(lambda: np.zeros(marginal.shape(schema), np.int64))
    for person, cell in cells(table, schema, marginal):
        found[person][cell] += 1
    return dict(found)


def weighted(histogram: np.ndarray, limit: float, unit: int) -> np.ndarray:
    """A person's part under `weight(limit)`: each of R records counts min(1, limit/R), rounded down to the lattice."""
    total = int(histogram.sum())
    units = math.floor(limit * unit)
    if total * unit <= units:
        return histogram * unit
    return np.array([int(n) * units // total for n in histogram.reshape(-1)]).reshape(histogram.shape)


def most_frequent(labels: Sequence[int]) -> set[int]:
    """The labels that occur most often."""
    counts = Counter(labels)
    return {label for label, n in counts.items() if n == max(counts.values())}
