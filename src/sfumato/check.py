"""The owner's own look at a private table: what does not fit the schema, and how many records each person has.

Everything here is exact and private. It is for the eyes of whoever holds the data, and never part of a release.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sfumato.coding import Encoding, as_text, quote
from sfumato.columns import Binned
from sfumato.errors import one_line
from sfumato.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN = 5  # values outside the schema that are shown for each column
_QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class ColumnCheck:
    """A column: how many records fall into none of its bins, and the commonest such values."""

    column: str
    outside: int
    examples: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Check:
    """What was found: all of it private."""

    records: int
    unreadable: int
    without_person: int
    persons: int
    per_person: dict[str, int]
    over_limit: int
    limit: int | None
    columns: tuple[ColumnCheck, ...]

    @property
    def clean(self) -> bool:
        """Whether every record has a person and fits the schema."""
        return not (self.unreadable or self.without_person or any(c.outside for c in self.columns))

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {"private": True, "clean": self.clean, **asdict(self)}


def check(table: Table) -> Check:
    """What does not fit, counted in the engine."""
    columns = tuple(_column(table, c) for c in table.schema.attributes)
    records = int(_one(table, "SELECT COUNT(*) AS n FROM source AS s")["n"])
    limit = table.schema.max_records_per_person
    persons: dict[str, Any] = {"persons": 0, "over": 0, "identified": records}
    quantiles: dict[str, int] = {}
    if table.person is not None:
        per_person = (
            f"SELECT person, COUNT(*) AS n FROM (SELECT {table.person} AS person FROM source AS s) AS e "
            "WHERE person IS NOT NULL GROUP BY person"
        )
        ranked = ", ".join(f"COALESCE(QUANTILE_CONT(n, {q}), 0) AS q{i}" for i, q in enumerate(_QUANTILES))
        over = f"COUNT(*) FILTER (WHERE n > {limit})" if limit is not None else "0"
        persons = _one(
            table,
            f"WITH r AS ({per_person}) SELECT COUNT(*) AS persons, {over} AS over, "
            f"COALESCE(SUM(n), 0) AS identified, {ranked} FROM r",
        )
        names = ("median", "90 %", "95 %", "99 %", "most")
        quantiles = {name: int(persons[f"q{i}"]) for i, name in enumerate(names)}
    return Check(
        records=records,
        unreadable=table.engine.unreadable(),
        without_person=records - int(persons["identified"]),
        persons=int(persons["persons"]),
        per_person=quantiles,
        over_limit=int(persons["over"]),
        limit=limit,
        columns=columns,
    )


def _column(table: Table, column: Binned) -> ColumnCheck:
    encoding = Encoding()
    code = encoding.code(column, column.depth, table.engine.families)
    names = column.sources if all(n in table.engine.families for n in column.sources) else (column.name,)
    texts = [f"COALESCE({as_text(f's.{quote(n)}', table.engine.families[n])}, '(empty)')" for n in names]
    shown = encoding.value(" || '-' || ".join(texts))
    inner = encoding.query("source", f"{shown} AS shown, {code} AS code", "TRUE")
    rows = table.engine.run(
        f"SELECT shown, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total FROM ({inner}) AS e WHERE code IS NULL "
        f"GROUP BY shown ORDER BY n DESC, shown LIMIT {SHOWN}",
        **encoding.tables,
    ).to_pylist()
    outside = int(rows[0]["total"]) if rows else 0
    return ColumnCheck(column.name, outside, tuple((str(r["shown"]), int(r["n"])) for r in rows))


def _one(table: Table, sql: str) -> dict[str, Any]:
    row: dict[str, Any] = table.engine.run(sql).to_pylist()[0]
    return row


def render(found: Check) -> RenderableType:
    """What rich prints."""
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    lines: list[RenderableType] = [Text("PRIVATE: exact figures, for the owner of the data alone", style="bold red")]
    lines.append(Text(f"{found.records:,} records" + _persons(found)))
    if found.unreadable:
        lines.append(Text(f"{found.unreadable:,} lines of the file cannot be read and are left out", style="yellow"))
    if found.without_person:
        lines.append(Text(f"{found.without_person:,} records have no person id and are left out", style="yellow"))
    if found.over_limit:
        lines.append(
            Text(f"{found.over_limit:,} persons have more than {found.limit:,} records; a bound drops the excess")
        )
    odd = [c for c in found.columns if c.outside]
    if odd:
        grid = Grid(title="Outside the schema, left out where the column counts", title_justify="left")
        grid.add_column("column")
        grid.add_column("records", justify="right")
        grid.add_column("share", justify="right")
        grid.add_column("commonest values")
        for c in odd:
            examples = ", ".join(f"{value} ({n:,})" for value, n in c.examples)
            share = f"{c.outside / max(1, found.records):.2%}"
            grid.add_row(*(Text(one_line(cell)) for cell in (c.column, f"{c.outside:,}", share, examples)))
        lines.append(grid)
    if found.clean:
        lines.append(Text("Every record has a person and fits the schema.", style="green"))
    return Group(*lines)


def _persons(found: Check) -> str:
    if not found.per_person:
        return "; the schema names no person id"
    spread = ", ".join(f"{name} {n:,}" for name, n in found.per_person.items())
    return f" of {found.persons:,} persons; records a person: {spread}"
