"""Noisy marginals made to agree, tables fitted to them, whole counts that keep them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.synthesizers.privsyn.consistency import Measured, consistent, without_negatives
from sfumato.synthesizers.privsyn.fitting import fitted
from sfumato.synthesizers.privsyn.rounding import adding_to, whole

SHAPE = (3, 4, 2, 5)
SETS = [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (1, 2, 3), (0, 2)]


def noisy(sigma: float, seed: int, sets: list[tuple[int, ...]] = SETS) -> tuple[np.ndarray, list[Measured]]:
    rng = np.random.default_rng(seed)
    truth = rng.gamma(0.4, 50, SHAPE)
    tables = []
    for axes in sets:
        sums = truth.sum(axis=tuple(i for i in range(4) if i not in axes))
        level = sigma * rng.uniform(0.5, 2)
        tables.append(Measured(axes, sums + level * rng.standard_normal(sums.shape), level**-2))
    return truth, tables


@given(sigma=st.floats(0.1, 100), seed=st.integers(0, 1000))
@settings(max_examples=25)
def test_shared_marginals_are_equal_and_nothing_is_negative(sigma: float, seed: int) -> None:
    """Any two marginals have the same projection on what they share, to a millionth of the total."""
    tables = consistent(noisy(sigma, seed)[1])
    total = max(1.0, tables[0].values.sum())
    for a, b in itertools.combinations(tables, 2):
        shared = tuple(sorted(set(a.axes) & set(b.axes)))
        np.testing.assert_allclose(a.sums(shared), b.sums(shared), atol=1e-5 * total)
    assert all((t.values >= 0).all() for t in tables)


def test_what_agrees_already_is_left_alone() -> None:
    """Marginals of one table come back as they were."""
    _, tables = noisy(0.0 + 1e-12, 3)
    for before, after in zip(tables, consistent(tables), strict=True):
        np.testing.assert_allclose(after.values, before.values, atol=1e-6)


def test_the_mean_is_weighted_by_precision() -> None:
    """A column measured as 10 with σ 1, and as 16 from two cells with σ 1 each (so σ √2), is 12."""
    one = Measured((0,), np.array([10.0, 90.0]), 1.0)
    two = Measured((0, 1), np.array([[8.0, 8.0], [45.0, 45.0]]), 1.0)
    a, b = consistent([one, two])
    assert a.values[0] / a.values[1] < 12.5 / 88
    np.testing.assert_allclose(a.values, b.sums((0,)))
    # totals first: 100 and 106 with variances 2 and 4 make 102; then cells 11 against 14 with variances 1 and 2
    np.testing.assert_allclose(a.values.sum(), 102)
    np.testing.assert_allclose(a.values, [12.0, 90.0])


@pytest.mark.stat
def test_making_marginals_agree_lowers_their_error() -> None:
    """Over 30 random tables the total squared error falls for each kind of marginal (it would have to rise in half)."""
    before, after = np.zeros(len(SETS)), np.zeros(len(SETS))
    for seed in range(30):
        truth, tables = noisy(20, seed)
        for i, (t, c) in enumerate(zip(tables, consistent(tables), strict=True)):
            exact = truth.sum(axis=tuple(a for a in range(4) if a not in t.axes))
            before[i] += ((t.values - exact) ** 2).sum()
            after[i] += ((c.values - exact) ** 2).sum()
    assert (after < before).all()


@given(values=st.lists(st.floats(-100, 100), min_size=1, max_size=20).map(np.array))
def test_without_negatives_is_the_nearest_point_of_the_simplex(values: np.ndarray) -> None:
    """The total stays, nothing is negative, and no random point of the same total is nearer."""
    got = without_negatives(values)
    if values.sum() <= 0:
        assert not got.any()
        return
    assert (got >= 0).all()
    assert got.sum() == pytest.approx(values.sum(), abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = rng.dirichlet(np.ones(len(values))) * values.sum()
        assert np.linalg.norm(got - values) <= np.linalg.norm(other - values) + 1e-6


@pytest.mark.parametrize("sets", [[(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (0, 2), (3,)], [(0, 1, 2), (3,)]])
def test_a_fitted_table_has_its_marginals_and_is_independent_beyond(sets: list[tuple[int, ...]]) -> None:
    """Trees and cycles are fitted; for a tree the table is the product of conditionals."""
    truth, tables = noisy(1e-9, 5, sets)
    joint = fitted(SHAPE, consistent(tables))
    for t in tables:
        rest = tuple(a for a in range(4) if a not in t.axes)
        np.testing.assert_allclose(joint.sum(axis=rest), truth.sum(axis=rest), atol=1e-3 * truth.sum())
    if sets[0] == (0, 1) and sets[2] == (2, 3):
        a, b, c = (truth.sum(axis=r) for r in ((2, 3), (0, 3), (0, 1)))
        product = np.einsum("ab,bc,cd->abcd", a / a.sum(0), b / b.sum(0), c)
        np.testing.assert_allclose(joint, product, atol=1e-6 * truth.sum())


@given(seed=st.integers(0, 500), size=st.floats(0.05, 30))
@settings(max_examples=25)
def test_whole_counts_keep_the_sums(seed: int, size: float) -> None:
    """Each cell is one of its two neighbours; sums of many cells are off by a few records at most."""
    rng = np.random.default_rng(seed)
    values = rng.gamma(0.5, size, (20, 15, 6))
    got = whole(values, [(0, 1), (1, 2), (2,)], rng)
    assert (np.abs(got - values) < 1).all()
    for axes in ((0, 1), (1, 2), (2,)):
        rest = tuple(a for a in range(3) if a not in axes)
        assert np.abs(got.sum(axis=rest) - values.sum(axis=rest)).max() < 4
    assert abs(got.sum() - values.sum()) < 4


@given(total=st.integers(0, 300), counts=st.lists(st.integers(0, 20), min_size=1, max_size=9).map(np.array))
def test_counts_are_brought_to_a_total(total: int, counts: np.ndarray) -> None:
    """Exactly, without negatives."""
    got = adding_to(total, counts, np.random.default_rng(1))
    assert got.sum() == total
    assert (got >= 0).all()
