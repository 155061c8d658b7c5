"""What MGD found: one number; then by marginal, by attribute, by bin, the largest contributions first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.columns import Floats, Ints
from sfumato.marginal import Cells
from sfumato.metrics.aemc import Aemc
from sfumato.metrics.weighing import Weighed
from sfumato.schema import Schema

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as Grid

KEPT = 100  # bins and values of a marginal that a score holds


@dataclass(frozen=True)
class Bin:
    """A bin of a marginal, and what it adds to the cost of that marginal."""

    values: dict[str, str]
    truth: float
    synthetic: float
    cost: float


@dataclass(frozen=True)
class MarginalScore:
    """The cost of one marginal: `value` is the sum of what moves along its columns and of what is added and removed."""

    marginal: str
    weight: float
    value: float
    share: float
    """Its part of the score, from 0 to 1."""
    tolerance: float
    records: float
    """How many true records the marginal has; moved, added and removed are counts of records too."""
    moved: float
    added: float
    removed: float
    by_column: dict[str, float]
    """What moving along each column adds to the value."""
    by_value: dict[str, dict[str, float]]
    """What the bins with each value of a column add to the value, the largest first."""
    bins: tuple[Bin, ...]

    @classmethod
    def of(
        cls, schema: Schema, weighed: Weighed, found: Aemc, synthetic: Cells, truth: Cells, tolerance: float
    ) -> MarginalScore:
        """The cost of a marginal, with values in place of codes."""
        marginal = weighed.marginal
        numbers, costs = found.cell_costs
        codes = Cells(marginal, numbers, costs).codes(schema)
        titles = _titles(schema, weighed)
        return cls(
            marginal=str(marginal), weight=weighed.weight, value=found.value, share=0.0, tolerance=tolerance,
            records=truth.total, moved=found.moved, added=found.added, removed=found.removed,
            by_column=dict(zip(marginal.columns, found.by_axis, strict=True)),
            by_value={
                name: _ranked(np.bincount(code, weights=costs, minlength=1).astype(float), title)
                for name, code, title in zip(marginal.columns, codes, titles, strict=True)
            },
            bins=tuple(
                Bin(
                    {n: t(int(c[i])) for n, t, c in zip(marginal.columns, titles, codes, strict=True)},
                    _at(truth, numbers[i]), _at(synthetic, numbers[i]), float(costs[i]),
                )
                for i in np.argsort(-costs, kind="stable")[:KEPT]
            ),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        plain = {k: v for k, v in vars(self).items() if k != "bins"}
        return {**plain, "bins": [vars(b) for b in self.bins]}


@dataclass(frozen=True)
class MGDScore:
    """The score, and its marginals, the largest contribution first."""

    value: float
    marginals: tuple[MarginalScore, ...]
    notes: tuple[str, ...]
    tolerance: float
    alpha: float

    @classmethod
    def of(cls, scores: tuple[MarginalScore, ...], notes: tuple[str, ...], tolerance: float, alpha: float) -> MGDScore:
        """The mean of the costs of the marginals, by their weights."""
        total = sum(s.weight * s.value for s in scores)
        shared = [MarginalScore(**{**vars(s), "share": s.weight * s.value / total if total else 0.0}) for s in scores]
        shared.sort(key=lambda s: -s.share)
        return cls(total / sum(s.weight for s in scores), tuple(shared), notes, tolerance, alpha)

    @property
    def by_column(self) -> dict[str, float]:
        """What moving along each column adds to the score, over all marginals, the largest first."""
        weights = sum(m.weight for m in self.marginals)
        out: dict[str, float] = {}
        for m in self.marginals:
            for name, cost in m.by_column.items():
                out[name] = out.get(name, 0.0) + cost * m.weight / weights
        return dict(sorted(out.items(), key=lambda item: -item[1]))

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "metric": "mgd", "value": self.value, "tolerance": self.tolerance, "alpha": self.alpha,
            "notes": list(self.notes), "by_column": self.by_column, "by_value": self.by_value,
            "marginals": [m.to_dict() for m in self.marginals],
        }  # fmt: skip

    @property
    def by_value(self) -> dict[str, dict[str, float]]:
        """What the bins with each value of a column add to the score, over all marginals, the largest first."""
        weights = sum(m.weight for m in self.marginals)
        out: dict[str, dict[str, float]] = {}
        for m in self.marginals:
            for name, costs in m.by_value.items():
                sums = out.setdefault(name, {})
                for value, cost in costs.items():
                    sums[value] = sums.get(value, 0.0) + cost * m.weight / weights
        return {name: dict(sorted(sums.items(), key=lambda item: -item[1])) for name, sums in out.items()}

    def render(self, top: int) -> RenderableType:
        """The number; the marginals; the columns with the values, and then the bins, that cost most."""
        from rich.console import Group
        from rich.text import Text

        title = Text.assemble(
            "mgd ", (f"{self.value:.4f}", "bold"), "  0 is the same counts, 1 as much as removing every true record"
        )
        many = "1 marginal" if len(self.marginals) == 1 else f"{len(self.marginals)} marginals"
        how = f"{many}, tolerance {self.tolerance:g}, adding or removing costs {self.alpha:g}"
        parts: list[RenderableType] = [title, Text(how, style="dim"), *(Text(n, style="dim") for n in self.notes)]
        if top and self.marginals:
            for table in (self._marginal_table(top), self._column_table(top), self._bin_table(top)):
                parts += [Text(), table]
        return Group(*parts)

    def _marginal_table(self, top: int) -> Grid:
        names = ("marginal", "cost", "share", "records", "moved", "added", "removed", "of the cost, moving along")
        grid = _grid(*names)
        for m in self.marginals[:top]:
            moves = ", ".join(f"{n} {c:.4f}" for n, c in sorted(m.by_column.items(), key=lambda i: -i[1]) if c)
            counts = [f"{x:,.0f}" for x in (m.records, m.moved, m.added, m.removed)]
            grid.add_row(*_plain(m.marginal, f"{m.value:.4f}", f"{m.share:.0%}", *counts, moves or "–"))
        return grid

    def _column_table(self, top: int) -> Grid:
        """What moving along each column adds, and the values of it whose bins cost most."""
        grid, values = _grid("column", "moving", "of its values, the bins of"), self.by_value
        for name, cost in list(self.by_column.items())[:top]:
            worst = ", ".join(f"{value} {c:.4f}" for value, c in list(values[name].items())[:3])
            grid.add_row(*_plain(name, f"{cost:.4f}", worst or "–"))
        return grid

    def _bin_table(self, top: int) -> Grid:
        """The bins that add most to the score, from all marginals."""
        weights = sum(m.weight for m in self.marginals)
        found = [(b.cost * m.weight / weights, b) for m in self.marginals for b in m.bins]
        grid = _grid("bin", "truth", "synthetic", "cost")
        for cost, b in sorted(found, key=lambda item: -item[0])[:top]:
            values = " × ".join(f"{name} {value}" for name, value in b.values.items())
            grid.add_row(*_plain(values, f"{b.truth:,.0f}", f"{b.synthetic:,.0f}", f"{cost:.6f}"))
        return grid


def _grid(*names: str) -> Grid:
    from rich.table import Table as Grid

    grid = Grid(box=None, header_style="dim", padding=(0, 3, 0, 0), pad_edge=False)
    for i, name in enumerate(names):
        grid.add_column(name, justify="left" if i == 0 or name.startswith("of ") else "right")
    return grid


def _plain(*cells: str) -> list[Any]:
    """Text as it is: what stands in brackets is no markup."""
    from rich.text import Text

    return [Text(cell) for cell in cells]


def _titles(schema: Schema, weighed: Weighed) -> list[Any]:
    """For each column what a person calls its bins."""
    return [lambda code, c=c, level=level: c.title(code, level) for c, level in weighed.marginal.bound_axes(schema)]


def _ranked(costs: Floats, title: Any) -> dict[str, float]:
    """The costs by the titles of bins, the largest first."""
    return {title(int(i)): float(costs[i]) for i in np.argsort(-costs, kind="stable")[:KEPT] if costs[i] > 0}


def _at(cells: Cells, number: Ints) -> float:
    """What a cell holds."""
    i = int(np.searchsorted(cells.numbers, number))
    return float(cells.values[i]) if i < len(cells.numbers) and cells.numbers[i] == number else 0.0
