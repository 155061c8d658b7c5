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
MAX_NUMBER = 2**62  # beyond it a cell's number does not fit


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

    def check_sparse(self, schema: Schema) -> None:
        """Raise unless the schema has these columns and levels, and every cell has a number."""
        if (cells := self.size(schema)) > MAX_NUMBER:
            raise InputError(f"the marginal {self} has {cells:.3g} cells, too many to number; take fewer columns")

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


@dataclass(frozen=True)
class Cells:
    """The counts of a marginal that are not zero: the numbers of their cells, increasing, and what each holds.

    >>> from sfumato.columns import Category
    >>> from sfumato.schema import Schema
    >>> schema = Schema(columns=(Category(name="a", values=(1, 2)), Category(name="b", values=("x", "y", "z"))))
    >>> found = Cells(Marginal.of("a", "b"), np.array([1, 5]), np.array([7, 2]))
    >>> [codes.tolist() for codes in found.codes(schema)]
    [[0, 1], [1, 2]]
    >>> found.dense(schema).values.tolist()
    [[0, 7, 0], [0, 0, 2]]
    """

    marginal: Marginal
    numbers: npt.NDArray[np.int64]
    values: npt.NDArray[Any]

    @property
    def total(self) -> float:
        """The sum over all cells."""
        return float(self.values.sum())

    def codes(self, schema: Schema) -> tuple[npt.NDArray[np.int64], ...]:
        """The bins of each cell, an array for each axis."""
        return tuple(np.asarray(c, np.int64) for c in np.unravel_index(self.numbers, self.marginal.shape(schema)))

    def dense(self, schema: Schema) -> Counts:
        """The same with every cell."""
        self.marginal.check(schema)
        values = np.zeros(self.marginal.size(schema), self.values.dtype)
        values[self.numbers] = self.values
        return Counts(self.marginal, values.reshape(self.marginal.shape(schema)))
