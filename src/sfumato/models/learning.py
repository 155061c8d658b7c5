"""Archetypes learned from a public table: kinds of persons, and the laws of what they do.

>>> import numpy as np, pyarrow as pa
>>> from sfumato.columns import Category, Person
>>> area, firm = Category(name="area", values=(1, 2)), Category(name="firm", values=(5, 6))
>>> schema = Schema(columns=(Person(name="who"), area, firm))
>>> who, here, there = np.repeat(np.arange(40), 3), np.repeat([1, 2], 60), np.repeat([6, 5], 60)
>>> two_kinds = pa.table({"who": who, "area": here, "firm": there})
>>> learned = learn(two_kinds, schema, columns=("area",), attribute="firm", archetypes=2)
>>> learned.people.totals().tolist(), learned.attributes.astype(int).tolist()
([20, 20], [[20, 0], [0, 20]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from sfumato.columns import Category, Floats, Ints
from sfumato.errors import InputError
from sfumato.models.archetypes import MOST_ARCHETYPES, Archetypes, Cluster, check_columns
from sfumato.models.choices import Choices
from sfumato.models.completion import learn_completion, steps
from sfumato.models.embedding import Embedding, embed
from sfumato.models.mixture import Mixture, fit_mixture
from sfumato.models.totals import Total
from sfumato.privacy.provenance import Provenance
from sfumato.public import Public, Records
from sfumato.schema import Schema

COLUMNS = ("shift", "pickup_community_area", "dropoff_community_area")
TRIPS = 2_000_000
MOST = 200  # records of a person, as the challenge promises
PUBLIC = Provenance("archetypes", 0.0, 0.0, "nobody: learned from public data alone", True, "none")
_POINTS = 200_000  # records that a mixture of records sees
_PROFILED = 100  # bins of a category whose counts are kept by archetype


def check_settings(
    schema: Schema,
    columns: Sequence[str],
    attribute: str | None,
    archetypes: int,
    cluster: str,
    most: int,
    total: str | None = None,
    completion: Sequence[str] | None = None,
) -> None:
    """Raise unless archetypes can be learned so."""
    if schema.person is None:
        raise InputError(
            "archetypes are kinds of persons, but the schema names no person id; add a column of kind person"
        )
    if not 1 <= archetypes <= MOST_ARCHETYPES:
        raise InputError(f"archetypes is {archetypes}; give a number from 1 to {MOST_ARCHETYPES}")
    if cluster not in get_args(Cluster):
        raise InputError(f"cluster is 'persons' or 'records', not {cluster!r}")
    if most < 1:
        raise InputError(f"most is {most} records a person; give 1 or more")
    if not columns:
        raise InputError("columns is empty; name the columns that records are drawn in, such as shift and area")
    if lost := [c for c in (*columns, *([attribute] if attribute else [])) if c not in schema]:
        raise InputError(
            f"the schema has no column '{lost[0]}', which archetypes are learned from; say which columns of "
            f"{', '.join(schema.names)} to take (columns: place and time; attribute: what a person has one of, or null)"
        )
    check_columns(schema, tuple(columns), attribute)
    filled = [s.target for s in steps(schema, columns, attribute, completion)]
    if total is not None:
        Total.parse(total).check(schema, filled)


def learn(
    public: Any,
    schema: Schema,
    *,
    columns: Sequence[str] = COLUMNS,
    attribute: str | None = "company_id",
    archetypes: int = 10,
    cluster: Cluster = "persons",
    completion: Sequence[str] | None = None,
    total: str | None = None,
    most: int = MOST,
    trips: int = TRIPS,
    likeness: float = 1.0,
    linked: bool = False,
    seed: int = 0,
) -> Archetypes:
    """The archetypes of a public table: a path, or a table of any engine; the same whatever the order of its rows.

    With `likeness` 0 no public person is kept, but only what each archetype does.
    """
    check_settings(schema, columns, attribute, archetypes, cluster, most, total, completion)
    table = Public.open(public, schema)
    asked = steps(schema, columns, attribute, completion)
    profiled = [s.target for s in asked if _is_profiled(schema, s.target)]
    codes, owner, starts = _records(table, columns, [*([attribute] if attribute else []), *profiled])
    if len(starts) < archetypes:
        raise InputError(
            f"{table.origin} has {len(starts):,} persons to learn {archetypes} archetypes from; ask for fewer"
        )
    embedding = embed(schema, columns, [codes[c] for c in columns], starts)
    mixture, kind = _cluster(embedding, [codes[c] for c in columns], owner, starts, archetypes, cluster, seed)
    cell = np.ravel_multi_index([codes[c] for c in columns], [schema[c].size() for c in columns])
    one = np.ones(len(owner), np.int64)
    bins = schema[attribute].size() if attribute else 1
    firm = most_frequent(owner, codes[attribute] if attribute else one - 1, len(starts), bins)
    sizes = np.diff(np.append(starts, len(owner)))
    number = _numbered(kind, firm, sizes, np.add.reduceat(cell, starts), np.add.reduceat(cell**2, starts))
    return Archetypes(
        schema=schema,
        provenance=PUBLIC,
        columns=tuple(columns),
        attribute=attribute,
        cluster=cluster,
        embedding=embedding,
        mixture=mixture,
        people=Choices.of((archetypes, bins + 1), [kind, np.where(firm < 0, bins, firm)], number, one[: len(kind)]),
        sizes=np.minimum(sizes, most)[np.argsort(number)],
        lives=Choices.of((len(kind),), [number[owner]], cell, one) if likeness else Choices.none((len(kind),)),
        cells=Choices.of((archetypes,), [kind[owner]], cell, one),
        profiles={p: _table(kind[owner], codes[p], archetypes, schema[p].size()) for p in profiled},
        completion=learn_completion(table, columns, asked),
        persons=np.bincount(kind, minlength=archetypes).astype(float),
        attributes=_table(kind, firm, archetypes, bins).astype(float),
        trips=trips,
        likeness=likeness,
        linked=linked,
        total=None if total is None else Total.parse(total),
    )


def _is_profiled(schema: Schema, name: str) -> bool:
    return isinstance(schema[name], Category) and schema[name].size() <= _PROFILED


def _records(table: Public, columns: Sequence[str], more: Sequence[str]) -> tuple[dict[str, Ints], Ints, Ints]:
    """The codes of all records with a person and a cell; whose each is, 0, 1, ...; where each person's start."""
    found: Records = table.records([*columns, *more])
    good = (found.person >= 0) & np.all([found[c] >= 0 for c in columns], axis=0)
    codes = {name: found[name][good] for name in (*columns, *more)}
    person = found.person[good]
    fresh = np.diff(person, prepend=-1) != 0
    return codes, np.cumsum(fresh) - 1, np.flatnonzero(fresh)


def _cluster(
    embedding: Embedding, codes: Sequence[Ints], owner: Ints, starts: Ints, parts: int, cluster: Cluster, seed: int
) -> tuple[Mixture, Ints]:
    """The mixture, and the archetype of each person; archetypes in the order of their size, the largest first."""
    if cluster == "persons":
        points = embedding.means(codes, starts)
        mixture = fit_mixture(points, parts, seed)
        kind = mixture.label(points)
    else:
        mixture = fit_mixture(_some_records(embedding, codes), parts, seed)
        labels = mixture.label(embedding.points(codes))
        kind = most_frequent(owner, labels, len(starts), parts)
    order = np.argsort(-np.bincount(kind, minlength=parts), kind="stable")
    place = np.argsort(order)
    if cluster == "records":  # counted anew, for the first of several is another one now
        return mixture.order(order), most_frequent(owner, place[labels], len(starts), parts)
    return mixture.order(order), place[kind]


def _some_records(embedding: Embedding, codes: Sequence[Ints]) -> Floats:
    """Points of records at even steps through all of them in the order of their cells."""
    cells = np.sort(np.ravel_multi_index(codes, [len(t) for t in embedding.tables]))
    some = cells[np.linspace(0, len(cells) - 1, min(_POINTS, len(cells))).astype(np.int64)]
    return embedding.points(np.unravel_index(some, [len(t) for t in embedding.tables]))


def most_frequent(owner: Ints, labels: Ints, persons: int, bins: int) -> Ints:
    """The most frequent label of each person, the first of several; -1 for one without any (labels below 0 count not).

    >>> most_frequent(np.array([0, 0, 0, 1, 2]), np.array([3, 1, 1, -1, 0]), 3, 4).tolist()
    [1, -1, 0]
    """
    known = labels >= 0
    votes, times = np.unique(owner[known] * bins + labels[known], return_counts=True)
    order = np.lexsort((votes, -times, votes // bins))
    who = votes[order] // bins
    first = order[np.flatnonzero(np.diff(who, prepend=-1))]
    out = np.full(persons, -1)
    out[votes[first] // bins] = votes[first] % bins
    return out


def _numbered(*keys: Ints) -> Ints:
    """Numbers of the persons in an order that follows from what they do, not from where they stand in the table."""
    out = np.empty(len(keys[0]), np.int64)
    out[np.lexsort(keys[::-1])] = np.arange(len(out))
    return out


def _table(rows: Ints, columns: Ints, height: int, width: int) -> Ints:
    """How often each row and column come together; a column below 0 is left out."""
    known = columns >= 0
    flat = np.bincount(rows[known] * width + columns[known], minlength=height * width)
    return flat.reshape(height, width)
