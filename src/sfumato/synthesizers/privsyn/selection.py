"""Which pairs of columns are worth measuring: leaving a pair out costs its dependence, measuring it costs noise.

A measured pair of c cells has noise of L1 norm about c·σ_i·√(2/π), and with shares of the budget ∝ c^(2/3), which
make the sum least, all measured pairs together have σ·√(2/π)·(Σ c^(2/3))^(3/2), where σ is the noise of a single
question that takes the whole share. A pair that is not measured is taken for independent, which is wrong by its
dependence, in records. The greedy search adds pairs while the sum of both falls (PrivSyn, Algorithm 1).
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.columns import Floats, Ints


def weights(cells: Ints | Floats) -> Floats:
    """The shares of the budget that make the noise of measured marginals least, relatively."""
    return np.asarray(cells, float) ** (2 / 3)


def greedy(dependence: Floats, cells: Ints, sigma: float) -> list[int]:
    """The numbers of the pairs to measure, in the order in which they pay off.

    >>> greedy(np.array([500.0, 900.0, 3.0]), np.array([10, 10, 10]), sigma=5.0)
    [1, 0]
    """
    left, weight = np.maximum(dependence, 0.0), weights(cells)
    open_ = np.ones(len(left), bool)
    chosen: list[int] = []
    lost, used = float(left.sum()), 0.0
    error = lost
    while open_.any():
        candidates = np.flatnonzero(open_)
        noise = sigma * math.sqrt(2 / math.pi) * (used + weight[candidates]) ** 1.5
        errors = noise + lost - left[candidates]
        best = int(np.argmin(errors))
        if errors[best] >= error:
            break
        pick = int(candidates[best])
        chosen.append(pick)
        open_[pick] = False
        error, lost, used = float(errors[best]), lost - float(left[pick]), used + float(weight[pick])
    return chosen
