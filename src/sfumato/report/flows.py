"""Flows between two columns of places: the largest pairs as arcs on a map, and the busiest places as a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.columns import Floats, Ints, Place
from sfumato.maps import Drawing
from sfumato.marginal import Cells
from sfumato.report.reading import Reading, Seen

ARCS, LISTED, BUSIEST = 60, 20, 14


@dataclass(frozen=True)
class Flows:
    """For each table the records of each pair of places: sorted numbers of pairs, and counts."""

    places: tuple[Seen, Seen]
    found: Mapping[str, Cells]

    def at(self, name: str, numbers: Ints) -> Ints:
        """The records of some pairs in a table."""
        cells = self.found[name]
        if not len(cells.numbers):
            return np.zeros(len(numbers), np.int64)
        place = np.minimum(np.searchsorted(cells.numbers, numbers), len(cells.numbers) - 1)
        out: Ints = np.where(cells.numbers[place] == numbers, cells.values[place], 0)
        return out


def of(seen: Sequence[Seen]) -> tuple[Seen, Seen] | None:
    """The two columns that records flow between: the first two places with the same bins."""
    places = [s for s in seen if isinstance(s.column, Place)]
    if len(places) < 2 or places[0].column.labels(places[0].level) != places[1].column.labels(places[1].level):
        return None
    return places[0], places[1]


def count(places: tuple[Seen, Seen], readings: Mapping[str, Reading]) -> Flows:
    """The flows of each table."""
    return Flows(places, {name: reading.cells([places])[0] for name, reading in readings.items()})


def data(flows: Flows, drawing: Drawing | None, names: Sequence[str]) -> dict[str, Any]:
    """What the template needs: a list of the largest flows, arcs for each table, and a matrix."""
    k = flows.places[0].size
    main = flows.found["synthetic"]
    order = main.numbers[np.argsort(-main.values, kind="stable")]
    between = order[order // k != order % k]
    listed = np.union1d(order[:LISTED], _largest(flows, LISTED)) if len(flows.found) > 1 else order[:LISTED]
    listed = listed[np.argsort(-flows.at("synthetic", listed), kind="stable")][:LISTED]
    rows = [
        {"from": names[p // k], "to": names[p % k], **{n: int(flows.at(n, np.array([p]))[0]) for n in flows.found}}
        for p in listed.tolist()
    ]
    arcs = {}
    if drawing is not None:
        most = max((int(c.values.max(initial=0)) for c in flows.found.values()), default=0)
        for name, cells in flows.found.items():
            own = cells.numbers[np.argsort(-cells.values, kind="stable")]
            arcs[name] = _arcs(flows, name, own[own // k != own % k][:ARCS], drawing, names, _most_between(flows, most))
    return {
        "what": [s.what for s in flows.places],
        "rows": rows,
        "arcs": arcs,
        "between": len(between),
        "matrix": _matrix(flows, names),
    }


def _largest(flows: Flows, top: int) -> Ints:
    return np.unique(
        np.concatenate([c.numbers[np.argsort(-c.values, kind="stable")[:top]] for c in flows.found.values()])
    )


def _most_between(flows: Flows, most: int) -> int:
    """The largest flow between two different places, in any table."""
    k = flows.places[0].size
    tops = [c.values[c.numbers // k != c.numbers % k].max(initial=0) for c in flows.found.values()]
    return int(max(tops, default=0)) or most or 1


def _arcs(
    flows: Flows, name: str, pairs: Ints, drawing: Drawing, names: Sequence[str], most: int
) -> list[dict[str, Any]]:
    """Curves from place to place, the largest last so that it lies on top; each bends to its right."""
    k, out = flows.places[0].size, []
    for p, n in zip(pairs[::-1].tolist(), flows.at(name, pairs[::-1]).tolist(), strict=True):
        a, b = drawing.middles[p // k], drawing.middles[p % k]
        if np.isnan(a).any() or np.isnan(b).any():
            continue
        middle = (a + b) / 2 + 0.22 * np.array([-(b - a)[1], (b - a)[0]])
        x, y, mx, my, u, v = np.rint(np.concatenate([a, middle, b])).astype(int).tolist()
        out.append({
            "d": f"M{x} {y}Q{mx} {my} {u} {v}",
            "end": (u, v),
            "width": round(1 + 7 * float(np.sqrt(n / most)), 1),
            "faint": round(0.25 + 0.6 * float(np.sqrt(n / most)), 2),
            "title": f"{names[p // k]} to {names[p % k]}: {n:,}",
        })  # fmt: skip
    return out


def _matrix(flows: Flows, names: Sequence[str]) -> dict[str, Any]:
    """The busiest places against each other, a table for each of the tables."""
    k = flows.places[0].size
    main = flows.found["synthetic"]
    busy = np.bincount(main.numbers // k, main.values, k) + np.bincount(main.numbers % k, main.values, k)
    top = np.argsort(-busy, kind="stable")[: min(BUSIEST, int((busy > 0).sum()))]
    pairs = (top[:, None] * k + top[None, :]).reshape(-1)
    found = {n: flows.at(n, pairs).reshape(len(top), len(top)) for n in flows.found}
    cuts = _cuts(np.concatenate([f.reshape(-1) for f in found.values()]).astype(float))
    tables = {
        n: [[(int(v), int(np.searchsorted(cuts, v, side="right"))) for v in row] for row in f] for n, f in found.items()
    }
    return {"names": [names[i] for i in top], "tables": tables}


def _cuts(values: Floats) -> Floats:
    """Six cuts into seven classes of about as many values each."""
    positive = values[values > 0]
    if not len(positive):
        return np.arange(1.0, 7.0)
    return np.quantile(positive, np.arange(1, 7) / 7)
