"""The earth mover cost: against the definition, against OR-Tools, by known values, by laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.metrics import Aemc, Axis, aemc
from sfumato.metrics.aemc import general
from tests.metrics.aemc import reference

CASES, PARTS = 2400, 8
INF = math.inf


def some_axis(rng: np.random.Generator, size: int, weight: float) -> Axis:
    """Any kind of axis: with and without levels, a metric with bins at one place, a matrix that is no metric."""
    match rng.integers(6):
        case 0:
            return Axis.ordinal(weight)
        case 1:
            return Axis.cyclic(weight)
        case 2:
            return Axis.categorical(weight)
        case 3:
            fine = rng.permutation(size) % 3
            return Axis.categorical(weight, [(fine // 2).tolist(), fine.tolist()][rng.integers(2) :])
        case 4:
            x = rng.integers(0, 4, (size, 2))
            return Axis.distance(np.abs(x[:, None] - x[None]).sum(2) / 4, weight)
    return Axis.distance(np.round(rng.random((size, size)) * (1 - np.eye(size)), 2), weight)


def some_case(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[Axis], float, float]:
    """Counts of up to four axes and 36 cells, whole or in quarters, with empty sides and tolerances above the truth."""
    dims = int(rng.integers(1, 5))
    shape = tuple(int(k) for k in rng.integers(1, (8, 5, 3, 2)[dims - 1] + 1, dims))
    free = rng.random(dims) < 0.75
    parts = rng.choice([0, 1, 1, 2, 3], dims) * free
    if not parts.any():
        free[:] = False
    weights = [float(part) / parts.sum() if f else INF for part, f in zip(parts, free, strict=True)]
    P = rng.integers(0, rng.choice([1, 2, 6, 20]), shape) * rng.choice([1, 0.25])
    Q = rng.integers(0, 7, shape) * rng.choice([1, 0.5])
    Q.flat[0] += 1
    axes = [some_axis(rng, k, w) for k, w in zip(shape, weights, strict=True)]
    return P, Q, axes, float(rng.choice([0, 0.5, 1, 1.25, 2, 5])), float(rng.choice([1, 1, 1, 0.5, 2, 0.3]))


def consistent(found: Aemc, alpha: float, total: float) -> None:
    """All that a cost is made of adds up to it, and it is proved."""
    near = pytest.approx(found.value, abs=1e-9)
    assert alpha * (found.added + found.removed) / total + sum(found.by_axis) == near
    assert found.cells.sum() == near
    flows = found.flows()
    assert flows.counts.sum() == pytest.approx(found.moved, abs=1e-9)
    assert (flows.counts * flows.cost).sum() / total == pytest.approx(sum(found.by_axis), abs=1e-9)
    proof = found.certificate()
    assert proof.primal == proof.dual == near


@pytest.mark.parametrize("part", range(PARTS))
def test_it_is_the_optimum_of_the_definition(part: int) -> None:
    """Thousands of random tables of every kind, against the linear program over every pair of bins."""
    rng = np.random.default_rng(part)
    for _ in range(CASES // PARTS):
        P, Q, axes, tolerance, alpha = some_case(rng)
        found = aemc(P, Q, axes, tolerance, alpha, jobs=1)
        want = reference.dense(P, Q, reference.matrix(axes, P.shape), tolerance, alpha) / Q.sum()
        assert found.value == pytest.approx(want, abs=1e-9), (P, Q, axes, tolerance, alpha)
        consistent(found, alpha, Q.sum())


@pytest.mark.parametrize("seed", range(12))
def test_it_is_what_ortools_finds(seed: int) -> None:
    """Tables of some thousand cells, whole numbers: the same cost as SimpleMinCostFlow's to the last digit."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(k) for k in rng.integers(2, 16, 3))
    levels = [(np.arange(shape[2]) // 3).tolist()]
    axes = [Axis.ordinal(1 / 3), [Axis.cyclic, Axis.categorical][seed % 2](1 / 3), Axis.categorical(1 / 3, levels)]
    Q = rng.poisson(rng.gamma(0.3, 20, shape))
    Q.flat[0] += 1
    P = [np.maximum(0, Q + np.rint(rng.laplace(0, 5, shape))).astype(int), rng.binomial(Q, 0.1) * 10][seed // 2 % 2]
    found = aemc(P, Q, axes, tolerance=2)
    want = reference.ortools(P, Q, axes, 2)
    assert found.value == float(want / int(Q.sum()))
    consistent(found, 1.0, Q.sum())


LINE = [Axis.ordinal()]


@pytest.mark.parametrize(("tolerance", "bracket"), [(0, 4.75), (1, 1.5), (2, 0.75)])
def test_known_values_on_a_line(tolerance: int, bracket: float) -> None:
    """Five bins in a row, by hand."""
    assert aemc([10, 0, 0, 5, 7], [6, 3, 0, 5, 4], LINE, tolerance).value == pytest.approx(bracket / 18, abs=1e-12)


def test_a_tolerance_above_the_truth_gives_nothing_back() -> None:
    """Bins that are empty in truth need nothing: the least that is needed never falls below 0."""
    assert aemc([0, 0, 0, 0], [0, 0, 0, 8], LINE, 2).value == pytest.approx(6 / 8)


def test_a_circle_is_closed() -> None:
    """From 23 h to 0 h is one step of twelve on a circle, and the whole way on a line."""
    P, Q = np.zeros(24, int), np.zeros(24, int)
    P[23], Q[0] = 12, 12
    found = aemc(P, Q, [Axis.cyclic()])
    assert (found.value, found.moved, found.by_axis) == (pytest.approx(1 / 12), 12.0, (pytest.approx(1 / 12),))
    assert aemc(P, Q, LINE).value == pytest.approx(1.0)


def test_a_dear_detour_is_not_taken_where_the_matrix_is_no_metric() -> None:
    """With 0 → 1 → 2 cheaper than 0 → 2, a count pays the direct way: X_ij is one move."""
    matrix = [[0, 0.1, 0.9], [0.1, 0, 0.1], [0.9, 0.1, 0]]
    assert aemc([5, 0, 0], [0, 0, 5], [Axis.distance(matrix)]).value == pytest.approx(0.9)


def test_shortest_ways_over_neighbours_are_kept_as_their_edges() -> None:
    """A matrix of shortest paths becomes the graph it was made from."""
    k = 30
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    steps = Axis.distance(np.minimum(apart, k - apart) / 15).steps(k)
    assert steps is not None
    assert len(steps.u) == k


def test_what_moves_where_stands_in_the_flows() -> None:
    """Three counts move one month on and one to another area, with bins and costs as in the table."""
    P, Q = np.zeros((3, 2), int), np.zeros((3, 2), int)
    P[0, 0], P[2, 1], Q[1, 0], Q[2, 0] = 3, 1, 3, 1
    found = aemc(P, Q, [Axis.ordinal(0.5), Axis.categorical(0.5)])
    flows = found.flows()
    rows = sorted(zip(flows.origin.tolist(), flows.destination.tolist(), flows.counts, flows.cost, strict=True))
    assert rows == [([0, 0], [1, 0], 3.0, 0.25), ([2, 1], [2, 0], 1.0, 0.5)]
    assert found.by_axis == (pytest.approx(0.75 / 4), pytest.approx(0.5 / 4))


def small(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[Axis], float]:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    P, Q, axes, tolerance, _ = some_case(rng)
    return P, Q, axes, tolerance


cases = st.composite(small)()


@given(cases)
def test_nothing_to_do_costs_nothing(case: tuple[np.ndarray, np.ndarray, list[Axis], float]) -> None:
    """The truth itself scores 0, and so does whatever is within the tolerance of it."""
    P, Q, axes, tolerance = case
    assert aemc(Q, Q, axes).value == 0
    assert aemc(np.clip(P, Q - tolerance, Q + tolerance), Q, axes, tolerance).value == pytest.approx(0, abs=1e-12)


@given(cases, st.sampled_from([2, 3, 7, 0.5]))
@settings(max_examples=50)
def test_counts_and_tolerance_scale_together(
    case: tuple[np.ndarray, np.ndarray, list[Axis], float], times: float
) -> None:
    """It has no unit: thousands of records score as records do."""
    P, Q, axes, tolerance = case
    want = aemc(P, Q, axes, tolerance).value
    assert aemc(P * times, Q * times, axes, tolerance * times).value == pytest.approx(want, abs=1e-9)


@given(cases)
@settings(max_examples=50)
def test_a_larger_tolerance_never_costs_more(case: tuple[np.ndarray, np.ndarray, list[Axis], float]) -> None:
    """What is free at one tolerance is free at a larger one."""
    P, Q, axes, tolerance = case
    assert aemc(P, Q, axes, tolerance + 1).value <= aemc(P, Q, axes, tolerance).value + 1e-12


@given(cases)
@settings(max_examples=50)
def test_an_attribute_with_one_value_changes_nothing(case: tuple[np.ndarray, np.ndarray, list[Axis], float]) -> None:
    """All records in one bin of a new column that nothing may move along: the same score."""
    P, Q, axes, tolerance = case
    wide = [np.stack([np.zeros_like(a), a], axis=-1) for a in (P, Q)]
    want = aemc(P, Q, axes, tolerance).value
    assert aemc(*wide, [*axes, Axis.categorical(INF)], tolerance).value == pytest.approx(want, abs=1e-12)


@given(cases)
@settings(max_examples=50)
def test_where_nothing_moves_it_is_the_l1_distance(case: tuple[np.ndarray, np.ndarray, list[Axis], float]) -> None:
    """Infinite weights and no tolerance: ‖P − Q‖₁ / ‖Q‖₁; what moves is never dearer."""
    P, Q, axes, _ = case
    still = aemc(P, Q, [Axis.categorical(INF)] * P.ndim)
    assert still.value == pytest.approx(np.abs(P - Q).sum() / Q.sum())
    assert still.moved == 0
    assert aemc(P, Q, axes).value <= still.value + 1e-9


@given(cases, st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_names_of_unordered_bins_do_not_matter(case: tuple[np.ndarray, np.ndarray, list[Axis], float], random) -> None:
    """Bins of a hierarchy in another order, with their groups: the same score."""
    P, Q, axes, tolerance = case
    for place, axis in enumerate(axes):
        if axis.kind == "categorical":
            order = list(range(P.shape[place]))
            random.shuffle(order)
            levels = [level[order].tolist() for level in axis.levels]
            others = [Axis.categorical(axis.weight, levels) if i == place else a for i, a in enumerate(axes)]
            moved = [np.take(a, order, axis=place) for a in (P, Q)]
            want = aemc(P, Q, axes, tolerance).value
            assert aemc(*moved, others, tolerance).value == pytest.approx(want, abs=1e-9)


@given(cases)
@settings(max_examples=60)
def test_sparse_counts_are_counts(case: tuple[np.ndarray, np.ndarray, list[Axis], float]) -> None:
    """Cells by number score as arrays do, and give back the same cells."""
    P, Q, axes, tolerance = case
    sparse = [(np.flatnonzero(a), a.reshape(-1)[np.flatnonzero(a)]) for a in (P, Q)]
    found, dense = aemc(*sparse, axes, tolerance, shape=P.shape), aemc(P, Q, axes, tolerance)
    assert found.value == pytest.approx(dense.value, abs=1e-12)
    numbers, costs = found.cell_costs
    assert costs.sum() == pytest.approx(found.value, abs=1e-9)
    assert found.cells.reshape(-1)[numbers] == pytest.approx(costs)


def test_a_huge_table_takes_the_memory_of_what_is_in_it() -> None:
    """10¹² cells with three of them filled, where counts move along one axis of ten bins."""
    shape = (10**6, 10, 10**5)
    at = [int(np.ravel_multi_index(c, shape)) for c in ((5, 1, 7), (5, 3, 7), (999_999, 9, 99_999))]
    axes = [Axis.categorical(INF), Axis.ordinal(), Axis.categorical(INF)]
    found = aemc((at[::2], [4, 2]), (at[1:], [4, 2]), axes, shape=shape)
    assert found.value == pytest.approx(4 * (2 / 9) / 6)
    assert found.cell_costs[0].tolist() == at[:2]


def test_awkward_weights_and_counts_stay_exact() -> None:
    """Weights .37, .31, .32 and counts that no power of two or ten divides: as the linear program, and proved."""
    rng = np.random.default_rng(5)
    P, Q = rng.random((3, 4, 3)) * 10, rng.random((3, 4, 3)) * 10
    axes = [Axis.ordinal(0.37), Axis.categorical(0.31), Axis.cyclic(0.32)]
    found = aemc(P, Q, axes, tolerance=1 / 3)
    want = reference.dense(P, Q, reference.matrix(axes, P.shape), 1 / 3, 1.0) / Q.sum()
    assert found.value == pytest.approx(want, abs=1e-10)
    consistent(found, 1.0, Q.sum())


def test_large_counts_are_solved_in_64_bits() -> None:
    """Billions of records in a cell, and costs without a small denominator, are exact as well."""
    P, Q = np.array([[10**12, 0], [0, 3]]), np.array([[0, 1], [10**12, 2]])
    axes = [Axis.ordinal(math.sqrt(0.5)), Axis.categorical(1 - math.sqrt(0.5))]
    found = aemc(P, Q, axes)
    assert found.value * Q.sum() == pytest.approx(10**12 * math.sqrt(0.5) + 1 - math.sqrt(0.5), rel=1e-12)
    consistent(found, 1.0, Q.sum())


def test_a_way_longer_than_its_counter_is_solved_again_with_a_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 4 bits for the arcs on a way, 40 bins in a row need the wider numbers; the cost is the same."""
    P, Q = np.zeros((40, 2), int), np.zeros((40, 2), int)
    P[0, 0], Q[39, 1], P[10:30, 0], Q[10:30, 0] = 5, 5, 1, 1
    axes = [Axis.ordinal(0.25), Axis.ordinal(0.75)]
    want = aemc(P, Q, axes).value
    assert want == pytest.approx(5 / 25)
    monkeypatch.setattr(general, "SHIFT", 4)
    monkeypatch.setattr(general, "WIDE", 20)
    assert aemc(P, Q, axes).value == want


@pytest.mark.parametrize("warm", [True, False])
def test_where_the_prices_begin_does_not_matter(warm: bool) -> None:
    """From the prices of a smaller table or from nothing: one optimum."""
    rng = np.random.default_rng(3)
    axes = [Axis.ordinal(0.5), Axis.categorical(0.5)]
    Q = rng.poisson(2, (9, 11))
    P = rng.binomial(Q, 0.5) * 2
    steps = [a.steps(k) for a, k in zip(axes, Q.shape, strict=True)]
    graphs = [(s, np.array([int(c * 32) for c in s.costs])[s.which]) for s in steps if s is not None]
    found = general.solve(graphs, P, np.maximum(Q - 1, 0), Q + 1, 32, warm=warm)
    moved = (np.abs(found.between) * found.layout.edge_cost[:, None]).sum() + (
        np.abs(found.within) * graphs[1][1]
    ).sum()
    off = np.maximum(np.maximum(found.q - Q - 1, np.maximum(Q - 1, 0) - found.q), 0).sum()
    assert Fraction(int(moved + 32 * off), 32) == reference.ortools(P, Q, axes, 1)


def test_threads_share_components_and_agree() -> None:
    """Many components on one thread and on two: the same, to the last digit."""
    rng = np.random.default_rng(8)
    Q = rng.poisson(1, (500, 20, 31))
    P = rng.poisson(1, (500, 20, 31))
    axes = [Axis.categorical(INF), Axis.ordinal(0.5), Axis.categorical(0.5)]
    one, two = (aemc(P, Q, axes, 1, jobs=jobs) for jobs in (1, 2))
    assert one.value == two.value
    consistent(two, 1.0, Q.sum())
    parts = sum(aemc(P[i], Q[i], axes[1:], 1).value * Q[i].sum() for i in range(0, 500, 10))
    rest = aemc(P[::10], Q[::10], axes, 1)
    assert rest.value == pytest.approx(parts / Q[::10].sum())
