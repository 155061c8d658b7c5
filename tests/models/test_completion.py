"""Completion: each value is one that public records with the same key have, or with the nearest key that any has."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2_contingency

from sfumato import Category, InputError, Number, Person, Schema
from sfumato.models.completion import Step, depths, learn_completion, parts_of, steps
from sfumato.models.totals import Total
from sfumato.public import Public
from sfumato.simulate import taxi

CELL = ("shift", "pickup", "dropoff")
SCHEMA = Schema(
    columns=(
        Person(name="who"),
        *(Category(name=name, values=(0, 1, 2)) for name in CELL),
        Number(name="fare", edges=(0, 10, 20, 100), integer=True, missing=(-1,)),
        Number(name="weight", edges=(None, 0, None), missing=(None,)),
        Category(name="paid", values=("card", "cash")),
    )
)


def table(**columns: list[object]) -> Public:
    rows = len(next(iter(columns.values())))
    base = {"who": [1] * rows, "shift": [0] * rows, "pickup": [0] * rows, "dropoff": [0] * rows, "fare": [5] * rows,
            "weight": [1.0] * rows, "paid": ["card"] * rows}  # fmt: skip
    return Public.open(pa.table(base | columns), SCHEMA)


def filled(public: Public, *texts: str, rows: int = 200, **codes: int) -> dict[str, list[object]]:
    """What is filled in for records of one cell."""
    asked = steps(SCHEMA, CELL, None, texts)
    made = learn_completion(public, CELL, asked)
    there = {name: np.full(rows, codes.get(name, 0)) for name in CELL}
    at = made.fill(there, np.random.default_rng(1))
    out = {}
    for name, places in at.items():
        numbers = made.decode(name, places, SCHEMA)
        out[name] = [SCHEMA[name].bins[c] for c in places] if numbers is None else numbers.to_pylist()
    return out


def test_the_key_is_cut_until_a_public_record_has_it() -> None:
    """Full key, then shift × pickup × dropoff, then pickup × dropoff, then everything."""
    public = table(shift=[0, 1, 0], pickup=[0, 0, 1], dropoff=[0, 0, 0], fare=[3, 15, 40])
    assert set(filled(public, "fare ~ *")["fare"]) == {3}
    assert set(filled(public, "fare ~ *", shift=1)["fare"]) == {15}
    assert set(filled(public, "fare ~ *", shift=2)["fare"]) == {3, 15}
    assert set(filled(public, "fare ~ *", pickup=2)["fare"]) == {3, 15, 40}
    assert set(filled(public, "fare ~")["fare"]) == {3, 15, 40}


def test_a_key_without_place_falls_back_to_the_place() -> None:
    """`paid ~ fare` looks for the fare itself, then for its bin, then for the cell."""
    public = table(pickup=[0, 0, 1, 1], fare=[3, 12, 14, 60], paid=["card", "cash", "card", "card"])
    got = filled(public, "fare ~ *", "paid ~ fare")
    assert {(f, p) for f, p in zip(got["fare"], got["paid"], strict=True)} == {(3, "card"), (12, "cash")}
    step = Step.parse("paid ~ fare", CELL)
    made = learn_completion(public, CELL, steps(SCHEMA, CELL, None, ["fare ~ *"]))
    own, near = parts_of(step, CELL, made.values)
    assert (own, near) == (("fare", "=fare"), ("pickup", "dropoff", "shift"))
    assert (depths(own, CELL), depths(near, CELL)) == ((2, 1), (3, 2, 0))


def test_a_full_key_counts_bins_before_it_gives_the_number_up() -> None:
    """`paid ~ * + fare` looks for cell and fare, cell and the fare's bin, cell, place, everything."""
    public = table(fare=[3, 12], paid=["card", "cash"])
    made = learn_completion(public, CELL, steps(SCHEMA, CELL, None, ["fare ~ *"]))
    (parts,) = parts_of(Step.parse("paid ~ * + fare", CELL), CELL, made.values)
    assert parts == ("pickup", "dropoff", "shift", "fare", "=fare")
    assert depths(parts, CELL) == (5, 4, 3, 2, 0)


def test_values_are_whole_inside_the_domain_or_missing_as_in_public_data() -> None:
    """Beyond a closed end is at the end; a marker stays one; an empty cell stays empty; other values are left out."""
    public = table(fare=[-1, 7, 5_000], weight=[None, 2.5, float("inf")])
    got = filled(public, "fare ~ *", "weight ~ *")
    assert set(got["fare"]) == {-1, 7, 100}
    assert {None, 2.5} <= set(got["weight"])
    assert all(isinstance(f, int) for f in got["fare"])


@pytest.mark.stat
def test_values_come_as_often_as_in_public_records() -> None:
    """Fares and payments given the cell, 20,000 draws beside 20,000 public records: chi-squared at 1 in 10,000."""
    rng = np.random.default_rng(2)
    n = 20_000
    fare = rng.choice([2, 8, 15, 30], n, p=[0.5, 0.3, 0.15, 0.05])
    paid = np.where(rng.random(n) < 0.2 + 0.02 * fare, "card", "cash")
    public = table(shift=rng.integers(0, 3, n).tolist(), fare=fare.tolist(), paid=paid.tolist())
    got = filled(public, "fare ~ *", "paid ~ * + fare", rows=n)
    seen, made = (
        Counter(zip(fare.tolist(), paid.tolist(), strict=True)),
        Counter(zip(got["fare"], got["paid"], strict=True)),
    )
    kinds = sorted(set(seen) | set(made))
    assert chi2_contingency([[seen[k] for k in kinds], [made[k] for k in kinds]]).pvalue > 1e-4


def test_the_design_s_table_is_the_default_where_its_columns_are() -> None:
    """In the order of its text for the taxi schema, then what else there is; the cell alone for another schema."""
    columns = ("shift", "pickup_community_area", "dropoff_community_area")
    found = steps(taxi(10).schema, columns, "company_id", None)
    names = ["fare", "tips", "trip_total", "trip_seconds", "trip_miles", "payment_type", "trip_day_of_week"]
    assert [s.target for s in found][:7] == names
    assert found[1].keys == (*columns, "fare")
    assert found[2].keys == ("fare", "tips")
    assert found[5].keys == ("fare", "tips", "trip_total")
    assert [str(s) for s in steps(SCHEMA, ("shift",), None, None)][:2] == ["fare ~ shift", "pickup ~ shift"]


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        (["fare"], "not of the form"),
        (["~ *"], "not of the form"),
        (["fare ~ * +"], "not of the form"),
        (["paid ~ fare"], "needs 'fare' first"),
        (["shift ~ pickup"], "which is there already"),
        (["fare ~ *", "fare ~ *"], "which is there already"),
        (["nothing ~ *"], "no column 'nothing'"),
    ],
)
def test_a_table_that_cannot_be_followed_is_refused(texts: list[str], match: str) -> None:
    """In a sentence that names the line."""
    with pytest.raises(InputError, match=match):
        steps(SCHEMA, CELL, None, texts)


def test_a_public_table_without_any_value_is_refused() -> None:
    """There is nothing to fill in."""
    with pytest.raises(InputError, match="no record whose 'paid'"):
        filled(table(paid=["bitcoin"]), "paid ~ *")


def test_a_total_is_not_below_its_items() -> None:
    """Raised where all are known, left where one is missing, and never beyond the end of its column."""
    numbers = {n: Number(name=n, edges=(0, 50, 100), integer=True, missing=(-1,)) for n in ("total", "fare", "tips")}
    schema = Schema(columns=tuple(numbers.values()))
    rule = Total.parse("total = fare + tips")
    rule.check(schema, list(numbers))
    found = {
        "total": pa.array([3, 30, -1, 5, 7]),
        "fare": pa.array([2, 20, 9, -1, 90]),
        "tips": pa.array([2, 5, 1, 4, 90]),
    }
    assert rule.raised(found, schema).to_pylist() == [4, 30, -1, 5, 100]
    with pytest.raises(InputError, match="form"):
        Total.parse("total")
    with pytest.raises(InputError, match="'tips' is not"):
        rule.check(schema, ["total", "fare"])
