"""A first schema from public data: what each kind of column becomes, and that the data it came from fit it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import InputError, Schema, Table
from sfumato.check import check
from sfumato.draft import Draft, draft, round_edges

N = 120
DAY = datetime(2024, 1, 1)


def over(values: Sequence[Any], records: int = N) -> list[Any]:
    """The values over and over again."""
    return [values[i % len(values)] for i in range(records)]


def drafted(data: Any, person: str | None = None) -> Draft:
    """A draft that can be kept and loaded, and that leaves none of the data's own values out."""
    made = draft(data, person)
    loaded = Schema.from_dict(json.loads(json.dumps(made.schema.to_dict())))
    assert loaded == made.schema
    found = check(Table.open(data, loaded))
    assert [(c.column, c.examples) for c in found.columns if c.outside] == []
    return made


def column(name: str, values: Any) -> tuple[dict[str, Any] | None, str]:
    """What one column becomes, if anything, and what is said of it; beside it stands one that needs no guess."""
    made = drafted(pa.table({name: values, "way": over("ab", len(values))}))
    assert made.notes[0].startswith(f"{name}: ")
    return made.schema.to_dict()["columns"].get(name), made.notes[0].removeprefix(f"{name}: ")


# ---------------------------------------------------------------------- categories

CATEGORIES: dict[str, tuple[str, list[Any], dict[str, Any], str]] = {
    "texts": ("how", ["b", "a"], {"values": ["a", "b"]}, "2 values"),
    "one text": ("how", ["a"], {"values": ["a"]}, "1 value"),
    "texts and empty cells": ("how", ["a", None, ""], {"values": ["a", "other"], "other": "other"}, "for empty cells"),
    "a text named as the rest": ("how", ["other", None], {"values": ["other", "(other)"], "other": "(other)"}, "1 val"),
    "texts that look like nothing": ("how", ["NA", "a"], {"values": ["NA", "a"]}, "2 values"),
    "numbers with zeros before them": ("how", ["01", "10"], {"values": ["01", "10"]}, "2 values"),
    "numbers and words": ("how", ["1", "x"], {"values": ["1", "x"]}, "2 values"),
    "codes": ("how", [30, 1], {"values": [1, 30]}, "2 codes; say ordered"),
    "one code": ("how", [5], {"values": [5]}, "1 code;"),
    "codes and empty cells": ("how", [0, None], {"values": [-1, 0], "other": -1}, "1 code, and one for empty cells"),
    "codes below zero": ("how", [-7, 5, None], {"values": [-8, -7, 5], "other": -8}, "2 codes"),
    "codes with a point": ("how", [1.0, 2.0, math.nan], {"values": [-1, 1, 2], "other": -1}, "2 codes"),
    "codes as text": ("how", ["1", "2", "n/a"], {"values": [-1, 1, 2], "other": -1}, "2 codes"),
    "codes beyond a double": ("how", [2**53 + 1, 2**53 + 2], {"values": [2**53 + 1, 2**53 + 2]}, "2 codes"),
    "answers": ("stop", [True, False], {"values": [0, 1], "names": ["no", "yes"]}, "no or yes"),
    "answers and none": (
        "stop",
        [True, None, False],
        {"values": [-1, 0, 1], "other": -1, "names": ["unknown", "no", "yes"]},
        "no or yes, and one for empty cells",
    ),
    "hours": ("hour", [3, 22], {"values": list(range(24)), "ordered": True, "cyclic": True}, "calendar's 24 values"),
    "hours and none": ("hour", ["3", ""], {"values": list(range(-1, 24)), "other": -1}, "24 values, and one for empty"),
    "weekdays from 0": ("day_of_week", [0, 6], {"values": list(range(7)), "ordered": True, "cyclic": True}, "7 values"),
    "weekdays from 1": ("Weekday", [1, 7], {"values": list(range(1, 8)), "ordered": True, "cyclic": True}, "7 values"),
    "days": ("day", [1, 31], {"values": list(range(1, 32)), "ordered": True}, "31 values"),
    "months": ("tripMonth", [2, 12], {"values": list(range(1, 13)), "ordered": True, "cyclic": True}, "12 values"),
    "hours that are none": ("hour", [3, 25], {"values": [3, 25]}, "2 codes"),
    "years": ("year", [2019, 2022], {"values": [2019, 2020, 2021, 2022], "ordered": True}, "years"),
    "years and none": ("year", [2019, 2020, None], {"values": [-1, 2019, 2020], "other": -1}, "without order"),
}  # fmt: skip


@pytest.mark.parametrize("case", CATEGORIES)
def test_categories(case: str) -> None:
    """Few texts or codes become a category of them, parts of the calendar one of all their values, gaps one more."""
    name, values, expected, said = CATEGORIES[case]
    made, note = column(name, over(values))
    assert made == {"kind": "category", **expected}
    assert said in note


def test_places() -> None:
    """Names of places make a column of places, even with more codes than another column may have."""
    made, note = column("pickup_area", over(range(1, 78), 500))
    assert made == {"kind": "place", "values": list(range(1, 78))}
    assert note == "77 codes; say ordered or cyclic if they are"
    made, _ = column("borough", over(["Queens", "Bronx", None]))
    assert made == {"kind": "place", "values": ["Bronx", "Queens", "other"], "other": "other"}


# ---------------------------------------------------------------------- what is left out

LEFT_OUT: dict[str, tuple[str, Any, str]] = {
    "no values": ("a", pa.nulls(N), "empty"),
    "empty texts": ("a", [""] * N, "empty"),
    "no numbers": ("a", [math.nan] * N, "empty"),
    "texts of their own": ("remark", [f"remark {i}" for i in range(N)], "120 different texts"),
    "too many texts": ("a", [f"t{i % 1001}" for i in range(3003)], "1,001 different texts"),
    "numbers of things": ("zip", [10_000 + i for i in range(N)], "an identifier with 120 values"),
    "coordinates": ("pickup_latitude", [40 + i / N for i in range(N)], "coordinates"),
    "points": ("where", [f"POINT ({i} 2)" for i in range(N)], "coordinates"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_left_out(case: str) -> None:
    """What no bins can be guessed for is left out, and the note says why."""
    name, values, why = LEFT_OUT[case]
    made, note = column(name, values)
    assert made is None
    assert note.startswith(f"left out: {why}")


def test_nothing_left() -> None:
    """A table of which nothing could be described is refused by name."""
    with pytest.raises(InputError, match="no column that a schema could describe"):
        draft(pa.table({"remark": [f"r{i}" for i in range(N)]}))


# ---------------------------------------------------------------------- numbers

HALVES = [5.0 * i for i in range(13)]  # the edges of 0, 0.5 … 59.5
NUMBERS: dict[str, tuple[list[Any], list[float], dict[str, Any]]] = {
    "real": ([i / 2 for i in range(N)], HALVES, {}),
    "whole": ([4 * i - 200 for i in range(N)], [50.0 * i for i in range(-4, 7)], {"integer": True}),
    "empty cells": ([None if i % 9 == 0 else i / 2 for i in range(N)], HALVES, {"missing": [None]}),
    "not a number": (
        [math.nan if i % 9 == 0 else i / 2 for i in range(N)], HALVES, {"missing": [None]}
    ),
    "infinite": (
        [math.inf if i % 9 == 0 else i / 2 for i in range(N)], HALVES, {"missing": [None]}
    ),
    "text with marks": (
        ["n/a" if i % 9 == 0 else str(i / 2) for i in range(N)], HALVES, {"missing": [None]}
    ),
    "one slip": (["oops" if i == 7 else str(i / 2) for i in range(N)], HALVES, {"missing": [None]}),
    "one wild value": ([1e9 if i == 0 else i / 2 for i in range(N)], HALVES, {}),
    "all alike": ([5.5] * N, [0.0, 1.0, 2.0, 5.0, 10.0], {}),
    "beyond a double": ([2**62 + i for i in range(N)], [0.0, 1e18, 2e18, 5e18], {}),
    "large and close": ([10**15 + i for i in range(N)], [1e15 + 10 * i for i in range(13)], {"integer": True}),
}  # fmt: skip


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers(case: str) -> None:
    """Numbers get about a dozen round bins over all but the ends; what is no number is missing."""
    values, edges, more = NUMBERS[case]
    made, note = column("fare", values)
    assert made == {"kind": "number", "edges": edges, **more}
    assert note == f"a number, bins from {edges[0]:g} to {edges[-1]:g}; cut them where it matters to you"


@pytest.mark.parametrize("share_of_zeros", [0, 2 / 3])
def test_heavy_tails(share_of_zeros: float) -> None:
    """Amounts over many powers of ten get bins that grow by 2 or 2.5 from one to the next, and a first one from 0."""
    amounts = np.exp(np.random.default_rng(5).normal(3, 3, 900))
    amounts[: int(900 * share_of_zeros)] = 0
    made, _ = column("amount", amounts)
    assert made is not None
    first, *edges = made["edges"]
    assert first == 0
    assert all(1.9 < high / low < 2.6 for low, high in pairwise(edges))
    assert np.quantile(amounts, 0.99) <= edges[-1] <= 2.5 * np.quantile(amounts, 0.99)


def test_times_of_day() -> None:
    """Whole numbers such as 1745 under the name of a time get a bin for each hour, also with 2400 and with gaps."""
    times: list[int | None] = [100 * (i % 24) + (7 * i) % 60 for i in range(N)]
    hours = [100.0 * h for h in range(25)]
    made, note = column("dep_time", [2400, *times[1:]])
    assert made == {"kind": "number", "edges": hours, "integer": True}
    assert "HHMM" in note
    made, _ = column("dep_time", [None, *times[1:]])
    assert made == {"kind": "number", "edges": hours, "integer": True, "missing": [None]}
    made, note = column("time_taken", [60 + i for i in range(N)])  # 161 to 179 are no times of the day
    assert made is not None
    assert "HHMM" not in note


@settings(max_examples=300)
@given(st.lists(st.floats(-1e12, 1e12) | st.integers(-5, 5), min_size=1, max_size=99), st.booleans())
def test_edges_of_any_numbers(values: list[float], whole: bool) -> None:
    """Whatever the percentiles are, edges ascend, hold them all, are not many, and lie on whole numbers for these."""
    percentiles = sorted(float(math.floor(v)) if whole else float(v) for v in values)
    edges = round_edges(percentiles, whole)
    assert all(low < high for low, high in pairwise(edges))
    assert edges[0] <= percentiles[0]
    assert edges[-1] >= percentiles[-1]
    assert 2 <= len(edges) <= 25
    assert not whole or all(e == math.floor(e) for e in edges)


# ---------------------------------------------------------------------- times

HOURS = [DAY + timedelta(hours=7 * i) for i in range(N)]  # 35 days
TIMES: dict[str, tuple[Any, list[str], str | None]] = {
    "timestamps": (HOURS, ["month", "weekday", "hour"], None),
    "zoned": (pa.array(HOURS, pa.timestamp("us", "UTC")), ["month", "weekday", "hour"], None),
    "within a month": (HOURS[:80], ["weekday", "hour"], None),
    "dates": ([h.date() for h in HOURS], ["month", "weekday"], None),
    "one day": ([date(2024, 1, 1)] * N, ["weekday"], None),
    "ISO 8601": ([h.isoformat() for h in HOURS], ["month", "weekday", "hour"], None),
    "dates as text": ([h.date().isoformat() for h in HOURS], ["month", "weekday"], None),
    "twelve hours": (
        [h.strftime("%m/%d/%Y %I:%M:%S %p") for h in HOURS], ["month", "weekday", "hour"], "%m/%d/%Y %I:%M:%S %p"
    ),
    "day first": ([h.strftime("%d/%m/%Y %H:%M") for h in HOURS], ["month", "weekday", "hour"], "%d/%m/%Y %H:%M"),
    "with points": ([h.strftime("%d.%m.%Y") for h in HOURS], ["month", "weekday"], "%d.%m.%Y"),
}  # fmt: skip


@pytest.mark.parametrize("case", TIMES)
def test_timestamps(case: str) -> None:
    """Of a timestamp, typed or written, become month, weekday and hour, those of which it has several."""
    values, parts, written = TIMES[case]
    made = drafted(pa.table({"begin": values}))
    expected = {"kind": "time", "source": "begin", **({"format": written} if written else {})}
    assert made.schema.to_dict()["columns"] == {
        f"begin_{p}": {**expected, "part": p, **({"cyclic": True} if p == "month" else {})} for p in parts
    }
    assert f"taken from it: {', '.join(parts)}" in made.notes[0]
    assert ("written as" in made.notes[0]) == (written is not None)


def test_timestamps_with_gaps() -> None:
    """Records without a timestamp fit no bin, and the note says how many."""
    data = pa.table({"begin": [None if i in (3, 50) else h for i, h in enumerate(HOURS)]})
    made = draft(data)
    assert made.notes[0].endswith("2 records without it fit no bin and will be left out")
    assert {c.outside for c in check(Table.open(data, made.schema)).columns} == {2}


# ---------------------------------------------------------------------- persons


def rides(**columns: Any) -> pa.Table:
    """400 rides of 40 persons, of whom p0 has 10 more."""
    who = [f"p{i % 40}" for i in range(400)] + ["p0"] * 10
    return pa.table({"taxi_id": who, **columns, "hour": over(range(24), 410)})


def test_person_by_name() -> None:
    """A column with a telling name and several records each is taken for the person id, and the notes say so."""
    made = drafted(rides())
    assert made.schema.person is not None
    assert made.schema.person.name == "taxi_id"
    assert made.schema.max_records_per_person == 20
    assert made.notes[0] == "taxi_id: the person id"
    assert made.notes[-2].startswith("max_records_per_person is 20: 99 % of the persons have no more")
    assert made.notes[-1].startswith("'taxi_id' was taken for the person id by its name")


def test_person_by_request() -> None:
    """A column named by the user is the person id whatever its values are, and no guess is reported."""
    made = drafted(rides(badge=over(["x", "y"], 410)), person="badge")
    assert made.schema.person is not None
    assert made.schema.person.name == "badge"
    assert made.schema.max_records_per_person == 205
    assert not any("by its name" in note for note in made.notes)
    with pytest.raises(InputError, match="no column 'who'; its columns are taxi_id, hour"):
        draft(rides(), person="who")


def test_no_person() -> None:
    """An id that is new in every record is no person's, nor is one of companies or areas, and the notes say so."""
    records = {
        "trip_id": [f"t{i}" for i in range(400)],
        "company_id": over(range(30), 400),
        "area_id": over(range(40), 400),
    }
    made = drafted(pa.table(records))
    assert made.schema.person is None
    assert made.schema.max_records_per_person is None
    assert made.schema.names == ("company_id", "area_id")
    assert made.notes[-1].startswith("no person id was found; name it with --person")


def test_engines_and_odd_names(tmp_path: Path) -> None:
    """The same draft comes of a table in memory and of its CSV, whatever its columns are called."""
    data = rides(**{'how "paid"': over(["a'b", "ü", None], 410), "a,b c": over([1.5, 2.25, 80.0], 410)})
    pyarrow.csv.write_csv(data, tmp_path / "rides.csv")
    assert drafted(data) == drafted(str(tmp_path / "rides.csv"))


# ---------------------------------------------------------------------- real data


def test_taxi_trips(shared: Path) -> None:
    """Real taxi trips get their person and the kinds that a person would write down, and fit them."""
    made = drafted(str(shared / "chicago_taxi_two_days.csv.gz"))
    assert made.schema.person is not None
    assert made.schema.person.name == "taxi_id"
    assert len(made.schema.names) == 12
    kinds = {"pickup_community_area": "place", "trip_hour_of_day": "category", "fare": "number", "shift": "category"}
    found = made.schema.to_dict()["columns"]
    assert {name: found[name]["kind"] for name in kinds} == kinds


def test_flights(shared: Path) -> None:
    """Every 15th of a year's real flights: the plane is the person, and dates, times and airports are known as such."""
    flights = pyarrow.parquet.read_table(shared / "nycflights13_flights.parquet")
    made = drafted(flights.take(np.arange(0, len(flights), 15)))
    assert made.schema.person is not None
    assert made.schema.person.name == "tailnum"
    kinds = {"dest": "place", "month": "category", "dep_time": "number", "time_hour_hour": "time", "air_time": "number"}
    found = made.schema.to_dict()["columns"]
    assert {name: found[name]["kind"] for name in kinds} == kinds
    assert "flight" not in found


def test_raw_real_data(shared: Path) -> None:
    """Of raw taxi trips, trip ids and coordinates are left out, and the one trip without an end is told."""
    made = draft(str(shared / "chicago_taxi_2022-03-01_raw.parquet"))
    left_out = {note.split(":")[0] for note in made.notes if ": left out" in note}
    assert left_out == {"trip_id"} | {
        f"{end}_centroid_{what}"
        for end, what in [
            ("pickup", "latitude"), ("pickup", "longitude"), ("pickup", "location"),
            ("dropoff", "latitude"), ("dropoff", "longitude"), ("dropoff", "_location"),
        ]
    }  # fmt: skip
    assert any("1 record without it fit no bin" in note for note in made.notes if note.startswith("trip_end"))
