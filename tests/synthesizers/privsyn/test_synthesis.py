"""Records from marginals: trees exactly, cycles nearly, parts that share nothing apart."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.synthesizers.privsyn.consistency import Measured
from sfumato.synthesizers.privsyn.synthesis import components, peeled, records, widest
from tests.synthesizers.privsyn.test_gum import SIZES, counted, dependent


def measured(truth: np.ndarray, sets: list[tuple[int, ...]]) -> list[Measured]:
    return [Measured(axes, counted(truth, axes).astype(float), 1.0) for axes in sets]


def made(truth: np.ndarray, sets: list[tuple[int, ...]], n: int, rounds: int = 40) -> np.ndarray:
    out = records(n, measured(truth, sets), rounds, np.random.default_rng(1))
    assert sorted(out) == list(range(len(SIZES)))
    return np.stack([out[i] for i in range(len(SIZES))])


@pytest.mark.parametrize(
    "sets",
    [
        [(0,), (1,), (2,), (3,), (4,)],
        [(0, 1), (1, 2), (2, 3), (3, 4)],
        [(0, 1), (0, 2), (0, 3), (0, 4)],
        [(0, 1, 2), (1, 2, 3), (4,)],
        [(0, 1), (2, 3, 4)],
    ],
)
def test_trees_of_marginals_come_out_whole(sets: list[tuple[int, ...]]) -> None:
    """Without cycles no update is needed: every marginal is right to a record a cell."""
    truth = dependent(3_000, 1)
    out = made(truth, sets, 3_000, rounds=0)
    for axes in sets:
        assert np.abs(counted(out, axes) - counted(truth, axes)).max() <= len(sets) + 1


def test_cycles_are_updated_into_place() -> None:
    """A cycle of four and a leaf: all five marginals are right to 1 % of the records."""
    truth = dependent(6_000, 2)
    sets = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]
    out = made(truth, sets, 6_000)
    for axes in sets:
        assert np.abs(counted(out, axes) - counted(truth, axes)).sum() <= 0.01 * 6_000


def test_marginals_are_scaled_to_the_number_of_records() -> None:
    """Half as many records have half the counts."""
    truth = dependent(4_000, 3)
    out = made(truth, [(0, 1), (2, 3, 4)], 2_000)
    assert np.abs(counted(out, (0, 1)) - counted(truth, (0, 1)) / 2).max() <= 2


@pytest.mark.stat
def test_parts_that_share_nothing_are_independent() -> None:
    """Columns of two parts have no dependence beyond chance (χ² within 6 deviations, an error rate below 1e-6)."""
    truth = dependent(20_000, 4)
    out = made(truth, [(0, 1), (2, 3), (4,)], 20_000)
    both = counted(out, (0, 2))
    expected = np.outer(both.sum(1), both.sum(0)) / 20_000
    chi = ((both - expected) ** 2 / np.maximum(expected, 1)).sum()
    freedom = (SIZES[0] - 1) * (SIZES[2] - 1)
    assert chi < freedom + 6 * np.sqrt(2 * freedom)
    assert np.abs(counted(truth, (0, 2)) - expected).sum() > 2_000, "the truth depends"


def test_empty_marginals_and_no_records() -> None:
    """Tables of zeros are filled evenly; no records are no records."""
    zeros = [Measured((0, 1), np.zeros((2, 2)), 1.0), Measured((1, 2), np.zeros((2, 3)), 1.0)]
    out = records(120, zeros, 5, np.random.default_rng(0))
    assert np.abs(np.bincount(out[2], minlength=3) - 40).max() <= 2
    assert all(len(codes) == 0 for codes in records(0, zeros, 5, np.random.default_rng(0)).values())


def test_what_is_updated_and_what_is_drawn() -> None:
    """A triangle with a tail: the tail is drawn given its column, the triangle updated; a lone tree leaves nothing."""
    truth = dependent(100, 1)
    core, drawn = peeled(measured(truth, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]))
    assert sorted(t.axes for t in core) == [(0, 1), (0, 2), (1, 2)]
    assert [(d.given, d.columns) for d in drawn] == [((3,), (4,)), ((2,), (3,))]
    assert peeled(measured(truth, [(0, 1), (1, 2)]))[0] == []


def test_tables_inside_others_and_groups() -> None:
    """One-way marginals of measured pairs are not needed; groups share no column."""
    tables = measured(dependent(50, 1), [(0,), (0, 1), (1, 2), (3,), (4,), (3, 4)])
    assert sorted(t.axes for t in widest(tables)) == [(0, 1), (1, 2), (3, 4)]
    assert sorted(sorted(t.axes for t in g) for g in components(widest(tables))) == [[(0, 1), (1, 2)], [(3, 4)]]
