"""The k-marginal score: values of the published scorers, a slow transcription, laws."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato import Category, InputError, Number, Place, Schema
from sfumato.metrics import KMarginal
from sfumato.metrics import histograms as counted
from tests import challenge
from tests.conftest import OnEngine

TRIP = (
    "company_id",
    "dropoff_community_area",
    "payment_type",
    "fare",
    "tips",
    "trip_total",
    "trip_seconds",
    "trip_miles",
)
BY = ("pickup_community_area", "shift")


def second(parameters: dict[str, Any]) -> KMarginal:
    return KMarginal(Schema.from_dict(parameters), by=("PUMA", "YEAR"), draws=50, bias=250)


def third(parameters: dict[str, Any]) -> KMarginal:
    return KMarginal(Schema.from_dict(parameters), by=BY, columns=TRIP)


def check_second(parameters: dict[str, Any]) -> None:
    schema = parameters["schema"]
    g, s = challenge.people(schema, 0, 3000), challenge.people(schema, 1, 2500)
    without = s[s["PUMA"] != schema["PUMA"]["values"][0]]
    known = [
        (s, 740.7879117320404),
        (g, 1000.0),
        (g[:2000], 883.374596424268),
        (g[:1000], 0.0),
        (without, 494.5027767047102),
    ]
    metric = second(parameters)
    assert [1000 * metric.score(g, other).value for other, _ in known] == pytest.approx([v for _, v in known], abs=1e-9)


def test_it_gives_the_second_sprints_published_values() -> None:
    """Random tables score what the published scorer gave, self and bias among them, to 1e-9."""
    check_second(challenge.sprint2())


def test_the_challenges_own_parameters_give_the_same(shared: Path) -> None:
    """So does the `parameters.json` that was handed out."""
    check_second(json.loads((shared / "sprint2_parameters.json").read_text()))


def test_it_gives_the_third_sprints_published_values() -> None:
    """Random trips score what the published scorer gave, to all digits that are known."""
    parameters = challenge.sprint3()
    g, s = challenge.trips(parameters["schema"], 0, 20000, 400), challenge.trips(parameters["schema"], 1, 15000, 300)
    metric = third(parameters)
    without = s[s["pickup_community_area"] != 8]
    found = [metric.score(g, other).value for other in (s, g[:10000], without, g)]
    assert found == pytest.approx([0.11526484, 0.53594668, 0.11386571, 1.0], abs=5e-9)


def test_the_pairs_are_those_the_second_sprint_drew() -> None:
    """Seed 123456 draws the published fifty pairs, of which two come twice."""
    sets = second(challenge.sprint2()).sets().sets
    assert sets[:5] == (
        ("WRKRECAL", "INCWELFR"),
        ("MARST", "EDUC"),
        ("INCWAGE", "HINSCAID"),
        ("HINSCAID", "EMPSTATD"),
        ("POVERTY", "RACE"),
    )
    assert sets[-1] == ("EMPSTAT", "INCEARN")
    assert len({frozenset(s) for s in sets}) == 48


# ---------------------------------------------------------------------- against a slow transcription

SCHEMA = Schema(
    columns=(
        Place(name="area", values=(1, 2, 3)),
        Category(name="hour", values=(0, 1), cyclic=True),
        Category(name="kind", values=("a", "b", "c")),
        Category(name="how", values=("card", "cash")),
        Number(name="fare", edges=(None, 10, 20, None)),
    )
)


def records(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "area": rng.choice([1, 1, 1, 2, 3, 9], n),
            "hour": rng.integers(0, 2, n),
            "kind": rng.choice(["a", "b", "c", "?"], n),
            "how": rng.choice(["card", "cash"], n),
            "fare": rng.choice([-5.0, 0, 10, 15, 20, 99], n),
        }
    )


def slow(truth: pd.DataFrame, made: pd.DataFrame, k: int, bias: int | None) -> float:
    """The published procedure in pandas, group by group."""
    a, b = (
        f.assign(fare=pd.cut(f["fare"], [-np.inf, 10, 20, np.inf], right=False, labels=False)) for f in (truth, made)
    )
    scores = []
    keys = set(map(tuple, a[["area", "hour"]].to_numpy())) | set(map(tuple, b[["area", "hour"]].to_numpy()))
    for area, hour in keys:
        x, y = (f[(f["area"] == area) & (f["hour"] == hour)] for f in (a, b))
        apart = []
        for columns in itertools.combinations(["kind", "how", "fare"], k):
            if x.empty or y.empty:
                apart.append(2.0)
                continue
            p, q = (f[list(columns)].value_counts(normalize=True) for f in (x, y))
            apart.append(float(p.sub(q, fill_value=0).abs().sum()))
        biased = bias is not None and abs(len(x) - len(y)) >= bias
        scores.append(2.0 if biased else float(np.mean(apart)))
    return 1 - float(np.mean(scores)) / 2


@pytest.mark.parametrize(("k", "bias", "seed"), [(1, None, 0), (2, None, 1), (3, 8, 2), (2, 3, 3), (2, 0, 4)])
def test_it_is_the_published_procedure(k: int, bias: int | None, seed: int) -> None:
    """Random tables, with values outside the schema and groups of one side, score as a transcription in pandas."""
    truth, made = records(80, seed), records(60, 100 + seed)
    made = made[made["area"] != 3]
    found = KMarginal(SCHEMA, k=k, bias=bias).score(truth, made).value
    assert found == pytest.approx(slow(truth, made, k, bias), abs=1e-12)


def test_many_scans_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the counts do not fit at once they are taken in several scans, and nothing changes."""
    truth, made = records(300, 5), records(200, 6)
    once = KMarginal(SCHEMA, k=2).score(truth, made)
    monkeypatch.setattr(counted, "MOST", 12 * 16)
    assert KMarginal(SCHEMA, k=2).score(truth, made) == once


def test_every_engine_scores_the_same(on_engine: OnEngine) -> None:
    """Wherever the tables live."""
    truth, made = (pa.Table.from_pandas(records(200, i), preserve_index=False) for i in (7, 8))
    expected = KMarginal(SCHEMA).score(truth, made)
    there = on_engine(made)
    assert KMarginal(SCHEMA).score(truth, there) == expected


def test_the_worst_group_comes_first_by_its_names() -> None:
    """Groups are listed with their labels and records, the furthest apart first; so are the sets."""
    truth = records(50, 9)
    truth = truth[truth["area"] != 9]
    made = truth[(truth["area"] != 2) | (truth["hour"] != 1)]
    score = KMarginal(SCHEMA).score(truth, made)
    assert score.groups[0].labels == ("2", "1")
    assert score.groups[0].synthetic == 0
    assert score.groups[0].distance == 2.0
    assert score.to_dict()["groups"][0]["area"] == "2"
    assert {columns for columns, _ in score.sets} == {("kind", "how"), ("kind", "fare"), ("how", "fare")}


def test_two_empty_tables_agree() -> None:
    """Without records on either side there is no group to differ in."""
    empty = records(1, 0)[:0]
    assert KMarginal(SCHEMA).score(empty, empty).value == 1.0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"k": 4}, "k is 4"),
        ({"draws": 0}, "draws from 1"),
        ({"draws": 3, "seed": -1}, "seed is -1"),
        ({"bias": -1}, "bias is -1"),
        ({"columns": ("area", "kind")}, "'area' is compared with itself"),
        ({"by": ("nowhere",)}, "no column 'nowhere'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], says: str) -> None:
    """One sentence with the value."""
    with pytest.raises(InputError, match=says):
        KMarginal(SCHEMA, **settings).score(records(1, 0), records(1, 0))


def test_too_many_cells_are_refused_before_counting() -> None:
    """A set that does not fit is refused with its number of cells."""
    wide = Schema(columns=tuple(Category(name=n, values=tuple(range(1000))) for n in "abcdefg"))
    with pytest.raises(InputError, match="1,003,003,001 cells"):
        KMarginal(wide, by=(), k=3).score(pa.table({}), pa.table({}))
    with pytest.raises(InputError, match="1,007,021,035,035,021,007,001 cells"):  # more than 64 bits number
        KMarginal(wide, by=(), k=7).score(pa.table({}), pa.table({}))
