"""Moving along one hierarchy alone: the best prices of every tree by dynamic programming, in floating point.

Every edge costs s = w/(2t), for a hierarchy of depth t. The prices of an optimum lie on the same grid as those of a
chain. A node's function F[price] is what its bins are worth at best if it has that price; the parent's is the sum over
its children of the maximum of theirs within s. At the root the maximum is the answer. Groups of a hierarchy without
levels need no grid where adding and removing cost 1: all bins below the root are best at prices from 0 to 1, or from −1
to 0, and so the value is the larger of Σ max(P−high, 0) and Σ max(low−P, 0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any


@njit(cache=True, nogil=True)
def stars(P: Array, low: Array, high: Array) -> float:
    """The sum over groups of bins, a line each, that have one root and a cost of 1."""
    total = 0.0
    for i in range(P.shape[0]):
        excess, lack = 0.0, 0.0
        for j in range(P.shape[1]):
            excess += max(0.0, float(P[i, j] - high[i, j]))
            lack += max(0.0, float(low[i, j] - P[i, j]))
        total += max(excess, lack)
    return total


@njit(cache=True, nogil=True)
def trees(
    P: Array, low: Array, high: Array, prices: Array, near: int, u: Array, v: Array, nodes: int, order: Array
) -> float:
    """The sum over trees, a line each; edges go from children u to parents v, and the last node is the root."""
    size, bins = prices.size, P.shape[1]
    F = np.zeros((nodes, size))
    total = 0.0
    for i in range(P.shape[0]):
        F[:] = 0
        for b in range(bins):
            c = order[b]
            above, below = float(P[i, c] - high[i, c]), float(P[i, c] - low[i, c])
            if above == 0 and below == 0:
                continue
            for t in range(size):
                F[b, t] = prices[t] * (above if prices[t] > 0 else below)
        for e in range(u.size):
            child, parent = F[u[e]], F[v[e]]
            for t in range(size):
                best = child[t]
                for s in range(max(0, t - near), min(size, t + near + 1)):
                    best = max(best, child[s])
                parent[t] += best
        total += F[nodes - 1].max()
    return total
