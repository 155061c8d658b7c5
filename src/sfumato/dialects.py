"""The three dialects of the temporal map challenge's `parameters.json`, read as a schema.

Sprint 1 lists `{name, code}` for each column and `{year, month}` for the periods; sprints 2 and 3 give a `dtype` with
`values` (and `names`) or `min`/`max`, sprint 3 a `kind` too; later tools add `codes` and `bins`. The files give no
bins for most numbers, so those the challenge scored with are filled in: left-closed in sprint 3, right-closed in
sprint 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import InputError

Edges = tuple[float | None, ...]


def _span(step: int, last: int, first: int = 0) -> Edges:
    return (None, *range(first, last + 1, step), None)


_TENS = _span(10, 90)
_MONEY = _span(5_000, 100_000)
_SHARE = _span(20, 500)
_CLOCK: Edges = (None, *(100 * hour + minute for hour in range(24) for minute in (0, 15, 30, 45)), None)

SPRINT2_EDGES: dict[str, Edges] = {
    "AGE": _span(5, 100, first=20),
    **dict.fromkeys(("INCTOT", "INCWAGE", "INCWELFR", "INCINVST", "INCEARN"), _MONEY),
    **dict.fromkeys(("POVERTY", "HHWT", "PERWT"), _SHARE),
    **dict.fromkeys(("DEPARTS", "ARRIVES"), _CLOCK),
}
SPRINT3_EDGES: dict[str, Edges] = {
    **dict.fromkeys(("fare", "tips", "trip_total", "trip_miles"), _TENS),
    "trip_seconds": _span(200, 1_800),
}

_PLACES = {"PUMA", "neighborhood", "pickup_community_area", "dropoff_community_area"}
_CYCLES = {"shift", "trip_day_of_week", "trip_hour_of_day"}
_ORDERED = {"YEAR", "EDUC", *_CYCLES}


def read_parameters(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What `Schema` needs, from a parsed `parameters.json` of any sprint."""
    entries = data["schema"]
    if not isinstance(entries, dict) or not entries:
        raise InputError(f"{where}: schema is an object with a key for each column")
    columns = _sprint1(entries, where) if "periods" in entries else _sprint23(entries, where)
    runs = data.get("runs", [])
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise InputError(f"{where}: runs is a list of objects with epsilon and delta")
    limits = [run["max_records_per_individual"] for run in runs if "max_records_per_individual" in run]
    limit = {"max_records_per_person": max(limits)} if limits and all(isinstance(x, int) for x in limits) else {}
    return {"columns": columns, "runs": runs, **limit}


def _sprint1(entries: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = [{"kind": "person", "name": "sim_resident"}]
    for name, items in entries.items():
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise InputError(f"{where}: column '{name}': a list of objects is needed")
        if name == "periods":
            months = [(_need(p, "year", where, name), _need(p, "month", where, name)) for p in items]
            columns.append(
                {
                    "kind": "time",
                    "name": "period",
                    "part": "year_month",
                    "year": "year",
                    "month": "month",
                    "months": months,
                }
            )
        else:
            values = [_need(item, "code", where, name) for item in items]
            names = [str(_need(item, "name", where, name)) for item in items]
            columns.append({"kind": _kind(name), "name": name, "values": values, "names": names})
    return columns


def _sprint23(entries: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    has_id = any(isinstance(e, dict) and e.get("kind") == "id" for e in entries.values())
    sprint2 = not has_id and not any(isinstance(e, dict) and "kind" in e for e in entries.values())
    columns = [_entry(name, entry, sprint2, where) for name, entry in entries.items()]
    if sprint2:
        columns.append({"kind": "person", "name": "sim_individual_id"})
    return columns


def _entry(name: str, entry: object, sprint2: bool, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: column '{name}' is described by an object with dtype and values, or min and max")
    if entry.get("kind") == "id":
        return {"kind": "person", "name": name}
    if "values" in entry:
        order = {"ordered": True} if name in _ORDERED else {}
        cycle = {"cyclic": True} if name in _CYCLES else {}
        names = {"names": [str(n) for n in entry["names"]]} if isinstance(entry.get("names"), list) else {}
        return {"kind": _kind(name), "name": name, "values": entry["values"], **names, **order, **cycle}
    integer = "float" not in str(entry.get("dtype", ""))
    closed = "right" if sprint2 else "left"
    edges = _edges(name, entry, sprint2, where)
    return {"kind": "number", "name": name, "edges": edges, "closed": closed, "integer": integer}


def _edges(name: str, entry: Mapping[str, Any], sprint2: bool, where: str) -> Edges:
    """Edges given as `bins`, those the challenge scored with, or twenty equal bins from min to max."""
    bins = entry.get("bins")
    if isinstance(bins, list) and len(bins) > 1:
        return tuple(bins)
    known = (SPRINT2_EDGES if sprint2 else SPRINT3_EDGES).get(name)
    if known is not None:
        return known
    low, high = entry.get("min"), entry.get("max")
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not low < high:
        raise InputError(f"{where}: column '{name}' has neither values, bins, nor min below max; add one of them")
    if isinstance(low, int) and isinstance(high, int):
        return tuple(sorted({low + (high - low) * i // 20 for i in range(21)}))
    return tuple(low + (high - low) * i / 20 for i in range(21))


def _kind(name: str) -> str:
    return "place" if name in _PLACES else "category"


def _need(item: Mapping[str, Any], key: str, where: str, column: str) -> Any:
    if key not in item:
        raise InputError(f"{where}: column '{column}': an entry has no '{key}'")
    return item[key]
