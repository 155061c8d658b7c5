"""The records of a table as codes, streamed: what a metric needs that counts many things in one scan.

A bin's code is 0..k-1, and a record that falls into none of a column's k bins has the code k there: metrics compare
such values too, as one value of their own. Only codes of the columns that are asked for leave the engine, batch after
batch, so memory does not grow with the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.coding import Encoding, as_number, quote
from sfumato.columns import Category, Floats, Ints, Number, Place, Time
from sfumato.errors import InputError
from sfumato.marginal import Axis
from sfumato.schema import Schema
from sfumato.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


def sizes(schema: Schema, axes: Sequence[str]) -> Ints:
    """How many codes each column has, given as `column` or `column@level`; the last is for values outside."""
    parsed = [Axis.parse(a) for a in axes]
    return np.array([schema[a.column].size(a.level) + 1 for a in parsed], np.int64)


def titles(schema: Schema, axis: str) -> list[str]:
    """What a person calls each code."""
    parsed = Axis.parse(axis)
    column = schema[parsed.column]
    return [*(column.title(i, parsed.level) for i in range(column.size(parsed.level))), "(outside)"]


def names(axes: Sequence[str]) -> tuple[str, ...]:
    """The columns of axes."""
    return tuple(Axis.parse(a).column for a in axes)


def opened(data: Any, schema: Schema, axes: Sequence[str]) -> Table:
    """The table, read by the columns of these axes alone."""
    return Table.open(data, schema.select(dict.fromkeys(names(axes))))


def stream(table: Table, axes: Sequence[str], persons: pa.Table | None = None) -> Iterator[Ints]:
    """Batches of codes, a row for each axis; with `persons` their numbers (-1 for nobody's records) as the last row."""
    encoding, families = Encoding(), table.engine.families
    select: list[str] = []
    for axis in map(Axis.parse, axes):
        column = table.schema[axis.column]
        level = column.level(axis.level)
        code = encoding.code(column, level, families)
        select.append(f"CAST(COALESCE({code}, {column.size(level)}) AS INTEGER) AS c{len(select)}")
    tables = {}
    if persons is not None:
        who = encoding.value(table.person or "NULL")
        encoding.joins.append(f"LEFT JOIN persons AS p ON p.who = {who}")
        select.append(f"CAST(COALESCE(p.number, -1) AS INTEGER) AS c{len(select)}")
        tables = {"persons": persons}
    where = "TRUE" if table.condition == "TRUE" else encoding.value(table.condition)
    for batch in table.engine.stream(encoding.query("source", ", ".join(select), where), **tables):
        yield np.stack([column.to_numpy() for column in batch.columns])


def stream_values(table: Table, columns: Sequence[str]) -> Iterator[Floats]:
    """Batches of records, a row for each column: numbers as they are (NaN where missing), codes of all others."""
    encoding, families = Encoding(), table.engine.families
    select: list[str] = []
    for name in columns:
        column = table.schema[name]
        if isinstance(column, Number):
            (source,) = column.sources
            value = as_number(f"s.{quote(source)}", families[source])
            marks = "".join(f" AND {value} <> {m!r}" for m in column.marks)
            chosen = encoding.value(f"CASE WHEN TRUE{marks} THEN {value} END")
        else:
            chosen = f"CAST(COALESCE({encoding.code(column, column.depth, families)}, {column.size()}) AS DOUBLE)"
        select.append(f"{chosen} AS c{len(select)}")
    where = "TRUE" if table.condition == "TRUE" else encoding.value(table.condition)
    for batch in table.engine.stream(encoding.query("source", ", ".join(select), where)):
        yield np.stack([c.fill_null(np.nan).to_numpy(zero_copy_only=False) for c in batch.columns])


def persons(table: Table) -> pa.Table:
    """Everybody who has a record, numbered 0, 1, … by their ids: numbers first and as numbers, then text."""
    if table.person is None:
        raise InputError("the schema names no person id, so nobody's records can be told from another's")
    condition = "" if table.condition == "TRUE" else f" WHERE {table.condition}"
    everyone = f"SELECT DISTINCT {table.person} AS who FROM source AS s{condition}"
    order = "TRY_CAST(who AS DOUBLE) NULLS LAST, CAST(who AS VARCHAR)"
    return table.engine.run(
        f"SELECT who, ROW_NUMBER() OVER (ORDER BY {order}) - 1 AS number FROM ({everyone}) AS e WHERE who IS NOT NULL"
    )


def where_and_when(schema: Schema) -> tuple[str, ...]:
    """The columns that records are grouped by unless told: the first place, and the first time or round of values."""
    place = next((c.name for c in schema.attributes if isinstance(c, Place)), None)
    time = next((c.name for c in schema.attributes if isinstance(c, Time) or _goes_round(c)), None)
    return tuple(name for name in (place, time) if name is not None)


def _goes_round(column: object) -> bool:
    return isinstance(column, Category) and column.cyclic
