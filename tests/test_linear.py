"""Linear questions: the lattice, the norms, and what one person can change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sfumato import Bound, InputError, Marginal, Table, l2, records, weight
from sfumato.bounds import UNIT
from sfumato.linear import column_norm, linear_answers, on_lattice
from tests import slow
from tests.conftest import OnEngine
from tests.test_bounded import SCHEMA, people, tables, without

MARGINAL = Marginal.of("area", "kind")


def matrix(seed: int, rows: int = 5) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array(rng.normal(size=(rows, 12)) * (rng.random((rows, 12)) < 0.5))


def ask(table: object, a: object, bound: Bound) -> tuple[np.ndarray, int]:
    with Table.open(table, SCHEMA) as opened:
        return linear_answers(opened, MARGINAL, on_lattice(a, MARGINAL, 12), bound, "key")


@given(table=tables, seed=st.integers(0, 500), bound=st.sampled_from([records(2), weight(1.5), l2(0.7), l2(3)]))
@settings(max_examples=50)
def test_taking_out_any_person_changes_the_answers_within_the_bound(table: pa.Table, seed: int, bound: Bound) -> None:
    """The change is at most C times the largest column norm, or C under `l2`, for every person of a random table."""
    a = matrix(seed)
    norm = 1.0 if bound.rule == "l2" else column_norm(on_lattice(a, MARGINAL, 12), 2)
    whole, unit = ask(table, a, bound)
    for person in set(table["who"].to_pylist()):
        change = (whole - ask(without(table, person), a, bound)[0]) / unit
        assert np.linalg.norm(change) <= bound.limit * norm * (1 + 1e-12)


def test_answers_are_those_of_numpy_on_every_engine(on_engine: OnEngine) -> None:
    """Scaled answers equal each person's own, computed apart, to a few units of the lattice."""
    table, a = people([3, 8, 20, 25, 2], 5), matrix(3)
    got, unit = ask(on_engine(table), a, l2(4))
    want = np.zeros(5)
    for h in slow.histograms(table, SCHEMA, MARGINAL).values():
        x = a @ h.reshape(-1)
        want += x * min(1, 4 / np.linalg.norm(x))
    np.testing.assert_allclose(got / unit, want, atol=200 / UNIT)


def test_identity_gives_the_bounded_histogram() -> None:
    """With the identity as matrix the answers are the counts, whatever the bound."""
    table = people([3, 8, 20, 25, 2], 5)
    for bound in (records(4), weight(4), l2(4)):
        got, unit = ask(table, np.eye(12), bound)
        with Table.open(table, SCHEMA) as opened:
            from sfumato.bounded import bounded_counts

            (counts,) = bounded_counts(opened, [MARGINAL], bound, "key")
        np.testing.assert_allclose(got / unit, counts.values.reshape(-1) / bound.unit, atol=1e-4)


@given(st.integers(0, 200))
def test_the_lattice_never_makes_a_column_longer(seed: int) -> None:
    """Entries are rounded towards zero, so norms shrink; the norms are those of numpy."""
    a = matrix(seed).toarray()
    lattice = on_lattice(a, MARGINAL, 12)
    for order in (1, 2):
        assert column_norm(lattice, order) <= np.linalg.norm(a, order, axis=0).max() + 1e-12
        assert column_norm(lattice, order) == pytest.approx(
            np.linalg.norm(lattice.toarray() / UNIT, order, axis=0).max()
        )


@pytest.mark.parametrize("bad", [np.ones((2, 5)), np.full((2, 12), np.nan), np.full((2, 12), 1e9)])
def test_bad_matrices_are_refused(bad: np.ndarray) -> None:
    """A matrix has a column for each cell and finite entries."""
    with pytest.raises(InputError, match="matrix"):
        on_lattice(bad, MARGINAL, 12)


def test_an_entry_in_several_parts_counts_as_their_sum() -> None:
    """A sparse matrix may hold one entry in pieces; the norm of its column is that of the whole."""
    pieces = csr_array((np.full(4, 0.5), np.zeros(4, np.int64), np.array([0, 4])), shape=(1, 12))
    assert column_norm(on_lattice(pieces, MARGINAL, 12), 2) == 2.0
    assert len(pieces.data) == 4, "the caller's matrix is left alone"
