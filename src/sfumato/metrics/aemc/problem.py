"""What is to be solved: two tables of counts, how far apart their bins are, the tolerance, the cost of a count.

Inside, the axes stand in another order: first those along which nothing moves, as one axis of *components* that have
nothing to do with each other, then those along which counts can move. Components without counts on either side cost
nothing and are left out, so that only what is there takes memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.metrics.aemc.axis import Axis, Floats, Ints, Steps, rational

MOST_CELLS = 2**28  # of the components that hold counts
_FINEST = 2**40  # the lattice of costs that have no common denominator below it: off by 2^-41 an arc
_BLOCK = 2**15  # cells that a formula runs over at once
_LARGEST = 2**61  # of the sum of counts on their lattice

Counts = npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike]
Array = Any


@dataclass(frozen=True, eq=False)
class Problem:
    """Counts of the components that hold any, a line each; `axes` are those that counts can move along."""

    P: Array
    """What the synthetic side has: components × axes."""
    Q: Array
    """What the true side has."""
    tolerance: float
    axes: tuple[Axis, ...]
    places: tuple[int, ...]
    """Which axis of the table each of them is."""
    shape: tuple[int, ...]
    kept: Ints | None
    """For each component the number of its first cell in the table, or None where all of them are there."""
    strides: tuple[int, ...]
    truth: float
    """The sum of the truth."""
    alpha: float

    @property
    def low(self) -> Array:
        """The least that a cell may hold for free: the truth less the tolerance."""
        least = self.Q - self.tolerance
        return np.maximum(least, 0, out=least)

    @property
    def high(self) -> Array:
        """The most that a cell may hold for free."""
        return self.Q + self.tolerance

    @property
    def beyond(self) -> float:
        """How many counts are beyond the tolerance, on either side; in blocks that stay in the cache."""
        P, Q, total = self.P.reshape(-1), self.Q.reshape(-1), 0.0
        for i in range(0, len(P), _BLOCK):
            apart = P[i : i + _BLOCK] - Q[i : i + _BLOCK]
            np.abs(apart, out=apart)
            if self.tolerance:
                apart -= self.tolerance
                np.maximum(apart, 0, out=apart)
            total += float(apart.sum())
        return total

    @cached_property
    def names(self) -> Ints:
        """For each component the number of its first cell in the table."""
        return _lines(self.shape, self.places) if self.kept is None else self.kept

    @cached_property
    def steps(self) -> tuple[Steps | None, ...]:
        """The graph of each axis, None where its matrix is no metric."""
        return tuple(axis.steps(k) for axis, k in zip(self.axes, self.P.shape[1:], strict=True))

    @cached_property
    def unit(self) -> int:
        """How many units of cost make one, so that every cost is a whole number of units."""
        costs = [rational(self.alpha), *(c for s in self.steps if s is not None for c in s.costs)]
        for axis, steps in zip(self.axes, self.steps, strict=True):
            if steps is None:
                assert axis.matrix is not None
                lengths = np.unique(axis.matrix[np.isfinite(axis.matrix)])
                costs += [rational(axis.weight) * rational(float(x)) for x in lengths]
        common = math.lcm(*(c.denominator for c in costs))
        return common if common <= _FINEST else _FINEST

    @property
    def top(self) -> int:
        """What adding or removing a count costs, in units."""
        return round(rational(self.alpha) * self.unit)

    def costs(self, steps: Steps) -> Ints:
        """What each step costs, in units."""
        whole = np.array([round(c * self.unit) for c in steps.costs], np.int64)
        return whole[steps.which]

    @cached_property
    def scale(self) -> int:
        """How many units of count make one, so that every count is a whole number of units, or as near as can be."""
        low, high = self.low, self.high
        most = max(1.0, float(self.P.sum()) + float(low.sum()) + float(high.max(initial=0)))
        arrays = (self.P, low, high)
        if all(a.dtype.kind in "iub" for a in arrays):
            return 1
        for scale in (1, 2, 4, 5, 8, 10, 100, 1000, 10_000, 2**16, 10**6, 2**24):
            if scale * most < _LARGEST and all(_whole(a, scale) for a in arrays):
                return scale
        return int(2 ** math.floor(math.log2(_LARGEST / most)))

    def whole(self, a: Array) -> Ints:
        """Counts in units."""
        return np.asarray(a if self.scale == 1 else np.rint(a * float(self.scale))).astype(np.int64, copy=False)

    @cached_property
    def numbers(self) -> Ints:
        """For each cell here its number in the table, in the shape of the counts."""
        out = self.names.reshape((-1,) + (1,) * len(self.axes))
        for i, (size, stride) in enumerate(zip(self.P.shape[1:], self.strides, strict=True)):
            out = out + (np.arange(size) * stride).reshape((-1,) + (1,) * (len(self.axes) - 1 - i))
        return np.ascontiguousarray(np.broadcast_to(out, self.P.shape))


def state(
    synthetic: Counts, truth: Counts, axes: Sequence[Axis], tolerance: float, alpha: float, shape: Sequence[int] | None
) -> Problem:
    """The problem of two tables of counts, after a check that they make sense."""
    axes = tuple(axes)
    _check_number("the tolerance", tolerance)
    _check_number("the cost of adding or removing a count", alpha)
    sides = {name: _read(name, side) for name, side in (("synthetic", synthetic), ("truth", truth))}
    size = _shape(sides, shape)
    if len(axes) != len(size):
        raise InputError(f"{len(axes)} axes for counts of {len(size)} dimensions; give one for each")
    for i, (axis, k) in enumerate(zip(axes, size, strict=True)):
        if not isinstance(axis, Axis):
            raise InputError(f"axis {i} is {type(axis).__name__}; make one with Axis.ordinal, Axis.categorical, ...")
        axis.check(k, i)
    finite = [a.weight for a in axes if math.isfinite(a.weight)]
    if finite and abs(sum(finite) - 1) > 1e-9:
        raise InputError(
            f"the finite weights of the axes sum to {sum(finite):.6g}; make them sum to 1 (or forbid with inf)"
        )
    moves = [i for i, a in enumerate(axes) if math.isfinite(a.weight) and size[i] > 1]
    stays = [i for i in range(len(axes)) if i not in moves]
    dims = tuple(size[i] for i in moves)
    strides = tuple(math.prod(size[i + 1 :]) for i in range(len(size)))
    P, Q, kept = _arranged(sides["synthetic"], sides["truth"], size, strides, moves, stays)
    total = float(Q.sum())
    if total <= 0 and float(P.sum()) > 0:
        raise InputError("the truth is empty: there is nothing to compare the synthetic counts with")
    delta = int(tolerance) if float(tolerance).is_integer() else float(tolerance)
    return Problem(
        P.reshape(-1, *dims), Q.reshape(-1, *dims), delta, tuple(axes[i] for i in moves), tuple(moves), size,
        kept, tuple(strides[i] for i in moves), total, float(alpha),
    )  # fmt: skip


def _arranged(
    P: Array | tuple[Ints, Array],
    Q: Array | tuple[Ints, Array],
    size: tuple[int, ...],
    strides: tuple[int, ...],
    moves: list[int],
    stays: list[int],
) -> tuple[Array, Array, Ints | None]:
    """Both tables with a line for each component that holds something, and the first cells of these if not all do."""
    inner = math.prod(size[i] for i in moves)
    if not isinstance(P, tuple) and not isinstance(Q, tuple):
        P, Q = (a.transpose(*stays, *moves).reshape(-1, inner) for a in (P, Q))
        if len(P) > 1 and inner > 1:
            some = P.any(axis=1) | Q.any(axis=1)
            if not some.all():
                return P[some], Q[some], _lines(size, moves)[some]
        return P, Q, None
    found = [a if isinstance(a, tuple) else (np.flatnonzero(a), a.reshape(-1)[np.flatnonzero(a)]) for a in (P, Q)]
    places = []
    for numbers, _ in found:
        name, cell = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
        for i in stays:
            name += numbers // strides[i] % size[i] * strides[i]
        for i in moves:
            cell = cell * size[i] + numbers // strides[i] % size[i]
        places.append((name, cell))
    names = np.unique(np.concatenate([name for name, _ in places]))
    if len(names) * inner > MOST_CELLS:
        raise InputError(
            f"{len(names) * inner:,} cells would have to be held, more than the {MOST_CELLS:,} that fit; "
            "take coarser levels, or forbid moving along an axis of many bins (weight inf)"
        )
    out = []
    for (name, cell), (_, values) in zip(places, found, strict=True):
        table = np.zeros(len(names) * inner, np.result_type(*(v.dtype for _, v in found)))
        np.add.at(table, np.searchsorted(names, name) * inner + cell, values)
        out.append(table.reshape(-1, inner))
    return out[0], out[1], names


def _lines(size: tuple[int, ...], moves: Sequence[int]) -> Ints:
    """The first cell of each component of a table: all bins of the axes that nothing moves along."""
    names = np.zeros(1, np.int64)
    for i, k in enumerate(size):
        if i not in moves:
            names = (names[:, None] + np.arange(k) * math.prod(size[i + 1 :])).reshape(-1)
    return names


def _shape(sides: Mapping[str, Array | tuple[Ints, Array]], shape: Sequence[int] | None) -> tuple[int, ...]:
    """The shape of the table that both sides are counts of."""
    known = {} if shape is None else {"the shape given": tuple(int(k) for k in shape)}
    known |= {name: side.shape for name, side in sides.items() if not isinstance(side, tuple)}
    if not known:
        raise InputError("sparse counts need the shape of their table: shape=(12, 278, 174)")
    first, size = next(iter(known.items()))
    for name, other in known.items():
        if other != size:
            raise InputError(f"{first} has shape {size}, but {name} has shape {other}; both are counts of one table")
    if not size or min(size) < 1:
        raise InputError(f"the counts have shape {size}; they need a dimension, and a bin in each")
    for name, side in sides.items():
        if isinstance(side, tuple) and len(side[0]) and not 0 <= side[0].min() <= side[0].max() < math.prod(size):
            odd = int(side[0].max() if side[0].min() >= 0 else side[0].min())
            raise InputError(f"{name}: cell {odd} is not in a table of {math.prod(size):,} cells")
    return size


def _read(name: str, side: Counts) -> Array | tuple[Ints, Array]:
    """Counts as an array, or as the numbers of cells and what they hold; checked."""
    if not isinstance(side, tuple):
        return _checked(name, side)
    if len(side) != 2:
        raise InputError(f"{name}: sparse counts are a pair of arrays, the numbers of cells and what they hold")
    numbers, values = np.asarray(side[0]), _checked(name, side[1])
    if numbers.ndim != 1 or numbers.shape != values.shape or (numbers.size and numbers.dtype.kind not in "iu"):
        raise InputError(f"{name}: sparse counts are two arrays of one length, whole numbers of cells and counts")
    return numbers.astype(np.int64), values


def _checked(name: str, values: npt.ArrayLike) -> Array:
    try:
        a = np.asarray(values)
    except ValueError:
        raise InputError(f"{name}: counts are an array of numbers, with a dimension for each axis") from None
    if a.dtype.kind == "b":
        a = a.astype(np.int64)
    if a.dtype.kind not in "iuf":
        raise InputError(f"{name}: counts are numbers, not {a.dtype}")
    if a.dtype.kind == "f":
        if not np.isfinite(a).all():
            raise InputError(f"{name}: a count is not a finite number")
        a = a.astype(np.float64, copy=False)
    if a.size and a.min() < 0:
        raise InputError(f"{name}: a count is negative ({a.min():g}); counts are 0 or more")
    if a.dtype.kind in "iu":
        if a.size and float(a.max()) * a.size >= 2**62 and float(a.sum(dtype=np.float64)) >= 2**60:
            raise InputError(f"{name}: the counts sum to more than fits in 64 bits")
        a = a.astype(np.int64, copy=False)
    return a


def _check_number(what: str, x: float) -> None:
    if isinstance(x, bool) or not isinstance(x, int | float | np.number) or not 0 <= x < math.inf:
        raise InputError(f"{what} is a number from 0 on, not {x!r}")


def _whole(a: Floats, scale: int) -> bool:
    """Whether all numbers are whole in units of 1/scale."""
    if a.dtype.kind in "iu":
        return True
    scaled = a * float(scale)
    return bool((np.abs(scaled - np.rint(scaled)) <= 1e-13 * np.maximum(1, scaled)).all())


def exact(total: int, problem: Problem) -> float:
    """A cost in units of cost and of count, a share of the truth."""
    if not problem.truth:
        return 0.0
    return float(Fraction(total, problem.unit * problem.scale) / Fraction(problem.truth))
