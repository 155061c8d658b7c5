"""A Gaussian mixture over points, and the rule that says to which of its parts a point belongs.

scikit-learn fits it on scaled points; what is kept is the rule alone, with the scaler folded in, so that the two cannot
be parted: part k of a point x has the score bias_k − ‖shift_k + x·slope_k‖², and the point belongs to the part with the
highest score, the first of them where several are equal. Up to a constant that is twice the logarithm of the density
times the weight of the part. All numbers are whole units (slope and shift of 2^-20, bias of 2^-40), so that the rule is
the same rule in a file, in numpy and in SQL.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.columns import Floats, Ints

FINE = 1 << 20
MOST = 1 << 52  # of a number: beyond, doubles are not exact
_POINTS = 25_000  # that a mixture is fitted on; more change nothing that can be seen
_CHUNK = 1 << 18
_LEAST_VARIANCE = 1e-3  # of a scaled coordinate: areas and hours are few, and a part must not shrink to one of them


@dataclass(frozen=True, eq=False)
class Mixture:
    """The rule: bias (K), shift (K × d), slope (K × d × d: coordinate of the point, then of the part)."""

    bias: Ints
    shift: Ints
    slope: Ints

    def __len__(self) -> int:
        return len(self.bias)

    def label(self, points: Floats) -> Ints:
        """The part that each point belongs to.

        >>> rule = Mixture(np.array([0, 0]), np.array([[0], [-FINE]]), np.full((2, 1, 1), FINE))
        >>> rule.label(np.array([[0.2], [0.9]])).tolist()
        [0, 1]
        """
        out = np.empty(len(points), np.int64)
        for first in range(0, len(points), _CHUNK):
            some = points[first : first + _CHUNK]
            scores = [self._score(some, k) for k in range(len(self))]
            out[first : first + _CHUNK] = np.argmax(scores, axis=0)
        return out

    def _score(self, points: Floats, k: int) -> Floats:
        away = self.shift[k] + points @ self.slope[k].astype(float)
        return np.asarray(self.bias[k] - (away * away).sum(axis=1))

    def order(self, parts: Ints) -> Mixture:
        """The same with its parts in another order."""
        return Mixture(self.bias[parts], self.shift[parts], self.slope[parts])

    def to_arrays(self) -> dict[str, Any]:
        """The arrays of its file."""
        return {"bias": self.bias, "shift": self.shift, "slope": self.slope}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any]) -> Mixture:
        """The rule of a file."""
        made = cls(*(arrays[name].astype(np.int64) for name in ("bias", "shift", "slope")))
        if any((np.abs(a) > MOST).any() for a in (made.bias, made.shift, made.slope)):
            raise ValueError("a number of the mixture is too large")
        return made


def fit_mixture(points: Floats, parts: int, seed: int) -> Mixture:
    """The mixture of so many Gaussians that describes the points, whatever their order."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    points = points[np.lexsort(points.T)]
    points = points[np.linspace(0, len(points) - 1, min(_POINTS, len(points))).astype(np.int64)]
    middle, scale = points.mean(axis=0), points.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # more rounds would move no person that can be seen
        found = GaussianMixture(parts, reg_covar=_LEAST_VARIANCE, random_state=seed, max_iter=200).fit(
            (points - middle) / scale
        )
    factor = found.precisions_cholesky_
    slope = factor / scale[:, None]
    shift = -np.einsum("ki,kij->kj", found.means_ + middle / scale, factor)
    volume = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    bias = 2 * (np.log(np.maximum(found.weights_, 1e-300)) + volume)
    return Mixture(_units(bias - bias.max(), FINE * FINE), _units(shift, FINE), _units(slope, FINE))


def _units(numbers: Floats, unit: int) -> Ints:
    return np.clip(np.rint(numbers * unit), -MOST, MOST).astype(np.int64)
