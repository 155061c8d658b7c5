"""A model that is a set of synthetic records: a code in each column for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.coding import decoder
from sfumato.columns import Ints
from sfumato.errors import InputError
from sfumato.marginal import Axis, Marginal
from sfumato.models.base import Array, Stored
from sfumato.privacy.provenance import Provenance
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 19  # records in a batch: some tens of MB decoded
MOST = 1 << 53  # records that it may stand for


@dataclass(frozen=True, eq=False)
class RecordsModel(Stored):
    """Synthetic records as codes, a row for each axis of the marginal; `total` is how many the model stands for."""

    kind: ClassVar[str] = "records"

    schema: Schema
    provenance: Provenance
    marginal: Marginal
    codes: Array
    total: int

    def __post_init__(self) -> None:
        sizes = self.marginal.shape(self.schema)
        if self.codes.ndim != 2 or len(self.codes) != len(sizes) or self.codes.dtype.kind not in "iu":
            raise InputError(f"the codes of a model are whole numbers, a row for each column of {self.marginal}")
        for axis, row, size in zip(self.marginal.axes, self.codes, sizes, strict=True):
            if row.size and not (int(row.min()) >= 0 and int(row.max()) < size):
                raise InputError(f"the codes of '{axis}' are not all from 0 to {size - 1:,}")
        if not 0 <= self.total <= MOST:
            raise InputError(f"the model stands for {self.total:.3g} records; it must be from 0 to {MOST:.3g}")
        if self.total and not self.codes.shape[1]:
            raise InputError(f"the model stands for {self.total:,} records and has none to draw from")

    def __repr__(self) -> str:
        return f"RecordsModel({self.marginal}, {self.total:,} records)"

    @property
    def believed(self) -> int:
        """How many records the model believes there are."""
        return self.total

    def sample(self, records: int | None = None, seed: int | None = None) -> Iterator[pa.RecordBatch]:
        """Records in random order, in batches: as many as the model stands for, or as many as asked for.

        Each of the model's own records comes equally often, but for one more or less: the ones that do are random.
        """
        if records is not None and records < 0:
            raise InputError(f"the number of records is {records}; give one from 0 on")
        if seed is not None and seed < 0:
            raise InputError(f"the seed is {seed}; give one from 0 on")
        if records and not self.codes.shape[1]:
            raise InputError("this model has no records, so none can be drawn from it")
        return self._decoded(self.total if records is None else records, np.random.default_rng(seed))

    def to_table(self, records: int | None = None, seed: int | None = None) -> pa.Table:
        """The sample in one table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.sample(records, seed))

    def _decoded(self, wanted: int, rng: np.random.Generator) -> Iterator[pa.RecordBatch]:
        """The first batch is empty, so that every sample has its columns."""
        import pyarrow as pa

        columns = [decoder(column, level) for column, level in self.marginal.bound_axes(self.schema)]

        def decode(which: Ints) -> pa.RecordBatch:
            arrays: dict[str, pa.Array] = {}
            for turn, row in zip(columns, self.codes, strict=True):
                arrays |= turn(row[which].astype(np.int64), rng)
            return pa.RecordBatch.from_pydict(arrays)

        yield decode(np.zeros(0, np.int64))
        for which in self._drawn(wanted, rng):
            yield decode(which)

    def _drawn(self, wanted: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Numbers of records: all of them in a new order each time, until there are enough."""
        while wanted > 0:
            order = rng.permutation(self.codes.shape[1])[:wanted]
            yield from (order[i : i + BATCH] for i in range(0, len(order), BATCH))
            wanted -= len(order)

    def parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The axes and the number of records; a column of codes for each axis, in the smallest type that holds them."""
        axes = [[a.column, a.level] for a in self.marginal.axes]
        rows = {_name(i): row.astype(np.min_scalar_type(int(row.max(initial=0)))) for i, row in enumerate(self.codes)}
        return {"axes": axes, "kept": self.codes.shape[1], "total": self.total}, rows

    @classmethod
    def shapes(cls, schema: Schema, settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """A code for each record in each axis."""
        marginal, kept = _marginal(settings), settings["kept"]
        marginal.shape(schema)
        if isinstance(kept, bool) or not isinstance(kept, int) or kept < 0:
            raise InputError("the number of its records is none")
        return {_name(i): (kept,) for i in range(len(marginal.axes))}

    @classmethod
    def of_parts(
        cls, schema: Schema, provenance: Provenance, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> RecordsModel:
        """The model of its axes and codes."""
        marginal, total = _marginal(settings), settings["total"]
        if any(array.dtype.kind not in "iu" for array in arrays.values()):
            raise InputError("its codes are not whole numbers")
        if isinstance(total, bool) or not isinstance(total, int):
            raise InputError("the number of records it stands for is none")
        rows = [arrays[_name(i)] for i in range(len(marginal.axes))]
        return cls(schema, provenance, marginal, np.stack(rows).astype(smallest(marginal.shape(schema))), total)


def smallest(sizes: tuple[int, ...]) -> np.dtype[Any]:
    """The smallest type that holds the codes of axes of these sizes."""
    return np.min_scalar_type(max(sizes) - 1)


def _name(axis: int) -> str:
    return f"column{axis}"


def _marginal(settings: Mapping[str, Any]) -> Marginal:
    return Marginal.of(*(Axis(str(column), level) for column, level in settings["axes"]))
