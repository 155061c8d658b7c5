"""Grid questions about private tables: what one person can change, and answers computed person by person."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Marginal, Table, gridded, records, weight
from sfumato.bounds import UNIT, Bound
from sfumato.grid import Grid
from sfumato.gridded import grid_answers, grid_counts, grid_norms, norm_counts, outermost
from tests import slow
from tests.conftest import OnEngine
from tests.grids import grid, matrix
from tests.test_bounded import SCHEMA, people, tables, without

SIZES = {"area": 4, "kind": 3, "fare": 3}
WHOLE = ("area", "kind", "fare")


def ask(table: object, asked: list[tuple[Grid, float]]) -> list[np.ndarray]:
    with Table.open(table, SCHEMA) as opened:
        return grid_answers(opened, asked)


@given(table=tables, seed=st.integers(0, 1000), limit=st.sampled_from([0.3, 1.0, 2.5, 40.0]))
@settings(max_examples=30)
def test_taking_out_any_person_changes_each_answer_vector_within_the_limit(
    table: pa.Table, seed: int, limit: float
) -> None:
    """Under l2(C), for every person of a random table, the change of each answer vector is at most C."""
    asked = [(grid(SIZES, WHOLE, seed), limit), (grid(SIZES, ("area", "kind"), seed, 0.1), limit / 2)]
    whole = ask(table, asked)
    for person in set(table["who"].to_pylist()):
        for have, left, (_, c) in zip(whole, ask(without(table, person), asked), asked, strict=True):
            assert np.linalg.norm((have - left) / UNIT) <= c


@given(table=tables, seed=st.integers(0, 1000), records=st.integers(1, 12))
@settings(max_examples=20)
def test_taking_out_any_person_moves_one_count_of_norms_by_one_in_however_many_parts(
    table: pa.Table, seed: int, records: int
) -> None:
    """The number of parts follows the number of records: neither norms nor answers depend on it but for the person."""
    one = grid(SIZES, WHOLE, seed)
    edges = np.array([0.5, 1.0, 1.7, 2.4, 3.0])

    def found(t: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        with Table.open(t, SCHEMA) as opened:
            return norm_counts(opened, [one], edges)[0], grid_answers(opened, [(one, 1.5)])[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gridded, "RECORDS", records)
        norms, answer = found(table)
        for person in set(table["who"].to_pylist()):
            fewer, left = found(without(table, person))
            assert (norms >= fewer).all()
            assert (norms - fewer).sum() <= 1
            assert np.linalg.norm((answer - left) / UNIT) <= 1.5


@given(table=tables, seed=st.integers(0, 1000), bound=st.sampled_from([weight(1), weight(2.5), weight(9), records(2)]))
@settings(max_examples=30)
def test_bounded_counts_under_a_grid_change_within_the_limit(table: pa.Table, seed: int, bound: Bound) -> None:
    """Under weight(C) and records(C) a person's counts change by at most C in L1, and so a grid's answer in L2."""
    one = grid(SIZES, WHOLE, seed)
    marginals = [Marginal.of(*WHOLE), Marginal.of("area@half")]

    def counted(t: pa.Table) -> list[np.ndarray]:
        with Table.open(t, SCHEMA) as opened:
            return [c.values for c in grid_counts(opened, marginals, bound, "key")]

    whole = counted(table)
    for person in set(table["who"].to_pylist()):
        left = counted(without(table, person))
        for a, b in zip(whole, left, strict=True):
            assert np.abs(a - b).sum() <= bound.limit * bound.unit
        change = one.answer(whole[0]) - one.answer(left[0])
        assert np.linalg.norm(change / UNIT / bound.unit) <= bound.limit * one.norm()


def test_answers_are_each_persons_own_scaled_and_added_on_every_engine(on_engine: OnEngine) -> None:
    """Scaled answers equal those of the dense matrix, person by person, to a few units of the lattice."""
    table, one = people([3, 8, 20, 25, 2], 5), grid(SIZES, WHOLE, 3)
    (got,) = ask(on_engine(table), [(one, 3.0)])
    a = matrix(WHOLE, one.fine)
    want = np.zeros(one.rows)
    for h in slow.histograms(table, SCHEMA, one.marginal).values():
        x = a @ h.reshape(-1)
        want += x * min(1, 3 / np.linalg.norm(x))
    np.testing.assert_allclose(got / UNIT, want, atol=100 / UNIT)


def test_a_record_weighs_the_same_in_every_marginal_on_every_engine(on_engine: OnEngine) -> None:
    """A person with R records, counted or not, gives each the weight min(1, C/R), rounded down to the lattice."""
    table = people([3, 8, 20], 5)
    with Table.open(on_engine(table), SCHEMA) as opened:
        got, half = grid_counts(opened, [Marginal.of(*WHOLE), Marginal.of("area@half")], weight(7), "key")
    own = slow.histograms(table, SCHEMA, Marginal.of(*WHOLE))
    want = sum(h * min(UNIT, 7 * UNIT // size) for h, size in zip(own.values(), (3, 8, 20), strict=True))
    np.testing.assert_array_equal(got.values, want)
    areas = slow.histograms(table, SCHEMA, Marginal.of("area@half"))
    want = sum(h * min(UNIT, 7 * UNIT // size) for h, size in zip(areas.values(), (3, 8, 20), strict=True))
    np.testing.assert_array_equal(half.values, want)


def test_parts_of_the_persons_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """Read in many small parts the answers, norms and their histograms are the same."""
    import pyarrow.parquet as pq

    pq.write_table(people([3, 8, 20, 25, 2, 9, 9, 1], 5), tmp_path / "t.parquet")
    one = grid(SIZES, WHOLE, 3)

    def all_of_it() -> tuple[np.ndarray, list[float], np.ndarray]:
        with Table.open(str(tmp_path / "t.parquet"), SCHEMA) as opened:
            norms = [n for part in grid_norms(opened, [one]) for n in part[0]]
            return grid_answers(opened, [(one, 2.0)])[0], sorted(norms), norm_counts(opened, [one], np.ones(1))[0]

    whole = all_of_it()
    monkeypatch.setattr(gridded, "RECORDS", 10)
    for a, b in zip(whole, all_of_it(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_each_person_is_in_one_bin_of_norms() -> None:
    """Norms are those of the dense matrix; persons without a record in the grid are in no bin."""
    table, one = people([3, 8, 20, 25, 0], 5), grid(SIZES, WHOLE, 4)
    a = matrix(WHOLE, one.fine)
    want = sorted(np.linalg.norm(a @ h.reshape(-1)) for h in slow.histograms(table, SCHEMA, one.marginal).values())
    with Table.open(table, SCHEMA) as opened:
        (norms,) = (np.concatenate(n) for n in zip(*grid_norms(opened, [one]), strict=True))
        (counts,) = norm_counts(opened, [one], np.array([want[1] + 1e-3, 1e3]))
    np.testing.assert_allclose(sorted(norms[norms > 0]), want, rtol=1e-3)
    assert counts.tolist() == [2, len(want) - 2, 0]


def test_levels_of_columns_are_kept_apart() -> None:
    """A grid may ask about a column at a coarse level: person by person as from the counts."""
    table = people([3, 8, 20], 5)
    marginal = Marginal.of("area@half", "kind")
    one = Grid(marginal, {("area", "kind"): np.ones((2, 3), bool)})
    with Table.open(table, SCHEMA) as opened:
        (want,) = opened.counts([marginal])
        (got,) = grid_answers(opened, [(one, 1000.0)])
    np.testing.assert_array_equal(got, want.values.reshape(-1) * UNIT)


def test_no_records_give_zeros_and_parts_of_marginals_are_not_counted_apart() -> None:
    """An empty table has empty answers; only marginals that are inside no other need counting."""
    one = grid(SIZES, WHOLE, 4)
    (got,) = ask(people([], 0), [(one, 3.0)])
    assert not got.any()
    ab, a = Marginal.of("area", "kind"), Marginal.of("area")
    assert outermost([a, ab, Marginal.of("fare"), Marginal.of("area@half")]) == [
        ab,
        Marginal.of("fare"),
        Marginal.of("area@half"),
    ]
