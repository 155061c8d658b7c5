"""What public data, or a noisy histogram, tells of the persons and values of synthetic records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.columns import Ints, Number
from sfumato.grid import Columns
from sfumato.marginal import Marginal
from sfumato.models.people import Sizes, Slots
from sfumato.models.values import Pools
from sfumato.privacy.vault import Noisy
from sfumato.schema import Schema
from sfumato.synthesizers.selection import mutual_information

SLOTS = 2**22  # public records that are kept as slots, whole persons drawn at random
MOST = 2**12  # records of a person, where the schema says no limit


def starts(schema: Schema) -> tuple[int, ...]:
    """Bins of the number of records of a person: one each up to 4, then about a fifth wide."""
    most = schema.max_records_per_person or MOST
    edges = {1, 2, 3, 4, *(int(4 * 1.2**i) for i in range(60))}
    return tuple(sorted(e for e in edges if e <= most))


def sizes_of(noisy: Noisy, schema: Schema) -> Sizes:
    """The sizes of persons by a noisy histogram; bins that may be noise alone are left out."""
    low = np.array(starts(schema))
    most = schema.max_records_per_person or MOST
    high = np.minimum(np.append(low[1:] - 1, max(most, low[-1])), np.maximum(low, int(low[-1] * 1.2)))
    counts = np.where(noisy.values >= 2 * noisy.level, noisy.values, 0.0)
    if not counts.any():
        counts[int(np.argmax(noisy.values))] = 1.0
    width = high - low + 1
    sizes = np.concatenate([np.arange(a, b + 1) for a, b in zip(low, high, strict=True)])
    return Sizes(sizes.astype(np.int64), np.repeat(counts / width, width))


def public_people(public: Any, anchors: Columns) -> Sizes | Slots | None:
    """Public persons with their slots, or their sizes alone where no column tells a person's day."""
    schema: Schema = public.schema
    found = public.records(list(anchors) or [schema.names[0]])
    known = found.person >= 0
    for name in anchors:
        known &= found[name] >= 0
    person = found.person[known]
    if not len(person):
        return None
    codes = np.stack([found[name][known] for name in anchors]) if anchors else np.zeros((0, len(person)), np.int64)
    ends, kept = _whole_persons(person, schema.max_records_per_person or MOST)
    if not anchors:
        sizes, times = np.unique(np.diff(ends, prepend=0), return_counts=True)
        return Sizes(sizes.astype(np.int64), times.astype(float))
    shape = tuple(schema[name].size() for name in anchors)
    return Slots(anchors, shape, ends, codes[:, kept].astype(np.min_scalar_type(max(shape))))


def _whole_persons(person: Ints, most: int) -> tuple[Ints, Ints]:
    """Where persons end, and which records are kept: no person's beyond the limit, and not too many persons."""
    rng = np.random.default_rng(0)  # public data, a public choice
    mixed = rng.permutation(len(person))
    order = mixed[np.argsort(person[mixed], kind="stable")]
    first = np.flatnonzero(np.diff(person[order], prepend=-1))
    sizes = np.diff(np.append(first, len(order)))
    rank = np.arange(len(order)) - np.repeat(first, sizes)
    chosen = rng.random(len(first)) < SLOTS / max(len(order), SLOTS)
    chosen[0] |= not chosen.any()
    keep = (rank < most) & np.repeat(chosen, sizes)
    return np.cumsum(np.minimum(sizes[chosen], most)).astype(np.int64), order[keep]


def public_pools(public: Any, cliques: Sequence[Columns]) -> tuple[Pools, ...]:
    """For each number the public values in its bins, given the column of its cliques that tells most of it."""
    schema: Schema = public.schema
    out = []
    for column in schema.attributes:
        near = sorted({c for clique in cliques if column.name in clique for c in clique} - {column.name})
        near = [n for n in near if schema[n].size() <= 128]
        if not isinstance(column, Number) or column.decode != "midpoint" or not near:
            continue
        counts = public.counts([Marginal.of(column.name, n) for n in near])
        tells = [mutual_information(c.values.astype(float)) for c in counts]
        neighbour = near[int(np.argmax(tells))]
        found = public.records([column.name, neighbour], [column.name])
        shape = (column.size(), schema[neighbour].size())
        values = np.rint(found.values[column.name]) if column.integer else found.values[column.name]
        own = np.where(column.code(values) == found[column.name], found[column.name], -1)
        out.append(Pools.of(column.name, neighbour, own, found[neighbour], values, shape))
    return tuple(out)
