"""What the maps show: counts by place × time × type, small enough to stand in the page.

>>> from sfumato.columns import Category, Place, Time
>>> place, month = Seen(Place(name="area", values=(1, 2)), 1), Seen(Time(name="month", part="month"), 1)
>>> kind = Seen(Category(name="kind", values=tuple(range(40))), 1)
>>> [view.places.name for view in plan((place, month, kind), {"kind": np.arange(40)})]
['area']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.columns import Category, Ints, Number, Place, Time
from sfumato.report.noise import Noise
from sfumato.report.reading import Reading, Seen

MOST_TYPES = 16  # bins of a column that can be chosen one by one
KEPT_TYPES = 11  # of a column with more: the commonest, and the rest together
MOST_STEPS = 400
ROOM = 200_000  # numbers that all maps of a page may hold, for each table


@dataclass(frozen=True)
class Types:
    """A column whose bins can be chosen on the map, some of them put together."""

    seen: Seen
    groups: Ints
    titles: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """A map: its place, what the slider moves through, and the columns to choose from."""

    places: Seen
    times: Seen | None
    types: tuple[Types, ...]

    @property
    def steps(self) -> int:
        """Positions of the slider."""
        return self.times.size if self.times else 1


def time_of(seen: Sequence[Seen]) -> Seen | None:
    """The column that the slider moves through: a time, or else the first column that goes round in a circle."""
    times = [s for s in seen if isinstance(s.column, Time)]
    rounds = [s for s in seen if isinstance(s.column, Category) and s.column.is_cyclic]
    return next((s for s in (*times, *rounds) if 1 < s.size <= MOST_STEPS), None)


def plan(seen: Sequence[Seen], common: Mapping[str, Ints]) -> list[View]:
    """The maps of a table; `common` are the counts of each column by itself, of a table that anyone may see."""
    places = [s for s in seen if isinstance(s.column, Place)][:2]
    times = time_of([s for s in seen if s not in places])
    others = [s for s in seen if s not in places and s != times]
    others.sort(key=lambda s: isinstance(s.column, Number) or s.column.is_ordered)
    room = ROOM / max(1, len(places))
    views = []
    for place in places:
        base = place.size * (times.size if times else 1)
        if base > room:
            views.append(View(place, None, ()))
            continue
        left, chosen = room - base, []
        for s in others:
            types = _types(s, common[s.name])
            if types is not None and base * len(types.titles) <= left:
                left -= base * len(types.titles)
                chosen.append(types)
        views.append(View(place, times, tuple(chosen)))
    return views


def _types(seen: Seen, counts: Ints) -> Types | None:
    """The choices of a column: its bins, those of a level above, or the commonest and the rest."""
    level = next((i for i in range(seen.level, 0, -1) if 1 < seen.column.size(i) <= MOST_TYPES), None)
    if level is not None and (seen.finest or level == seen.level):
        at = seen.coarser(level)
        return Types(at, np.arange(at.size), tuple(at.titles))
    if seen.size < 2 or isinstance(seen.column, Number) or seen.column.is_ordered:
        return None
    kept = np.argsort(-counts, kind="stable")[:KEPT_TYPES]
    groups = np.full(seen.size, KEPT_TYPES, np.int64)
    groups[kept] = np.arange(KEPT_TYPES)
    titles = seen.titles
    return Types(seen, groups, (*(titles[i] for i in kept), f"the other {seen.size - KEPT_TYPES:,}"))


def wanted(view: View) -> list[list[Seen]]:
    """The sets of columns to count for a view: by place and time, then with each type."""
    base = [view.times, view.places] if view.times else [view.places]
    return [base, *([base[0], t.seen, base[-1]] if view.times else [t.seen, view.places] for t in view.types)]


def cube(view: View, reading: Reading) -> list[Ints]:
    """Counts of steps × choices × places: without types, then for each column of types."""
    base, *typed = reading.counts(wanted(view))
    return [base.reshape(view.steps, 1, -1), *(_grouped(c, t, view) for c, t in zip(typed, view.types, strict=True))]


def _grouped(counts: Ints, types: Types, view: View) -> Ints:
    full = counts.reshape(view.steps, types.seen.size, view.places.size)
    out = np.zeros((view.steps, len(types.titles), view.places.size), np.int64)
    for group in range(len(types.titles)):
        out[:, group] = full[:, types.groups == group].sum(axis=1)
    return out


def data(view: View, cubes: Mapping[str, Sequence[Ints]], noise: Noise) -> dict[str, Any]:
    """What the page's script reads: counts by table, step, choice and place, and the noise in each kind of number."""
    steps = view.times.titles if view.times else []
    sets = [_set(view, None, [c[0] for c in cubes.values()], list(cubes), noise)]
    for i, types in enumerate(view.types, start=1):
        sets.append(_set(view, types, [c[i] for c in cubes.values()], list(cubes), noise))
    what = view.times.what if view.times else ""
    return {"place": view.places.what, "time": {"what": what, "steps": steps}, "sets": sets}


def _set(view: View, types: Types | None, counts: Sequence[Ints], names: Sequence[str], noise: Noise) -> dict[str, Any]:
    sizes = [1] if types is None else np.bincount(types.groups).tolist()
    return {
        "what": types.seen.what if types else "",
        "choices": list(types.titles) if types else [],
        **{name: c.reshape(-1).tolist() for name, c in zip(names, counts, strict=True)},
        "noise": [_noises(view, types, size, noise) for size in sizes],
    }


def _noises(view: View, types: Types | None, bins: int, noise: Noise) -> list[float | None]:
    """The noise of a place's number over all steps, and in one step."""
    fixed = {view.places: 1} | ({types.seen: bins} if types else {})
    whole = noise.level(fixed)
    single = noise.level({**fixed, view.times: 1}) if view.times else whole
    return [None if x is None else round(x, 2) for x in (whole, single)]
