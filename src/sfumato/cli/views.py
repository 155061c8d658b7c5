"""What the commands show: tables for a person, and the same for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.columns import Binned, Value
from sfumato.errors import one_line
from sfumato.privacy.budget import Budget
from sfumato.privacy.plan import Plan
from sfumato.schema import Schema

if TYPE_CHECKING:
    from rich.table import Table

_FEW, _LONG = 4, 24  # values of a column that are shown, and characters of each


def schema_table(schema: Schema) -> Table:
    """A line for each column: kind, where it comes from, bins, levels."""
    from rich.table import Table
    from rich.text import Text

    limit = schema.max_records_per_person
    title = f"{len(schema.columns)} columns" + (f", at most {limit:,} records a person" if limit else "")
    table = Table(title=title, title_justify="left")
    for heading in ("column", "kind", "read from", "bins", "such as", "levels"):
        table.add_column(heading, justify="right" if heading == "bins" else "left", overflow="fold")
    for column in schema.columns:
        sources = "" if column.sources == (column.name,) else ", ".join(column.sources)
        cells = [column.name, column.kind, sources, "", "", ""]
        if isinstance(column, Binned):
            levels = " > ".join(f"{name} ({column.size(name):,})" for name in column.levels)
            few = ", ".join(_shown(b) for b in column.bins[:_FEW]) + (" …" if column.size() > _FEW else "")
            cells[1], cells[3:] = _kind(column), [f"{column.size():,}", few, levels]
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    return table


def _shown(value: Value) -> str:
    text = str(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def _kind(column: Binned) -> str:
    order = "cyclic " if column.is_cyclic else "ordered " if column.is_ordered and column.kind != "number" else ""
    return f"{order}{column.kind}"


def plan_data(plan: Plan, schema: Schema, budget: Budget, unit: str) -> dict[str, Any]:
    """What `sfumato.privacy.explain` shows, for a program."""
    return {
        "method": plan.method,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "unit": unit,
        **({"notes": list(plan.notes)} if plan.notes else {}),
        "questions": [
            {
                "question": p.question.name,
                "about": p.question.about,
                "cells": p.question.cells(schema),
                "bound": p.question.capped,
                "sensitivity": p.question.sensitivity,
                "noise": p.question.noise,
                "level": p.level,
            }
            for p in plan.priced(budget)
        ],
    }
