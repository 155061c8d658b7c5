"""Which pairs are measured, and how they are joined."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.synthesizers.privsyn.combining import combined, few_cells
from sfumato.synthesizers.privsyn.selection import greedy, weights


def error(chosen: list[int], dependence: np.ndarray, cells: np.ndarray, sigma: float) -> float:
    """The published formula, written down once more: Δ·(Σ c^(2/3))^(3/2) / √(πρ) with ρ = μ²/2, and what is lost."""
    rho = (1 / sigma) ** 2 / 2  # Δ = 1
    noise = sum(cells[i] ** (2 / 3) for i in chosen) ** 1.5 / math.sqrt(math.pi * rho)
    return noise + sum(max(0.0, dependence[i]) for i in range(len(dependence)) if i not in chosen)


@given(
    pairs=st.lists(st.tuples(st.floats(-50, 2000), st.integers(1, 400)), min_size=1, max_size=8),
    sigma=st.floats(0.01, 20),
)
@settings(max_examples=60)
def test_the_greedy_search_stops_where_no_pair_pays(pairs: list[tuple[float, int]], sigma: float) -> None:
    """Every step lowers the error by the most that one pair can, and after the last no pair lowers it."""
    dependence, cells = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    chosen = greedy(dependence, cells, sigma)
    for step in range(len(chosen) + 1):
        now = error(chosen[:step], dependence, cells, sigma)
        after = [
            error([*chosen[:step], i], dependence, cells, sigma) for i in range(len(cells)) if i not in chosen[:step]
        ]
        if step < len(chosen):
            assert error(chosen[: step + 1], dependence, cells, sigma) == pytest.approx(min(after))
            assert min(after) < now * (1 + 1e-9)
        else:
            assert min(after, default=math.inf) >= now * (1 - 1e-9)


def test_without_noise_every_dependent_pair_is_chosen() -> None:
    """Independent pairs (score 0) are left, also where the noise of scores made them negative."""
    assert greedy(np.array([5.0, 0.0, -3.0, 9.0]), np.array([4, 4, 4, 4]), 1e-9) == [3, 0]


def test_weights_are_those_of_least_noise() -> None:
    """Among shares that sum to one, c^(2/3) makes Σ c/√share the least."""
    cells = np.array([12.0, 300.0, 45.0])
    best = weights(cells) / weights(cells).sum()
    rng = np.random.default_rng(1)
    for _ in range(200):
        other = rng.dirichlet([3, 3, 3])
        assert (cells / np.sqrt(best)).sum() <= (cells / np.sqrt(other)).sum() + 1e-9


def test_cliques_are_joined_largest_first() -> None:
    """A complete graph of four columns becomes one marginal where it fits, otherwise threes that share at most two."""
    edges = list(itertools.combinations(range(4), 2))
    assert combined(edges, lambda axes: True) == [(0, 1, 2, 3)]
    got = combined(edges, lambda axes: len(axes) <= 3)
    assert got == [(0, 1, 2), (0, 1, 3), (2, 3)]


def test_pairs_without_a_third_stay_pairs() -> None:
    """A path has no cliques; pairs come sorted and once."""
    assert combined([(1, 0), (1, 2), (2, 3)], lambda axes: True) == [(0, 1), (1, 2), (2, 3)]
    assert combined([], lambda axes: True) == []


def test_many_columns_that_all_depend_on_each_other_are_joined_within_bounds() -> None:
    """35 binary columns, all pairs chosen: cliques are cut off before there are too many, and none has many cells."""
    fits = few_cells([2] * 35, [2] * 35, 2**22)
    got = combined(itertools.combinations(range(35), 2), fits)
    covered = {a for clique in got for a in clique}
    assert covered == set(range(35))
    assert max(len(clique) for clique in got) >= 3
    assert all(2 ** len(clique) <= 5_000 for clique in got)
    pairs = {p for clique in got for p in itertools.combinations(clique, 2)}
    assert pairs == set(itertools.combinations(range(35), 2))


def test_a_clique_that_is_small_only_after_merging_is_not_counted() -> None:
    """Few kept bins do not help where the table of all bins would not fit."""
    assert few_cells([10, 10, 10], [10, 10, 10], 2**22)((0, 1, 2))
    assert not few_cells([10, 10, 10], [1000, 1000, 1000], 2**22)((0, 1, 2))
    assert not few_cells([30, 30, 30], [30, 30, 30], 2**22)((0, 1, 2))
