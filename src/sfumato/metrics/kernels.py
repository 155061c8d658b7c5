"""The loops over records, compiled: import this module where a metric scores, not before, for numba is heavy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


@njit(cache=True)
def add_cells(
    codes: Array, group: Array, members: Array, strides: Array, starts: Array, counts: Array, totals: Array
) -> None:
    """Count a batch: for each record, its cell in every set of columns, in the row of its group.

    `codes` has a row for each column; set m takes the rows `members[m]` with these `strides`, its cells begin at
    `starts[m]`. Records are taken group after group, so that one group's cells stay in the cache.
    """
    n = group.size
    room = np.zeros(totals.size + 1, np.int64)
    for i in range(n):
        room[group[i] + 1] += 1
    for g in range(totals.size):
        totals[g] += room[g + 1]
        room[g + 1] += room[g]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[room[group[i]]] = i
        room[group[i]] += 1
    record = np.empty(codes.shape[0], np.int64)
    sets, k = members.shape
    for at in range(n):
        i = order[at]
        g = group[i]
        for c in range(record.size):
            record[c] = codes[c, i]
        for m in range(sets):
            cell = starts[m]
            for j in range(k):
                cell += record[members[m, j]] * strides[m, j]
            counts[g, cell] += 1


@njit(cache=True)
def distances(p: Array, n: Array, q: Array, m: Array, starts: Array, out: Array) -> None:
    """For each group and set, the L1 distance of the shares; 2 where one side is empty, NaN where both are."""
    for g in range(n.size):
        for s in range(starts.size - 1):
            if n[g] == 0 or m[g] == 0:
                out[g, s] = np.nan if n[g] == m[g] else 2.0
                continue
            total = 0.0
            for c in range(starts[s], starts[s + 1]):
                if p[g, c] != 0 or q[g, c] != 0:
                    total += abs(p[g, c] / n[g] - q[g, c] / m[g])
            out[g, s] = total


@njit(cache=True)
def add_vectors(codes: Array, starts: Array, persons: Array, first: int, vectors: Array) -> None:
    """Count a batch for the persons from number `first` on: one record, one more in its bin of each column."""
    for i in range(persons.size):
        row = persons[i] - first
        if row < 0 or row >= vectors.shape[0]:
            continue
        for c in range(codes.shape[0]):
            if codes[c, i] < starts[c + 1] - starts[c]:
                vectors[row, starts[c] + codes[c, i]] += 1


@njit(cache=True)
def add_alike(vectors: Array, examples: Array, tolerances: Array, out: Array) -> None:
    """For each example, how many vectors differ from it by no more than its tolerance in every entry."""
    for row in range(vectors.shape[0]):
        for e in range(examples.shape[0]):
            alike = True
            for c in range(vectors.shape[1]):
                if abs(vectors[row, c] - examples[e, c]) > tolerances[e, c]:
                    alike = False
                    break
            if alike:
                out[e] += 1


@njit(cache=True)
def add_matches(values: Array, used: Array, low: Array, high: Array, accepted: Array, first: Array, out: Array) -> None:
    """For each query, how many records meet it.

    `used[q]` lists columns, -1 after the last. A number has to lie in `low[q, c]`..`high[q, c]`, or be missing where
    these are; for any other column (`first[c]` ≥ 0) `accepted[q]` says, from there on, which codes will do.
    """
    for i in range(values.shape[1]):
        for q in range(used.shape[0]):
            meets = True
            for c in used[q]:
                if c < 0:
                    break
                x = values[c, i]
                if first[c] >= 0:
                    meets = accepted[q, first[c] + int(x)] != 0
                elif np.isnan(low[q, c]):
                    meets = np.isnan(x)
                else:
                    meets = low[q, c] <= x <= high[q, c]
                if not meets:
                    break
            if meets:
                out[q] += 1


@njit(cache=True)
def hashes(values: Array, seed: int) -> Array:
    """A hash for each record, the same wherever and in whatever order it is read."""
    bits = values.view(np.uint64)
    out = np.empty(values.shape[1], np.uint64)
    for i in range(values.shape[1]):
        h = np.uint64(seed)
        for c in range(values.shape[0]):
            h = (h ^ bits[c, i]) + np.uint64(0x9E3779B97F4A7C15)
            h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            h = h ^ (h >> np.uint64(31))
        out[i] = h
    return out
