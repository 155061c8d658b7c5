"""Moving along one ordinal axis alone: the best prices of every chain by dynamic programming, in floating point.

Prices of neighbours differ by at most s = w/(k−1). Some best prices lie on the grid of whole steps s counted from −α, 0
or α, since each price is tied by steps to one of these. With F[t] the best value of the bins so far whose last has
price t, the next bin makes it F[t] ← g[t] + max of F over prices within s, where g is what a price is worth at a bin:
price·(P−high) above 0, |price|·(low−P) below. Chains run side by side in blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sfumato.metrics.aemc.axis import Floats

Array = Any


def grid(step: float, alpha: float) -> tuple[Floats, int]:
    """The prices in question, increasing, and how many neighbours on either side are within a step."""
    rest = alpha % step / step
    classes = {round(x, 7) % 1.0 for x in (0.0, rest, 1.0 - rest)}
    most = int(np.ceil(2 * alpha / step)) + 1
    found = np.sort(np.concatenate([x + np.arange(-most, most + 1) * step for x in (0.0, alpha, -alpha)]))
    found = found[np.append(True, np.diff(found) > 1e-7 * step)]
    inside = np.abs(found) <= alpha + 1e-7 * step
    return np.clip(found[inside], -alpha, alpha), len(classes)


@njit(cache=True, nogil=True)
def chains(P: Array, low: Array, high: Array, prices: Array, near: int, lanes: int) -> float:
    """The sum of the best values of all chains; arrays are chains × bins, `near` neighbours are within a step."""
    n, k = P.shape
    size = prices.size
    F, W = np.zeros((size, lanes)), np.zeros((size, lanes))
    above, below = np.zeros(lanes), np.zeros(lanes)
    total = 0.0
    for start in range(0, n, lanes):
        here = min(lanes, n - start)
        for i in range(k):
            for c in range(here):
                above[c] = P[start + c, i] - high[start + c, i]
                below[c] = P[start + c, i] - low[start + c, i]
            if i == 0:
                W[:] = 0
            else:
                for t in range(size):
                    a, b = max(0, t - near), min(size, t + near + 1)
                    for c in range(lanes):
                        W[t, c] = F[a, c]
                    for s in range(a + 1, b):
                        for c in range(lanes):
                            W[t, c] = F[s, c] if F[s, c] > W[t, c] else W[t, c]
            for t in range(size):
                price = prices[t]
                if price > 0:
                    for c in range(lanes):
                        F[t, c] = W[t, c] + price * above[c]
                else:
                    for c in range(lanes):
                        F[t, c] = W[t, c] + price * below[c]
        for c in range(here):
            best = F[0, c]
            for t in range(1, size):
                best = max(best, F[t, c])
            total += best
    return total
