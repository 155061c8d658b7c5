"""How alike the flows are: the shares of each pair of places, as the challenge's third sprint compared them.

With p(a, b) the share of truth's records that go from a to b, and q(a, b) that of the synthetic ones, the score is
1 − ½·Σ |p − q|: 1 where all shares agree, 0 where no pair has records in both. (The challenge called it the
graph-edge map.) A table without records agrees with another one without, and with nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.columns import Floats, Place
from sfumato.errors import InputError
from sfumato.marginal import Marginal
from sfumato.schema import Schema
from sfumato.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class EdgesScore:
    """The score, and the pairs of places whose shares differ most."""

    value: float
    pairs: tuple[tuple[str, str, float, float], ...]
    """Origin, destination, truth's share, the synthetic share; the largest difference first."""

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        names = ("origin", "destination", "truth", "synthetic")
        return {"metric": "edges", "value": self.value, "pairs": [dict(zip(names, p, strict=True)) for p in self.pairs]}

    def render(self, top: int) -> RenderableType:
        """The score and the worst pairs."""
        from rich.console import Group
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(box=None, header_style="dim", padding=(0, 3, 0, 0), pad_edge=False)
        for name in ("from", "to", "truth", "synthetic", "difference"):
            grid.add_column(name, justify="left" if name in ("from", "to") else "right")
        for origin, destination, p, q in self.pairs[:top]:
            grid.add_row(Text(origin), Text(destination), f"{p:.4%}", f"{q:.4%}", f"{q - p:+.4%}")
        title = Text.assemble("edges ", (f"{self.value:.4f}", "bold"), "  1 is the same flows, 0 nothing in common")
        return Group(title, grid) if top and self.pairs else Group(title)


@dataclass(frozen=True)
class Edges:
    """The agreement of flows between two columns of places; the schema's first two unless named.

    >>> import pyarrow as pa
    >>> schema = Schema(columns=(Place(name="here", values=(1, 2)), Place(name="there", values=(1, 2))))
    >>> truth = pa.table({"here": [1, 1, 2, 2], "there": [1, 2, 1, 2]})
    >>> Edges(schema).score(truth, truth.slice(0, 2)).value
    0.5
    """

    schema: Schema
    columns: tuple[str, ...] | None = None

    def marginal(self) -> Marginal:
        """Origin × destination."""
        names = self.columns or tuple(c.name for c in self.schema.of_kind(Place))[:2]
        if len(names) != 2:
            raise InputError(
                "edges compares two columns of places, and the schema does not name two; "
                "say which as columns=pickup,dropoff"
            )
        return Marginal.of(*names)

    def score(self, truth: Any, synthetic: Any) -> EdgesScore:
        """How far the flows of two tables agree."""
        marginal = self.marginal()
        p, q = (self._shares(data, marginal) for data in (truth, synthetic))
        gaps = np.abs(p - q)
        order = np.argsort(-gaps, axis=None, kind="stable")[: np.count_nonzero(gaps)]
        (here, at), (there, to) = marginal.bound_axes(self.schema)
        pairs = tuple(
            (here.title(int(a), at), there.title(int(b), to), float(p[a, b]), float(q[a, b]))
            for a, b in zip(*np.unravel_index(order, gaps.shape), strict=True)
        )
        alike = float(p.any() == q.any()) if not (p.any() and q.any()) else 1 - float(gaps.sum()) / 2
        return EdgesScore(alike, pairs)

    def _shares(self, data: Any, marginal: Marginal) -> Floats:
        (counts,) = Table.open(data, self.schema.select(marginal.columns)).counts([marginal])
        values: Floats = counts.values / max(1.0, counts.total)
        return values
