"""Values by key, each as often as it was seen: a table to draw from, with coarser keys to fall back on.

A key is a number made of parts, coarse to fine, so that all keys that begin alike stand side by side in a sorted list:
the rows of a coarser key are a range, and no table of its own. A draw is two binary searches: for the range of the key
(in the neighbourhood that its first parts lead to), and for the value in the running total of the counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from sfumato.columns import Floats, Ints

MOST = 1 << 62  # keys there may be
_HEAD = 1 << 20  # beginnings of keys whose place is remembered


@dataclass(frozen=True)
class Level:
    """The beginnings of keys, up to some part: which there are, where their rows start, where to look for one."""

    keys: Ints
    starts: Ints
    head: Ints
    ratio: int


@dataclass(frozen=True, eq=False)
class Choices:
    """Rows of (key, value, count), sorted; `sizes` are those of the parts of a key.

    >>> rows = Choices.of((2, 3), [np.array([0, 0, 1]), np.array([2, 2, 0])], np.array([5, 6, 7]), np.array([9, 1, 3]))
    >>> rows.draw([np.array([1, 0, 1]), np.array([0, 2, 2])], np.array([0.5, 0.95, 0.5]), (2,)).tolist()
    [7, 6, -1]
    """

    sizes: tuple[int, ...]
    keys: Ints
    values: Ints
    counts: Ints

    @classmethod
    def of(cls, sizes: Sequence[int], parts: Sequence[Ints], values: Ints, counts: Ints) -> Choices:
        """Rows in any order, some of them perhaps alike."""
        keys = _joined(sizes, parts, len(sizes), len(values))
        order = np.lexsort((values, keys))
        keys, values = keys[order], values[order]
        fresh = np.ones(len(keys), bool)
        fresh[1:] = (np.diff(keys) != 0) | (np.diff(values) != 0)
        first = np.flatnonzero(fresh)
        summed = np.add.reduceat(counts[order], first) if len(first) else counts[:0]
        return cls(tuple(sizes), keys[first], values[first].astype(np.int64), summed.astype(np.int64))

    @classmethod
    def none(cls, sizes: Sequence[int]) -> Choices:
        """No rows."""
        empty = np.zeros(0, np.int64)
        return cls(tuple(sizes), empty, empty, empty)

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def _running(self) -> Ints:
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])

    @cached_property
    def _levels(self) -> dict[int, Level]:
        return {}

    def level(self, depth: int) -> Level:
        """The keys' first parts, up to this many."""
        if depth not in self._levels:
            keys = self.keys // math.prod(self.sizes[depth:])
            first = np.flatnonzero(np.diff(keys, prepend=-1))
            short = max(d for d in range(depth + 1) if math.prod(self.sizes[:d]) <= _HEAD)
            ratio = math.prod(self.sizes[short:depth])
            beginnings = np.arange(math.prod(self.sizes[:short]) + 1)
            head = np.searchsorted(keys[first] // ratio, beginnings)
            self._levels[depth] = Level(keys[first], np.append(first, len(keys)), head, ratio)
        return self._levels[depth]

    def totals(self) -> Ints:
        """The count of each value of the first part, over all its rows."""
        out = np.zeros(self.sizes[0], np.int64)
        np.add.at(out, self.keys // math.prod(self.sizes[1:]), self.counts)
        return out

    def draw(self, parts: Sequence[Ints], luck: Floats, depths: Sequence[int]) -> Ints:
        """A value for each key: by the first of these depths at which its beginning is known, -1 where none is.

        `luck` is a number from 0 to below 1 for each.
        """
        find, pick = _kernels()
        out = np.full(len(luck), -1)
        todo = np.arange(len(luck))
        for depth in depths:
            level = self.level(depth)
            wanted = _joined(self.sizes, [p[todo] for p in parts[:depth]], depth, len(todo))
            at = find(level.keys, level.head, level.ratio, wanted)
            there = at >= 0
            here, at = todo[there], at[there]
            out[here] = pick(self._running, self.values, level.starts, at, luck[here])
            todo = todo[~there]
            if not len(todo):
                break
        return out

    def profile(self, key: int) -> tuple[Ints, Ints]:
        """The values and counts where the first part is this."""
        level = self.level(1)
        at = int(np.searchsorted(level.keys, key))
        if at == len(level.keys) or level.keys[at] != key:
            return self.values[:0], self.counts[:0]
        rows = slice(int(level.starts[at]), int(level.starts[at + 1]))
        return self.values[rows], self.counts[rows]

    # ------------------------------------------------------------------ the file

    def to_arrays(self, name: str) -> dict[str, Any]:
        """The arrays of its file: steps between keys, values and counts in the smallest types that hold them."""
        made = {"steps": np.diff(self.keys, prepend=0), "values": self.values, "counts": self.counts}
        return {f"{name}_{part}": a.astype(np.min_scalar_type(int(a.max(initial=0)))) for part, a in made.items()}

    @staticmethod
    def shapes(name: str, rows: int) -> dict[str, tuple[int, ...]]:
        """The shapes of these."""
        return {f"{name}_{part}": (rows,) for part in ("steps", "values", "counts")}

    @classmethod
    def of_arrays(cls, name: str, sizes: Sequence[int], values: int, arrays: Mapping[str, Any]) -> Choices:
        """The choices of a file; a ValueError unless its keys, values and counts can be."""
        steps, found, counts = (arrays[f"{name}_{part}"] for part in ("steps", "values", "counts"))
        if any(a.dtype.kind != "u" for a in (steps, found, counts)) or not 0 < math.prod(sizes) <= MOST:
            raise ValueError(f"{name} holds no whole numbers from zero on")
        if len(steps) and not (
            steps.sum(dtype=float) < 1.01 * math.prod(sizes)  # so that the exact sum is within 64 bits
            and int(np.cumsum(steps, dtype=np.int64)[-1]) < math.prod(sizes)
            and int(found.max()) < values
            and int(counts.min()) > 0
            and counts.sum(dtype=float) < 2.0**52
        ):
            raise ValueError(f"{name} has a key, a value or a count that cannot be")
        return cls(tuple(sizes), np.cumsum(steps, dtype=np.int64), found.astype(np.int64), counts.astype(np.int64))


def _joined(sizes: Sequence[int], parts: Sequence[Ints], depth: int, rows: int) -> Ints:
    """Keys of their first parts; without a part all are 0."""
    keys = np.zeros(rows, np.int64)
    for size, part in zip(sizes[:depth], parts[:depth], strict=True):
        keys = keys * size + part
    return keys


@cache
def _kernels() -> tuple[Any, Any]:
    """The two searches, compiled when they are first used."""
    from sfumato.models import searches

    return searches.find, searches.pick
