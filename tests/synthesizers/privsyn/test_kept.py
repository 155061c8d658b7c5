"""Bins that stand out of the noise, the others merged or given up, and split again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.synthesizers.privsyn.kept import Kept

COUNTS = st.lists(st.floats(-50, 500), min_size=1, max_size=30).map(np.array)


def test_what_stands_out_is_kept_and_the_rest_merged() -> None:
    """From three deviations on a bin is kept; the others are one group if they sum to as much."""
    counts = np.array([100.0, 12.0, 11.9, 11.0, 10.0, -3.0])
    kept = Kept.of(counts, sigma=4.0)
    assert kept.groups.tolist() == [0, 1, 2, 2, 2, 2]
    assert kept.merged(counts).tolist() == pytest.approx([100, 12, 29.9])


def test_a_rest_that_drowns_in_noise_is_given_up() -> None:
    """Counts that sum to less than three deviations belong to no group."""
    kept = Kept.of(np.array([100.0, 11.0, -4.0, 3.0, 1.9]), sigma=4.0)
    assert kept.groups.tolist() == [0, -1, -1, -1, -1]
    assert kept.size == 1


def test_where_nothing_stands_out_all_is_one_group() -> None:
    """A column is never left without bins."""
    kept = Kept.of(np.array([1.0, -5.0, 2.0]), sigma=4.0)
    assert kept.groups.tolist() == [0, 0, 0]
    assert kept.split().tolist() == [[1 / 3, 0, 2 / 3]]


@given(counts=COUNTS, sigma=st.floats(0.1, 60))
def test_groups_are_split_among_their_own_bins(counts: np.ndarray, sigma: float) -> None:
    """The shares of a group sum to one and lie on its bins; expanded codes fall on them."""
    kept = Kept.of(counts, sigma)
    split = kept.split()
    np.testing.assert_allclose(split.sum(1), 1)
    for group in range(kept.size):
        assert (kept.groups[split[group] > 0] == group).all()
    codes = np.repeat(np.arange(kept.size), 5)
    assert (kept.groups[kept.expanded(codes, np.random.default_rng(1))] == codes).all()


@pytest.mark.stat
def test_expanding_follows_the_noisy_counts() -> None:
    """A merged bin of counts 1 : 3 is split 1 : 3 (within 5 deviations of 10,000 draws; an error rate of 1e-6)."""
    kept = Kept.of(np.array([100.0, 4.0, 12.0, -1.0]), sigma=4.01)
    kept = Kept(np.array([0, 1, 1, 1]), kept.shares)
    out = kept.expanded(np.ones(10_000, np.int64), np.random.default_rng(3))
    counts = np.bincount(out, minlength=4)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert abs(counts[1] - 2_500) < 5 * np.sqrt(10_000 * 0.25 * 0.75)
