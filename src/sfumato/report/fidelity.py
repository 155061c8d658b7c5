"""How faithful a release is: MGD with all that is behind it, and the other scores that the schema fits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.columns import Category
from sfumato.errors import InputError, SfumatoError
from sfumato.metrics import METRICS, MGD
from sfumato.metrics.mgd_score import MarginalScore, MGDScore
from sfumato.metrics.weighing import Weighed
from sfumato.report.cubes import time_of
from sfumato.report.reading import Reading, Seen
from sfumato.report.release import Release
from sfumato.schema import Schema

LISTED, DRAWN, BINS = 12, 6, 8  # marginals in the list and of these with their bins, and bins of each
MOST_PAIR, MOST_TRIPLE = 250_000, 100_000  # cells of a marginal that is scored without being asked for
TOGETHER = 24  # marginals counted in one scan

OTHERS: Mapping[str, tuple[str, str]] = {
    "edges": ("flows between places", "1 where every pair of places has the same share of the records, 0 at worst."),
    "kmarginal": ("k-marginal", "1 where the shares of pairs of columns agree in every place and time, 0 at worst."),
    "pie": ("pie charts", "1 where what the records of each place and time divide into looks alike, 0 at worst."),
    "conjunction": ("kinds of persons", "1 where as many persons have records like each other's, 0 at worst."),
}
"""Scores beside MGD, by their name in `METRICS`: what to call them and what they say."""


def fidelity(truth: Any, synthetic: Any, release: Release, reading: Reading, marginals: Any = None) -> dict[str, Any]:
    """What only the owner's page has: the number of true records, and the scores."""
    try:
        mgd, why = shown(score(release, reading, marginals)), ""
    except InputError as error:  # an empty truth
        if marginals is not None:
            raise  # what was asked for cannot be had
        mgd, why = None, str(error)
    return {"records": reading.records(), "mgd": mgd, "why": why, "others": _others(truth, synthetic, release)}


def score(release: Release, truth: Reading, marginals: Any = None) -> MGDScore:
    """The MGD of the release, over the bins that it holds: a column that it has in groups is compared in groups."""
    schema = Schema(columns=tuple(_column(release, s) for s in release.reading.seen))
    metric = MGD(schema, marginals=_chosen(release.reading.seen) if marginals is None else marginals)
    chosen, scores = metric.weighing.marginals, []
    for start in range(0, len(chosen), TOGETHER):
        some = chosen[start : start + TOGETHER]
        wanted = [_seen(w, release, schema) for w in some]
        for weighed, p, q in zip(some, release.reading.cells(wanted), truth.cells(wanted), strict=True):
            found = metric.cost(weighed, p, q)
            tolerance = next((t for t in (weighed.tolerance, metric.weighing.tolerance) if t is not None), 0.0)
            scores.append(MarginalScore.of(schema, weighed, found, p, q, tolerance))
    alpha = metric.weighing.alpha
    return MGDScore.of(
        tuple(scores), metric.weighing.notes, metric.weighing.tolerance or 0.0, 1.0 if alpha is None else alpha
    )


def _column(release: Release, seen: Seen) -> Any:
    """The column as the release holds it, with the names that the page uses."""
    column = seen.stand_in()
    if isinstance(column, Category) and column.size() == seen.size:
        return column.model_copy(update={"names": tuple(release.titles(seen))})
    return column


def _chosen(seen: Sequence[Seen]) -> list[Weighed]:
    """Every column, every pair, and the triples of a place, the time and another column, as far as they are small."""
    time = time_of(seen)
    sets = [s for n in (1, 2, 3) for s in itertools.combinations(seen, n)]
    out = []
    for columns in sets:
        cells = 1
        for s in columns:
            cells *= s.size
        anchored = time in columns and any(s.column.kind == "place" for s in columns)
        fits = cells <= MOST_TRIPLE and anchored if len(columns) == 3 else cells <= MOST_PAIR
        if len(columns) == 1 or fits:
            out.append(Weighed.of(*(s.name for s in columns)))
    return out


def _seen(weighed: Weighed, release: Release, schema: Schema) -> list[Seen]:
    out = []
    for column, level in weighed.marginal.bound_axes(schema):
        seen = release.reading[column.name]
        out.append(seen.coarser(level) if seen.finest else seen)
    return out


def _others(truth: Any, synthetic: Any, release: Release) -> list[dict[str, Any]]:
    """The scores that can be had: those whose columns the release holds in single values."""
    kept = [s.name for s in release.reading.seen if s.finest]
    who = release.schema.person
    person = (who,) if who is not None and release.reading.table.schema.person is not None else ()
    columns = (*person, *(release.schema[n] for n in kept))
    out = []
    for name, (title, meaning) in OTHERS.items():
        if name in METRICS and kept:
            try:
                found = METRICS[name](Schema(columns=columns)).score(truth, synthetic)
            except SfumatoError:
                continue  # the schema has not what this one compares
            out.append({"name": title, "value": f"{found.value:.3f}", "meaning": meaning})
    return out


# ---------------------------------------------------------------------- as the page shows it


def shown(found: MGDScore) -> dict[str, Any]:
    """The score in words, its marginals, the columns and the bins that cost most."""
    listed = found.marginals[:LISTED]
    most = max((m.value for m in listed), default=0.0) or 1.0
    return {
        "value": f"{found.value:.3f}",
        "meaning": _meaning(found.value),
        "count": len(found.marginals),
        "marginals": [
            {
                "what": _plain(m.marginal), "value": f"{m.value:.3f}", "share": f"{m.share:.0%}", "bar": m.value / most,
                "moved": m.moved, "added": m.added, "removed": m.removed,
            }
            for m in sorted(listed, key=lambda m: -m.value)
        ],
        "columns": [
            (name.replace("_", " "), f"{cost:.4f}", ", ".join(f"{v} ({c:.4f})" for v, c in list(values.items())[:3]))
            for name, cost in found.by_column.items()
            if (values := found.by_value[name])
        ],
        "bins": [_bins(m) for m in sorted(listed, key=lambda m: -m.value)[:DRAWN]],
    }  # fmt: skip


def _meaning(value: float) -> str:
    if value < 0.005:
        return "The two tables are all but the same in every marginal that was compared."
    many = f"{100 * value:,.0f}" if value >= 0.1 else f"{100 * value:.2g}"
    text = f"To turn the synthetic counts into the true ones, some {many} in 100 records would have to be "
    text += "moved to another bin, added or removed (a move to a near bin counts for less)."
    return text if value < 1 else f"{text} That is more than there are: the release is drowned in noise."


def _plain(marginal: str) -> str:
    return marginal.replace("_", " ")


def _bins(m: MarginalScore) -> dict[str, Any]:
    """The bins of a marginal that cost most, with what both tables hold."""
    some = m.bins[:BINS]
    return {
        "what": _plain(m.marginal),
        "value": f"{m.value:.3f}",
        "labels": [" · ".join(b.values.values()) for b in some],
        "tables": {"truth": [b.truth for b in some], "synthetic": [b.synthetic for b in some]},
        "top": max((max(b.truth, b.synthetic) for b in some), default=0.0) or 1.0,
    }
