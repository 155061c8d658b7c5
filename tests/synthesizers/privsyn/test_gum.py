"""Gradual update: records that come to have their marginals, and what a single step does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.synthesizers.privsyn.gum import Target, gradually_updated

SIZES = (4, 3, 5, 2, 6)
SETS = [(0, 1), (1, 2), (2, 3), (0, 3), (2, 4), (0, 4), (1, 3, 4)]


def dependent(n: int, seed: int) -> np.ndarray:
    """Records whose columns follow a hidden kind."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 6, n)
    return np.stack([(kind * k // 6 + rng.geometric(0.55, n) - 1) % k for k in SIZES]).astype(np.uint8)


def counted(codes: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    shape = tuple(SIZES[a] for a in axes)
    cells = np.ravel_multi_index([codes[a].astype(int) for a in axes], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def shuffled(codes: np.ndarray, seed: int) -> np.ndarray:
    """The columns each by itself: a start that has the one-way marginals and no dependence."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(row) for row in codes])


@pytest.mark.stat
def test_every_round_lowers_the_error_on_average() -> None:
    """Over 12 tables the mean error falls in every round until it is below 1 % of the records, and stays there."""
    histories = []
    for seed in range(12):
        truth = dependent(4_000, seed)
        targets = [Target(axes, counted(truth, axes)) for axes in SETS]
        made = shuffled(truth, seed + 100)
        histories.append(gradually_updated(made, targets, 30, np.random.default_rng(seed)))
    mean = np.mean(histories, axis=0)
    there = int(np.argmax(mean < 0.01))
    assert 2 <= there <= 8
    assert (np.diff(mean[: there + 1]) < 0).all()
    assert (mean[there:] < 0.01).all()


def test_the_error_is_that_of_the_records() -> None:
    """What is given back is the mean L1 distance of shares, counted anew; sizes and codes stay in their domain."""
    truth = dependent(2_000, 1)
    targets = [Target(axes, counted(truth, axes)) for axes in SETS]
    made = shuffled(truth, 2)
    history = gradually_updated(made, targets, 10, np.random.default_rng(3))
    now = np.mean([np.abs(counted(made, t.axes) - t.counts).sum() / 2_000 for t in targets])
    assert history[-1] == pytest.approx(now)
    assert len(history) == 11
    assert made.shape == truth.shape
    assert all(row.max() < size for row, size in zip(made, SIZES, strict=True))


@given(n=st.integers(1, 400), seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_one_marginal_is_reached_in_a_few_rounds(n: int, seed: int) -> None:
    """From any start, cells without records included, a single target is met to a record or two."""
    rng = np.random.default_rng(seed)
    made = np.stack([rng.integers(0, k, n) for k in SIZES]).astype(np.uint8)
    target = counted(np.stack([rng.integers(0, rng.integers(1, k + 1), n) for k in SIZES]), (0, 2))
    gradually_updated(made, [Target((0, 2), target)], 40, rng)
    assert np.abs(counted(made, (0, 2)) - target).sum() <= 4


def test_records_that_are_right_are_left_alone() -> None:
    """With all targets met no record changes."""
    truth = dependent(1_000, 4)
    made = truth.copy()
    history = gradually_updated(made, [Target(a, counted(truth, a)) for a in SETS], 5, np.random.default_rng(0))
    assert not history.any()
    np.testing.assert_array_equal(made, truth)


def test_a_step_changes_only_what_it_must() -> None:
    """Duplicating copies whole records and replacing writes the marginal's columns: no new pair of other columns."""
    rng = np.random.default_rng(7)
    made = np.stack([np.arange(600) % 2, np.arange(600) % 3, np.arange(600) % 5, np.arange(600) % 2, np.zeros(600)])
    made = made.astype(np.uint8)
    target = np.zeros((4, 3), np.int64)
    target[0], target[3] = [150, 150, 150], [50, 50, 50]
    others = {tuple(row) for row in made[2:].T}
    gradually_updated(made, [Target((0, 1), target)], 1, rng)
    assert {tuple(row) for row in made[2:].T} <= others
    assert counted(made, (0, 1))[3].sum() > 0


@pytest.mark.stat
def test_freed_records_are_chosen_evenly() -> None:
    """Of 60 records in a cell that gives up 20 each is freed equally often (χ² of 59 over 3,000 runs, below 1e-6)."""
    freed = np.zeros(60)
    for seed in range(3_000):
        made = np.zeros((2, 60), np.uint8)
        made[1] = np.arange(60)
        target = Target((0,), np.array([40, 20, 0, 0]))
        gradually_updated(made, [target], 1, np.random.default_rng(seed))
        freed += made[0] == 1
    expected = freed.sum() / 60
    assert freed.sum() == pytest.approx(20 * 3_000)
    assert ((freed - expected) ** 2 / expected).sum() < 59 + 6 * np.sqrt(2 * 59)


def test_equal_seeds_make_equal_records() -> None:
    """The kernels draw from the generator that is given and from nothing else."""
    truth = dependent(500, 1)
    targets = [Target(a, counted(truth, a)) for a in SETS]
    one, two = shuffled(truth, 2), shuffled(truth, 2)
    for made in (one, two):
        gradually_updated(made, targets, 3, np.random.default_rng(5))
    np.testing.assert_array_equal(one, two)
