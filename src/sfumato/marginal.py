"""Marginals, and the tables of numbers that belong to them.

A `Marginal` is a set of columns, each at a level of its hierarchy; its cells are all combinations of bins, numbered
in row-major order. `Counts` holds one number for each cell.

>>> from sfumato.columns import Category
>>> from sfumato.schema import Schema
>>> schema = Schema(columns=(Category(name="a", values=(1, 2)), Category(name="b", values=("x", "y", "z"))))
>>> m = Marginal.of("a", "b")
>>> m.shape(schema), m.size(schema), str(m)
((2, 3), 6, 'a × b')
>>> counts = Counts(m, np.arange(6).reshape(2, 3))
>>> counts.project("b").values.tolist()
[3, 5, 7]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.columns import Binned
from sfumato.errors import InputError
from sfumato.schema import Schema

MAX_CELLS = 2**27  # a dense table of counts is 1 GiB then


@dataclass(frozen=True)
class Axis:
    """A column at one level of its hierarchy; no level means the finest."""

    column: str
    level: int | str | None = None

    def __str__(self) -> str:
        return self.column if self.level is None else f"{self.column}@{self.level}"

    @classmethod
    def parse(cls, text: str) -> Axis:
        """The axis written as `column` or `column@level`.

        >>> Axis.parse("shift@day")
        Axis(column='shift', level='day')
        """
        column, at, level = text.rpartition("@")
        if not at:
            return cls(text)
        return cls(column, int(level) if level.isdecimal() and len(level) < 10 else level)


@dataclass(frozen=True)
class Marginal:
    """A set of columns, each at a level."""

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, *axes: str | Axis) -> Marginal:
        """The marginal of columns given as `column` or `column@level`."""
        parsed = tuple(Axis.parse(a) if isinstance(a, str) else a for a in axes)
        if not parsed:
            raise InputError("a marginal needs at least one column")
        names = [a.column for a in parsed]
        if len(set(names)) < len(names):
            raise InputError(f"the marginal {' × '.join(map(str, parsed))} names a column twice")
        return cls(parsed)

    def __str__(self) -> str:
        return " × ".join(map(str, self.axes))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(a.column for a in self.axes)

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """How many bins each axis has."""
        return tuple(schema[a.column].size(a.level) for a in self.axes)

    def size(self, schema: Schema) -> int:
        """How many cells it has."""
        return math.prod(self.shape(schema))

    def check(self, schema: Schema) -> None:
        """Raise unless the schema has these columns and levels, and the table of counts fits in memory."""
        cells = self.size(schema)
        if cells > MAX_CELLS:
            raise InputError(
                f"the marginal {self} has {cells:,} cells, more than the {MAX_CELLS:,} that fit; "
                "take fewer columns or coarser levels"
            )

    def bound_axes(self, schema: Schema) -> Iterator[tuple[Binned, int]]:
        """Each column with the number of its level."""
        for axis in self.axes:
            column = schema[axis.column]
            yield column, column.level(axis.level)


@dataclass(frozen=True)
class Counts:
    """A number for each cell of a marginal."""

    marginal: Marginal
    values: npt.NDArray[Any]

    @property
    def total(self) -> float:
        """The sum over all cells."""
        return float(self.values.sum())

    def project(self, *columns: str) -> Counts:
        """The counts of some of the columns, in the order asked for: the other axes are summed."""
        here = self.marginal.columns
        for name in columns:
            if name not in here:
                raise InputError(f"the marginal {self.marginal} has no column '{name}'")
        if len(set(columns)) < len(columns):
            raise InputError(f"the projection on {', '.join(columns)} names a column twice")
        keep = [here.index(name) for name in columns]
        rest = tuple(i for i in range(len(here)) if i not in keep)
        summed = self.values.sum(axis=rest)
        order = np.argsort(np.argsort(keep))
        return Counts(Marginal(tuple(self.marginal.axes[i] for i in keep)), summed.transpose(tuple(order)))
