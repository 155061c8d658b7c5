"""Random schemas, marginals and tables: every kind of column, every setting, small enough to shrink."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from sfumato.columns import Binned, Category, Number, Period, Person, Place, Shares, Time, Value
from sfumato.marginal import Axis, Marginal
from sfumato.schema import AnyColumn, Run, Schema

LETTERS = st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="@")
WORDS = st.text(LETTERS, min_size=1, max_size=6)
NAMES = st.text(st.sampled_from("abcxyz_ é\"'.%-[]"), min_size=1, max_size=8).filter(lambda s: s == s.strip())
TEXTS = st.builds(
    lambda words, gap: gap.join(words), st.lists(WORDS, min_size=1, max_size=3), st.sampled_from(" ,\t[;'")
)


@st.composite
def nested(draw: st.DrawFn, bins: tuple[Value, ...]) -> dict[str, Any]:
    """Levels, coarse to fine, as lists of groups or as mappings: random partitions, each inside the next."""
    names = draw(st.lists(WORDS.filter(lambda s: not s.isdecimal()), unique=True, max_size=3))
    group = list(range(len(bins)))
    levels: dict[str, Any] = {}
    for name in names:  # from fine to coarse
        merged = {g: draw(st.integers(0, len(bins) // 2)) for g in sorted(set(group))}
        group = [merged[g] for g in group]
        levels[name] = tuple(f"g{g}" for g in group)
    out = {}
    for name, groups in reversed(levels.items()):
        as_mapping = {g: tuple(b for b, h in zip(bins, groups, strict=True) if h == g) for g in dict.fromkeys(groups)}
        out[name] = as_mapping if draw(st.booleans()) else groups
    return out


@st.composite
def categories(draw: st.DrawFn, name: str = "c", kind: type[Category] = Category) -> Category:
    """A category or a place, of whole numbers or of texts."""
    numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 12)
    texts = st.lists(TEXTS, unique=True, min_size=1, max_size=8)
    values = tuple(draw(st.lists(numbers, unique=True, min_size=1, max_size=8) | texts))
    names = tuple(draw(st.lists(TEXTS, min_size=len(values), max_size=len(values)))) if draw(st.booleans()) else None
    return kind(
        name=name,
        values=values,
        names=names,
        ordered=draw(st.booleans()),
        cyclic=draw(st.booleans()),
        other=draw(st.none() | st.sampled_from(values)),
        levels=draw(nested(values)),
    )


@st.composite
def numbers(draw: st.DrawFn, name: str = "x") -> Number:
    """A number: whole or real, open or closed ends, with and without markers, in every way of decoding."""
    integer = draw(st.booleans())
    cut = st.integers(-5_000, 5_000).map(lambda i: 5.0 * i) if integer else st.floats(-1e9, 1e9)
    edges = sorted(draw(st.lists(cut, unique=True, min_size=2, max_size=6)))
    edges = [edges[0], *(b for a, b in itertools.pairwise(edges) if b - a > 1e-6)]
    ends: list[float | None] = list(edges)
    if len(ends) < 2 or draw(st.booleans()):
        ends.insert(0, None)
    if draw(st.booleans()):
        ends.append(None)
    if len(ends) < 2:
        ends.append(None)
    near = st.sampled_from(edges).flatmap(lambda e: st.sampled_from([e, e + 1, e - 1, e + 2.0]))
    marks = draw(st.lists(st.none() | (near if integer else near | st.floats(-1e9, 1e9)), max_size=2, unique=True))
    number = Number(
        name=name,
        edges=tuple(ends),
        closed=draw(st.sampled_from(["left", "right"])),
        missing=tuple(marks),
        outside=draw(st.sampled_from(["clip", "drop"])),
        decode=draw(st.sampled_from(["midpoint", "uniform"])),
        integer=integer,
    )
    fields = {"levels": draw(nested(number.bins))}
    if draw(st.booleans()):
        fields["decode"] = tuple(draw(shares(inside(number, code))) for code in range(number.size()))
    return Number(**({k: getattr(number, k) for k in Number.model_fields} | fields))


def inside(number: Number, code: int) -> list[float]:
    """A few numbers of a bin, found without the code under test: away from its edges and its markers."""
    if number.missing and code == 0:
        return [m or 0.0 for m in number.missing[:1]]
    low, high = list(itertools.pairwise(number.edges))[code - bool(number.missing)]
    step = 1.0 if number.integer or low is None or high is None else (high - low) / 5
    start = low if low is not None else (high - 5 if high is not None else 0.0)
    return [start + i * step for i in (1, 2, 3, 4) if start + i * step not in number.missing]


@st.composite
def shares(draw: st.DrawFn, values: list[float]) -> Shares:
    """A distribution over some of the values."""
    some = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    weights = draw(st.none() | st.lists(st.integers(1, 9).map(float), min_size=len(some), max_size=len(some)))
    return Shares(values=tuple(some), weights=None if weights is None else tuple(weights))


@st.composite
def times(draw: st.DrawFn, name: str = "t") -> Time:
    """A part of a timestamp, of every sort."""
    part = draw(st.sampled_from(["month", "weekday", "hour", "weekday_part", "period", "year_month"]))
    more: dict[str, Any] = {}
    if part == "weekday_part":
        more["hours"] = (0, *sorted(draw(st.sets(st.integers(1, 23), max_size=4))))
    if part == "period":
        more["periods"] = draw(periods())
    if part == "year_month":
        month = st.tuples(st.integers(1, 9999), st.integers(1, 12))
        more["months"] = tuple(draw(st.lists(month, unique=True, min_size=1, max_size=6)))
        if draw(st.booleans()):
            more |= {"year": f"{name}_year", "month": f"{name}_month"}
    plain = Time(name=name, part=part, **more)
    return Time(
        name=name,
        part=part,
        ordered=draw(st.booleans()),
        cyclic=draw(st.none() | st.booleans()),
        levels=draw(nested(plain.bins)),
        **more,
    )


@st.composite
def periods(draw: st.DrawFn) -> tuple[Period, ...]:
    """Spans of time one after another, with and without gaps and names, in any order."""
    at = draw(st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1), allow_imaginary=False)).replace(microsecond=0)
    out = []
    for i in range(draw(st.integers(1, 4))):
        start = at + timedelta(hours=draw(st.integers(0, 3)))
        at = start + timedelta(hours=draw(st.integers(1, 1000)))
        out.append(Period(start=start, end=at, name=draw(st.none() | st.just(f"span {i}"))))
    return tuple(draw(st.permutations(out)))


def binned(name: str = "c") -> st.SearchStrategy[Binned]:
    """A column with bins of any kind."""
    return categories(name) | categories(name, Place) | numbers(name) | times(name)


@st.composite
def schemas(draw: st.DrawFn, person: bool | None = None, most: int = 4) -> Schema:
    """A schema of a few columns, with or without a person id."""
    names = draw(st.lists(NAMES, unique_by=str.lower, min_size=1, max_size=most))
    columns: list[AnyColumn] = [draw(binned(name)) for name in names]  # type: ignore[misc]
    if draw(st.booleans()) if person is None else person:
        columns.insert(draw(st.integers(0, len(columns))), Person(name="who is it", source=draw(st.none() | NAMES)))
    runs = st.builds(Run, epsilon=st.floats(0.01, 100), delta=st.floats(0, 0.5), max_records=st.none() | st.just(9))
    return Schema(
        columns=tuple(columns),
        max_records_per_person=draw(st.none() | st.integers(1, 1000)),
        runs=tuple(draw(st.lists(runs, max_size=2))),
    )


@st.composite
def marginals(draw: st.DrawFn, schema: Schema) -> Marginal:
    """Some columns of a schema in any order, each at any of its levels."""
    columns = draw(st.lists(st.sampled_from(schema.attributes), unique_by=lambda c: c.name, min_size=1, max_size=3))
    return Marginal(tuple(Axis(c.name, draw(st.none() | st.integers(0, c.depth))) for c in columns))


@st.composite
def tables(draw: st.DrawFn, schema: Schema, most: int = 30) -> pa.Table:
    """Records as Arrow: values of the schema mixed with strangers and empty cells."""
    size = draw(st.integers(0, most))
    columns: dict[str, pa.Array] = {}
    for column in schema.columns:
        for source in column.sources:
            cells, kind = _cells(column)
            columns[source] = pa.array(draw(st.lists(st.none() | cells, min_size=size, max_size=size)), kind)
    return pa.table(columns)


def _cells(column: AnyColumn) -> tuple[st.SearchStrategy[Any], pa.DataType]:
    if isinstance(column, Person):
        return st.integers(0, 9), pa.int64()
    if isinstance(column, Number):
        edges = [e for e in (*column.edges, *column.missing) if e is not None] or [0.0]
        return st.sampled_from(edges) | st.floats(-1e9, 1e9) | st.just(float("nan")), pa.float64()
    if isinstance(column, Time):
        if len(column.sources) == 2:
            return st.integers(1, 2030), pa.int64()
        return st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), pa.timestamp("us")
    if isinstance(column.values[0], int):
        return st.sampled_from(column.values) | st.integers(-(2**63), 2**63 - 1), pa.int64()
    return st.sampled_from(column.values) | st.text(LETTERS, max_size=5), pa.string()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """A JSON document with one to three places in it replaced, taken out or doubled."""
    for _ in range(draw(st.integers(1, 3))):
        document = draw(_mutated_once(document))
    return document


@st.composite
def _mutated_once(draw: st.DrawFn, node: Any) -> Any:
    if not isinstance(node, dict | list) or not node or draw(st.integers(0, 4)) == 0:
        return draw(JSON | st.sampled_from([2**63, -1, 0, 1e308, "", "a@b", [None], [[]], {"": {}}]))
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    key = draw(st.sampled_from(keys))
    copy = dict(node) if isinstance(node, dict) else list(node)
    match draw(st.sampled_from(["deeper", "deeper", "deeper", "gone", "new"])):
        case "gone":
            del copy[key]
        case "new" if isinstance(copy, dict):
            copy[draw(st.text(max_size=6))] = draw(JSON)
        case "new":
            copy.append(copy[key])
        case _:
            copy[key] = draw(_mutated_once(copy[key]))
    return copy
