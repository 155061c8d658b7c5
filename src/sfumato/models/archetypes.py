"""Archetypes: kinds of persons learned from public records, and records of invented persons of these kinds.

An archetype has a share of the persons, a law of the number of records a person has, a law of their cells (say shift ×
pickup × dropoff), and a law of the attribute that each person has one of (say the company). All laws are public but
two: how many persons are of each archetype and have each attribute. A file of archetypes has these from the public
table as well; a synthesizer puts the answers of a vault in their place. A sample draws persons, their numbers of
records, their attribute, the cells, and fills in the other columns (`sfumato.models.completion`).
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
MOST_ARCHETYPES = 1000


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
    sizes: Choices
    """Public: by archetype, the number of records of a person."""
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
    total: Total | None = None

    def __post_init__(self) -> None:
        kinds = len(self.mixture)
        bins = self.schema[self.attribute].size() if self.attribute else 1
        if self.persons.shape != (kinds,) or self.attributes.shape != (kinds, bins):
            raise InputError(f"there are {kinds} archetypes, but counts of persons for {self.persons.shape[0]}")
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

    def mean_sizes(self) -> Floats:
        """The mean number of records of a person of each archetype; 0 where no public person is of it."""
        sums = np.zeros(len(self))
        np.add.at(sums, self.sizes.keys, self.sizes.values * self.sizes.counts.astype(float))
        return sums / np.maximum(self.sizes.totals(), 1)

    def shares(self) -> Floats:
        """The share of each archetype among the persons that are drawn."""
        counts = np.where(self.sizes.totals() > 0, self.persons, 0.0)
        if not counts.sum() > 0:
            counts = self.sizes.totals().astype(float)
        return np.asarray(counts / counts.sum())

    # ------------------------------------------------------------------ sampling

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
        yield self._batch(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, rng)
        first = 0
        while records > 0:
            kinds, sizes = self._people(min(BATCH, records), rng)
            if sizes.sum() > records:
                ends = np.cumsum(sizes)
                keep = int(np.searchsorted(ends, records)) + 1
                kinds, sizes = kinds[:keep], sizes[:keep].copy()
                sizes[-1] -= int(ends[keep - 1]) - records
            yield self._batch(kinds, sizes, first, rng)
            first += len(kinds)
            records -= int(sizes.sum())

    def _people(self, records: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """The archetypes and numbers of records of persons with about so many records, and never fewer.

        Both are spread evenly over their laws, so that little is left to chance.
        """
        shares, mean = self.shares(), self.mean_sizes()
        kinds = sizes = np.zeros(0, np.int64)
        while (missing := records - int(sizes.sum())) > 0:
            count = math.ceil(missing / float(shares @ mean))
            more = np.searchsorted(np.cumsum(shares), (np.arange(count) + rng.random()) / count, side="right")
            more = np.minimum(more, np.flatnonzero(shares)[-1])
            drawn = self.sizes.draw([more], _even(more, rng), (1,))
            order = rng.permutation(count)
            kinds, sizes = np.append(kinds, more[order]), np.append(sizes, drawn[order])
        return kinds, sizes

    def _batch(self, kinds: Ints, sizes: Ints, first: int, rng: np.random.Generator) -> pa.RecordBatch:
        """The records of persons of these kinds, who have so many each and are numbered from `first` on."""
        import pyarrow as pa

        who = np.repeat(np.arange(len(kinds)), sizes)
        cells = self.cells.draw([kinds[who]], rng.random(len(who)), (1,))
        shape = self.marginal.shape(self.schema)
        codes: dict[str, Ints] = dict(zip(self.columns, np.unravel_index(cells, shape), strict=True))
        if self.attribute:
            codes[self.attribute] = _draw_rows(self.attributes, kinds, rng)[who]
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
            "rows": {"sizes": len(self.sizes), "cells": len(self.cells)},
            "most": int(self.sizes.values.max(initial=0)),
            "profiles": list(self.profiles),
            "completion": completion,
            "trips": self.trips,
            "total": None if self.total is None else str(self.total),
        }
        arrays |= self.mixture.to_arrays() | self.sizes.to_arrays("sizes") | self.cells.to_arrays("cells")
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
        for name in ("sizes", "cells"):
            shapes |= Choices.shapes(name, int(settings["rows"][name]))
        return shapes | stored_shapes(settings["completion"])

    @classmethod
    def of_parts(
        cls, schema: Schema, provenance: Provenance, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> Archetypes:
        """The archetypes of a file, after checking that every number in it can be."""
        columns, kinds = tuple(settings["columns"]), int(settings["archetypes"])
        tables = tuple(arrays[f"points{i}"].astype(np.int64) for i in range(len(columns)))
        made = cls(
            schema=schema,
            provenance=provenance,
            columns=columns,
            attribute=settings["attribute"],
            cluster=settings["cluster"],
            embedding=Embedding(columns, tuple(str(e["how"]) for e in settings["embedding"]), tables),
            mixture=Mixture.of_arrays(arrays),
            sizes=Choices.of_arrays("sizes", (kinds,), int(settings["most"]) + 1, arrays),
            cells=Choices.of_arrays("cells", (kinds,), Marginal.of(*columns).size(schema), arrays),
            profiles={c: _counts(arrays[f"profile{i}"]) for i, c in enumerate(settings["profiles"])},
            completion=restored(schema, columns, settings["attribute"], settings["completion"], arrays),
            persons=arrays["persons"].astype(float),
            attributes=arrays["attributes"].astype(float),
            trips=int(settings["trips"]),
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
        if not 0 <= self.trips < 2**53 or not len(self.sizes) or self.sizes.values.min() < 1:
            raise ValueError("a number of records cannot be")
        if not np.array_equal(self.sizes.totals() > 0, self.cells.totals() > 0):
            raise ValueError("an archetype has persons without records, or records without persons")
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
