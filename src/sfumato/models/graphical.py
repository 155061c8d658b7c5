"""A graphical model: the marginals of a junction tree's cliques, which together are one distribution of records.

A clique's columns that its parent has not are drawn given those that it has; the root's are drawn first. `round` draws
systematically: among the records that share what is given, a cell that should come x times comes ⌊x⌋ or ⌈x⌉ times, in
random order, so sampling adds next to no error. `random` draws each record on its own.

Conditions (`given`) are exact: a condition is a list of disjoint boxes of bins; for each, messages are passed up the
tree once, which gives its probability and the distribution of records in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from sfumato.coding import decoder
from sfumato.columns import Binned, Floats, Ints
from sfumato.errors import InputError
from sfumato.grid import Columns
from sfumato.marginal import MAX_CELLS, Counts, Marginal
from sfumato.models.base import Array, Stored
from sfumato.models.people import FIRST, People, Sizes, Slots
from sfumato.models.values import Pools
from sfumato.models.where import Box, boxes
from sfumato.privacy.provenance import Provenance
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 19  # records in a batch that is given out
DRAWN = 1 << 21  # records drawn together: rounding and persons are exact within these
MOST = 1 << 53

Mode = Literal["round", "random"]


@dataclass(frozen=True, eq=False)
class GraphicalModel(Stored):
    """Cliques with their marginals, each after its parent (-1 for a root); records, persons and values from them."""

    kind: ClassVar[str] = "graphical"

    schema: Schema
    provenance: Provenance
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    marginals: tuple[Array, ...]
    total: float
    people: Sizes | Slots | None = None
    pools: tuple[Pools, ...] = ()
    boxes: tuple[Box, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not (len(self.cliques) == len(self.parents) == len(self.marginals) > 0):
            raise InputError("its cliques, parents and marginals differ in number")
        seen: set[str] = set()
        for i, (clique, parent, table) in enumerate(zip(self.cliques, self.parents, self.marginals, strict=True)):
            Marginal.of(*clique).check(self.schema)
            if table.shape != Marginal.of(*clique).shape(self.schema) or not -1 <= parent < i:
                raise InputError(f"the clique {' × '.join(clique)} does not fit the schema or its parent")
            if set(clique) & seen != set(self.common(i)):
                raise InputError(f"the clique {' × '.join(clique)} shares a column with more than its parent")
            if not np.isfinite(table).all() or (table < 0).any() or not table.sum() > 0:
                raise InputError(f"the marginal of {' × '.join(clique)} is not one of counts")
            seen |= set(clique)
        if not 0 <= self.total < MOST:
            raise InputError(f"the model has {self.total:.3g} records")
        for name in [p for pool in self.pools for p in (pool.column, pool.neighbour)] + list(self._slot_columns()):
            if name not in seen:
                raise InputError(f"column '{name}' is needed for persons or values, but not modelled")

    def __repr__(self) -> str:
        cells = sum(m.size for m in self.marginals)
        return f"GraphicalModel({len(self.columns)} columns, {cells:,} cells, {round(self.total):,} records)"

    def common(self, clique: int) -> Columns:
        """What a clique shares with its parent, in the clique's order."""
        parent = self.parents[clique]
        return tuple(c for c in self.cliques[clique] if parent >= 0 and c in self.cliques[parent])

    def _slot_columns(self) -> tuple[str, ...]:
        return self.people.columns if isinstance(self.people, Slots) else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it models, in the schema's order."""
        have = {c for clique in self.cliques for c in clique}
        return tuple(n for n in self.schema.names if n in have)

    def project(self, *columns: str) -> Counts:
        """The model's counts of columns that lie in one clique."""
        fitting = [i for i, c in enumerate(self.cliques) if set(columns) <= set(c)]
        if not fitting:
            raise InputError(f"no clique of the model has {', '.join(columns)} together")
        at = min(fitting, key=lambda i: self.marginals[i].size)
        return Counts(Marginal.of(*self.cliques[at]), self.marginals[at]).project(*columns)

    # ------------------------------------------------------------------ conditions

    def given(self, where: str) -> GraphicalModel:
        """The model of those records for which a condition holds: `pickup = 8 and shift >= 12`."""
        return replace(self, boxes=tuple(boxes(where, self.schema, self.columns)))

    @cached_property
    def _parts(self) -> list[tuple[float, list[Floats]]]:
        """For each box its number of records, and each clique's table (what is given, what is drawn) within it."""
        parts = [self._within(box) for box in (({},) if self.boxes is None else self.boxes)]
        return [part for part in parts if part[0] > 0]

    def _within(self, box: Box) -> tuple[float, list[Floats]]:
        """Messages up the tree: the chance of the box below each clique, for each cell that it shares above."""
        tables: list[Floats] = [np.asarray(m, float) for m in self.marginals]
        share = 1.0
        for i in reversed(range(len(tables))):
            clique, common = self.cliques[i], self.common(i)
            gone = tuple(a for a, c in enumerate(clique) if c not in common)
            before = tables[i] if not box else np.asarray(self.marginals[i], float)
            whole = before.sum(gone, keepdims=True)
            for axis, name in enumerate(clique):
                if name in box and name not in common:
                    tables[i] = tables[i] * box[name].reshape([-1 if a == axis else 1 for a in range(len(clique))])
            inside = tables[i].sum(gone, keepdims=True)
            message = np.divide(inside, whole, out=np.zeros_like(inside), where=whole > 0)
            if (parent := self.parents[i]) < 0:
                share *= float(message.reshape(()))
            elif box:
                shape = [self.schema[c].size() if c in common else 1 for c in self.cliques[parent]]
                tables[parent] = tables[parent] * message.reshape(shape)
            order = [a for a in range(len(clique)) if a not in gone] + list(gone)
            rows = int(np.prod([tables[i].shape[a] for a in order[: len(common)]], dtype=np.int64))
            tables[i] = tables[i].transpose(order).reshape(rows, -1)
        return self.total * share, tables

    # ------------------------------------------------------------------ records

    @property
    def believed(self) -> int:
        """How many records the model believes there are."""
        return round(sum(weight for weight, _ in self._parts))

    def sample(
        self, records: int | None = None, seed: int | None = None, mode: Mode = "round"
    ) -> Iterator[pa.RecordBatch]:
        """Records in random order, in batches; as many as the model believes there are, or as many as asked for."""
        if mode not in ("round", "random"):
            raise InputError(f"records are drawn by 'round' or by 'random', not by {mode!r}")
        if records is not None and not 0 <= records <= MOST:
            raise InputError(f"the number of records is {records}; give one from 0 on")
        if seed is not None and seed < 0:
            raise InputError(f"the seed is {seed}; give one from 0 on")
        believed = sum(weight for weight, _ in self._parts)
        if records and not believed:
            raise InputError("no record of the model meets the condition, so none can be drawn")
        return self._batches(round(believed) if records is None else records, mode, np.random.default_rng(seed))

    def to_table(self, records: int | None = None, seed: int | None = None, mode: Mode = "round") -> pa.Table:
        """The sample in one table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.sample(records, seed, mode))

    def _batches(self, records: int, mode: Mode, rng: np.random.Generator) -> Iterator[pa.RecordBatch]:
        """The first batch is empty, so that every sample has its columns."""
        decode = _Decoding(self)
        yield decode(dict.fromkeys(self.columns, np.zeros(0, np.int64)), np.zeros(0, np.int64), rng)
        steps = [_Step(self, i) for i in range(len(self.cliques))]
        weights = np.array([weight for weight, _ in self._parts])
        used = FIRST
        for start in range(0, records, DRAWN):
            size = min(DRAWN, records - start)
            codes = self._drawn(_split(size, weights, rng), steps, mode, rng)
            person = np.zeros(0, np.int64)
            if self.people is not None:
                person, more = self.people.assign(codes, size, rng)
                person, used = person + used, used + more
            for at in range(0, size, BATCH):
                part = slice(at, at + BATCH)
                yield decode({name: c[part] for name, c in codes.items()}, person[part], rng)

    def _drawn(self, sizes: Ints, steps: Sequence[_Step], mode: Mode, rng: np.random.Generator) -> dict[str, Ints]:
        """The codes of records, so many from each box, in random order."""
        drawn: list[dict[str, Ints]] = []
        for size, (_, tables) in zip(sizes, self._parts, strict=True):
            codes: dict[str, Ints] = {}
            for step, table in zip(steps, tables, strict=True):
                step.draw(codes, table, int(size), mode, rng)
            drawn.append(codes)
        if len(drawn) == 1:
            return drawn[0]
        order = rng.permutation(int(sizes.sum()))
        return {name: np.concatenate([d[name] for d in drawn])[order] for name in self.columns}

    # ------------------------------------------------------------------ its file

    def parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Cliques, persons and values."""
        if self.boxes is not None:
            raise InputError("a model with a condition is not kept; keep the whole one, and give the condition again")
        settings: dict[str, Any] = {
            "cliques": [list(c) for c in self.cliques],
            "parents": list(self.parents),
            "total": self.total,
            "people": None,
            "pools": [[p.column, p.neighbour, len(p.ends), len(p.values)] for p in self.pools],
        }
        arrays: dict[str, Array] = {f"clique{i}": m.astype(np.float32) for i, m in enumerate(self.marginals)}
        if isinstance(self.people, Sizes):
            settings["people"] = {"sizes": len(self.people.sizes)}
            arrays |= {"sizes": self.people.sizes, "shares": self.people.shares}
        if isinstance(self.people, Slots):
            settings["people"] = {"columns": list(self.people.columns), "slots": list(self.people.codes.shape)}
            settings["people"]["persons"] = len(self.people.ends)
            arrays |= {"ends": self.people.ends, "slots": self.people.codes}
        for i, pool in enumerate(self.pools):
            arrays |= {f"pool{i}_ends": pool.ends, f"pool{i}_values": pool.values}
        return settings, arrays

    @classmethod
    def shapes(cls, schema: Schema, settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """What its cliques, persons and values say."""
        out: dict[str, tuple[int, ...]] = {}
        for i, clique in enumerate(settings["cliques"]):
            marginal = Marginal.of(*map(str, clique))
            marginal.check(schema)
            out[f"clique{i}"] = marginal.shape(schema)
        people = settings["people"]
        if people is not None and "sizes" in people:
            out |= {"sizes": (_length(people["sizes"]),), "shares": (_length(people["sizes"]),)}
        elif people is not None:
            out |= {"ends": (_length(people["persons"]),), "slots": tuple(map(_length, people["slots"]))}
        for i, (_, _, ends, values) in enumerate(settings["pools"]):
            out |= {f"pool{i}_ends": (_length(ends),), f"pool{i}_values": (_length(values),)}
        return out

    @classmethod
    def of_parts(
        cls, schema: Schema, provenance: Provenance, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> GraphicalModel:
        """The model of its parts, each checked."""
        people: Sizes | Slots | None = None
        if settings["people"] is not None and "sizes" in settings["people"]:
            people = Sizes(arrays["sizes"].astype(np.int64), arrays["shares"].astype(float))
        elif settings["people"] is not None:
            columns = tuple(map(str, settings["people"]["columns"]))
            shape = tuple(schema[c].size() for c in columns)
            people = Slots(columns, shape, arrays["ends"].astype(np.int64), arrays["slots"])
        pools = []
        for i, (column, neighbour, _, _) in enumerate(settings["pools"]):
            ends, values = arrays[f"pool{i}_ends"].astype(np.int64), arrays[f"pool{i}_values"].astype(float)
            if len(ends) != schema[column].size() * schema[neighbour].size():
                raise InputError("its public values do not fit its columns")
            pools.append(Pools(str(column), str(neighbour), ends, values))
        cliques = tuple(tuple(map(str, c)) for c in settings["cliques"])
        marginals = tuple(arrays[f"clique{i}"] for i in range(len(cliques)))
        parents = tuple(int(p) for p in settings["parents"])
        return cls(
            schema, provenance, cliques, parents, marginals, float(settings["total"]), people, tuple(pools)
        )  # fmt: skip


def _length(given: Any) -> int:
    if not isinstance(given, int) or not 0 <= given <= MAX_CELLS:
        raise InputError("it announces an array of an impossible length")
    return given


def _split(size: int, weights: Floats, rng: np.random.Generator) -> Ints:
    """So many records shared out by weights, each part rounded up or down."""
    if not size:
        return np.zeros(len(weights), np.int64)
    steps = np.floor(np.cumsum(weights) / weights.sum() * size + rng.random()).astype(np.int64)
    steps[-1] = size
    out: Ints = np.diff(np.minimum(steps, size), prepend=0)
    return out


class _Step:
    """Draws what a clique adds to records, given what it shares with its parent."""

    def __init__(self, model: GraphicalModel, clique: int):
        self.common = model.common(clique)
        self.new = tuple(c for c in model.cliques[clique] if c not in self.common)
        self.sizes = {c: model.schema[c].size() for c in model.cliques[clique]}

    def draw(self, codes: dict[str, Ints], table: Floats, size: int, mode: Mode, rng: np.random.Generator) -> None:
        """Add codes of the new columns."""
        if not self.new:
            return
        group = np.zeros(size, np.int64)
        for name in self.common:
            group = group * self.sizes[name] + codes[name]
        steps = np.cumsum(table, axis=1)
        order = rng.permutation(size) if mode == "round" else np.zeros(0, np.int64)
        drawn = _drawer()(steps, group, order, rng.random(size))
        found = np.unravel_index(drawn, [self.sizes[c] for c in self.new])
        codes |= dict(zip(self.new, found, strict=True))


@lru_cache
def _drawer() -> Any:
    """The compiled loop that draws a cell for each record; where `order` is given, in equal steps within its group."""
    from numba import njit

    def draw(steps, group, order, chance):  # type: ignore[no-untyped-def]
        rows, cells = steps.shape
        out = np.empty(len(group), np.int64)
        if len(order):
            many = np.zeros(rows, np.int64)
            rank = np.zeros(rows, np.int64)
            shift = np.empty(rows, np.float64)
            for i in range(len(group)):
                many[group[i]] += 1
            for i in order:
                g = group[i]
                if rank[g] == 0:
                    shift[g] = chance[i]
                chance[i] = (rank[g] + shift[g]) / many[g]
                rank[g] += 1
        for i in range(len(group)):
            g = group[i]
            aim = chance[i] * steps[g, cells - 1]
            low, high = 0, cells - 1
            while low < high:
                middle = (low + high) // 2
                if steps[g, middle] > aim:
                    high = middle
                else:
                    low = middle + 1
            while low > 0 and steps[g, low] == steps[g, low - 1]:  # rounding at the end: never an empty cell
                low -= 1
            out[i] = low
        return out

    return njit(cache=True, nogil=True)(draw)


class _Decoding:
    """Turns codes into a batch of records: persons first, then columns in the schema's order."""

    def __init__(self, model: GraphicalModel):
        self.model = model
        self.pools = {p.column: p for p in model.pools}
        self.plain = {name: decoder(model.schema[name], model.schema[name].depth) for name in model.columns}

    def __call__(self, codes: Mapping[str, Ints], person: Ints, rng: np.random.Generator) -> pa.RecordBatch:
        import pyarrow as pa

        arrays: dict[str, pa.Array] = {}
        for column in self.model.schema.columns:
            if column.kind == "person":
                if self.model.people is not None:
                    arrays[column.name] = pa.array(person)
            elif column.name in codes:
                assert isinstance(column, Binned)
                arrays |= self._column(column, codes, rng)
        return pa.RecordBatch.from_pydict(arrays)

    def _column(self, column: Binned, codes: Mapping[str, Ints], rng: np.random.Generator) -> dict[str, pa.Array]:
        import pyarrow as pa

        arrays = self.plain[column.name](codes[column.name], rng)
        if column.name not in self.pools:
            return arrays
        pool = self.pools[column.name]
        bins = self.model.schema[pool.neighbour].size()
        values, found = pool.draw(codes[column.name], codes[pool.neighbour], bins, rng)
        plain = arrays[column.name]
        drawn = pa.array(values).cast(plain.type, safe=False)
        return {column.name: pa.compute.if_else(pa.array(found), drawn, plain)}


__all__ = ["GraphicalModel", "People"]
