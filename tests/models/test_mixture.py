"""The rule of a mixture: that of scikit-learn, whatever the order of the points."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from sfumato.models.mixture import MOST, Mixture, fit_mixture


def clouds(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Points of three clouds of different shape, on scales that differ, and which cloud each is of."""
    rng = np.random.default_rng(seed)
    middles = np.array([[0, 0, 5], [300, 0.5, 5], [0, 2, 5]])
    which = rng.choice(3, 3000, p=[0.6, 0.3, 0.1])
    points = middles[which] + rng.normal(size=(3000, 3)) * [40, 0.1, 0]
    return points, which


def test_clouds_are_found_whatever_their_scales() -> None:
    """More than 99 % of the points of three clouds are told apart; a coordinate that is constant does no harm."""
    points, which = clouds()
    got = fit_mixture(points, 3, seed=0).label(points)
    pairs = {(int(a), int(b)) for a, b in zip(which, got, strict=True) if ((which == a) & (got == b)).sum() > 50}
    assert len(pairs) == 3
    assert sum(((which == a) & (got == b)).sum() for a, b in pairs) > 0.99 * len(points)


def test_the_rule_is_that_of_the_mixture() -> None:
    """Labels are scikit-learn's own for the same points, scaled: the scaler is in the rule."""
    points, _ = clouds(2)
    points = points[np.lexsort(points.T)]
    scale = np.where(points.std(axis=0) > 0, points.std(axis=0), 1)
    scaled = (points - points.mean(axis=0)) / scale
    reference = GaussianMixture(4, reg_covar=1e-3, random_state=7, max_iter=200).fit(scaled).predict(scaled)
    assert (fit_mixture(points, 4, seed=7).label(points) == reference).mean() > 0.999


def test_the_order_of_the_points_does_not_matter() -> None:
    """The same rule, number by number."""
    points, _ = clouds(4)
    one, two = (fit_mixture(p, 3, seed=0) for p in (points, points[::-1]))
    for name in ("bias", "shift", "slope"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_a_rule_with_a_number_beyond_all_bounds_is_refused() -> None:
    """Numbers of a file must be exact in double precision."""
    arrays = fit_mixture(clouds()[0], 2, seed=0).to_arrays()
    assert len(Mixture.of_arrays(arrays)) == 2
    with pytest.raises(ValueError, match="too large"):
        Mixture.of_arrays(arrays | {"bias": np.array([0, 2 * MOST])})
