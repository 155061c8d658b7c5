"""A plan in plain words: what would be asked, how each person is bounded, the noise, and the cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.privacy.budget import Budget, GaussianCost
from sfumato.privacy.plan import Chosen, Plan, Priced
from sfumato.schema import Schema

if TYPE_CHECKING:
    from rich.console import RenderableType


def promise(budget: Budget, unit: str) -> str:
    """The guarantee in a sentence."""
    who = "any one record is" if unit == "record" else f"all records of any one {unit} are"
    readable = 0.01 <= budget.epsilon <= 9
    times = f"{math.ceil(100 * math.exp(budget.epsilon)) / 100:,.2f}" if readable else f"e^{budget.epsilon:g}"
    rare = f", except with a chance of about {budget.delta:.3g}" if budget.delta else ""
    return (
        f"Whether {who} in the data changes the odds of any outcome by a factor of at most {times}"
        f" (ε = {budget.epsilon:g}, δ = {budget.delta:g}){rare}."
    )


def explanation(plan: Plan, schema: Schema, budget: Budget, unit: str) -> RenderableType:
    """What rich prints: a line for each question, then the guarantee."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"What {plan.method} will ask", title_justify="left", header_style="bold")
    for heading in ("question", "about", "cells", "each person", "noise", "cost"):
        table.add_column(heading, justify="right" if heading == "cells" else "left")
    priced = plan.priced(budget)
    for p in priced:
        cells = p.question.cells(schema)
        size = f"{cells:,}" if cells is not None else "by choice" if isinstance(p.question, Chosen) else "by matrix"
        table.add_row(p.question.name, p.question.about, size, p.question.capped, _noise(p), _cost(p))
    cells = sum(p.question.cells(schema) or 0 for p in priced)
    memory = f"About {max(1, 40 * cells // 2**20):,} MiB for {cells:,} noisy counts, beside the engine's own memory."
    notes = [Text(f"Note: {note}.") for note in plan.notes]
    return Group(table, *notes, Text(promise(budget, unit)), Text(memory, style="dim"))


def _noise(p: Priced) -> str:
    name = "Gaussian, σ" if p.question.noise == "gaussian" else "Laplace, scale"
    return f"{name} = {p.level:.6g}"


def _cost(p: Priced) -> str:
    return f"μ = {p.cost.mu:.4g}" if isinstance(p.cost, GaussianCost) else f"ε = {p.cost.epsilon:.4g}"
