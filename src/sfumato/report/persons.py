"""Persons: how many records, places and periods each has; in words that need no statistics."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.columns import Ints, Place
from sfumato.report.cubes import time_of
from sfumato.report.reading import Reading, Seen


def columns(seen: Sequence[Seen]) -> list[Seen]:
    """What is counted for each person beside records: places and periods."""
    places = [s for s in seen if isinstance(s.column, Place)][:2]
    times = time_of([s for s in seen if s not in places])
    return [*places, *([times] if times else [])]


def data(readings: Mapping[str, Reading], seen: Sequence[Seen]) -> list[dict[str, Any]]:
    """A histogram of persons for records and for each column, of every table that has a person id."""
    asked = columns(seen)
    found = {name: hists for name, r in readings.items() if (hists := r.persons(asked)) is not None}
    if not found:
        return []
    titles = ["records", *(f"different values of {s.what}" for s in asked)]
    return [_chart(title, {name: h[i] for name, h in found.items()}) for i, title in enumerate(titles)]


def _chart(title: str, hists: Mapping[str, Ints]) -> dict[str, Any]:
    """Shares of persons in bins that widen, so that one with many records can be seen too."""
    edges = _edges(max(len(h) - 1 for h in hists.values()))
    labels = [f"{a:,}" if b == a + 1 else f"{a:,}–{b - 1:,}" for a, b in itertools.pairwise(edges)]
    tables, shares = {}, {}
    for name, h in hists.items():
        n = np.arange(len(h))
        inside = np.histogram(n, edges, weights=h)[0]
        people = int(h[1:].sum())
        tables[name] = {
            "persons": people,
            "mean": float((n * h)[1:].sum() / max(1, people)),
            "median": _quantile(h, 0.5),
            "high": _quantile(h, 0.95),
            "most": int(np.flatnonzero(h).max(initial=0)),
        }
        shares[name] = (inside / max(1, people)).tolist()
    top = max((x for each in shares.values() for x in each), default=0.0) or 1.0
    return {"title": title, "labels": labels, "tables": tables, "shares": shares, "top": top}


def _quantile(h: Ints, share: float) -> int:
    """The least n so that this share of persons has at most n."""
    steps = np.cumsum(h[1:])
    return int(np.searchsorted(steps, share * steps[-1])) + 1 if len(steps) and steps[-1] else 0


def _edges(most: int) -> list[int]:
    """1, 2, … up to 12 bins, or bins that widen: 1, 2, 3, 5, 10, 20, 50, …"""
    if most <= 12:
        return list(range(1, max(2, most + 2)))
    edges = [1, 2, 3, 5]
    while edges[-1] <= most:
        last = edges[-1]
        edges.append(last * 2 if str(last)[0] in "15" else int(last * 2.5))
    return edges
