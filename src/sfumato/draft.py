"""A first schema for a PUBLIC table: kinds and bins guessed from its values, for a person to correct.

It reads values and writes them down, so it is for public data alone: last year's release, a sample made by hand.
A schema drafted from the private table would publish which values occur in it.

The guess goes by name and values together: `hour` with values from 0 to 23 is an hour of the day with all its 24 bins,
whichever of them occur. Numbers get round bins of one width from the 1st to the 99th percentile; what lies beyond falls
into the bins at the ends, so that one wild value neither stretches the bins nor shows in them.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.coding import as_integer, as_number, as_text, as_timestamp, quote
from sfumato.engine import Engine, connect
from sfumato.errors import InputError
from sfumato.schema import Schema

MAX_CATEGORIES = 1_000
MAX_CODES = 25  # whole numbers with no more values than this are taken for codes, whatever they are called
_BINS = 12  # of a number, about
_UNIQUE = 0.9  # of the records with a value of their own make a column one of ids
_ENOUGH = 0.99  # of the values that are there must be numbers or times for a column of text to count as such
# what tools write into a number that is not there, or that came of a division by zero
_NOTHING = "('', 'nan', 'null', 'none', 'na', 'n/a', '-', 'inf', '-inf', '+inf', 'infinity', '-infinity')"
_EXACT = 2.0**53  # whole numbers up to here are exact as edges

_PEOPLE = {
    "person", "resident", "driver", "taxi", "user", "customer", "card", "tail", "tailnum", "vehicle", "device",
    "bike", "rider", "passenger", "member"
}  # fmt: skip
_PLACES = {
    "area", "zone", "neighborhood", "neighbourhood", "community", "tract", "district", "puma", "county",
    "borough", "ward", "precinct", "beat", "station", "stop", "region", "city", "town", "airport", "dest",
    "destination", "origin", "place"
}  # fmt: skip
_CODES = {"id", "code", "type", "kind", "class", "category", "group", "company", "route", "line", "shift", "status"}
_COORDINATES = {"lat", "latitude", "lon", "lng", "long", "longitude", "easting", "northing", "geom", "geometry"}
_NUMBERS_OF_THINGS = {"id", "number", "nr", "no", "code", "flight", "case", "key", "zip", "zipcode", "postcode"}
# what a calendar knows: words of the name, the values, whether the last is next to the first
_CALENDAR: tuple[tuple[set[str], range, bool], ...] = (
    ({"weekday"}, range(7), True),
    ({"weekday"}, range(1, 8), True),
    ({"day", "week"}, range(7), True),
    ({"day", "week"}, range(1, 8), True),
    ({"hour"}, range(24), True),
    ({"minute"}, range(60), True),
    ({"month"}, range(1, 13), True),
    ({"quarter"}, range(1, 5), True),
    ({"day"}, range(1, 32), False),
    ({"week"}, range(1, 54), True),
)
_FORMATS = (
    None,  # ISO 8601
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
)


@dataclass(frozen=True)
class Draft:
    """A schema, and what was decided about each column of the data."""

    schema: Schema
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Seen:
    """What a column of the data holds; `filled` counts all texts, `given` those that do not stand for nothing."""

    name: str
    family: str
    records: int
    filled: int
    given: int
    distinct: int
    numbers: int
    whole: bool
    padded: bool
    low: float
    high: float

    @property
    def words(self) -> set[str]:
        """The words of its name: `trip_hour_of_day` and `TripHourOfDay` have the same."""
        return {w.lower() for w in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", self.name)}

    @property
    def sql(self) -> str:
        return f"s.{quote(self.name)}"

    @property
    def is_number(self) -> bool:
        return not self.padded and self.numbers > 0 and self.numbers >= _ENOUGH * self.given

    @property
    def is_unique(self) -> bool:
        """Whether nearly every record has a value of its own, as ids and remarks have."""
        return self.distinct >= _UNIQUE * self.filled

    @property
    def has_gaps(self) -> bool:
        """Whether some records hold no number."""
        return self.numbers < self.records

    @property
    def is_place(self) -> bool:
        words = self.words
        return bool(words & _PLACES or {"location", "id"} <= words) and "description" not in words


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
        made, note = _columns(engine, column) if column.name != who else ([_person(column)], "the person id")
        columns += made
        notes.append(f"{column.name}: {note}")
    if not any(c["kind"] != "person" for c in columns):
        raise InputError(f"{engine.origin} has no column that a schema could describe")
    limit = _limit(engine, who, notes) if who is not None else {}
    if who is None:
        notes.append("no person id was found; name it with --person, or every release protects single records alone")
    elif person is None:
        notes.append(f"'{who}' was taken for the person id by its name; if it is another, say so with --person")
    document = {"sfumato": "schema", "version": 1, **limit, "columns": {c.pop("name"): c for c in columns}}
    engine.close()
    return Draft(Schema.from_dict(document, where="the draft"), tuple(notes))


def _look(engine: Engine, name: str) -> _Seen:
    family = engine.families[name]
    text, number = as_text(f"s.{quote(name)}", family), _finite(name, family)
    row = engine.run(
        f"SELECT COUNT(*) AS n, COUNT(NULLIF(t, '')) AS filled, COUNT(DISTINCT NULLIF(t, '')) AS d, COUNT(x) AS x, "
        f"COUNT(CASE WHEN LOWER(t) NOT IN {_NOTHING} THEN 1 END) AS given, MIN(x) AS low, MAX(x) AS high, "
        "COALESCE(MIN(CASE WHEN x IS NULL OR x = FLOOR(x) THEN 1 ELSE 0 END), 0) AS whole, "
        "COALESCE(MAX(CASE WHEN t LIKE '0_%' AND t NOT LIKE '0.%' THEN 1 ELSE 0 END), 0) AS padded "
        f"FROM (SELECT {text} AS t, {number} AS x FROM source AS s) AS e"
    ).to_pylist()[0]
    padded = family == "text" and bool(row["padded"])
    low, high = (row[k] if row[k] is not None else math.nan for k in ("low", "high"))
    return _Seen(
        name, family, row["n"], row["filled"], row["given"], row["d"], row["x"], bool(row["whole"]), padded, low, high
    )


def _finite(name: str, family: str) -> str:
    """The column as a number, NULL where it holds none or nothing that bins could be made of."""
    number = as_number(f"s.{quote(name)}", family)
    return f"CASE WHEN ABS({number}) < 1e300 THEN {number} END"


def _guess_person(seen: Sequence[_Seen]) -> str | None:
    """The column with a telling name and many values, but not a new one in every record."""
    many = [c for c in seen if 20 < c.distinct < _UNIQUE * max(1, c.filled) and not c.is_place]
    for telling in (_PEOPLE, {"id"}):
        if likely := [c for c in many if c.words & telling and not c.words & (_CODES - {"id"})]:
            return max(likely, key=lambda c: c.distinct).name
    return None


def _person(column: _Seen) -> dict[str, Any]:
    return {"kind": "person", "name": column.name}


def _limit(engine: Engine, who: str, notes: list[str]) -> dict[str, int]:
    """The 99th percentile of records a person: a bound at which few records are lost."""
    row = engine.run(
        f"SELECT QUANTILE_DISC(n, 0.99) AS q FROM (SELECT COUNT(*) AS n FROM source AS s "
        f"WHERE s.{quote(who)} IS NOT NULL GROUP BY s.{quote(who)}) AS e"
    ).to_pylist()[0]
    limit = int(row["q"] or 1)
    notes.append(f"max_records_per_person is {limit:,}: 99 % of the persons have no more; less noise with a lower one")
    return {"max_records_per_person": limit}


# ---------------------------------------------------------------------- one column


def _columns(engine: Engine, column: _Seen) -> tuple[list[dict[str, Any]], str]:
    """The schema's columns for one of the data, and why."""
    words = column.words
    if column.given == 0:
        return [], "left out: empty"
    if (words & _COORDINATES and (column.is_number or column.distinct > MAX_CODES)) or _is_geometry(engine, column):
        return [], "left out: coordinates; name the area that a point lies in"
    pattern = _time_format(engine, column)
    if pattern is not False:
        return _times(engine, column, pattern)
    if column.is_number:
        return _of_numbers(engine, column)
    if column.distinct <= (MAX_CODES if column.is_unique else MAX_CATEGORIES):
        return [_texts(engine, column)], f"{_many(column.distinct, 'value')}{_rest(column)}"
    return [], f"left out: {column.distinct:,} different texts; group them, or name it as the person id"


def _of_numbers(engine: Engine, column: _Seen) -> tuple[list[dict[str, Any]], str]:
    words = column.words
    if column.family == "boolean":
        answers = _coded(column, [0, 1], names=["no", "yes"])
        return [answers], f"no or yes{_rest(column)}"
    if column.whole and (found := _calendar(column)):
        return [found], f"the calendar's {len(found['values']) - column.has_gaps} values{_rest(column, True)}"
    if column.whole and _is_clock(engine, column):
        return [_clock(column)], "a time of day written as HHMM: a bin for each hour"
    if column.whole and words & {"year"} and column.low >= 1 and column.high - column.low < MAX_CODES:
        years = list(range(int(column.low), int(column.high) + 1))
        return [_coded(column, years, ordered=True)], f"years{_rest(column, True)}"
    most = MAX_CATEGORIES if column.is_place or words & _CODES else MAX_CODES
    if column.whole and column.distinct <= most:
        made = _codes(engine, column)
        codes = _many(len(made["values"]) - column.has_gaps, "code")
        return [made], f"{codes}{_rest(column)}; say ordered or cyclic if they are"
    if column.whole and words & (_NUMBERS_OF_THINGS | _PLACES):
        return [], f"left out: an identifier with {column.distinct:,} values; group them, or name it as the person id"
    made = _number(engine, column)
    return [made], f"a number, bins from {_span(made['edges'])}; cut them where it matters to you"


def _calendar(column: _Seen) -> dict[str, Any] | None:
    """A column named and valued like a part of the calendar, with every value that the part has."""
    for words, values, cyclic in _CALENDAR:
        if words <= column.words and values[0] <= column.low and column.high <= values[-1]:
            return _coded(column, list(values), ordered=True, cyclic=cyclic)
    return None


def _is_clock(engine: Engine, column: _Seen) -> bool:
    """Whether whole numbers are times of the day such as 1745."""
    if "time" not in column.words or not (column.low >= 0 and 60 <= column.high <= 2400):
        return False
    number = _finite(column.name, column.family)
    row = engine.run(f"SELECT MAX(x % 100) AS m FROM (SELECT {number} AS x FROM source AS s) AS e").to_pylist()[0]
    return bool(row["m"] < 60)


def _clock(column: _Seen) -> dict[str, Any]:
    edges = [100.0 * hour for hour in range(25)]
    return {"kind": "number", "name": column.name, "edges": edges, "integer": True, **_missing(column)}


def _is_geometry(engine: Engine, column: _Seen) -> bool:
    """Whether texts are points, lines or polygons in well-known text."""
    if column.family != "text":
        return False
    text = as_text(column.sql, column.family)
    shapes = "'^(POINT|LINESTRING|MULTI[A-Z]+|POLYGON) ?[(].*'"
    row = engine.run(
        f"SELECT COUNT(CASE WHEN REGEXP_MATCHES(UPPER({text}), {shapes}) THEN 1 END) AS n FROM source AS s"
    ).to_pylist()[0]
    return bool(row["n"] >= _ENOUGH * column.given)


def _time_format(engine: Engine, column: _Seen) -> str | bool | None:
    """The pattern of a column of timestamps, None for ISO 8601, False when it holds no timestamps."""
    if column.family == "time":
        return None
    if column.family != "text" or column.is_number:
        return False
    for pattern in _FORMATS:
        stamp = as_timestamp(column.sql, column.family, pattern)
        row = engine.run(f"SELECT COUNT({stamp}) AS n FROM source AS s").to_pylist()[0]
        if row["n"] >= _ENOUGH * column.given:
            return pattern
    return False


def _times(engine: Engine, column: _Seen, pattern: str | bool | None) -> tuple[list[dict[str, Any]], str]:
    """Month, weekday and hour of a timestamp, as far as it has several of them."""
    written = pattern if isinstance(pattern, str) else None
    stamp = as_timestamp(column.sql, column.family, written)
    row = engine.run(
        "SELECT COUNT(DISTINCT YEAR(t) * 12 + MONTH(t)) AS months, COUNT(DISTINCT HOUR(t)) AS hours, COUNT(t) AS n "
        f"FROM (SELECT {stamp} AS t FROM source AS s) AS e"
    ).to_pylist()[0]
    parts = [
        *(["month"] if row["months"] > 1 else []),
        "weekday",
        *(["hour"] if row["hours"] > 1 else []),
    ]
    base: dict[str, Any] = {"kind": "time", "source": column.name, **({"format": written} if written else {})}
    made = [{**base, "name": f"{column.name}_{part}", "part": part} for part in parts]
    for time in made:
        time |= {"cyclic": True} if time["part"] == "month" else {}
    how = f" written as {written}" if written else ""
    lost = column.records - int(row["n"])
    without = f"; {_many(lost, 'record')} without it fit no bin and will be left out" if lost else ""
    return made, f"a timestamp{how}; taken from it: {', '.join(parts)}{without}"


def _values(engine: Engine, column: _Seen, expression: str) -> list[Any]:
    rows = engine.run(f"SELECT DISTINCT {expression} AS v FROM source AS s WHERE {expression} IS NOT NULL ORDER BY v")
    return [r["v"] for r in rows.to_pylist()]


def _codes(engine: Engine, column: _Seen) -> dict[str, Any]:
    """A category of the whole numbers that occur."""
    values = [int(v) for v in _values(engine, column, as_integer(column.sql, column.family))]
    return {**_coded(column, values), "kind": _kind(column)}


def _coded(column: _Seen, values: list[int], names: Sequence[str] = (), **order: bool) -> dict[str, Any]:
    """A category of whole numbers; empty cells become a code below all others, -1 where it can be.

    A column with empty cells has no order: what is not known is next to nothing.
    """
    made: dict[str, Any] = {"kind": "category", "name": column.name, "values": values}
    if column.has_gaps:
        other = min(-1, values[0] - 1)
        made |= {"values": [other, *values], "other": other}
        names = ["unknown", *names] if names else names
    else:
        made |= {way: True for way, wanted in order.items() if wanted}
    return {**made, "names": names} if names else made


def _texts(engine: Engine, column: _Seen) -> dict[str, Any]:
    """A category of texts; empty cells become "other"."""
    values = _values(engine, column, f"NULLIF({as_text(column.sql, column.family)}, '')")
    made = {"kind": _kind(column), "name": column.name, "values": values}
    if column.filled < column.records:
        other = next(name for name in ("other", "(other)", "(empty)", "(none)") if name not in values)
        made |= {"values": [*values, other], "other": other}
    return made


def _kind(column: _Seen) -> str:
    return "place" if column.is_place else "category"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _rest(column: _Seen, had_order: bool = False) -> str:
    """What becomes of empty cells, and of the order that they cost."""
    lost = column.has_gaps if column.is_number else column.filled < column.records
    return (", and one for empty cells" + "; without order for these" * had_order) if lost else ""


# ---------------------------------------------------------------------- round bins


def _number(engine: Engine, column: _Seen) -> dict[str, Any]:
    number = _finite(column.name, column.family)
    shares = ", ".join(str(i / 100) for i in range(1, 100))
    filled = f"SELECT {number} AS x FROM source AS s WHERE {number} IS NOT NULL"
    row = engine.run(f"SELECT QUANTILE_CONT(x, [{shares}]) AS q FROM ({filled}) AS e").to_pylist()[0]
    percentiles = row["q"]
    if percentiles[0] == percentiles[-1]:  # nearly all alike, such as tolls of nothing: the rest is what there is
        percentiles = [column.low, *percentiles, column.high]
    edges = round_edges(percentiles, column.whole)
    whole = column.whole and max(abs(edges[0]), abs(edges[-1])) < _EXACT
    return {"kind": "number", "name": column.name, "edges": edges, "integer": whole, **_missing(column)}


def _missing(column: _Seen) -> dict[str, Any]:
    return {"missing": [None]} if column.has_gaps else {}


def round_edges(percentiles: Sequence[float], whole: bool) -> list[float]:
    """Round edges from the first to the last percentile: of one width, or 1-2-5 where most would be in one bin.

    >>> round_edges([4.0 + 0.5 * i for i in range(99)], whole=False)
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0]
    >>> round_edges([1.0] * 60 + [float(4 * i * i) for i in range(1, 40)], whole=True)
    [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0]
    """
    low, high = percentiles[0], percentiles[-1]
    step = _round_step((high - low) / _BINS or abs(high) / 10 or 1.0)
    step = max(step, _round_step(1e-14 * max(abs(low), abs(high)) or step), 1.0 if whole else 0.0)
    first, last = math.floor(low / step), math.floor(high / step) + 1
    even = [_multiple(i, step) for i in range(first, last + 1)]
    fullest = max(Counter(bisect_right(even, q) for q in percentiles).values())
    if low >= 0 and high > 0 and fullest > len(percentiles) / 2:
        return _growing(percentiles, whole) or even
    return even


def _growing(percentiles: Sequence[float], whole: bool) -> list[float]:
    """0 and the numbers 1, 2 and 5 times powers of ten around most percentiles above 0; none if they are too many."""
    above = [q for q in percentiles if q > 0]
    least = math.floor(math.log10(above[len(above) // 4]))
    least = max(least, 0) if whole else least
    most = math.ceil(math.log10(above[-1])) + 1
    series = [_clean(m * 10.0**e) for e in range(least, most + 1) for m in (1, 2, 5)]
    enough = bisect_right(series, above[-1])
    edges = [0.0, *series[: enough + 1]]
    return edges if len(edges) <= 2 * _BINS else []


def _span(edges: Sequence[float]) -> str:
    return f"{edges[0]:g} to {edges[-1]:g}"


def _round_step(width: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is no less than the width."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(_clean(m * power) for m in (1, 2, 5, 10) if m * power >= width * (1 - 1e-9))


def _multiple(times: int, step: float) -> float:
    """So many steps; of a step below 1 without the last bits of the product, whatever its size."""
    return times * step if step >= 1 else round(times * step, 1 - math.floor(math.log10(step)))


def _clean(x: float) -> float:
    """The number without the last bits of its arithmetic."""
    return float(f"{x:.12g}")
