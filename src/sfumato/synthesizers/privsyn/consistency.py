"""Noisy marginals made to agree: what they share is the same in all of them, and no count is negative.

For each set of shared columns, the smaller first (none at all: the totals), the weighted mean of the projections is
taken for true, with weights that make its variance least, and each marginal is moved onto it evenly (Qardaji, Yang and
Li 2014; PrivSyn, section 4.2). That is in turns with the projection to non-negative counts of the same total: two
convex sets, so that the turns converge to where they meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.columns import Floats

ROUNDS = 150
CLOSE = 1e-6  # of the total: negative counts that are left when it stops

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Measured:
    """Counts of a marginal over columns that go by numbers, increasing; `precision` is 1/σ² of a cell."""

    axes: Axes
    values: Floats
    precision: float

    def sums(self, axes: Axes) -> Floats:
        """Its projection on some of its columns."""
        return np.asarray(self.values.sum(axis=tuple(i for i, a in enumerate(self.axes) if a not in axes)))


def consistent(tables: Sequence[Measured]) -> list[Measured]:
    """The same marginals with equal projections and no negative counts."""
    shared = _shared([t.axes for t in tables])
    out = list(tables)
    for _ in range(ROUNDS):
        for axes in shared:
            _agree(out, axes)
        total = max((float(t.values.sum()) for t in out), default=0.0)
        if all(-float(np.minimum(t.values, 0).sum()) <= CLOSE * total for t in out):
            break
        out = [replace(t, values=without_negatives(t.values)) for t in out]
    return [replace(t, values=np.maximum(t.values, 0.0)) for t in out]


def without_negatives(values: Floats) -> Floats:
    """The nearest counts without negatives of the same total: a constant is taken from all, what falls below 0 is 0.

    >>> without_negatives(np.array([5.0, 1.0, -2.0])).tolist()
    [4.0, 0.0, 0.0]
    """
    total = float(values.sum())
    if total <= 0:
        return np.zeros_like(values)
    if float(values.min()) >= 0:
        return values
    down = np.sort(values, axis=None)[::-1]
    over = (np.cumsum(down) - total) / np.arange(1, len(down) + 1)
    last = np.flatnonzero(down > over)[-1]
    return np.asarray(np.maximum(values - over[last], 0.0))


def _shared(sets: Sequence[Axes]) -> list[Axes]:
    """Intersections of the sets, and of those, the smaller first: all that two of them have in common."""
    found: set[frozenset[int]] = {frozenset()}
    distinct = {frozenset(s) for s in sets}
    found |= {frozenset(s) for s in sets if list(sets).count(s) > 1}
    new = {a & b for a in distinct for b in distinct if a != b}
    while new - found:
        found |= new
        new = {a & b for a in new for b in found}
    return sorted((tuple(sorted(s)) for s in found), key=lambda s: (len(s), s))


def _agree(tables: list[Measured], axes: Axes) -> None:
    """Move every table that has these columns onto the mean of their projections, in place of the list."""
    mine = [i for i, t in enumerate(tables) if set(axes) <= set(t.axes)]
    sums = [tables[i].sums(axes) for i in mine]
    each = [tables[i].values.size / s.size for i, s in zip(mine, sums, strict=True)]
    trust = [tables[i].precision / g for i, g in zip(mine, each, strict=True)]
    target = sum(w * s for w, s in zip(trust, sums, strict=True)) / math.fsum(trust)
    for i, s, g in zip(mine, sums, each, strict=True):
        t = tables[i]
        change = np.asarray((target - s) / g)
        spread = change.reshape([n if a in axes else 1 for a, n in zip(t.axes, t.values.shape, strict=True)])
        tables[i] = replace(t, values=t.values + spread)
