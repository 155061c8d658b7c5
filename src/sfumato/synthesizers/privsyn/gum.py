"""Records made to have given marginals: gradual update by duplicating and replacing (PrivSyn, section 5).

A round takes the marginals in turn, the worst first. Where a cell has too many records, some of them, chosen at
random, are freed; where it has too few, freed records become copies of its records ("duplicate", which keeps what
they have in other columns together) or get its values in this marginal's columns alone ("replace"); a cell without
any record can only be filled in the second way. How much of the gap is closed shrinks from round to round, so that
marginals do not undo each other. A fraction of a record is rounded at random, so that small cells get their due.

The targets are whole numbers with one sum. A round reads every record twice for each marginal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from sfumato.columns import Floats, Ints

START, SHRINK, EVERY = 1.0, 0.84, 20  # the step: α = 1·0.84^⌊t/20⌋
HALVINGS = 50
DUPLICATED = (0.5, 1.0)  # the part of the gap closed by duplicating, in even and in odd rounds


@dataclass(frozen=True, eq=False)
class Target:
    """Whole counts that records shall have in some of their columns, by the columns' numbers."""

    axes: tuple[int, ...]
    counts: Ints


def gradually_updated(
    codes: npt.NDArray[Any], targets: Sequence[Target], rounds: int, rng: np.random.Generator
) -> Floats:
    """Change records, a column for each row of `codes`, towards the targets, in place; gives back the error by round.

    The error is the mean over the targets of Σ|count − target| / records: before, and after each round.
    """
    n = codes.shape[1]
    axes = [np.array(t.axes) for t in targets]
    shapes = [np.array(t.counts.shape) for t in targets]
    counts = [np.ascontiguousarray(t.counts.reshape(-1)) for t in targets]
    cell, freed, copied = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    state = rng.integers(1, 2**63, 1).astype(np.uint64)

    def errors() -> Floats:
        gaps = np.array([_gap(codes, *t, cell) for t in zip(axes, shapes, counts, strict=True)], np.float64)
        return np.asarray(gaps / max(1, n))

    now = errors()
    history = [float(now.mean())]
    for t in range(rounds):
        step = START * SHRINK ** (t // EVERY)
        for i in np.argsort(-now, kind="stable"):
            _update(codes, axes[i], shapes[i], counts[i], step, DUPLICATED[t % 2], state, cell, freed, copied)
        now = errors()
        history.append(float(now.mean()))
    return np.array(history)


# ---------------------------------------------------------------------- kernels


@njit(cache=True, nogil=True)
def _cells(codes: Any, axes: Any, shape: Any, cell: Any) -> Any:
    """The number of each record's cell, and how many records each has."""
    size = 1
    for k in range(len(axes)):
        size *= shape[k]
    count = np.zeros(size, np.int64)
    for j in range(codes.shape[1]):
        v = 0
        for k in range(len(axes)):
            v = v * shape[k] + codes[axes[k], j]
        cell[j] = v
        count[v] += 1
    return count


@njit(cache=True, nogil=True)
def _gap(codes: Any, axes: Any, shape: Any, target: Any, cell: Any) -> Any:
    """How many records are in excess or lacking, over all cells."""
    return np.abs(_cells(codes, axes, shape, cell) - target).sum()


@njit(cache=True, nogil=True, inline="always")
def _random(state: Any) -> Any:
    """A number from 0 to below 1 (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def _amounts(count: Any, target: Any, step: Any, state: Any) -> Any:
    """For each cell how many records it shall get, and how many it shall give: about as many in all."""
    gets, gives = np.zeros(len(count), np.int64), np.zeros(len(count), np.int64)
    wanted = 0
    for v in range(len(count)):
        s, t = count[v], target[v]
        if s < t:
            most = step * t if s == 0 else step * s
            gets[v] = min(t - s, np.int64(most + _random(state)))
            wanted += gets[v]
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        given = 0.0
        for v in range(len(count)):
            if count[v] > target[v]:
                given += min(float(count[v] - target[v]), middle * count[v])
        if given < wanted:
            low = middle
        else:
            high = middle
        if abs(given - wanted) < 1:
            break
    for v in range(len(count)):
        if count[v] > target[v]:
            gives[v] = min(count[v] - target[v], np.int64(high * count[v] + _random(state)))
    return gets, gives


@njit(cache=True, nogil=True)
def _shuffle(these: Any, n: Any, state: Any) -> None:
    for i in range(n - 1, 0, -1):
        j = np.int64(_random(state) * (i + 1))
        these[i], these[j] = these[j], these[i]


@njit(cache=True, nogil=True)
def _update(
    codes: Any,
    axes: Any,
    shape: Any,
    target: Any,
    step: Any,
    share: Any,
    state: Any,
    cell: Any,
    freed: Any,
    copied: Any,
) -> None:
    """One marginal, one step; `cell`, `freed` and `copied` are room for a number each record."""
    count = _cells(codes, axes, shape, cell)
    gets, gives = _amounts(count, target, step, state)
    twice = np.zeros(len(count), np.int64)  # records of a cell to be copied
    for v in range(len(count)):
        twice[v] = min(count[v], np.int64(share * gets[v] + _random(state)), gets[v])
    left = count.copy()
    open_ = gives + twice  # a cell gives records or gets them, never both
    free, copies = 0, 0
    for j in range(codes.shape[1]):  # of each cell so many at random: of those left, one in as many as are open
        v = cell[j]
        if open_[v] > 0 and _random(state) * left[v] < open_[v]:
            open_[v] -= 1
            if gives[v] > 0:
                freed[free] = j
                free += 1
            else:
                copied[copies] = j
                copies += 1
        left[v] -= 1
    _shuffle(freed, free, state)
    at = 0
    for v in range(len(count)):  # cells without records first: nothing else can fill them
        if count[v] == 0:
            at = _replace(codes, axes, shape, v, gets[v], freed, at, free)
    if copies > free - at:
        _shuffle(copied, copies, state)
        copies = free - at
    for i in range(copies):
        for column in range(codes.shape[0]):
            codes[column, freed[at]] = codes[column, copied[i]]
        at += 1
    for v in range(len(count)):
        if count[v] > 0 and gets[v] > twice[v]:
            at = _replace(codes, axes, shape, v, gets[v] - twice[v], freed, at, free)


@njit(cache=True, nogil=True)
def _replace(codes: Any, axes: Any, shape: Any, v: Any, times: Any, freed: Any, at: Any, free: Any) -> Any:
    """Give so many freed records the values of a cell, as far as they go; where the next freed one stands."""
    for _ in range(min(times, free - at)):
        rest = v
        for k in range(len(axes) - 1, -1, -1):
            codes[axes[k], freed[at]] = rest % shape[k]
            rest //= shape[k]
        at += 1
    return at
