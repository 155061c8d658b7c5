"""A model that knows how many records there are and nothing else: every column is drawn evenly from its bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.coding import decoder
from sfumato.errors import InputError
from sfumato.models.base import Array, Stored
from sfumato.privacy.provenance import Provenance
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 17  # records
MOST = 1 << 53


@dataclass(frozen=True)
class UniformModel(Stored):
    """So many records, in each of which every column is drawn evenly and by itself."""

    kind: ClassVar[str] = "uniform"

    schema: Schema
    provenance: Provenance
    total: int

    def __post_init__(self) -> None:
        if not 0 <= self.total <= MOST:
            raise InputError(f"the number of records is {self.total}; give one from 0 to {MOST:,}")

    @property
    def believed(self) -> int:
        """How many records the model believes there are."""
        return self.total

    def sample(self, records: int | None = None, seed: int | None = None) -> Iterator[pa.RecordBatch]:
        """As many records as the model believes there are, or as many as asked for, in batches."""
        if records is not None and records < 0:
            raise InputError(f"the number of records is {records}; give one from 0 on")
        if seed is not None and seed < 0:
            raise InputError(f"the seed is {seed}; give one from 0 on")
        return self._batches(self.total if records is None else records, np.random.default_rng(seed))

    def to_table(self, records: int | None = None, seed: int | None = None) -> pa.Table:
        """The sample in one table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.sample(records, seed))

    def _batches(self, records: int, rng: np.random.Generator) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        columns = [(column.size(), decoder(column, column.depth)) for column in self.schema.attributes]
        for start in [records, *range(0, records, BATCH)]:  # the first is empty: every sample has its columns
            arrays: dict[str, pa.Array] = {}
            for size, decode in columns:
                arrays |= decode(rng.integers(0, size, min(BATCH, records - start)), rng)
            yield pa.RecordBatch.from_pydict(arrays)

    def parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The number of records."""
        return {"total": self.total}, {}

    @classmethod
    def shapes(cls, schema: Schema, settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """No arrays."""
        return {}

    @classmethod
    def of_parts(
        cls, schema: Schema, provenance: Provenance, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> UniformModel:
        """The model of its number of records."""
        total = settings["total"]
        if not isinstance(total, int) or isinstance(total, bool):
            raise InputError("its number of records is no whole number")
        return cls(schema, provenance, total)
