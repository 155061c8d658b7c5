"""Questions of adaptive granularity: the plausible cells of a marginal one by one, the others through coarser ones.

A `Grid` asks about one marginal. `fine` says, for the marginal and for subsets of its columns, which cells are asked
one by one. A cell that is not fine is asked through its *children*, the subsets with one column less: summed over that
column, each child asks its own fine cells, and the rest through its children in turn, everything scaled by
1/√(number of children). (McKenna, Pradhan, Sheldon & Miklau, "Relaxed marginal consistency for differentially private
query answering", 2021, and the adaptive grid of the NIST temporal map challenge.)

A *path* is a chain marginal → child → grandchild; its rows are the fine cells of its last subset that some cell can
reach. All rows of a path share a coefficient, a whole number of lattice units, rounded towards zero.

**Column norms.** The column of a fine cell has one entry, 1. That of another cell joins its columns in each of m
children, each scaled by at most 1/√m; if theirs have Euclidean norm at most 1, its own has at most √(m·1/m) = 1. By
induction every column has norm at most 1. `norm` computes the largest of them anyway, and the vault checks it.

Nothing here is a matrix: an answer is masks and sums along axes.

>>> fine = {("a",): np.array([True, True]), ("b",): np.array([True, True, True]),
...         ("a", "b"): np.array([[True, False, False], [False, False, False]])}
>>> grid = Grid(Marginal.of("a", "b"), fine)
>>> grid.rows, grid.norm() <= 1
(6, True)
>>> answer = grid.answer(np.array([[7, 1, 0], [2, 0, 4]]))  # 7; b: 0 + 2, 1, 4; a: 0 + 1, 2 + 4; these by 1/√2
>>> (answer / UNIT).round(2).tolist()
[7.0, 1.41, 0.71, 2.83, 0.71, 4.24]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.bounds import UNIT
from sfumato.columns import Floats, Ints
from sfumato.errors import InputError
from sfumato.marginal import Marginal

Columns = tuple[str, ...]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Path:
    """A chain from the marginal to a subset of its columns; `units` is the coefficient of its rows, in 1/`UNIT`."""

    columns: Columns
    parent: int  # the number of the path it continues, -1 for the marginal itself
    axis: int  # the axis of the parent that is summed, -1 for the marginal itself
    units: int
    end: int  # the number after its last continuation: paths are numbered depth first


@dataclass(frozen=True, eq=False)
class Grid:
    """A marginal, and which cells of it and of its subsets are asked one by one."""

    marginal: Marginal
    fine: Mapping[Columns, Mask]

    def __post_init__(self) -> None:
        whole = self.marginal.columns
        if whole not in self.fine:
            raise InputError(f"a grid of {self.marginal} needs a mask of its own cells")
        sizes = dict(zip(whole, self.fine[whole].shape, strict=True))
        for columns, mask in self.fine.items():
            if not set(columns) <= set(whole):
                continue
            if columns != tuple(c for c in whole if c in columns):
                raise InputError(f"the mask of {' × '.join(columns)} has its columns in another order than the grid")
            if mask.dtype != bool or mask.shape != tuple(sizes[c] for c in columns):
                raise InputError(f"the mask of {' × '.join(columns)} does not fit the cells of {self.marginal}")

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Every chain, depth first, beginning with the marginal itself."""
        out: list[Path] = []

        def follow(columns: Columns, parent: int, axis: int, square: int) -> None:
            """Add a path whose coefficient is 1/√square, and its continuations."""
            at = len(out)
            out.append(Path(columns, parent, axis, math.isqrt(UNIT * UNIT // square), 0))
            children = list(self._children(columns))
            for gone, child in children:
                follow(child, at, gone, square * len(children))
            out[at] = Path(columns, parent, axis, out[at].units, len(out))

        follow(self.marginal.columns, -1, -1, 1)
        return tuple(out)

    def _children(self, columns: Columns) -> Iterator[tuple[int, Columns]]:
        for i in range(len(columns)):
            child = columns[:i] + columns[i + 1 :]
            if child in self.fine:
                yield i, child

    @cached_property
    def asked(self) -> tuple[Mask, ...]:
        """For each path the cells that are its rows: fine, and reached by some cell of the marginal."""
        reached: list[Mask] = []
        for path in self.paths:
            if path.parent < 0:
                reached.append(np.ones(self.fine[path.columns].shape, bool))
            else:
                coarse = reached[path.parent] & ~self.fine[self.paths[path.parent].columns]
                reached.append(np.asarray(coarse.any(axis=path.axis)))
        return tuple(self.fine[p.columns] & r for p, r in zip(self.paths, reached, strict=True))

    @cached_property
    def starts(self) -> Ints:
        """Where the rows of each path begin, and at the end how many rows there are."""
        return np.concatenate([[0], np.cumsum([np.count_nonzero(a) for a in self.asked])]).astype(np.int64)

    @property
    def rows(self) -> int:
        """How many numbers an answer holds."""
        return int(self.starts[-1])

    def answer(self, counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The answers about a table of counts, in 1/`UNIT` of them."""
        reached: list[npt.NDArray[Any]] = []
        out: list[npt.NDArray[Any]] = []
        for path, asked in zip(self.paths, self.asked, strict=True):
            if path.parent < 0:
                reached.append(counts)
            else:
                coarse = np.where(self.fine[self.paths[path.parent].columns], 0, reached[path.parent])
                reached.append(coarse.sum(axis=path.axis))
            out.append(reached[-1][asked] * path.units)
        return np.concatenate(out)

    def adjoint(self, vector: Floats) -> Floats:
        """The transposed question: for each cell its column times a vector over the rows."""
        return self._gathered([t * (p.units / UNIT) for t, p in zip(self.spread(vector), self.paths, strict=True)])

    def _gathered(self, tables: list[Floats]) -> Floats:
        """For each cell the sum, over the paths that ask about it, of what their tables hold for it."""
        for i in range(len(self.paths) - 1, 0, -1):  # a path comes after the one that it continues
            path = self.paths[i]
            above = self.fine[self.paths[path.parent].columns]
            tables[path.parent] = tables[path.parent] + np.where(above, 0.0, np.expand_dims(tables[i], path.axis))
        return tables[0]

    def spread(self, vector: npt.NDArray[Any]) -> list[Floats]:
        """A vector over the rows as a table for each path, zero where nothing is asked."""
        out: list[Floats] = []
        for i, asked in enumerate(self.asked):
            table = np.zeros(asked.shape)
            table[asked] = vector[self.starts[i] : self.starts[i + 1]]
            out.append(table)
        return out

    def norm(self) -> float:
        """The largest Euclidean norm of a column, in records."""
        squares = [np.where(a, (p.units / UNIT) ** 2, 0.0) for p, a in zip(self.paths, self.asked, strict=True)]
        return math.sqrt(float(self._gathered(squares).max(initial=0.0)))
