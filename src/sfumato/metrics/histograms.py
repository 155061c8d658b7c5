"""Counts of many sets of columns, group by group, in one scan: what the k-marginal and the density metric compare.

The counts are dense and 32 bits each: `groups × cells` of them, for truth and synthetic. Where that is more than
`MOST`, the sets are counted in several scans, so memory has a limit whatever the records, sets and groups are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.columns import Floats, Ints
from sfumato.errors import InputError
from sfumato.metrics.codes import names, opened, sizes, stream
from sfumato.schema import Schema

MOST = 2**26  # counts of one table at a time: 256 MiB
_MOST_SCANS = 64


@dataclass(frozen=True)
class Sets:
    """Sets of columns to count, within groups of the columns `by`; all given as `column` or `column@level`."""

    schema: Schema
    by: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for members in ((*self.by, *s) for s in self.sets):
            if double := [c for i, c in enumerate(names(members)) if c in names(members)[:i]]:
                raise InputError(f"the column '{double[0]}' is compared with itself; name each column once")
        if any(cells > MOST for cells in self._cells()):
            raise InputError(
                f"one set of columns has {max(self._cells()):,} cells in all groups, more than the {MOST:,} that fit; "
                "take fewer columns or coarser levels"
            )
        if len(self._scans()) > _MOST_SCANS:
            raise InputError(
                f"these columns have {sum(self._cells()):,} cells in all groups, more than {_MOST_SCANS} scans count; "
                "take fewer columns or coarser levels"
            )

    @property
    def groups(self) -> int:
        """How many groups there may be."""
        return math.prod(sizes(self.schema, self.by).tolist())

    def _cells(self) -> list[int]:
        """For each set, its counts in all groups."""
        return [self.groups * math.prod(sizes(self.schema, s).tolist()) for s in self.sets]

    def _scans(self) -> list[tuple[tuple[str, ...], ...]]:
        """The sets that are counted together."""
        out: list[list[tuple[str, ...]]] = [[]]
        room = MOST
        for members, cells in zip(self.sets, self._cells(), strict=True):
            if cells > room:
                out.append([])
                room = MOST
            out[-1].append(members)
            room -= cells
        return [tuple(together) for together in out if together]

    def distances(self, truth: Any, *synthetic: Any) -> list[Compared]:
        """For each synthetic table, how far the shares of each set are apart in each group; truth is counted once."""
        from sfumato.metrics.kernels import distances

        found: list[list[Floats]] = [[] for _ in synthetic]
        totals = [np.zeros(0, np.int64)] * len(synthetic)
        for together in self._scans():
            p, n, starts = self._counted(truth, together)
            for i, data in enumerate(synthetic):
                q, totals[i], _ = self._counted(data, together)
                found[i].append(np.empty((self.groups, len(together))))
                distances(p, n, q, totals[i], starts, found[i][-1])
        return [Compared(self, np.concatenate(f, axis=1), n, m) for f, m in zip(found, totals, strict=True)]

    def _counted(self, data: Any, together: Sequence[tuple[str, ...]]) -> tuple[npt.NDArray[np.int32], Ints, Ints]:
        """Counts by group and cell, totals by group, and where the cells of each set begin."""
        from sfumato.metrics.kernels import add_cells

        columns = tuple(dict.fromkeys(a for s in together for a in s))
        size = dict(zip(columns, sizes(self.schema, columns).tolist(), strict=True))
        most = max(map(len, together))
        members, strides = np.zeros((2, len(together), most), np.int64)
        for i, s in enumerate(together):
            members[i, : len(s)] = [columns.index(a) for a in s]
            strides[i, : len(s)] = [math.prod(size[a] for a in s[j + 1 :]) for j in range(len(s))]
        cells = [math.prod(size[a] for a in s) for s in together]
        starts = np.concatenate([[0], np.cumsum(cells)])
        counts = np.zeros((self.groups, int(starts[-1])), np.int32)
        totals = np.zeros(self.groups, np.int64)
        for group, codes in self._batches(data, columns):
            add_cells(codes, group, members, strides, starts, counts, totals)
        return counts, totals, starts

    def _batches(self, data: Any, columns: tuple[str, ...]) -> Iterator[tuple[Ints, Ints]]:
        """The group of each record, and its codes."""
        axes = (*self.by, *columns)
        shape = sizes(self.schema, self.by)
        for codes in stream(opened(data, self.schema, axes), axes):
            group = np.zeros(codes.shape[1], np.int64)
            for code, size in zip(codes, shape, strict=False):
                group = group * size + code
            yield group, codes[len(self.by) :]


@dataclass(frozen=True)
class Compared:
    """Distances (0..2) by group and set, NaN where a group has no record on either side, and the records of each."""

    sets: Sets
    distances: Floats
    truth: Ints
    synthetic: Ints

    @property
    def present(self) -> Ints:
        """The groups that have records on one side or both."""
        return np.flatnonzero((self.truth > 0) | (self.synthetic > 0))

    def codes(self, groups: Ints) -> list[Ints]:
        """The codes of groups in each of the columns they are made of."""
        if not self.sets.by:
            return []
        return [np.asarray(c) for c in np.unravel_index(groups, tuple(sizes(self.sets.schema, self.sets.by)))]
