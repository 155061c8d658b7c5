"""Histograms of persons: one bin a person, on every engine."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Axis, InputError, Marginal, Table
from sfumato.persons import ByLabel, ByRecords, ByValue, Labelling
from tests import slow
from tests.conftest import OnEngine
from tests.test_bounded import SCHEMA, people, tables, without

LABELS = np.array([[0, 1, -1], [2, 0, 1], [1, 1, 2], [-1, 0, 0]])
RULES: list[Labelling] = [
    ByRecords((1, 3, 10)),
    ByRecords((5,)),
    ByValue(Axis("area")),
    ByValue(Axis("area", "half")),
    ByLabel("test", Marginal.of("area", "kind"), LABELS),
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
