"""The challenge's own parameters, as its three sprints published them, and random tables in its columns.

The tables come from numpy's legacy generator, whose streams are stable; scores of them were computed with the
published scorers, so they are known in advance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

Frame = pd.DataFrame
AREAS = [-1, *range(1, 78)]


def _values(first: int, last: int, dtype: str = "uint8") -> dict[str, Any]:
    return {"dtype": dtype, "values": list(range(first, last + 1))}


def _free(dtype: str, low: int | None = None, high: int | None = None) -> dict[str, Any]:
    return {"dtype": dtype} | ({} if low is None else {"min": low, "max": high})


def sprint1(
    areas: int = 3, months: int = 2, kinds: int = 4, epsilons: tuple[float, ...] = (1.0, 2.0)
) -> dict[str, Any]:
    """A small `parameters.json` of the first sprint."""
    limits = {"delta": 1.2e-11, "max_records_per_individual": 20}
    return {
        "runs": [{"epsilon": e, **limits} for e in epsilons],
        "schema": {
            "periods": [{"year": 2019, "month": m + 1} for m in range(months)],
            "neighborhood": [{"name": f"N{i}", "code": i} for i in range(areas)],
            "incident_type": [{"name": f"T{i}", "code": i} for i in range(kinds)],
        },
    }


def sprint2(pumas: int = 3, epsilons: tuple[float, ...] = (0.1, 1.0, 10.0)) -> dict[str, Any]:
    """A `parameters.json` of the second sprint with a few areas."""
    limits = {"delta": 3.4e-11, "max_records": 1_350_000, "max_records_per_individual": 7}
    money = _free("int32")
    status = [0, 10, 11, 12, 13, 14, 15, 20, 21, 22, 30, 31, 32, 33, 34]
    schema = {
        "PUMA": {"dtype": "str", "values": [f"17-{1001 + i}" for i in range(pumas)]},
        "YEAR": _values(2012, 2018, "uint32"),
        "HHWT": _free("float"),
        "GQ": _values(0, 6),
        "PERWT": _free("float"),
        "SEX": _values(1, 2),
        "AGE": _free("uint8", 0, 135),
        "MARST": _values(1, 6),
        "RACE": _values(1, 9),
        "HISPAN": {"dtype": "uint8", "values": [0, 1, 2, 3, 4, 9]},
        "CITIZEN": _values(0, 6),
        "SPEAKENG": _values(0, 8),
        **{name: _values(1, 2) for name in ("HCOVANY", "HCOVPRIV", "HINSEMP", "HINSCAID", "HINSCARE")},
        "EDUC": _values(0, 11),
        "EMPSTAT": _values(0, 3),
        "EMPSTATD": {"dtype": "uint8", "values": status},
        "LABFORCE": _values(0, 2),
        "WRKLSTWK": _values(0, 3),
        "ABSENT": _values(0, 4),
        "LOOKING": _values(0, 3),
        "AVAILBLE": _values(0, 5),
        "WRKRECAL": _values(0, 3),
        "WORKEDYR": _values(0, 3),
        "INCTOT": money,
        "INCWAGE": money,
        "INCWELFR": money,
        "INCINVST": money,
        "INCEARN": money,
        "POVERTY": _free("uint32", 0, 501),
        "DEPARTS": _free("uint32", 0, 2359),
        "ARRIVES": _free("uint32", 0, 2359),
    }
    return {"runs": [{"epsilon": e, **limits} for e in epsilons], "schema": schema}


def sprint3(epsilons: tuple[float, ...] = (1.0, 10.0)) -> dict[str, Any]:
    """The `parameters.json` of the third sprint."""
    limits = {"delta": 2.5e-5, "max_records": 20_000_000, "max_records_per_individual": 200}

    def category(values: list[int], dtype: str) -> dict[str, Any]:
        return {"dtype": dtype, "kind": "categorical", "values": values}

    def number(dtype: str, most: int) -> dict[str, Any]:
        return {"dtype": dtype, "kind": "numeric", "min": -1, "max": most}

    schema = {
        "taxi_id": {"dtype": "int64", "kind": "id", "min": 1_000_000, "max": 9_999_999},
        "shift": category(list(range(21)), "uint8"),
        "company_id": category(list(range(101)), "int8"),
        "pickup_community_area": category(AREAS, "int8"),
        "dropoff_community_area": category(AREAS, "int8"),
        "payment_type": category([-1, 0, 1, 2, 3, 5, 6, 7, 8], "int8"),
        "trip_day_of_week": category(list(range(7)), "uint8"),
        "trip_hour_of_day": category(list(range(24)), "uint8"),
        "fare": number("int16", 10_000),
        "tips": number("int16", 1_000),
        "trip_total": number("int16", 9_975),
        "trip_seconds": number("int32", 100_000),
        "trip_miles": number("int16", 2_000),
    }
    return {"runs": [{"epsilon": e, **limits} for e in epsilons], "schema": schema}


def people(schema: dict[str, Any], seed: int, records: int) -> Frame:
    """Records of the second sprint: three areas, two years, all else uniform."""
    rng = np.random.RandomState(seed)
    data: dict[str, Any] = {}
    for name, entry in schema.items():
        if name in ("PUMA", "YEAR"):
            data[name] = rng.choice(entry["values"][: {"PUMA": 3, "YEAR": 2}[name]], records)
        elif "values" in entry:
            data[name] = rng.choice(entry["values"], records)
        elif "min" in entry:
            data[name] = rng.randint(entry["min"], entry["max"] + 1, records)
        elif name in ("HHWT", "PERWT"):
            data[name] = np.floor(rng.uniform(0, 520, records))
        else:
            data[name] = rng.randint(-5000, 120000, records)
    return pd.DataFrame(data)


def trips(schema: dict[str, Any], seed: int, records: int, taxis: int) -> Frame:
    """Trips of the third sprint, everything uniform."""
    rng = np.random.RandomState(seed)
    top = {"fare": 120, "tips": 30, "trip_total": 150, "trip_seconds": 2500, "trip_miles": 40}
    data: dict[str, Any] = {"taxi_id": 1_000_000 + rng.randint(0, taxis, records)}
    for name, entry in schema.items():
        if name not in ("taxi_id", "trip_day_of_week", "trip_hour_of_day"):
            data[name] = (
                rng.choice(entry["values"], records) if "values" in entry else rng.randint(-1, top[name], records)
            )
    return pd.DataFrame(data)


def weeks(seed: int, taxis: int, most: int) -> Frame:
    """Trips of taxis with habits: shift and pickup area alone."""
    rng = np.random.RandomState(seed)
    rows = []
    for taxi in range(taxis):
        home = AREAS[rng.randint(78)]
        shift = rng.randint(21)
        for _ in range(rng.randint(20, most + 1)):
            when = shift if rng.rand() < 0.7 else rng.randint(21)
            rows.append((1_000_000 + taxi, when, home if rng.rand() < 0.8 else AREAS[rng.randint(78)]))
    return pd.DataFrame(rows, columns=["taxi_id", "shift", "pickup_community_area"])


def epsilons(frames: dict[float, Frame], columns: list[str], last: str | None = None) -> Frame:
    """A submission: the records of every ε under each other, columns in the contest's order."""
    out = pd.concat([f.assign(epsilon=e) for e, f in frames.items()], ignore_index=True)
    if last is not None:
        out[last] = range(len(out))
    return out[["epsilon", *columns, *([last] if last else [])]]
