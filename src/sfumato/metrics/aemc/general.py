"""Moving along two or more axes: the primal-dual method on whole numbers, begun from the prices of a smaller table.

**Whole numbers.** Costs are multiplied by the lowest common multiple of their denominators, counts by a power of ten or
two if they need it. 32 bits are enough for most; where they are not, 64.

**Begun warm.** A table summed over one axis has the same arcs along the others. Its best prices, copied to all bins of
that axis, differ by no more than the costs allow, and are near the best ones where noise outweighs what has moved.

**Or in stages.** Where it does not, most counts have not far to go. Adding and removing cost an eighth at first, so
that only near moves pay; the optimum of that is where the next stage, at twice the cost, begins: its prices are within
the bounds, and what was removed or added is excess or lack once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import RunError
from sfumato.metrics.aemc.axis import Ints, Steps
from sfumato.metrics.aemc.layout import Layout, build

SHIFT, WIDE = 12, 20  # bits for the number of arcs on a way
_WORTH = 0.05  # what prices have to prove, of the cost of moving nothing, to begin with them
_HALVES = 3  # how often the cost of a count is halved to begin with, without prices

Array = Any
Graph = tuple[Steps, Ints] | None


@dataclass(frozen=True, eq=False)
class Solved:
    """Prices, what cells end with and what flows, of components of one table; all of it optimal."""

    layout: Layout
    p: Array
    q: Array
    between: Array
    """What flows over each edge between rows, at each bin of the inner axis."""
    within: Array
    """What flows over each edge within a row."""
    off: int
    """How much is removed and added."""
    rounds: int

    @property
    def prices(self) -> Array:
        """The prices of the cells, a line a row."""
        return self.p[: self.layout.rows, : self.layout.bins]


def solve(
    axes: Sequence[Graph], P: Array, low: Array, high: Array, top: int, warm: bool = True, prices: Array | None = None
) -> Solved:
    """An optimum; the dimensions of the arrays are the axes, the last one of which counts can move along."""
    total = int(P.sum()) + int(low.sum())
    for shift, kind in ((SHIFT, np.int32), (SHIFT, np.int64), (WIDE, np.int64)):
        bits = 30 if kind is np.int32 else 62
        largest = max([top, *(int(g[1].max(initial=0)) for g in axes if g is not None)])
        if total >= 2**bits or int(high.max(initial=0)) >= 2**bits or (2 * largest + 2) << shift >= 2 ** (bits - 1):
            continue
        begun = prices if prices is not None else (_begin(axes, P, low, high, top) if warm else None)
        if (found := _attempt(axes, P, low, high, top, begun, shift, kind)) is not None:
            return found
    raise RunError("the counts or the costs are too large to be solved exactly in 64 bits; scale them down")


def _begin(axes: Sequence[Graph], P: Array, low: Array, high: Array, top: int) -> Array | None:
    """The prices of the table summed over one axis, for every bin of that axis; None where they say too little.

    A sample of the truth, summed, is the truth: its excess and its lack are then of the same place, and prices that
    know nothing of that are in the way.
    """
    movable = [i for i, g in enumerate(axes[:-1]) if g is not None and P.shape[i] > 1]
    if not movable:
        return None
    out = next((i for i in movable if not axes[i][0].hubs), movable[0])  # type: ignore[index]
    rest = [g for i, g in enumerate(axes) if i != out]
    summed = P.sum(axis=out)
    found = solve(rest, summed, low.sum(axis=out), high.sum(axis=out), top)
    prices = found.prices.reshape(summed.shape).astype(float)
    worth = float((np.maximum(prices, 0) * (summed - high.sum(axis=out))).sum())
    worth += float((np.maximum(-prices, 0) * (low.sum(axis=out) - summed)).sum())
    off = float(np.maximum(np.maximum(P - high, low - P), 0).sum())
    if worth < _WORTH * top * off:
        return None
    return np.broadcast_to(np.expand_dims(found.prices.reshape(summed.shape), out), P.shape)


def _attempt(
    axes: Sequence[Graph], P: Array, low: Array, high: Array, top: int, begun: Array | None, shift: int, kind: Any
) -> Solved | None:
    """An optimum in numbers of a kind; None where a way has more arcs than the kind can count."""
    from sfumato.metrics.aemc.primal_dual import DONE, extend, take_excess

    lay = build(axes, P.shape)
    shape, all_shape = (lay.rows, lay.bins), (lay.all_rows, lay.width)
    q, low, high = (a.reshape(shape).astype(kind) for a in (P, low, high))
    p, D = np.zeros(all_shape, kind), np.empty(all_shape, kind)
    inner = axes[-1]
    assert inner is not None
    F, G = np.zeros((len(lay.edge_u), lay.bins), kind), np.zeros((lay.rows, len(inner[0].u)), kind)
    stamps = tuple(np.zeros(n, np.int64) for n in (lay.all_rows, lay.all_rows, len(lay.edge_u), len(lay.edge_u)))
    far = 2 ** (30 if kind is np.int32 else 61)
    if begun is not None:
        p[: lay.rows, : lay.bins] = begun.reshape(shape)
        extend(lay, p, D, F, G, shift, stamps, far)
    active, current = np.empty(math.prod(shape), np.int64), np.empty(all_shape, np.int32)
    path = tuple(np.empty(2**shift + 1, np.int64) for _ in range(4))
    rounds = 0
    halves = [top // 2**i for i in range(_HALVES, 0, -1) if begun is None]
    for most in [half for half in halves if half for _ in range(2)] + [top, top]:
        how, more = take_excess(lay, p, q, low, high, F, G, D, most, shift, far, stamps, active, current, path)
        if how != DONE:
            return None
        rounds += more
        for a in (p, q, low, high, F, G):
            np.negative(a, out=a)
        low, high = high, low
    off = sum(int(np.maximum(a, 0).sum(dtype=np.int64)) for a in (q - high, low - q))
    return Solved(lay, p, q, F, G, off, rounds)
