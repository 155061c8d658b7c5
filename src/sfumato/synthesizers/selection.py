"""Which marginals an adaptive grid measures: the outermost ones, and everything below them.

For the taxi data of the challenge's third sprint they are the seven that its second place chose. For another schema:
*anchors* are its first place and its first time (or cyclic category), because that is what a map of when and where is
made of; every other column is measured with both. Where public data is given, columns that depend on each other are
measured together as well, along the strongest pairs that form a tree. What would be too large is made smaller, and
said so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.columns import Binned, Category, Floats, Place, Time
from sfumato.errors import InputError
from sfumato.grid import Columns
from sfumato.marginal import Marginal
from sfumato.schema import Schema

CELLS = 2**22  # of one marginal that is chosen here
MODEL = 2**24  # of all cliques of a model: some 600 MB while it is fitted
DEPENDENT = 0.02  # nats of mutual information below which a pair is left alone

_AREA, _SHIFT, _TOTAL = "pickup_community_area", "shift", "trip_total"
TAXI: tuple[Columns, ...] = (
    (_AREA, _SHIFT, "fare", _TOTAL),
    (_AREA, _SHIFT, _TOTAL, "trip_seconds"),
    (_AREA, _SHIFT, "dropoff_community_area", "fare"),
    (_AREA, _SHIFT, "payment_type", _TOTAL),
    (_AREA, _SHIFT, "fare", "trip_miles"),
    (_AREA, _SHIFT, "company_id"),
    (_AREA, _SHIFT, "tips", _TOTAL),
)
TAXI_COPIES = {(_AREA, "dropoff_community_area"): 8}


@dataclass(frozen=True)
class Selection:
    """The outermost marginals, what to say about them, the columns that tell a person's day, the model's cells."""

    outer: tuple[Columns, ...]
    notes: tuple[str, ...]
    anchors: Columns
    cells: int

    def closure(self) -> tuple[Columns, ...]:
        """Every set of columns within an outermost marginal, small ones first."""
        return closure(self.outer)


def closure(outer: Iterable[Columns]) -> tuple[Columns, ...]:
    """Every set of columns within a marginal, small ones first."""
    found = {s for o in outer for k in range(1, len(o) + 1) for s in itertools.combinations(o, k)}
    return tuple(sorted(found, key=lambda s: (len(s), s)))


def canonical(schema: Schema, columns: Iterable[str]) -> Columns:
    """Columns in the schema's order, each known and named once."""
    names = list(columns)
    for name in names:
        _ = schema[name]
    if len(set(names)) < len(names) or not names:
        raise InputError(f"the marginal {' × '.join(names) or '()'} names no column, or one twice")
    return tuple(n for n in schema.names if n in names)


def select(schema: Schema, given: Sequence[Sequence[str]] | None, public: Any = None) -> Selection:
    """The marginals that were asked for, or those that suit the schema."""
    if given is not None:
        outer = [canonical(schema, columns) for columns in given]
        if not outer:
            raise InputError("marginals is empty; name some, or leave it out to have them chosen")
        anchors = _anchors(schema, {c for o in outer for c in o})
        return _checked(schema, outer, [], anchors, may_shrink=False)
    if all(c in schema for o in TAXI for c in o):
        outer = [canonical(schema, o) for o in TAXI]
        return _checked(schema, outer, [], canonical(schema, (_AREA, _SHIFT)), may_shrink=True)
    anchors = _anchors(schema, schema.names)
    outer, notes = _chosen(schema, anchors, public)
    return _checked(schema, outer, notes, anchors, may_shrink=True)


def _anchors(schema: Schema, names: Iterable[str]) -> Columns:
    """The first place and the first time, as far as there are any and they fit together."""
    have = [c for c in schema.attributes if c.name in set(names)]
    place = [c.name for c in have if isinstance(c, Place)][:1]
    time = [c.name for c in have if _is_time(c)][:1]
    both = canonical(schema, place + time) if place or time else ()
    return both if _size(schema, both) <= CELLS // 8 else both[:1]


def _is_time(column: Binned) -> bool:
    return isinstance(column, Time) or (
        isinstance(column, Category) and column.cyclic and not isinstance(column, Place)
    )


def _size(schema: Schema, columns: Iterable[str]) -> int:
    return math.prod(schema[c].size() for c in columns)


def _chosen(schema: Schema, anchors: Columns, public: Any) -> tuple[list[Columns], list[str]]:
    """Every other column with the anchors; pairs that depend on each other, with the anchors where that fits."""
    rest = [n for n in schema.names if n not in anchors]
    if not rest:
        return [anchors], []
    if not anchors:
        return [canonical(schema, pair) for pair in itertools.combinations(rest, 2)] or [(rest[0],)], []
    sets: list[Columns] = []
    paired: set[str] = set()
    for a, b in _dependent(schema, rest, public):
        if _size(schema, (*anchors, a, b)) <= CELLS:
            sets.append((*anchors, a, b))
        elif _size(schema, (a, b)) <= CELLS:
            sets.append((a, b))
            continue
        paired |= {a, b}
    sets += [(*anchors, name) for name in rest if name not in paired]
    notes: list[str] = []
    out: list[Columns] = []
    for columns in sets:
        if _size(schema, columns) <= CELLS:
            out.append(canonical(schema, columns))
            continue
        pairs = [p for p in itertools.combinations(columns, 2) if p[1] not in anchors and _size(schema, p) <= CELLS]
        out += [canonical(schema, p) for p in pairs] or [(columns[-1],)]
        notes.append(f"{' × '.join(columns)} has {_size(schema, columns):,} cells, too many; measured in pairs")
    return out, notes


def _dependent(schema: Schema, names: Sequence[str], public: Any) -> list[tuple[str, str]]:
    """The strongest pairs that form a tree, by public counts."""
    if public is None:
        return []
    pairs = [p for p in itertools.combinations(names, 2) if _size(schema, p) <= 2**16]
    if not pairs:
        return []
    counts = public.counts([Marginal.of(*p) for p in pairs])
    strength = {p: mutual_information(c.values.astype(float)) for p, c in zip(pairs, counts, strict=True)}
    part = {n: n for n in names}
    out = []
    for a, b in sorted(pairs, key=lambda p: -strength[p]):
        if strength[a, b] >= DEPENDENT and part[a] != part[b]:
            out.append((a, b))
            gone, stays = part[a], part[b]
            part = {n: stays if p == gone else p for n, p in part.items()}
    return out


def mutual_information(counts: Floats) -> float:
    """How much one axis of a table of counts tells of the other, in nats."""
    total = counts.sum()
    if total <= 0:
        return 0.0
    p = counts / total
    apart = np.outer(p.sum(1), p.sum(0))
    seen = p > 0
    return float((p[seen] * np.log(p[seen] / apart[seen])).sum())


def _checked(
    schema: Schema, outer: Sequence[Columns], notes: Sequence[str], anchors: Columns, may_shrink: bool
) -> Selection:
    """The selection, with no marginal inside another, and a model that fits into memory."""
    from sfumato.estimation.tree import junction_tree

    kept = [o for i, o in enumerate(outer) if o not in outer[:i] and not any(set(o) < set(p) for p in outer)]
    said = list(notes)
    while True:
        sizes = {n: schema[n].size() for n in schema.names if any(n in o for o in kept)}
        cells = junction_tree(sizes, kept).cells
        if cells <= MODEL:
            break
        largest = max(kept, key=lambda o: _size(schema, o))
        if not may_shrink or len(largest) == 1:
            raise InputError(
                f"a model of these marginals has {cells:,} cells, more than {MODEL:,}; take fewer or smaller"
            )
        said.append(f"{' × '.join(largest)} is not measured: the model would have {cells:,} cells")
        kept.remove(largest)
        kept += [(c,) for c in largest if not any(c in o for o in kept)]
    if left := [n for n in schema.names if not any(n in o for o in kept)]:
        said.append(f"not modelled: {', '.join(left)}")
    return Selection(tuple(kept), tuple(said), tuple(a for a in anchors if any(a in o for o in kept)), cells)
