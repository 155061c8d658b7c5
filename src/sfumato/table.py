"""A table of records on any engine, seen through a schema: it counts marginals without ever fetching a record.

A record counts in a marginal when it falls into a bin in every column of that marginal; one that does not is left
out (`sfumato check` shows which). Nothing that a record holds can raise: see `sfumato.coding`.

>>> import pyarrow as pa
>>> from sfumato.columns import Category
>>> from sfumato.schema import Schema
>>> schema = Schema(columns=(Category(name="area", values=(1, 2, 3)),))
>>> table = Table.open(pa.table({"area": [1, 1, 3, 99, None]}), schema)
>>> table.counts([Marginal.of("area")])[0].values.tolist()
[2, 0, 1]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sfumato.coding import Encoding, as_number, as_person, has, quote
from sfumato.engine import Engine, connect
from sfumato.errors import InputError
from sfumato.marginal import Cells, Counts, Marginal
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


class Table:
    """Records somewhere, and the schema they are read by."""

    def __init__(self, engine: Engine, schema: Schema, condition: str = "TRUE"):
        self.engine = engine
        self.schema = schema
        self.condition = condition

    @classmethod
    def open(cls, data: Any, schema: Schema) -> Table:
        """The table in a file, in memory or in a database; its columns are checked against the schema."""
        if isinstance(data, Table):
            return cls(data.engine, schema, data.condition)
        table = cls(connect(data), schema)
        known = {name for c in schema.columns for name in (c.name, *c.sources)}
        if table.engine.headed and not known & set(table.engine.families):
            # what stands there instead is not told: without a header it is a person's record
            raise InputError(
                f"{table.engine.origin}, line 1: it names none of the schema's columns, such as "
                f"'{schema.names[0]}'; the first line of a CSV file must be its header"
            )
        Encoded(table, [Marginal.of(name) for name in schema.names])  # raises where a column is not there
        return table

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the data."""
        self.engine.close()

    def __repr__(self) -> str:
        return f"Table({self.engine.origin}, {len(self.schema.names)} columns)"

    @property
    def person(self) -> str | None:
        """An SQL expression for the person of a record, NULL where there is none; None without a person column."""
        column = self.schema.person
        if column is None:
            return None
        (name,) = column.sources
        if name not in self.engine.families:
            raise InputError(
                f"{self.engine.origin} has no column '{name}' for the person id; "
                f"its columns are {', '.join(self.engine.families)}"
            )
        if name in self.engine.mixed:  # 7 and 7.0 would be two persons, each with a bound of its own
            raise InputError(
                f"{self.engine.origin}: the person id '{name}' is text in some files and not in others; "
                "write it as text, or as whole numbers, in all of them"
            )
        return as_person(f"s.{quote(name)}", self.engine.families[name])

    def where(self, condition: str) -> Table:
        """The records for which an SQL expression over the columns of `s` holds, as they lie there (text in CSV)."""
        both = condition if self.condition == "TRUE" else f"({self.condition}) AND ({condition})"
        return Table(self.engine, self.schema, both)

    def counts(self, marginals: Sequence[Marginal], weight: str | None = None) -> list[Counts]:
        """The counts of marginals, in one scan; summed weights where a numeric column of the data is named.

        Exact and unbounded: for public and synthetic tables, and for the owner's own eyes.
        """
        for marginal in marginals:
            marginal.check(self.schema)
        return [cells.dense(self.schema) for cells in self.cells(marginals, weight)]

    def cells(self, marginals: Sequence[Marginal], weight: str | None = None) -> list[Cells]:
        """The counts that are not zero, for marginals of any size; otherwise as `counts`."""
        encoded = Encoded(self, marginals, weight=weight, sparse=True)
        total = "COUNT(*)" if weight is None else "SUM(weight)"
        answer = self.engine.run(encoded.grouped(total), **encoded.tables)
        return encoded.found(answer, np.dtype(np.int64 if weight is None else np.float64))


def comparable(schema: Schema, *data: Any) -> tuple[Schema, tuple[str, ...]]:
    """The schema with the columns that all of these data have, and the names of those that one of them lacks."""
    tables = [data if isinstance(data, Table) else Table(connect(data), schema) for data in data]
    here = [{c.name for c in schema.attributes if has(table.engine.families, c)} for table in tables]
    for table, given, names in zip(tables, data, here, strict=True):
        if not names:
            raise InputError(f"{table.engine.origin} has none of the schema's columns, such as '{schema.names[0]}'")
        if table is not given:
            table.close()
    there = [name for name in schema.names if all(name in names for names in here)]
    if not there:
        raise InputError("the tables have none of the schema's columns in common, so nothing can be compared")
    return schema.select(there), tuple(name for name in schema.names if name not in there)


class Encoded:
    """The records of a table as numbers of cells: a query with a column c0, c1, ... for each marginal."""

    def __init__(
        self,
        table: Table,
        marginals: Sequence[Marginal],
        person: bool = False,
        weight: str | None = None,
        sparse: bool = False,
    ):
        self.schema = table.schema
        self.marginals = tuple(marginals)
        for marginal in self.marginals:
            (marginal.check_sparse if sparse else marginal.check)(self.schema)
        encoding = Encoding()
        try:
            cells = [self._cell(encoding, marginal, table) for marginal in self.marginals]
        except InputError as error:
            raise InputError(
                f"{table.engine.origin} {error}" if str(error).startswith("has ") else str(error)
            ) from None
        self.names = tuple(f"c{i}" for i in range(len(cells)))
        select = [f"{cell} AS {name}" for cell, name in zip(cells, self.names, strict=True)]
        where = "TRUE" if table.condition == "TRUE" else encoding.value(table.condition)
        if person:
            who = encoding.value(table.person or "NULL")
            select.append(f"{who} AS person")
            where = f"{who} IS NOT NULL AND {where}"
        if weight is not None:
            select.append(f"{encoding.value(self._weight(table, weight))} AS weight")
        self.sql = encoding.query("source", ", ".join(select), where)
        self.tables: Mapping[str, pa.Table] = encoding.tables

    def _cell(self, encoding: Encoding, marginal: Marginal, table: Table) -> str:
        """The number of a record's cell, row-major; NULL where it falls into none."""
        cell = ""
        for column, level in marginal.bound_axes(self.schema):
            code = f"CAST({encoding.code(column, level, table.engine.families)} AS BIGINT)"
            cell = f"(({cell}) * {column.size(level)} + {code})" if cell else code
        return cell

    def _weight(self, table: Table, weight: str) -> str:
        if weight not in table.engine.families:
            raise InputError(f"{table.engine.origin} has no column '{weight}' to weigh the records by")
        x = as_number(f"s.{quote(weight)}", table.engine.families[weight])
        return f"CASE WHEN {x} > 0 AND {x} < 1e300 THEN {x} ELSE 0 END"

    def grouped(self, total: str, by: str = "", alias: str = "n", where: str = "TRUE") -> str:
        """A query for (which marginal, cell, total) in one scan, grouped by more columns where `by` names them."""
        more = f"{by}, " if by else ""
        if len(self.names) == 1:
            return (
                f"SELECT 0 AS q, {more}c0 AS cell, {total} AS {alias} FROM ({self.sql}) AS e "
                f"WHERE c0 IS NOT NULL AND {where} GROUP BY {more}c0"
            )
        sets = ", ".join(f"({more}{name})" for name in self.names)
        which = " ".join(f"WHEN GROUPING({name}) = 0 THEN {i}" for i, name in enumerate(self.names))
        inner = (
            f"SELECT CASE {which} END AS q, {more}COALESCE({', '.join(self.names)}) AS cell, {total} AS {alias} "
            f"FROM ({self.sql}) AS e WHERE {where} GROUP BY GROUPING SETS ({sets})"
        )
        return f"SELECT * FROM ({inner}) AS g WHERE cell IS NOT NULL"

    def found(self, answer: pa.Table, dtype: np.dtype[Any]) -> list[Cells]:
        """The cells in the rows (which marginal, cell, total) of an answer that has each cell once."""
        which, cell, total = (answer.column(i).to_numpy() for i in range(3))
        order = np.lexsort((cell, which))
        parts = np.split(order, np.searchsorted(which[order], np.arange(1, len(self.marginals))))
        return [
            Cells(marginal, cell[mine].astype(np.int64), total[mine].astype(dtype))
            for marginal, mine in zip(self.marginals, parts, strict=True)
        ]

    def fill(self, answer: pa.Table, dtype: np.dtype[Any]) -> list[Counts]:
        """Counts from the rows (which marginal, cell, total) of an answer."""
        which, cell, total = (answer.column(i).to_numpy() for i in range(3))
        out = []
        for i, marginal in enumerate(self.marginals):
            mine = which == i
            values = np.zeros(marginal.size(self.schema), dtype)
            np.add.at(values, cell[mine].astype(np.int64), total[mine].astype(dtype))
            out.append(Counts(marginal, values.reshape(marginal.shape(self.schema))))
        return out
