"""What stands on the page, part by part, for the tables it is given: the release alone, or with the truth beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato._version import __version__
from sfumato.checked import short
from sfumato.columns import Binned, Ints, Place
from sfumato.maps import Drawing
from sfumato.privacy.budget import Cost, GaussianCost
from sfumato.privacy.ledger import Charge, Line, Statement, in_words, rounded_down, rounded_up
from sfumato.report import cubes, flows, persons, words
from sfumato.report.page import render
from sfumato.report.reading import Reading, Seen, shares
from sfumato.report.release import Release

ROWS = 8
MOST_BARS = 120  # bins of a column that are drawn one by one
RANKED = 40

Sides = Mapping[str, Reading]
"""The tables on the page by name: truth and synthetic, or synthetic alone."""


def page(release: Release, sides: Sides, title: str | None, private: Mapping[str, Any] | None) -> str:
    """The document; `private` is what only the owner's page has."""
    seen = release.reading.seen
    counted = {name: _columns(reading, seen) for name, reading in sides.items()}
    common = dict(zip([s.name for s in seen], counted["synthetic"], strict=True))
    views = cubes.plan(seen, common)
    drawings, used = _drawings(release, views)
    data: dict[str, Any] = {
        "drawings": [_drawn(d) for d in drawings],
        "views": [{**_view(release, view, sides), "drawing": used[view.places.name]} for view in views],
        "tables": list(sides),
    }
    records = {name: reading.records() for name, reading in sides.items()}
    context = {
        "title": title or f"Synthetic records: {release.name}",
        "private": private,
        "version": __version__,
        "head": _head(release, records, views),
        "promise": _promise(release),
        "sides": list(sides),
        "noisy": any(x is not None for v in data["views"] for s in v["sets"] for pair in s["noise"] for x in pair),
        "maps": [_map_words(release, view) for view in views],
        "flows": _flows(release, sides, drawings, used),
        "columns": _distributions(release, counted),
        "persons": persons.data(sides, seen),
        "statement": None if release.statement is None else _statement(release.statement, release.line),
        "words": words,
        "table": _table(release),
        "notes": _notes(release),
    }
    return render(context, data)


def _columns(reading: Reading, seen: Sequence[Seen]) -> list[Ints]:
    return reading.counts([[s] for s in seen])


# ---------------------------------------------------------------------- head


def _head(release: Release, records: Mapping[str, int], views: Sequence[cubes.View]) -> list[tuple[str, str, str]]:
    """Facts for the top of the page: a number, what it counts, and more about it."""
    facts = [(f"{records['synthetic']:,}", "synthetic records", release.name)]
    for view in views[:1]:
        facts.append((f"{view.places.size:,}", "places", view.places.what))
        if view.times:
            titles = view.times.titles
            facts.append((f"{len(titles):,}", "periods", f"{titles[0]} to {titles[-1]}"))
    made = release.provenance
    if made:
        moment = f"{release.line.release.time[:10]}" if release.line else f"sfumato {made.version}"
        facts.append((made.method, "method", f"made {moment}" if release.line else moment))
        facts.append((f"ε = {made.epsilon:g}", "privacy budget", f"δ = {made.delta:g}"))
    return facts


def _promise(release: Release) -> dict[str, Any] | None:
    made = release.provenance
    if made is None:
        return None
    account = release.statement.account if release.statement else None
    return {"private": made.private, "sentences": words.promise(made, account)}


def _notes(release: Release) -> list[str]:
    """What a reader of the maps has to know."""
    told: dict[str, list[str]] = {}
    for name, areas in release.areas.items():
        seen = release.reading[name]
        if areas.missing:
            lost = [release.titles(seen)[i] for i in areas.missing]
            some = ", ".join(lost[:5]) + (f" and {len(lost) - 5:,} more" if len(lost) > 5 else "")
            told.setdefault(f"the map has no shape for {some}; counted, but not drawn.", []).append(seen.what)
        if areas.strangers:
            text = f"{areas.strangers:,} areas of the map are no value of the schema and are not drawn."
            told.setdefault(text, []).append(seen.what)
    notes = [f"{' and '.join(names).capitalize()}: {text}" for text, names in told.items()]
    held = {s.name for s in release.reading.seen}
    if absent := [n.replace("_", " ") for n in release.schema.names if n not in held]:
        notes.append(f"The synthetic table leaves out what the schema also has: {', '.join(absent)}.")
    if grouped := [s.what for s in release.reading.seen if not s.finest]:
        notes.append(f"Held in groups, not in single values: {', '.join(grouped)}.")
    return notes


# ---------------------------------------------------------------------- maps and flows


def _drawings(release: Release, views: Sequence[cubes.View]) -> tuple[list[Drawing], dict[str, int]]:
    """The drawings of the maps, each once, and which one belongs to a place."""
    kept: list[tuple[Any, Drawing]] = []
    used = {}
    for view in views:
        areas = release.areas.get(view.places.name)
        mark = view.places.size if areas is None else (areas.origin, areas.values)
        found = next((i for i, (known, _) in enumerate(kept) if known == mark), None)
        if found is None:
            found = len(kept)
            kept.append((mark, release.drawing(view.places)))
        used[view.places.name] = found
    return [d for _, d in kept], used


def _drawn(drawing: Drawing) -> dict[str, Any]:
    return {"width": drawing.width, "height": drawing.height, "paths": list(drawing.paths)}


def _view(release: Release, view: cubes.View, sides: Sides) -> dict[str, Any]:
    areas = release.areas.get(view.places.name)
    sizes = areas.square_km() if areas is not None and areas.geographic else None
    made = {name: cubes.cube(view, reading) for name, reading in sides.items()}
    return {
        **cubes.data(view, made, release.noise),
        "names": release.titles(view.places),
        "km2": None if sizes is None else [None if np.isnan(x) else float(f"{x:.4g}") for x in sizes],
        "tiles": areas is None,
    }


def _map_words(release: Release, view: cubes.View) -> dict[str, Any]:
    return {"what": view.places.what, "tiles": view.places.name not in release.areas}


def _flows(
    release: Release, sides: Sides, drawings: Sequence[Drawing], used: Mapping[str, int]
) -> dict[str, Any] | None:
    places = flows.of(release.reading.seen)
    if places is None:
        return None
    index = used[places[0].name]
    drawing = drawings[index] if places[0].name in release.areas else None
    found = flows.data(flows.count(places, sides), drawing, release.titles(places[0]))
    return {**found, "index": index, "size": (drawings[index].width, drawings[index].height)}


# ---------------------------------------------------------------------- columns


def _distributions(release: Release, counted: Mapping[str, Sequence[Ints]]) -> list[dict[str, Any]]:
    """A chart for each column: the shares of its bins in each table."""
    out: list[dict[str, Any]] = []
    for i, seen in enumerate(release.reading.seen):
        tables = {name: shares(c[i]) for name, c in counted.items()}
        totals = {name: int(c[i].sum()) for name, c in counted.items()}
        titles = release.titles(seen)
        ordered = seen.column.is_ordered or seen.column.is_cyclic
        order = np.arange(seen.size) if ordered else np.argsort(-max_of(tables), kind="stable")
        shown = order if ordered and seen.size <= MOST_BARS else np.argsort(-max_of(tables), kind="stable")[:RANKED]
        apart = float(np.abs(tables["truth"] - tables["synthetic"]).sum() / 2) if "truth" in tables else None
        out.append({
            "what": seen.what,
            "place": isinstance(seen.column, Place),
            "ordered": bool(ordered and seen.size <= MOST_BARS),
            "bins": seen.size,
            "totals": totals,
            "apart": apart,
            "labels": [titles[j] for j in shown],
            "tables": {name: [float(t[j]) for j in shown] for name, t in tables.items()},
            "top": float(max(max_of(tables).max(initial=0), 1e-12)),
        })  # fmt: skip
    if "truth" in counted:
        out.sort(key=lambda c: -float(c["apart"]))
    return out


def max_of(tables: Mapping[str, Any]) -> Any:
    """The larger share of each bin in any of the tables."""
    return np.max(np.stack(list(tables.values())), axis=0)


# ---------------------------------------------------------------------- ledger and table


def _statement(statement: Statement, own: Line | None) -> dict[str, Any]:
    account = statement.account
    lines = []
    for line in statement.lines:
        r = line.release
        lines.append({
            "own": own is not None and line.release.id == own.release.id,
            "id": r.id, "time": r.time[:16].replace("T", " "), "method": r.method, "unit": r.unit,
            "private": r.private, "budget": in_words(r.budget), "note": r.note,
            "charges": [
                {
                    "question": c.question, "columns": c.columns, "bound": c.bound, "mechanism": c.mechanism,
                    "noise": _noise(c), "cost": _cost(c.cost),
                }
                for c in r.charges
            ],
            "epsilon": rounded_up(line.epsilon), "total": rounded_up(line.total),
        })  # fmt: skip
    return {
        "path": statement.path,
        "account": account.name,
        "caps": [(c.time[:16].replace("T", " "), in_words(c.cap)) for c in statement.caps],
        "lines": lines,
        "spent": rounded_up(account.spent),
        "cap": rounded_down(account.cap.epsilon),
        "delta": f"{account.cap.delta:g}",
        # what arithmetic leaves over of a budget that is spent is no budget
        "left": rounded_down(account.remaining if account.remaining > 1e-9 * account.cap.epsilon else 0.0),
        "share": min(1.0, account.spent / account.cap.epsilon) if account.cap.epsilon else 1.0,
        "head": statement.head[:16],
    }


def _noise(charge: Charge) -> str:
    return f"{'σ' if isinstance(charge.cost, GaussianCost) else 'b'} = {charge.noise:.4g}"


def _cost(cost: Cost) -> str:
    return f"μ = {rounded_up(cost.mu)}" if isinstance(cost, GaussianCost) else f"ε = {rounded_up(cost.epsilon)}"


def _table(release: Release) -> dict[str, Any]:
    names, rows = release.reading.head(ROWS)
    return {
        "file": release.name,
        "names": names,
        "rows": [[_cell(v) for v in row] for row in rows],
        "schema": [_column(release, c) for c in release.schema.columns],
        "load": _load(release.name),
    }


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _column(release: Release, column: Any) -> dict[str, Any]:
    held = {s.name: s for s in release.reading.seen}.get(column.name)
    if not isinstance(column, Binned):
        return {"name": column.name, "kind": "person id", "bins": "", "such": "", "levels": "", "held": ""}
    such = ", ".join(short(column.title(i)).strip("'\"") for i in range(min(3, column.size())))
    return {
        "name": column.name,
        "kind": column.kind,
        "bins": f"{column.size():,}",
        "such": such + (", …" if column.size() > 3 else ""),
        "levels": ", ".join(f"{name} ({column.size(name):,})" for name in column.levels),
        "held": "no" if held is None else "yes" if held.finest else f"in {held.size:,} groups",
    }


def _load(name: str) -> list[tuple[str, str]]:
    """How to read the file in four languages."""
    parquet = name.endswith((".parquet", ".pq"))
    reader = "read_parquet" if parquet else "read_csv"
    r = f'library(arrow)\nrecords <- read_parquet("{name}")' if parquet else f'records <- read.csv("{name}")'
    return [
        ("pandas", f'import pandas as pd\nrecords = pd.{reader}("{name}")'),
        ("polars", f'import polars as pl\nrecords = pl.{reader}("{name}")'),
        ("R", r),
        ("SQL (DuckDB)", f"SELECT * FROM '{name}' LIMIT 10;"),
    ]
