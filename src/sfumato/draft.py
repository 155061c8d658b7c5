"""A first schema for a PUBLIC table: kinds and bins guessed from its values, for a person to correct.

It reads values and writes them down, so it is for public data alone: last year's release, a sample made by hand.
A schema drafted from the private table would publish which values occur in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.coding import as_number, as_text, as_timestamp, quote
from sfumato.engine import Engine, connect
from sfumato.errors import InputError
from sfumato.schema import Schema

MAX_CATEGORIES = 1_000
MAX_CODES = 100  # whole numbers with no more values than this are taken for codes
_PERSON = re.compile(r"(^|_)(id|person|resident|driver|taxi|user|customer|card|tail\w*|vehicle|device)($|_)", re.I)
_PLACE = re.compile(r"area|zone|neighbou?rhood|community|tract|district|puma|county|borough|airport|dest|origin", re.I)
_FORMATS = (None, "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M", "%m/%d/%Y", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S")
_ENOUGH = 0.99  # of the values that are there must be numbers or times for a column of text to count as such


@dataclass(frozen=True)
class Draft:
    """A schema, and what was decided about each column of the data."""

    schema: Schema
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Seen:
    """What a column of the data holds."""

    name: str
    family: str
    filled: int
    empty: int
    distinct: int
    numbers: int
    whole: bool


def draft(data: Any, person: str | None = None) -> Draft:
    """The guessed schema of a public table; `person` names its person id where there is one."""
    engine = connect(data)
    if person is not None and person not in engine.families:
        raise InputError(f"{engine.origin} has no column '{person}'; its columns are {', '.join(engine.families)}")
    seen = [_look(engine, name) for name in engine.families]
    who = person or _guess_person(seen)
    columns: list[dict[str, Any]] = []
    notes: list[str] = []
    for column in seen:
        made, note = ([_person(column)], "the person id") if column.name == who else _columns(engine, column)
        columns += made
        notes.append(f"{column.name}: {note}")
    if who is None:
        notes.append("no person id was found; name it with --person, or every release must protect single records")
    if not any(c["kind"] != "person" for c in columns):
        raise InputError(f"{engine.origin} has no column that a schema could describe")
    limit = {"max_records_per_person": _limit(engine, who)} if who is not None else {}
    document = {"sfumato": "schema", "version": 1, **limit, "columns": {c.pop("name"): c for c in columns}}
    engine.close()
    return Draft(Schema.from_dict(document, where="the draft"), tuple(notes))


def _look(engine: Engine, name: str) -> _Seen:
    sql, family = f"s.{quote(name)}", engine.families[name]
    text, number = as_text(sql, family), as_number(sql, family)
    row = engine.run(
        f"SELECT COUNT(*) AS n, COUNT(NULLIF({text}, '')) AS filled, COUNT(DISTINCT {text}) AS d, "
        f"COUNT({number}) AS x, "
        f"COALESCE(MIN(CASE WHEN {number} = FLOOR({number}) THEN 1 ELSE 0 END), 0) AS whole FROM source AS s"
    ).to_pylist()[0]
    return _Seen(name, family, row["filled"], row["n"] - row["filled"], row["d"], row["x"], bool(row["whole"]))


def _guess_person(seen: Sequence[_Seen]) -> str | None:
    """The column with a telling name and many values, but not a new one in every record."""
    likely = [c for c in seen if _PERSON.search(c.name) and 20 < c.distinct < 0.9 * max(1, c.filled)]
    return max(likely, key=lambda c: c.distinct).name if likely else None


def _person(column: _Seen) -> dict[str, Any]:
    return {"kind": "person", "name": column.name}


def _columns(engine: Engine, column: _Seen) -> tuple[list[dict[str, Any]], str]:
    """The schema's columns for one of the data, and why."""
    if column.filled == 0:
        return [], "left out: empty"
    pattern = _time_format(engine, column)
    if pattern is not False:
        return _times(engine, column, pattern), "a timestamp: month, weekday and hour are taken from it"
    if column.numbers >= _ENOUGH * column.filled:
        if column.whole and column.distinct <= MAX_CODES:
            return [_codes(engine, column)], f"{column.distinct} codes; say ordered or cyclic where they are"
        return [_number(engine, column)], "a number, its bins cut at its quantiles; round them to your liking"
    if column.distinct <= MAX_CATEGORIES:
        return [_texts(engine, column)], f"{column.distinct} values"
    return [], f"left out: {column.distinct:,} different texts; group them, or name it as the person id"


def _time_format(engine: Engine, column: _Seen) -> str | bool | None:
    """The pattern of a column of timestamps, None for ISO 8601, False when it holds no timestamps."""
    if column.family == "time":
        return None
    if column.family != "text" or column.numbers >= _ENOUGH * column.filled:
        return False
    for pattern in _FORMATS:
        stamp = as_timestamp(f"s.{quote(column.name)}", column.family, pattern)
        row = engine.run(f"SELECT COUNT({stamp}) AS n FROM source AS s").to_pylist()[0]
        if row["n"] >= _ENOUGH * column.filled:
            return pattern
    return False


def _times(engine: Engine, column: _Seen, pattern: str | bool | None) -> list[dict[str, Any]]:
    base: dict[str, Any] = {"kind": "time", "source": column.name}
    if isinstance(pattern, str):
        base["format"] = pattern
    stamp = as_timestamp(f"s.{quote(column.name)}", column.family, pattern if isinstance(pattern, str) else None)
    months = engine.run(
        f"SELECT DISTINCT YEAR({stamp}) AS y, MONTH({stamp}) AS m FROM source AS s "
        f"WHERE {stamp} IS NOT NULL ORDER BY y, m"
    ).to_pylist()
    out = [{**base, "name": f"{column.name}_{part}", "part": part} for part in ("weekday", "hour")]
    if len(months) > 1:
        listed = [[r["y"], r["m"]] for r in months]
        out.insert(0, {**base, "name": f"{column.name}_month", "part": "year_month", "months": listed})
    return out


def _values(engine: Engine, column: _Seen, expression: str) -> list[Any]:
    rows = engine.run(f"SELECT DISTINCT {expression} AS v FROM source AS s WHERE {expression} IS NOT NULL ORDER BY v")
    return [r["v"] for r in rows.to_pylist()]


def _codes(engine: Engine, column: _Seen) -> dict[str, Any]:
    number = as_number(f"s.{quote(column.name)}", column.family)
    values = [int(v) for v in _values(engine, column, number) if v == v]
    return {"kind": _kind(column.name), "name": column.name, "values": values}


def _texts(engine: Engine, column: _Seen) -> dict[str, Any]:
    text = f"NULLIF({as_text(f's.{quote(column.name)}', column.family)}, '')"
    return {"kind": _kind(column.name), "name": column.name, "values": _values(engine, column, text)}


def _kind(name: str) -> str:
    return "place" if _PLACE.search(name) else "category"


def _number(engine: Engine, column: _Seen) -> dict[str, Any]:
    number = as_number(f"s.{quote(column.name)}", column.family)
    shares = ", ".join(str(i / 12) for i in range(1, 12))
    row = engine.run(
        f"SELECT QUANTILE_CONT(x, [{shares}]) AS q, MIN(x) AS low, MAX(x) AS high "
        f"FROM (SELECT {number} AS x FROM source AS s) AS e WHERE x IS NOT NULL AND NOT ISNAN(x)"
    ).to_pylist()[0]
    cuts = sorted({float(f"{q:.2g}") for q in row["q"]})
    edges = [
        row["low"],
        *(c for c in cuts if row["low"] < c < row["high"]),
        max(row["high"], np.nextafter(row["low"], np.inf)),
    ]
    missing = {"missing": [None]} if column.empty or column.numbers < column.filled else {}
    return {"kind": "number", "name": column.name, "edges": edges, "integer": column.whole, **missing}


def _limit(engine: Engine, who: str) -> int:
    """The 99th percentile of records a person: a bound at which few records are lost."""
    row = engine.run(
        f"SELECT QUANTILE_DISC(n, 0.99) AS q FROM (SELECT COUNT(*) AS n FROM source AS s "
        f"WHERE s.{quote(who)} IS NOT NULL GROUP BY s.{quote(who)}) AS e"
    ).to_pylist()[0]
    return int(row["q"] or 1)
