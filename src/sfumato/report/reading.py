"""A table as the report reads it: which of the schema's columns it holds, each at which level, and their counts.

A synthetic table may hold fewer columns than the truth, some of them only at a coarser level. What it holds decides
what is compared; the truth is then counted at the very same levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.coding import has
from sfumato.columns import Binned, Category, Floats, Ints, Person, Place, Time
from sfumato.errors import InputError
from sfumato.marginal import Axis, Cells, Marginal
from sfumato.schema import Schema
from sfumato.table import Encoded, Table

Names = tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """A column of the schema, and the level at which the synthetic table holds it."""

    column: Binned
    level: int

    @property
    def name(self) -> str:
        """The column's."""
        return self.column.name

    @property
    def size(self) -> int:
        """How many bins it has at this level."""
        return self.column.size(self.level)

    @property
    def titles(self) -> list[str]:
        """What a person calls each bin."""
        return [self.column.title(code, self.level) for code in range(self.size)]

    @property
    def finest(self) -> bool:
        """Whether nothing was grouped."""
        return self.level == self.column.depth

    @property
    def what(self) -> str:
        """The column as a person reads it, with its level where that is not the finest."""
        name = self.name.replace("_", " ")
        return name if self.finest else f"{name}, by {_level_name(self.column, self.level)}"

    def coarser(self, level: int) -> Seen:
        """The same column at a level above."""
        return Seen(self.column, level)

    def stand_in(self) -> Binned:
        """A column that reads the bins of this level from a table that holds them."""
        if self.finest:
            return self.column
        labels = self.column.labels(self.level)
        same = len({type(label) for label in labels}) == 1
        ordered, cyclic = self.column.is_ordered, self.column.is_cyclic
        values = labels if same else tuple(str(label) for label in labels)
        kind = Place if isinstance(self.column, Place) else Category
        return kind(name=self.name, values=values, ordered=ordered, cyclic=cyclic)


def _level_name(column: Binned, level: int) -> str:
    return list(column.levels)[level - 1] if 0 < level < column.depth else str(level)


@dataclass(frozen=True)
class Reading:
    """A table and the columns that are looked at."""

    table: Table
    seen: tuple[Seen, ...]
    stood_in: bool
    """Whether the table holds the bins of each column's level, and not the finest ones."""

    def __getitem__(self, name: str) -> Seen:
        return next(s for s in self.seen if s.name == name)

    def marginal(self, seen: Sequence[Seen]) -> Marginal:
        """The marginal of some columns, as this table has them."""
        own = {s.name: s for s in self.seen}
        axes = [
            Axis(s.name) if self.stood_in and s == own[s.name] and not s.finest else Axis(s.name, s.level) for s in seen
        ]
        return Marginal(tuple(axes))

    def counts(self, wanted: Sequence[Sequence[Seen]]) -> list[Ints]:
        """The exact counts of several sets of columns, in one scan."""
        shapes = [tuple(s.size for s in seen) for seen in wanted]
        found = self.cells(wanted)
        return [_dense(cells, shape) for cells, shape in zip(found, shapes, strict=True)]

    def cells(self, wanted: Sequence[Sequence[Seen]]) -> list[Cells]:
        """The same without the zeros."""
        return self.table.cells([self.marginal(seen) for seen in wanted]) if wanted else []

    def records(self) -> int:
        """How many records the table has."""
        return int(self._one("SELECT COUNT(*) AS n FROM source AS s")[0]["n"])

    def head(self, rows: int) -> tuple[list[str], list[list[Any]]]:
        """The first rows as they stand, for a table that anyone may see."""
        answer = self.table.engine.run(f"SELECT * FROM source AS s LIMIT {int(rows)}")
        return answer.column_names, [list(row.values()) for row in answer.to_pylist()]

    def persons(self, seen: Sequence[Seen]) -> list[Ints] | None:
        """How many persons have n records, then how many have n different bins of each column: arrays over n = 0, 1, …

        None where the table has no person id.
        """
        if self.table.schema.person is None:
            return None
        marginals = [self.marginal([s]) for s in seen] or [self.marginal([self.seen[0]])]
        encoded = Encoded(self.table, marginals, person=True)
        distinct = ", ".join(f"COUNT(DISTINCT {name}) AS d{i}" for i, name in enumerate(encoded.names[: len(seen)]))
        each = f"SELECT person, COUNT(*) AS records{', ' + distinct if distinct else ''} FROM ({encoded.sql}) AS e"
        names = ["records", *(f"d{i}" for i in range(len(seen)))]
        parts = " UNION ALL ".join(f"SELECT {i} AS q, {n} AS n, 1 AS one FROM r" for i, n in enumerate(names))
        sql = f"WITH r AS ({each} GROUP BY person) SELECT q, n, COUNT(one) AS p FROM ({parts}) AS u GROUP BY q, n"
        rows = self._one(sql, **encoded.tables)
        out = []
        for i in range(len(names)):
            mine = {int(r["n"]): int(r["p"]) for r in rows if int(r["q"]) == i}
            out.append(np.array([mine.get(n, 0) for n in range(max(mine, default=0) + 1)], np.int64))
        return out

    def _one(self, sql: str, **tables: Any) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = self.table.engine.run(sql, **tables).to_pylist()
        return rows


def _dense(cells: Cells, shape: tuple[int, ...]) -> Ints:
    out = np.zeros(shape, np.int64)
    out.reshape(-1)[cells.numbers] = cells.values
    return out


def read_release(data: Any, schema: Schema) -> Reading:
    """The synthetic table, with the level at which it holds each of the schema's columns."""
    from sfumato.engine import connect

    engine = connect(data)
    there = [c for c in schema.attributes if has(engine.families, c)]
    if not there:
        raise InputError(
            f"{engine.origin} holds none of the schema's columns, such as '{schema.names[0]}'; "
            "give the schema that it was made with"
        )
    seen = tuple(Seen(c, _level(engine, c)) for c in there)
    who = schema.person
    keep = [who] if who is not None and who.sources[0] in engine.families else []
    columns = (*keep, *(s.stand_in() for s in seen))
    return Reading(Table.open(Table(engine, schema), Schema(columns=columns)), seen, stood_in=True)


def _level(engine: Any, column: Binned) -> int:
    """The level whose bins the data hold: of the finest and those above it the one that the most records fit."""
    if column.depth == 1 or (isinstance(column, Time) and all(s in engine.families for s in column.sources)):
        return column.depth
    best, most = column.depth, -1.0
    for level in range(column.depth, 0, -1):
        seen = Seen(column, level)
        table = Table(engine, Schema(columns=(seen.stand_in(),)))
        (found,) = table.cells([Marginal.of(column.name)])
        if found.total > most:
            best, most = level, found.total
    return best


def read_truth(data: Any, schema: Schema, seen: Sequence[Seen]) -> Reading:
    """The truth, read at the levels of a release."""
    names = {s.name for s in seen}
    kept = tuple(c for c in schema.columns if isinstance(c, Person) or c.name in names)
    table = Table.open(data, schema.model_copy(update={"columns": kept}))
    return Reading(table, tuple(seen), stood_in=False)


def shares(counts: Ints | Floats) -> Floats:
    """The counts over their sum; all zero where there are none."""
    total = counts.sum()
    out: Floats = counts / total if total > 0 else np.zeros(counts.shape)
    return out
