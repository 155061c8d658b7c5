"""A model that is a table of counts: each cell of a marginal with its number of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.coding import decoder
from sfumato.columns import Binned, Ints
from sfumato.errors import InputError
from sfumato.marginal import Axis, Counts, Marginal
from sfumato.models.base import Array, Stored
from sfumato.models.where import boxes
from sfumato.privacy.provenance import Provenance
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 19  # records in a batch, about: some tens of MB decoded
MOST = 1 << 53  # records: beyond, shares are not exact any more


@dataclass(frozen=True, eq=False)
class HistogramModel(Stored):
    """Counts of a marginal, whole and not negative; records are its cells, decoded."""

    kind: ClassVar[str] = "histogram"

    schema: Schema
    provenance: Provenance
    marginal: Marginal
    counts: Ints

    def __post_init__(self) -> None:
        if self.counts.shape != self.marginal.shape(self.schema):
            raise InputError(f"the counts have shape {self.counts.shape}, which is not that of {self.marginal}")
        if self.counts.dtype.kind not in "iu" or (self.counts < 0).any():
            raise InputError("the counts of a model are whole numbers from zero on")

    def __repr__(self) -> str:
        return f"HistogramModel({self.marginal}, {self.total:,} records)"

    @property
    def total(self) -> int:
        """How many records the counts say there are."""
        high, low = np.divmod(self.counts, 2**32)  # the sum itself may be beyond 64 bits
        return int(high.sum()) * 2**32 + int(low.sum())

    @property
    def believed(self) -> int:
        """How many records the model believes there are."""
        return self.total

    def to_counts(self) -> Counts:
        """The counts."""
        return Counts(self.marginal, self.counts)

    def given(self, where: str) -> HistogramModel:
        """The model of those records for which a condition on its columns holds: other cells are emptied."""
        if coarse := [a for a, (column, level) in self._levels() if level != column.depth]:
            raise InputError(
                f"the model has '{coarse[0]}' at a coarse level, so a condition on its values is not exact"
            )
        columns = self.marginal.columns
        inside = np.zeros(self.counts.shape, bool)
        for box in boxes(where, self.schema, columns):
            whole = np.ones(self.counts.shape, bool)
            for axis, name in enumerate(columns):
                if name in box:
                    whole &= box[name].reshape([-1 if a == axis else 1 for a in range(len(columns))])
            inside |= whole
        return replace(self, counts=np.where(inside, self.counts, 0))

    def _levels(self) -> Iterator[tuple[Axis, tuple[Binned, int]]]:
        return zip(self.marginal.axes, self.marginal.bound_axes(self.schema), strict=True)

    def sample(self, records: int | None = None, seed: int | None = None) -> Iterator[pa.RecordBatch]:
        """Records in random order, in batches.

        Without `records` each cell comes as often as its count says; with it, so many are drawn at the counts' shares.
        """
        if records is not None and records < 0:
            raise InputError(f"the number of records is {records}; give one from 0 on")
        if seed is not None and seed < 0:
            raise InputError(f"the seed is {seed}; give one from 0 on")
        if records and not self.total:
            raise InputError("every count of this model is zero, so no records can be drawn from it")
        if self.total > MOST:
            raise InputError(f"the counts of this model add up to {self.total:.3g} records, too many to draw from")
        rng = np.random.default_rng(seed)
        return self._decoded(self._exactly(rng) if records is None else self._drawn(records, rng), rng)

    def to_table(self, records: int | None = None, seed: int | None = None) -> pa.Table:
        """The sample in one table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.sample(records, seed))

    def _exactly(self, rng: np.random.Generator) -> Iterator[Ints]:
        """Every record of the counts once, as numbers of cells, in random order.

        Each record goes into a batch of its own choice, and each batch is shuffled: as if every record drew a number
        and all were sorted by it. Of those left in a cell, one in as many as batches remain goes into the next.
        """
        left = self.counts.reshape(-1).astype(np.int64)
        occupied = np.flatnonzero(left)
        left = left[occupied]
        for batches in range(-(-self.total // BATCH), 0, -1):
            taken = rng.binomial(left, 1 / batches)
            left = left - taken
            yield rng.permutation(np.repeat(occupied, taken))

    def _drawn(self, records: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Independent draws at the counts' shares, as numbers of cells."""
        steps = np.cumsum(self.counts.reshape(-1))
        for start in range(0, records, BATCH):
            draws = rng.integers(0, steps[-1], min(BATCH, records - start))
            yield np.searchsorted(steps, draws, side="right")

    def _decoded(self, drawn: Iterable[Ints], rng: np.random.Generator) -> Iterator[pa.RecordBatch]:
        """Numbers of cells as batches of records; the first is empty, so that every sample has its columns."""
        import pyarrow as pa

        shape = self.counts.shape
        columns = [decoder(column, level) for column, level in self.marginal.bound_axes(self.schema)]

        def decode(cells: Ints) -> pa.RecordBatch:
            arrays: dict[str, pa.Array] = {}
            for turn, codes in zip(columns, np.unravel_index(cells, shape), strict=True):
                arrays |= turn(codes, rng)
            return pa.RecordBatch.from_pydict(arrays)

        yield decode(np.zeros(0, np.int64))
        yield from map(decode, drawn)

    def parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The axes, and the counts in the smallest type that holds them."""
        axes = [[a.column, a.level] for a in self.marginal.axes]
        smallest = np.min_scalar_type(int(self.counts.max(initial=0)))
        return {"axes": axes}, {"counts": self.counts.astype(smallest)}

    @classmethod
    def shapes(cls, schema: Schema, settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """Counts, one for each cell of the marginal."""
        marginal = _marginal(settings)
        marginal.check(schema)
        return {"counts": marginal.shape(schema)}

    @classmethod
    def of_parts(
        cls, schema: Schema, provenance: Provenance, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> HistogramModel:
        """The model of its axes and counts."""
        counts = arrays["counts"]
        if counts.dtype.kind not in "iu":
            raise InputError("its counts are not whole numbers")
        if counts.size and int(counts.max()) > np.iinfo(np.int64).max:
            raise InputError("its counts are too large to be counts of records")
        return cls(schema, provenance, _marginal(settings), counts.astype(np.int64))


def _marginal(settings: Mapping[str, Any]) -> Marginal:
    return Marginal.of(*(Axis(str(column), level) for column, level in settings["axes"]))
