"""Histograms of persons: one bin a person, on every engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Axis, InputError, Marginal, Table
from sfumato.persons import FINE, ONE, Awaited, ByLabel, ByMixture, ByRecords, ByValue, Labelling
from tests import slow
from tests.conftest import OnEngine
from tests.test_bounded import SCHEMA, people, tables, without

LABELS = np.array([[0, 1, -1], [2, 0, 1], [1, 1, 2], [-1, 0, 0]])
RNG = np.random.default_rng(5)
MIXTURE = ByMixture(
    "kind of person",
    Marginal.of("area", "kind"),
    (RNG.integers(-2 * ONE, 2 * ONE, (4, 2)), RNG.integers(-ONE, ONE, (3, 1))),
    bias=RNG.integers(-FINE * FINE, FINE * FINE, 5),
    shift=RNG.integers(-FINE, FINE, (5, 4)),
    slope=RNG.integers(-FINE, FINE, (5, 4, 4)) // np.array([8, 1, 1, 1])[:, None],
)
RULES: list[Labelling] = [
    ByRecords((1, 3, 10)),
    ByRecords((5,)),
    ByValue(Axis("area")),
    ByValue(Axis("area", "half")),
    ByLabel("test", Marginal.of("area", "kind"), LABELS),
    MIXTURE,
]


def count(table: object, rule: Labelling, key: str = "key") -> np.ndarray:
    with Table.open(table, SCHEMA) as opened:
        return rule.count(opened, key)


@given(table=tables, rule=st.sampled_from(RULES))
@settings(max_examples=50)
def test_taking_out_any_person_lowers_one_count_by_one(table: pa.Table, rule: Labelling) -> None:
    """The sensitivity is 1: every person is in one bin, or in none where no record can be placed."""
    whole = count(table, rule)
    for person in set(table["who"].to_pylist()):
        change = whole - count(without(table, person), rule)
        assert (change >= 0).all()
        assert change.sum() <= 1


def test_persons_by_number_of_records(on_engine: OnEngine) -> None:
    """Bins are from one start to the next; fewer records than the first start are in no bin."""
    assert count(on_engine(people([1, 2, 3, 9, 10, 25], 1)), ByRecords((2, 3, 10))).tolist() == [1, 2, 2]


def test_persons_by_most_frequent_value_and_label(on_engine: OnEngine) -> None:
    """Each person is counted at one of the labels that are most frequent among its records."""
    table = people([7, 25, 1, 12, 9, 18], 4)
    for rule, label in ((RULES[2], None), (RULES[4], LABELS)):
        marginal = Marginal.of("area") if label is None else Marginal.of("area", "kind")
        found: dict[str, list[int]] = {}
        for person, cell in slow.cells(table, SCHEMA, marginal):
            mark = cell[0] if label is None else int(label[cell])
            if mark >= 0:
                found.setdefault(person, []).append(mark)
        got = count(on_engine(table), rule)
        assert got.sum() == len(found)
        sure = Counter(next(iter(best)) for best in map(slow.most_frequent, found.values()) if len(best) == 1)
        assert all(got[mark] >= n for mark, n in sure.items())


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_ties_do_not_depend_on_rows_or_engine(on_engine: OnEngine, rule: Labelling) -> None:
    """The same table in another order on another engine gives the same histogram."""
    table = people([4, 4, 2, 6, 8, 2, 2, 2], 11)
    shuffled = table.take(np.random.default_rng(0).permutation(table.num_rows))
    np.testing.assert_array_equal(count(on_engine(table), rule), count(shuffled, rule))


def test_persons_by_the_part_of_a_mixture_that_their_mean_record_belongs_to(on_engine: OnEngine) -> None:
    """The engine counts each person where exact arithmetic puts the root of their size and their mean point."""
    table = people([7, 25, 1, 12, 9, 18, 3, 3, 2, 14] * 4, 4)
    found: dict[str, list[tuple[int, ...]]] = {}
    for person, cell in slow.cells(table, SCHEMA, MIXTURE.marginal):
        found.setdefault(person, []).append(cell)
    expected = np.zeros(5, np.int64)
    for cells in found.values():
        mean = [np.mean([p[c[i]] for c in cells], axis=0) / ONE for i, p in enumerate(MIXTURE.points)]
        point = np.concatenate([[np.sqrt(len(cells))], *mean])
        away = MIXTURE.shift / FINE + np.einsum("i,kij->kj", point, MIXTURE.slope / FINE)
        expected[np.argmax(MIXTURE.bias / FINE**2 - (away**2).sum(axis=1))] += 1
    assert (expected > 0).sum() >= 2
    np.testing.assert_array_equal(count(on_engine(table), MIXTURE), expected)


def test_equal_parts_of_a_mixture_leave_a_person_in_the_first() -> None:
    """Two parts with one and the same rule: everybody is in the first of them."""
    twice = replace(MIXTURE, **{n: getattr(MIXTURE, n)[[2, 2]] for n in ("bias", "shift", "slope")})
    got = count(people([5, 9, 3], 1), twice)
    assert got[1] == 0
    assert got[0] > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"points": (MIXTURE.points[0], MIXTURE.points[1][:2])},
        {"points": (MIXTURE.points[0] * 4, MIXTURE.points[1])},
        {"shift": MIXTURE.shift[:, 1:]},
        {"slope": MIXTURE.slope[:4]},
    ],
)
def test_a_mixture_that_does_not_fit_its_points_is_refused(wrong: dict[str, Any]) -> None:
    """Points of another shape, too far away, or a mixture of another size."""
    with pytest.raises(InputError, match=r"test|kind of person"):
        replace(MIXTURE, **wrong).bins(SCHEMA)


def test_an_awaited_rule_has_bins_and_no_counts() -> None:
    """It can be planned by its size and columns; counting by it is refused."""
    rule = Awaited("archetype", 7, Marginal.of("area"))
    assert (rule.bins(SCHEMA), rule.columns(SCHEMA), rule.waits) == (7, ("area",), True)
    with pytest.raises(InputError, match="not known yet"):
        count(people([3], 1), rule)


def test_ties_fall_either_way() -> None:
    """Of 600 persons with one record in each of two areas, about half are counted in each (5 standard deviations)."""
    table = pa.table({"who": np.repeat(np.arange(600), 2), "area": [0, 3] * 600})
    with Table.open(table, SCHEMA.select(["area"])) as opened:
        got = ByValue(Axis("area")).count(opened, "key")
    assert got.sum() == 600
    assert abs(got[0] - 300) < 5 * np.sqrt(150)


def test_labels_of_another_shape_are_refused() -> None:
    """Labels must give each cell of the marginal its label."""
    with pytest.raises(InputError, match="shape"):
        count(people([3], 1), ByLabel("test", Marginal.of("area"), LABELS))


@pytest.mark.parametrize("starts", [(), (0, 1), (3, 2), (2, 2)])
def test_bad_bins_of_records_are_refused(starts: tuple[int, ...]) -> None:
    """Starts begin at 1 and increase."""
    with pytest.raises(InputError, match="start"):
        ByRecords(starts)


def test_a_table_of_the_callers_is_not_joined_in_place_of_a_public_one() -> None:
    """The connection of a DuckDB relation may hold tables called as those that a question brings along."""
    with duckdb.connect() as con:
        con.register("arrow", people([3, 4, 2], 1))
        con.execute("CREATE TABLE trips AS SELECT * FROM arrow")
        want = [count(con.table("trips"), rule).tolist() for rule in (RULES[4], MIXTURE)]
        con.execute("CREATE TABLE labels AS SELECT range AS at, 7 AS label FROM range(12)")
        for axis in ("axis0", "axis1"):
            con.execute(f"CREATE TABLE {axis} AS SELECT range % 2 AS at, 0 AS e0, 0 AS e1 FROM range(9)")
        assert [count(con.table("trips"), rule).tolist() for rule in (RULES[4], MIXTURE)] == want
        assert sum(want[1]) == 3
