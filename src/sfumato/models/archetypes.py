"""Archetypes: kinds of persons learned from public records, and records of invented persons of these kinds.

An archetype has a share of the persons, a law of the number of records a person has, a law of their cells (say shift ×
pickup × dropoff), and a law of the attribute that each person has one of (say the company). All laws are public but
two: how many persons are of each archetype and have each attribute. A file of archetypes has these from the public
table as well; a synthesizer puts the answers of a vault in their place.

A sample draws the archetype and the attribute of each person, then a public person of this archetype as a pattern, who
lends the number of records and the cells that these are drawn from (`likeness` is the part of the records that come
from the pattern's own cells; the others come from those of the whole archetype, so that all follow its law together).
Where archetype and attribute are `linked`, the pattern has the attribute too, if any public person of that archetype
has. Last, the other columns are filled in (`sfumato.models.completion`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.coding import decoder
from sfumato.columns import Floats, Ints
from sfumato.errors import InputError
from sfumato.marginal import Marginal
from sfumato.models.base import Array, Stored
from sfumato.models.choices import Choices
from sfumato.models.completion import Completion, restored, stored, stored_shapes
from sfumato.models.embedding import REACH, Embedding
from sfumato.models.mixture import Mixture
from sfumato.models.totals import Total
from sfumato.privacy.provenance import Provenance
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Cluster = Literal["persons", "records"]

BATCH = 1 << 19  # records in a batch, about
FIRST_ID = 1_000_000
MOST_CELLS = 1 << 24
MOST_ARCHETYPES = 256


@dataclass(frozen=True, eq=False)
class Archetypes(Stored):
    """Kinds of persons, and how many there are of each."""

    kind: ClassVar[str] = "archetypes"

    schema: Schema
    provenance: Provenance
    columns: tuple[str, ...]
    attribute: str | None
    cluster: Cluster
    embedding: Embedding
    mixture: Mixture
    people: Choices
    """Public: by archetype and attribute (the last for none), the numbers of the persons."""
    sizes: Ints
    """Public: the number of records of each person."""
    lives: Choices
    """Public: by person, the cell of a record; empty where no likeness to a person is wanted."""
    cells: Choices
    """Public: by archetype, the cell of a record."""
    profiles: Mapping[str, Ints]
    """Public: by archetype, the counts of the other categories of a record."""
    completion: Completion
    persons: Floats
    """How many persons are of each archetype; in proportion, they are drawn."""
    attributes: Floats
    """By archetype, how many persons have each attribute; in proportion, it is drawn."""
    trips: int
    likeness: float = 1.0
    linked: bool = False
    total: Total | None = None

    def __post_init__(self) -> None:
        kinds = len(self.mixture)
        bins = self.schema[self.attribute].size() if self.attribute else 1
        if self.persons.shape != (kinds,) or self.attributes.shape != (kinds, bins):
            raise InputError(f"there are {kinds} archetypes, but counts of persons for {self.persons.shape[0]}")
        if not 0 <= self.likeness <= 1 or (self.likeness and not len(self.lives)):
            raise InputError(f"likeness is {self.likeness}; give a number from 0 to 1, and 0 where no person was kept")
        for counts in (self.persons, self.attributes):
            if not (np.isfinite(counts).all() and (counts >= 0).all()):
                raise InputError("numbers of persons are finite and not below zero")

    def __repr__(self) -> str:
        return f"Archetypes({len(self.mixture)} kinds of persons by {' × '.join(self.columns)}, {self.trips:,} records)"

    def __len__(self) -> int:
        return len(self.mixture)

    @property
    def marginal(self) -> Marginal:
        """The columns that records are drawn in."""
        return Marginal.of(*self.columns)

    # ------------------------------------------------------------------ who is of which kind

    def predict_cells(self) -> Ints:
        """The archetype of a record in each cell, where records were clustered."""
        shape = self.marginal.shape(self.schema)
        out = np.empty(math.prod(shape), np.int64)
        for first in range(0, len(out), BATCH):
            codes = np.unravel_index(np.arange(first, min(first + BATCH, len(out))), shape)
            out[first : first + BATCH] = self.mixture.label(self.embedding.points(codes))
        return out.reshape(shape)

    def predict_persons(self, codes: Mapping[str, Ints], starts: Ints) -> Ints:
        """The archetype of each person, whose records stand side by side from one of `starts` up to the next."""
        mine = [codes[name] for name in self.columns]
        if self.cluster == "persons":
            return self.mixture.label(self.embedding.means(mine, starts))
        labels = self.mixture.label(self.embedding.points(mine))
        who = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(labels))))
        votes = np.bincount(who * len(self) + labels, minlength=len(starts) * len(self))
        return np.asarray(votes.reshape(len(starts), len(self)).argmax(axis=1))

    def kinds(self) -> Ints:
        """The archetype of each public person."""
        out = np.empty(len(self.sizes), np.int64)
        out[self.people.values] = self.people.keys // self.people.sizes[1]
        return out

    def mean_sizes(self) -> Floats:
        """The mean number of records of a person of each archetype; 0 where no public person is of it."""
        sums = np.bincount(self.kinds(), weights=self.sizes, minlength=len(self))
        return np.asarray(sums / np.maximum(self.people.totals(), 1))

    def shares(self) -> Floats:
        """The share of each archetype among the persons that are drawn."""
        public = self.people.totals()
        counts = np.where(public > 0, self.persons, 0.0)
        if not counts.sum() > 0:
            counts = public.astype(float)
        return np.asarray(counts / counts.sum())

    # ------------------------------------------------------------------ sampling

    @property
    def believed(self) -> int:
        """How many records the model believes there are."""
        return self.trips

    def sample(self, records: int | None = None, seed: int | None = None) -> Iterator[pa.RecordBatch]:
        """Records in batches, person by person; `trips` of them unless told otherwise."""
        if records is not None and records < 0:
            raise InputError(f"the number of records is {records}; give one from 0 on")
        if seed is not None and seed < 0:
            raise InputError(f"the seed is {seed}; give one from 0 on")
        return self._batches(self.trips if records is None else records, np.random.default_rng(seed))

    def to_table(self, records: int | None = None, seed: int | None = None) -> pa.Table:
        """The sample in one table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.sample(records, seed))

    def _batches(self, records: int, rng: np.random.Generator) -> Iterator[pa.RecordBatch]:
        """Batches of whole persons, but for the last of all, who may be cut; the first is empty, with the columns."""
        none = np.zeros(0, np.int64)
        yield self._batch(none, none, none, 0, rng)
        first = 0
        while records > 0:
            patterns, attributes = self._people(min(BATCH, records), rng)
            sizes = self.sizes[patterns]
            ends = np.cumsum(sizes)
            if ends[-1] > records:
                keep = int(np.searchsorted(ends, records)) + 1
                patterns, attributes, sizes = patterns[:keep], attributes[:keep], sizes[:keep].copy()
                sizes[-1] -= int(ends[keep - 1]) - records
            yield self._batch(patterns, attributes, sizes, first, rng)
            first += len(patterns)
            records -= int(sizes.sum())

    def _people(self, records: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Patterns and attributes of persons with about so many records in all, and never fewer.

        Archetypes, and patterns within one, are spread evenly over their laws, so that little is left to chance.
        """
        shares, mean = self.shares(), self.mean_sizes()
        out: list[tuple[Ints, Ints]] = []
        while records > 0:
            count = math.ceil(records / float(shares @ mean))
            kinds = np.searchsorted(np.cumsum(shares), (np.arange(count) + rng.random()) / count, side="right")
            kinds = np.minimum(kinds, np.flatnonzero(shares)[-1])
            attributes = _draw_rows(self.attributes, kinds, rng)
            patterns = self.people.draw([kinds, attributes], _even(kinds, rng), (2, 1) if self.linked else (1,))
            order = rng.permutation(count)
            out.append((patterns[order], attributes[order]))
            records -= int(self.sizes[patterns].sum())
        return np.concatenate([p for p, _ in out]), np.concatenate([a for _, a in out])

    def _cells(self, patterns: Ints, rng: np.random.Generator) -> Ints:
        """A cell for each record of persons after these patterns: one of the pattern's, or of its archetype's."""
        luck = rng.random(len(patterns))
        if self.likeness == 1:
            return self.lives.draw([patterns], luck, (1,))
        cells = self.cells.draw([self.kinds()[patterns]], luck, (1,))
        if self.likeness > 0:
            like = np.flatnonzero(rng.random(len(patterns)) < self.likeness)
            cells[like] = self.lives.draw([patterns[like]], luck[like], (1,))
        return cells

    def _batch(
        self, patterns: Ints, attributes: Ints, sizes: Ints, first: int, rng: np.random.Generator
    ) -> pa.RecordBatch:
        """The records of persons after these patterns, who have so many each and are numbered from `first` on."""
        import pyarrow as pa

        who = np.repeat(np.arange(len(patterns)), sizes)
        cells = self._cells(patterns[who], rng)
        shape = self.marginal.shape(self.schema)
        codes: dict[str, Ints] = dict(zip(self.columns, np.unravel_index(cells, shape), strict=True))
        if self.attribute:
            codes[self.attribute] = attributes[who]
        filled = self.completion.fill(codes, rng)
        arrays: dict[str, pa.Array] = {}
        if self.schema.person is not None:
            arrays[self.schema.person.sources[0]] = pa.array(FIRST_ID + first + who)
        found = {name: self.completion.decode(name, at, self.schema) for name, at in filled.items()}
        if self.total is not None:
            found[self.total.name] = self.total.raised(found, self.schema)
        for name in self.schema.names:
            column = self.schema[name]
            if name in found and (numbers := found[name]) is not None:
                arrays[name] = numbers
            elif name in found or name in codes:
                arrays |= decoder(column, column.depth)(codes[name] if name in codes else filled[name], rng)
        return pa.RecordBatch.from_pydict(arrays)

    # ------------------------------------------------------------------ the file

    def parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Settings and arrays."""
        completion, arrays = stored(self.completion)
        settings = {
            "columns": list(self.columns),
            "attribute": self.attribute,
            "cluster": self.cluster,
            "archetypes": len(self),
            "embedding": [
                {"how": h, "size": t.shape[1]} for h, t in zip(self.embedding.how, self.embedding.tables, strict=True)
            ],
            "persons": len(self.sizes),
            "rows": {"people": len(self.people), "lives": len(self.lives), "cells": len(self.cells)},
            "profiles": list(self.profiles),
            "completion": completion,
            "trips": self.trips,
            "likeness": self.likeness,
            "linked": self.linked,
            "total": None if self.total is None else str(self.total),
        }
        arrays |= self.mixture.to_arrays() | self.people.to_arrays("people")
        arrays |= self.lives.to_arrays("lives") | self.cells.to_arrays("cells")
        arrays["sizes"] = self.sizes.astype(np.min_scalar_type(int(self.sizes.max(initial=0))))
        arrays |= {f"points{i}": t for i, t in enumerate(self.embedding.tables)}
        arrays |= {f"profile{i}": p for i, p in enumerate(self.profiles.values())}
        arrays |= {"persons": self.persons, "attributes": self.attributes}
        return settings, arrays

    @classmethod
    def shapes(cls, schema: Schema, settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """The arrays that these settings need."""
        kinds = int(settings["archetypes"])
        columns, attribute = settings["columns"], settings["attribute"]
        check_columns(schema, columns, attribute)
        widths = [int(entry["size"]) for entry in settings["embedding"]]
        points = sum(widths) + (settings["cluster"] == "persons")
        shapes: dict[str, tuple[int, ...]] = {
            "bias": (kinds,),
            "shift": (kinds, points),
            "slope": (kinds, points, points),
        }
        shapes |= {f"points{i}": (schema[c].size(), w) for i, (c, w) in enumerate(zip(columns, widths, strict=True))}
        shapes |= {f"profile{i}": (kinds, schema[c].size()) for i, c in enumerate(settings["profiles"])}
        shapes |= {"persons": (kinds,), "attributes": (kinds, schema[attribute].size() if attribute else 1)}
        shapes["sizes"] = (int(settings["persons"]),)
        for name in ("people", "lives", "cells"):
            shapes |= Choices.shapes(name, int(settings["rows"][name]))
        return shapes | stored_shapes(settings["completion"])

    @classmethod
    def of_parts(
        cls, schema: Schema, provenance: Provenance, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> Archetypes:
        """The archetypes of a file, after checking that every number in it can be."""
        columns, kinds = tuple(settings["columns"]), int(settings["archetypes"])
        cells, persons = Marginal.of(*columns).size(schema), int(settings["persons"])
        tables = tuple(arrays[f"points{i}"].astype(np.int64) for i in range(len(columns)))
        made = cls(
            schema=schema,
            provenance=provenance,
            columns=columns,
            attribute=settings["attribute"],
            cluster=settings["cluster"],
            embedding=Embedding(columns, tuple(str(e["how"]) for e in settings["embedding"]), tables),
            mixture=Mixture.of_arrays(arrays),
            people=Choices.of_arrays("people", (kinds, arrays["attributes"].shape[1] + 1), persons, arrays),
            sizes=_counts(arrays["sizes"]),
            lives=Choices.of_arrays("lives", (persons,), cells, arrays),
            cells=Choices.of_arrays("cells", (kinds,), cells, arrays),
            profiles={c: _counts(arrays[f"profile{i}"]) for i, c in enumerate(settings["profiles"])},
            completion=restored(schema, columns, settings["attribute"], settings["completion"], arrays),
            persons=arrays["persons"].astype(float),
            attributes=arrays["attributes"].astype(float),
            trips=int(settings["trips"]),
            likeness=float(settings["likeness"]),
            linked=bool(settings["linked"]),
            total=None if settings["total"] is None else Total.parse(str(settings["total"])),
        )
        made.check()
        return made

    def check(self) -> None:
        """Raise a ValueError unless the parts fit each other."""
        if self.cluster not in ("persons", "records") or not 1 <= len(self) <= MOST_ARCHETYPES:
            raise ValueError("there is no such cluster")
        if any((np.abs(t) > REACH).any() for t in self.embedding.tables):
            raise ValueError("a coordinate is too large")
        if not 0 <= self.trips < 2**53 or not len(self.sizes) or not 1 <= self.sizes.min() <= self.sizes.max() < 2**31:
            raise ValueError("a number of records cannot be")
        if not np.array_equal(np.sort(self.people.values), np.arange(len(self.sizes))):
            raise ValueError("a person is not of one archetype")
        if not np.array_equal(self.people.totals() > 0, self.cells.totals() > 0):
            raise ValueError("an archetype has persons without records, or records without persons")
        if len(self.lives) and not (self.lives.totals() > 0).all():
            raise ValueError("a person has no record")
        if self.total is not None:
            self.total.check(self.schema, list(self.completion.values))


def check_columns(schema: Schema, columns: Any, attribute: str | None) -> None:
    """Raise unless records can be drawn in these columns."""
    marginal = Marginal.of(*columns)
    if levelled := [a for a in marginal.axes if a.level is not None]:
        raise InputError(f"columns has '{levelled[0]}'; archetypes are learned on the bins themselves, without a level")
    if (cells := marginal.size(schema)) > MOST_CELLS:
        raise InputError(f"the columns {marginal} have {cells:,} cells, more than {MOST_CELLS:,}; name fewer of them")
    if attribute is not None:
        _ = schema[attribute]
        if attribute in columns:
            raise InputError(f"attribute is '{attribute}', which is one of columns; a person's attribute is another")


def _even(kinds: Ints, rng: np.random.Generator) -> Floats:
    """Numbers from 0 to below 1, spread evenly over the persons of each kind, who stand side by side."""
    starts = np.flatnonzero(np.diff(kinds, prepend=-1))
    sizes = np.diff(np.append(starts, len(kinds)))
    place = np.arange(len(kinds)) - np.repeat(starts, sizes)
    return np.asarray((place + rng.random(len(kinds))) / np.repeat(sizes, sizes))


def _draw_rows(weights: Floats, rows: Ints, rng: np.random.Generator) -> Ints:
    """A column for each row number, drawn by that row's weights; evenly where a row has none."""
    odds = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, 1.0)
    steps = np.cumsum(odds, axis=1)
    flat = (np.arange(len(steps))[:, None] + steps / steps[:, -1:]).reshape(-1)
    flat[steps.shape[1] - 1 :: steps.shape[1]] = np.arange(1, len(steps) + 1)  # exactly, in spite of rounding
    at = np.searchsorted(flat, rows + rng.random(len(rows)), side="right") - rows * steps.shape[1]
    last = steps.shape[1] - 1 - (odds > 0)[:, ::-1].argmax(axis=1)
    return np.asarray(np.minimum(at, last[rows]))


def _counts(values: npt.NDArray[Any]) -> Ints:
    if values.dtype.kind not in "iu" or (values < 0).any():
        raise ValueError("a profile holds counts")
    return values.astype(np.int64)
