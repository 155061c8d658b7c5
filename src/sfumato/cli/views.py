"""Tables that the commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.schema import Binned, Schema

if TYPE_CHECKING:
    from rich.table import Table


def schema_table(schema: Schema) -> Table:
    """A line for each column: kind, where it comes from, bins, levels."""
    from rich.table import Table

    limit = schema.max_records_per_person
    title = f"{len(schema.columns)} columns" + (f", at most {limit:,} records a person" if limit else "")
    table = Table(title=title, title_justify="left")
    for heading in ("column", "kind", "read from", "bins", "such as", "levels"):
        table.add_column(heading, justify="right" if heading == "bins" else "left")
    for column in schema.columns:
        if isinstance(column, Binned):
            levels = " > ".join(f"{name} ({column.size(name)})" for name in column.levels)
            few = ", ".join(str(b) for b in column.bins[:4]) + (" …" if column.size() > 4 else "")
            table.add_row(column.name, _kind(column), ", ".join(column.sources), f"{column.size():,}", few, levels)
        else:
            table.add_row(column.name, column.kind, ", ".join(column.sources), "", "", "")
    return table


def _kind(column: Binned) -> str:
    order = "cyclic " if column.is_cyclic else "ordered " if column.is_ordered and column.kind != "number" else ""
    return f"{order}{column.kind}"
