"""Bounds in the engine: what one person can change, for random tables, by taking each person out."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Bound, Category, InputError, Marginal, Number, Person, Schema, Table, l2, records, weight
from sfumato import bounded as bounded_module
from sfumato.bounded import bounded_counts
from sfumato.bounds import UNIT
from sfumato.quiet import OutOfMemoryError
from tests import slow
from tests.conftest import OnEngine

SCHEMA = Schema(
    columns=(
        Person(name="who"),
        Category(name="area", values=(0, 1, 2, 3), levels={"half": (0, 0, 1, 1)}),
        Category(name="kind", values=("a", "b", "c")),
        Number(name="fare", edges=(0, 5, 10), missing=(None,)),
    )
)
MARGINALS = [Marginal.of("area", "kind"), Marginal.of("area@half"), Marginal.of("fare", "kind")]
BOUNDS = [records(1), records(3), weight(1), weight(2.5), weight(7), l2(1), l2(2.2), l2(math.sqrt(2)), l2(5)]


def people(sizes: list[int], seed: int) -> pa.Table:
    """A table with so many records for each person; some records lie outside the schema."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    # persons like few cells, so that counts within a cell grow large
    favourite = np.repeat(rng.integers(0, 4, len(sizes)), sizes)
    areas = np.where(rng.random(n) < 0.6, favourite, rng.integers(0, 5, n))
    return pa.table(
        {
            "who": np.repeat([f"p{i}" for i in range(len(sizes))], sizes) if n else pa.array([], pa.string()),
            "area": pa.array(areas, pa.int64()),
            "kind": pa.array(rng.choice(["a", "b", "c", "z"], n).astype(object), pa.string()),
            "fare": pa.array(rng.choice([-1.0, 3, 7, np.nan], n), pa.float64()),
        }
    )


def without(table: pa.Table, person: str) -> pa.Table:
    return table.filter(pa.compute.not_equal(table["who"], person))


def answers(table: pa.Table, bound: Bound, key: str = "key") -> list[np.ndarray]:
    with Table.open(table, SCHEMA) as opened:
        return [c.values for c in bounded_counts(opened, MARGINALS, bound, key)]


tables = st.builds(people, st.lists(st.integers(0, 25), min_size=0, max_size=6), st.integers(0, 10_000))


@given(table=tables, bound=st.sampled_from(BOUNDS))
@settings(max_examples=40)
def test_taking_out_any_person_changes_the_counts_by_no_more_than_the_bound(table: pa.Table, bound: Bound) -> None:
    """For every person of a random table: the L1 and L2 norms of the change are within the claimed sensitivity."""
    whole = answers(table, bound)
    for person in set(table["who"].to_pylist()):
        for have, left in zip(whole, answers(without(table, person), bound), strict=True):
            change = (have - left).astype(float)
            assert (change >= 0).all(), "adding a person never lowers a count"
            assert np.abs(change).sum() <= bound.l1 * bound.unit
            assert math.fsum(x * x for x in change.flat) <= (bound.l2 * bound.unit) ** 2


@given(table=tables, bound=st.sampled_from(BOUNDS))
@settings(max_examples=20)
def test_counts_are_the_sum_of_each_person_alone(table: pa.Table, bound: Bound) -> None:
    """What a person adds depends on that person's records alone: the table's counts are the sum over its persons."""
    whole = answers(table, bound)
    for i in range(len(MARGINALS)):
        alone = [
            answers(table.filter(pa.compute.equal(table["who"], p)), bound)[i] for p in set(table["who"].to_pylist())
        ]
        np.testing.assert_array_equal(whole[i], sum(alone, np.zeros_like(whole[i])))


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_bounded_counts_follow_the_rule_on_every_engine(on_engine: OnEngine, bound: Bound) -> None:
    """`weight` equals exact integer arithmetic, `l2` the scaled histogram to a unit a person, `records` its total."""
    table = people([0, 1, 3, 8, 20, 25, 2], 5)
    with Table.open(on_engine(table), SCHEMA) as opened:
        found = bounded_counts(opened, MARGINALS, bound, "key")
    for counts, marginal in zip(found, MARGINALS, strict=True):
        persons = slow.histograms(table, SCHEMA, marginal).values()
        if bound.rule == "records":
            assert counts.values.sum() == sum(min(h.sum(), bound.limit) for h in persons)
            assert (counts.values <= sum(persons)).all()
        elif bound.rule == "weight":
            np.testing.assert_array_equal(counts.values, sum(slow.weighted(h, bound.limit, UNIT) for h in persons))
        else:
            exact = sum(h * min(1.0, bound.limit / np.linalg.norm(h)) for h in persons) * UNIT
            assert (np.abs(counts.values - exact) <= 1e-8 * exact + len(persons)).all()


@pytest.mark.parametrize("bound", [records(3), weight(2.5), l2(2.2)], ids=str)
def test_every_engine_and_row_order_gives_the_same_counts(on_engine: OnEngine, bound: Bound) -> None:
    """Under one key the answers are equal bit for bit: the reference is Arrow with its rows reversed."""
    table = people([9, 30, 2, 14, 1], 8)
    reference = answers(table.take(np.arange(table.num_rows)[::-1].copy()), bound)
    with Table.open(on_engine(table), SCHEMA) as opened:
        for counts, expected in zip(bounded_counts(opened, MARGINALS, bound, "key"), reference, strict=True):
            np.testing.assert_array_equal(counts.values, expected)


def test_one_question_does_not_depend_on_the_others_asked_with_it() -> None:
    """A marginal counted alone equals the same marginal counted with others."""
    table = people([9, 30, 2], 8)
    together = answers(table, records(3))
    with Table.open(table, SCHEMA) as opened:
        for marginal, counts in zip(MARGINALS, together, strict=True):
            np.testing.assert_array_equal(bounded_counts(opened, [marginal], records(3), "key")[0].values, counts)


@pytest.mark.stat
@pytest.mark.parametrize("times", [1, 30])
def test_the_kept_records_are_a_fair_sample(times: int) -> None:
    """Each record of a person is kept equally often, also of many: a chi-square test of 4,000 persons at 1e-4."""
    areas = np.array([0, 1, 1, 2, 2, 2, 3, 3] * times)
    table = pa.table({"who": np.repeat(np.arange(4_000), len(areas)), "area": np.tile(areas, 4_000)})
    with Table.open(table, SCHEMA.select(["area"])) as opened:
        kept, again = (bounded_counts(opened, [Marginal.of("area")], records(1), key)[0].values for key in "ab")
    from scipy.stats import chisquare

    assert kept.sum() == 4_000
    assert (kept != again).any()
    assert chisquare(kept, np.array([1, 2, 3, 2]) / 8 * 4_000).pvalue > 1e-4


def test_of_very_many_records_the_least_draws_are_kept(on_engine: OnEngine) -> None:
    """The mark above which draws are not sorted leaves out none of the least, which are found here by sorting all."""
    areas = [0] * 1_500 + [1] * 400 + [2] * 90 + [3] * 10
    table = pa.table({"who": ["p"] * 2_000 + ["q"], "area": [*areas, 3]})
    with Table.open(on_engine(table), SCHEMA.select(["area"])) as opened:
        (counts,) = bounded_counts(opened, [Marginal.of("area")], records(9), "key")
    draws = sorted(
        (hashlib.md5(f"key|area|{area}|{i}|p".encode()).hexdigest()[:12], area)
        for area, n in enumerate([1_500, 400, 90, 10])
        for i in range(n)
    )
    expected = np.bincount([3, *(area for _, area in draws[:9])], minlength=4)
    assert counts.values.tolist() == expected.tolist()


def test_persons_are_told_apart_in_the_sample() -> None:
    """Persons with the same records do not all keep the same one: the choice is each person's own."""
    table = pa.table({"who": np.repeat(np.arange(400), 4), "area": np.tile([0, 1, 2, 3], 400)})
    with Table.open(table, SCHEMA.select(["area"])) as opened:
        (counts,) = bounded_counts(opened, [Marginal.of("area")], records(1), "key")
    assert counts.values.min() > 60  # 100 expected in each; 60 is 4.6 standard deviations off


def test_records_without_a_person_are_left_out(on_engine: OnEngine) -> None:
    """Null, empty and blank ids belong to nobody who could be bounded."""
    table = pa.table({"who": ["a", None, "", "  ", "b", "a "], "area": [0, 0, 0, 0, 1, 1]})
    with Table.open(on_engine(table), SCHEMA.select(["area"])) as opened:
        (counts,) = bounded_counts(opened, [Marginal.of("area")], records(1), "key")
    assert counts.values.sum() == 2  # "a" and "a " are one person


def test_ids_that_are_not_numbers_are_left_out_of_a_column_of_numbers(on_engine: OnEngine) -> None:
    """NaN is no person, be it a number or the text that tools write for it; 7.0 and 7 are the same one."""
    table = pa.table({"who": pa.array([7.0, 7.0, float("nan"), None, 8.5]), "area": [0, 1, 2, 2, 3]})
    with Table.open(on_engine(table), SCHEMA.select(["area"])) as opened:
        (counts,) = bounded_counts(opened, [Marginal.of("area")], l2(1), "key")
    assert counts.values[2] == 0
    assert counts.values[3] == UNIT
    assert counts.values[0] == counts.values[1] == math.floor(UNIT / math.sqrt(2))


@pytest.mark.parametrize("bound", [records(3), weight(2.5), l2(2.2)], ids=str)
def test_several_passes_give_the_answer_of_one(monkeypatch: pytest.MonkeyPatch, bound: Bound) -> None:
    """An engine that runs out of memory is asked again over parts of the persons, with the same result."""
    table = people([9, 30, 2, 14, 1, 7, 7], 8)
    expected = answers(table, bound)
    with Table.open(table, SCHEMA) as opened:
        ask, asked = opened.engine.run, []

        def scarce(sql: str, **tables: pa.Table) -> pa.Table:
            asked.append(sql)
            if bounded_module.PART in sql:  # not yet split
                raise OutOfMemoryError("too much")
            return ask(sql, **tables)

        monkeypatch.setattr(opened.engine, "run", scarce)
        for counts, want in zip(bounded_counts(opened, MARGINALS, bound, "key"), expected, strict=True):
            np.testing.assert_array_equal(counts.values, want)
    assert len(asked) == 5


def test_one_person_with_everything() -> None:
    """A table that is one person's alone stays within the bound, however many records there are."""
    table = pa.table({"who": ["p"] * 300_000, "area": np.arange(300_000) % 4})
    with Table.open(table, SCHEMA.select(["area"])) as opened:
        for bound in (records(20), weight(20), l2(20)):
            (counts,) = bounded_counts(opened, [Marginal.of("area")], bound, "key")
            assert np.linalg.norm(counts.values / bound.unit) <= 20
            assert counts.values.sum() / bound.unit > 19.9


@pytest.mark.parametrize(
    "text", ["records(0)", "records(2.5)", "weight(nan)", "l2(inf)", "l2(-1)", "most(3)", "records", ""]
)
def test_bad_bounds_are_refused(text: str) -> None:
    """A bound needs a known rule and a sensible limit."""
    with pytest.raises(InputError, match="bound"):
        Bound.parse(text)
