"""Axes of a table of counts: how far apart two bins are, and what of it a count pays to move between them.

An axis of weight w lets counts move for w times the semantic distance: ordinal |i−j|/(k−1), round the circle for
cyclic ones, (t−s)/t in a hierarchy of depth t whose lowest common group is at level s, or a matrix of one's own. An
infinite weight forbids moving along the axis, a weight of 0 makes it free.

Inside, an axis is a graph whose shortest paths are its distances (`Steps`): a chain, a circle, a tree with the groups
of the hierarchy as inner nodes, or the edges of a matrix that no detour can stand in for.

>>> Axis.ordinal().distances(5)[0].tolist()
[0.0, 0.25, 0.5, 0.75, 1.0]
>>> Axis.cyclic().distances(4)[0].tolist()
[0.0, 0.5, 1.0, 0.5]
>>> Axis.categorical(levels=[["east", "east", "west"]]).distances(3)[0].tolist()
[0.0, 0.5, 1.0]
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kind = Literal["ordinal", "cyclic", "categorical", "distance"]

MOST_BINS = 4096  # of an axis with a matrix: the test for detours takes the cube of it
_NEAR = 1e-9  # distances that differ by less, relative to the largest, are taken to be equal


@dataclass(frozen=True)
class Steps:
    """An axis as a graph: `size` bins, then `hubs` inner nodes; edges from `u` to `v`, u < v, with what a step costs.

    `order` lists the bins as they stand inside: children of one group are neighbours. In a `tree` (a chain is one)
    relaxing all edges forwards and then backwards gives all shortest paths.
    """

    size: int
    hubs: int
    u: Ints
    v: Ints
    costs: tuple[Fraction, ...]
    which: Ints
    """For each edge, its place in `costs`."""
    order: Ints
    tree: bool


@dataclass(frozen=True, eq=False)
class Axis:
    """A dimension of a table of counts, with its weight; made by `ordinal`, `cyclic`, `categorical`, `distance`."""

    kind: Kind
    weight: float = 1.0
    levels: tuple[Ints, ...] = ()
    matrix: Floats | None = None

    @classmethod
    def ordinal(cls, weight: float = 1.0) -> Axis:
        """Bins in a row: i and j are |i−j|/(k−1) apart."""
        return cls("ordinal", _weight(weight))

    @classmethod
    def cyclic(cls, weight: float = 1.0) -> Axis:
        """Bins in a circle, such as hours and weekdays: the shorter way round, 1 for opposite bins."""
        return cls("cyclic", _weight(weight))

    @classmethod
    def categorical(cls, weight: float = 1.0, levels: Sequence[Sequence[Hashable]] | None = None) -> Axis:
        """Bins without order; `levels` holds the group of each bin at each level, from coarse to fine."""
        return cls("categorical", _weight(weight), _levels(levels or ()))

    @classmethod
    def distance(cls, matrix: npt.ArrayLike, weight: float = 1.0) -> Axis:
        """Bins with distances of their own, taken as they are; `inf` where nothing may move.

        Exact for any matrix, and fast for a metric whose distances are mostly sums of shorter ones, such as the
        shortest ways over neighbouring areas.
        """
        try:
            m = np.array(matrix, float)
        except (TypeError, ValueError):
            raise InputError("a distance matrix holds numbers, a row and a column for each bin") from None
        if m.ndim != 2 or m.shape[0] != m.shape[1] or not m.size:
            raise InputError(f"a distance matrix has a row and a column for each bin; this one has shape {m.shape}")
        if np.isnan(m).any() or (m < 0).any() or np.diag(m).any():
            raise InputError("distances are numbers from 0 on, and 0 from a bin to itself")
        if len(m) > MOST_BINS:
            raise InputError(f"a distance matrix of {len(m):,} bins is too large; {MOST_BINS:,} fit")
        m.setflags(write=False)
        return cls("distance", _weight(weight), matrix=m)

    def check(self, size: int, place: int) -> None:
        """Raise unless the axis fits a dimension of so many bins."""
        if any(len(level) != size for level in self.levels):
            given = next(len(level) for level in self.levels if len(level) != size)
            raise InputError(f"axis {place}: a level has {given} groups for {size} bins; give one for each bin")
        if self.matrix is not None and len(self.matrix) != size:
            raise InputError(f"axis {place}: the distance matrix has {len(self.matrix)} bins, the counts have {size}")

    def distances(self, size: int) -> Floats:
        """The semantic distance between any two of so many bins, without the weight."""
        if self.matrix is not None:
            return self.matrix
        if self.kind == "categorical":
            t = len(self.levels) + 1
            apart = np.full((size, size), float(t))
            for level in self.levels:
                apart -= level[:, None] == level[None, :]
            np.fill_diagonal(apart, 0)
            return apart / t
        apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
        if self.kind == "cyclic":
            apart = np.minimum(apart, size - apart)
        return apart / max(1.0, float(apart.max()))

    def steps(self, size: int) -> Steps | None:
        """The axis as a graph, its costs with the weight in them; None where the matrix is no metric."""
        w = rational(self.weight)
        if self.kind == "categorical":
            return _tree(self.levels, size, w / (2 * (len(self.levels) + 1)))
        if self.matrix is not None:
            return _network(self.matrix, self.weight)
        if self.kind == "cyclic" and size > 2:
            u = np.append(np.arange(size - 1), 0)
            v = np.append(np.arange(1, size), size - 1)
            return Steps(size, 0, u, v, (w / (size // 2),), np.zeros(size, np.int64), np.arange(size), False)
        u = np.arange(size - 1)
        cost = w / max(1, size - 1)
        return Steps(size, 0, u, u + 1, (cost,), np.zeros(len(u), np.int64), np.arange(size), True)


def rational(x: float) -> Fraction:
    """The fraction that was meant by a number: one of a small denominator, or the number itself.

    >>> rational(1 / 3), rational(1 - 0.37 - 0.31)
    (Fraction(1, 3), Fraction(8, 25))
    """
    near = Fraction(x).limit_denominator(10_000)
    return near if abs(float(near) - x) <= 1e-13 * max(1.0, abs(x)) else Fraction(x)


def _weight(weight: float) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float | np.number) or math.isnan(weight) or weight < 0:
        raise InputError(f"the weight of an axis is a number from 0 to 1, or inf to forbid moving; got {weight!r}")
    return float(weight)


def _levels(levels: Sequence[Sequence[Hashable]]) -> tuple[Ints, ...]:
    """Numbers for the groups of each level, after a check that each lies in one group of the level above."""
    out: list[Ints] = []
    for i, groups in enumerate(levels):
        if isinstance(groups, str) or not isinstance(groups, Sequence | np.ndarray):
            raise InputError(f"level {i + 1} of a hierarchy is a list with the group of each bin, not {groups!r:.40}")
        numbers: dict[Any, int] = {}
        codes = np.array([numbers.setdefault(g, len(numbers)) for g in groups], np.int64)
        if out and len(codes) != len(out[-1]):
            raise InputError(
                f"level {i + 1} has {len(codes)} groups for the {len(out[-1])} bins of level {i}; "
                "every bin has a group at every level (uniform depth)"
            )
        if out and len(np.unique(np.stack([codes, out[-1]]), axis=1).T) > len(numbers):
            raise InputError(f"level {i + 1} cuts through a group of level {i}; levels go from coarse to fine")
        out.append(codes)
    return tuple(out)


def _tree(levels: tuple[Ints, ...], size: int, cost: Fraction) -> Steps:
    """Bins, their groups from fine to coarse, and a root: every edge costs the same."""
    order = np.lexsort(levels[::-1]) if levels else np.arange(size)
    child, u, v, hubs = np.arange(size), [], [], 0
    for level in levels[::-1]:
        groups = level[order]
        named = np.cumsum(np.append(True, groups[1:] != groups[:-1])) - 1  # numbered as they come
        parent = size + hubs + named
        edges = np.unique(np.stack([child, parent]), axis=1)
        u.append(edges[0])
        v.append(edges[1])
        hubs += int(named[-1]) + 1
        child = parent
    top = np.unique(child)
    u.append(top)
    v.append(np.full(len(top), size + hubs))
    ends = np.concatenate(u), np.concatenate(v)
    return Steps(size, hubs + 1, *ends, (cost,), np.zeros(len(ends[0]), np.int64), order, True)


def _network(matrix: Floats, weight: float) -> Steps | None:
    """The edges of a metric that no detour is as short as; None where some detour is shorter, or ways differ."""
    near = _NEAR * max(1e-300, float(matrix[np.isfinite(matrix)].max()))
    if not np.array_equal(np.isfinite(matrix), np.isfinite(matrix.T)):
        return None
    with np.errstate(invalid="ignore"):
        if np.nan_to_num(np.abs(matrix - matrix.T), nan=0.0).max() > near:
            return None
    k = len(matrix)
    needed = np.triu(np.isfinite(matrix), 1)
    for via in range(k):
        around = matrix[:, via, None] + matrix[via, None, :]
        if (around < matrix - near).any():
            return None
        around[via, :] = around[:, via] = np.inf
        needed &= around > matrix + near
    # bins at no distance from each other stand in for each other in detours; tie them to the first of them
    same = (matrix <= near) & ~np.eye(k, dtype=bool)
    if same.any():
        return _contracted(matrix, weight, near)
    u, v = np.nonzero(needed)
    lengths, which = np.unique(matrix[u, v], return_inverse=True)
    w = rational(weight)
    costs = tuple(w * rational(float(x)) for x in lengths)
    tree = len(u) == k - 1 and bool((v[1:] > v[:-1]).all() if len(u) else True) and bool((u == v - 1).all())
    return Steps(k, 0, u, v, costs, which.reshape(-1), np.arange(k), tree)


def _contracted(matrix: Floats, weight: float, near: float) -> Steps | None:
    """A metric with bins at distance 0 from each other: the graph of the first of each, the others tied to it."""
    first = np.argmax(matrix <= near, axis=1)
    kept = np.unique(first)
    inner = _network(matrix[np.ix_(kept, kept)], weight)
    if inner is None:
        return None
    tied = np.flatnonzero(first != np.arange(len(matrix)))
    u = np.concatenate([kept[inner.u], first[tied]])
    v = np.concatenate([kept[inner.v], tied])
    which = np.concatenate([inner.which, np.full(len(tied), len(inner.costs))])
    return Steps(len(matrix), 0, u, v, (*inner.costs, Fraction(0)), which, np.arange(len(matrix)), False)
