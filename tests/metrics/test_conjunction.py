"""The higher-order conjunction: values of the published scorer, its bug, a slow transcription, laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato import Category, InputError, Person, Place, Schema
from sfumato.metrics import Conjunction, conjunction
from tests import challenge
from tests.conftest import OnEngine

COLUMNS = ("shift", "pickup_community_area")
TAXIS = Schema.from_dict(challenge.sprint3())
TRUTH, MADE = challenge.weeks(0, 500, 120), challenge.weeks(1, 400, 120)


@pytest.mark.parametrize(
    ("made", "explicit", "official"),
    [
        (MADE, 0.99478, 0.99478),
        (MADE[MADE["shift"] != 5], 0.99589, 0.99569),
        (MADE[MADE["shift"] < 10], 0.9318943073, 0.9303533501),
    ],
    ids=["all shifts", "no shift 5", "ten shifts"],
)
def test_it_gives_the_published_values(made: pd.DataFrame, explicit: float, official: float) -> None:
    """The explicit domain by default, and with `official_bug` what the published scorer gave."""
    found = [Conjunction(TAXIS, COLUMNS, official_bug=bug).score(TRUTH, made).value for bug in (False, True)]
    assert found == pytest.approx([explicit, official], abs=5e-11)


def test_random_trips_score_what_was_published() -> None:
    """Random tables of all columns; where an area is missing the published value has the bug in it."""
    schema = challenge.sprint3()["schema"]
    g, s = challenge.trips(schema, 0, 20000, 400), challenge.trips(schema, 1, 15000, 300)
    metric = Conjunction(TAXIS, COLUMNS)
    assert metric.score(g, s).value == pytest.approx(0.9964, abs=1e-12)
    assert metric.score(g, g[:10000]).value == pytest.approx(0.995, abs=1e-12)
    without = s[s["pickup_community_area"] != 8]
    bug = Conjunction(TAXIS, COLUMNS, official_bug=True)
    assert bug.score(g, without).value == pytest.approx(0.99713333, abs=5e-9)
    assert metric.score(g, without).value != bug.score(g, without).value


SCHEMA = Schema(
    columns=(
        Person(name="who"),
        Place(name="area", values=("n", "s", "e"), levels={"side": ("x", "x", "y")}),
        Category(name="hour", values=(0, 1), cyclic=True),
    )
)


def records(n: int, people: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": [f"p{i}" for i in rng.integers(0, people, n)],
            "area": rng.choice(["n", "s", "e", "?"], n),
            "hour": rng.choice([0, 1, 7], n),
        }
    )


def slow(truth: pd.DataFrame, made: pd.DataFrame, seed: int, rounds: int) -> float:
    """The definition, person by person."""

    def vectors(frame: pd.DataFrame) -> np.ndarray:
        rows = []
        for who in sorted(set(frame["who"])):
            mine = frame[frame["who"] == who]
            rows.append([sum(mine["area"] == a) for a in "nse"] + [sum(mine["hour"] == h) for h in (0, 1)])
        return np.array(rows)

    a, b = vectors(truth), vectors(made)
    rng = np.random.RandomState(seed)
    apart = []
    for _ in range(rounds):
        one = a[rng.randint(0, len(a))]
        tolerance = rng.randint(0, 4, size=5)
        apart.append(abs(*np.diff([np.mean((abs(v - one) <= tolerance).all(axis=1)) for v in (a, b)])))
    return 1 - float(np.mean(apart))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_its_definition(seed: int) -> None:
    """Random persons, with records outside the schema, score as a slow transcription."""
    truth, made = records(200, 40, seed), records(150, 30, 50 + seed)
    metric = Conjunction(SCHEMA, rounds=30, seed=seed, least=0, most=3)
    assert metric.score(truth, made).value == pytest.approx(slow(truth, made, seed, 30), abs=1e-12)


def test_many_scans_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all persons fit at once they are taken in several scans, and nothing changes."""
    truth, made = records(300, 60, 3), records(300, 50, 4)
    metric = Conjunction(SCHEMA, least=0, most=3)
    once = metric.score(truth, made)
    monkeypatch.setattr(conjunction, "MOST", 5 * 7)
    assert metric.score(truth, made) == once


def test_every_engine_scores_the_same(on_engine: OnEngine) -> None:
    """Wherever the tables live, and in whatever order their records are."""
    truth, made = records(200, 40, 5), records(200, 40, 6)
    expected = Conjunction(SCHEMA, least=0, most=3).score(truth, made)
    there = on_engine(pa.Table.from_pandas(truth.sample(frac=1, random_state=1), preserve_index=False))
    assert Conjunction(SCHEMA, least=0, most=3).score(there, made) == expected


def test_ids_are_in_the_order_of_numbers_as_text_and_as_integers() -> None:
    """9 comes before 10 whether a file holds text or whole numbers, so the same persons are drawn."""
    truth = records(300, 20, 7)
    truth["who"] = truth["who"].str[1:].astype(int)
    made = records(100, 20, 8)
    scores = [Conjunction(SCHEMA, least=0, most=3).score(t, made) for t in (truth, truth.astype({"who": str}))]
    assert scores[0] == scores[1]


def test_a_level_may_be_counted() -> None:
    """Columns are taken at a level where one is named."""
    truth = pd.DataFrame({"who": ["a", "b"], "area": ["n", "s"], "hour": [0, 0]})
    metric = Conjunction(SCHEMA, columns=("area@side",), least=0, most=0)
    assert metric.score(truth, truth.assign(area="s")).value == 1.0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"rounds": 0}, "rounds is 0"),
        ({"least": 5, "most": 4}, "from 5 to 4"),
        ({"seed": -2}, "seed is -2"),
        ({"columns": ("area",), "official_bug": True}, "two columns, and 1"),
        ({"columns": ("area", "area@side")}, "name one twice"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], says: str) -> None:
    """One sentence with the value."""
    with pytest.raises(InputError, match=says):
        Conjunction(SCHEMA, **settings).score(records(9, 3, 0), records(9, 3, 0))


def test_a_truth_without_persons_is_refused() -> None:
    """Nobody can be drawn from it; a synthetic table without persons scores."""
    truth = records(20, 5, 9)
    with pytest.raises(InputError, match="no person"):
        Conjunction(SCHEMA).score(truth[:0], truth)
    assert 0 <= Conjunction(SCHEMA).score(truth, truth[:0]).value < 1


def test_a_schema_without_a_person_is_refused() -> None:
    """One sentence says what is missing."""
    schema = Schema(columns=(Place(name="area", values=("n", "s", "e")),))
    with pytest.raises(InputError, match="no person id"):
        Conjunction(schema).score(records(9, 3, 0), records(9, 3, 0))
