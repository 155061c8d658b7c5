"""A simulation: what was asked for, and the records, made batch after batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.files import check_writable, written_whole
from sfumato.schema import Schema
from sfumato.simulate.city import City
from sfumato.simulate.draws import generator, sizes

if TYPE_CHECKING:
    import pyarrow as pa

Columns = dict[str, npt.NDArray[np.int64]]

BATCH = 1 << 18  # records, more or less: a batch ends with a person
PEOPLE, LIVES = 11, 12  # what the draws are for, so that they do not depend on each other


class World(Protocol):
    """What makes the records of some persons."""

    def live(self, rng: np.random.Generator, sizes: npt.NDArray[np.int64], first: int) -> Columns:
        """The records of the persons from number `first` on, who have so many each."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """People in a city, and the records they leave; nothing is drawn before it is asked for."""

    city: City
    schema: Schema
    records: int
    persons: int
    drift: float
    seed: int
    dtypes: Mapping[str, str]
    cap: int
    spread: float
    world: World

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records in Arrow batches, person after person; the same every time."""
        import pyarrow as pa

        each = sizes(generator(self.seed, PEOPLE), self.persons, self.records, self.cap, self.spread)
        step = max(1, BATCH * self.persons // self.records)
        layout = self._layout()
        for batch, first in enumerate(range(0, self.persons, step)):
            made = self.world.live(generator(self.seed, LIVES, batch), each[first : first + step], first)
            arrays = [pa.array(made[name].astype(dtype)) for name, dtype in self.dtypes.items()]
            yield pa.RecordBatch.from_arrays(arrays, schema=layout)

    def to_table(self) -> pa.Table:
        """All records in memory."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(), schema=self._layout())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the records as .parquet, .csv or .csv.gz, whole or not at all."""
        name = os.fspath(path).lower()
        if not name.endswith((".parquet", ".csv", ".csv.gz")):
            raise InputError(f"{path} does not say what to write; end the name in .parquet, .csv or .csv.gz")
        check_writable(path)
        with written_whole(path) as beside:
            if name.endswith(".parquet"):
                self._write_parquet(os.fspath(beside))
            else:
                self._write_csv(os.fspath(beside), "gzip" if name.endswith(".gz") else None)

    def _layout(self) -> pa.Schema:
        """Names and types of the columns."""
        import pyarrow as pa

        return pa.schema([pa.field(name, pa.type_for_alias(dtype), False) for name, dtype in self.dtypes.items()])

    def _write_parquet(self, path: str) -> None:
        from pyarrow.parquet import ParquetWriter

        with ParquetWriter(path, self._layout(), compression="zstd") as writer:
            for batch in self.batches():
                writer.write_batch(batch)

    def _write_csv(self, path: str, compression: str | None) -> None:
        import pyarrow as pa
        from pyarrow.csv import CSVWriter

        with pa.output_stream(path, compression=compression) as sink, CSVWriter(sink, self._layout()) as writer:
            for batch in self.batches():
                writer.write_batch(batch)
