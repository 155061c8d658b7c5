"""A simulation: what was asked for, and the records, made batch after batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.export import write_batches
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
        write_batches(self.batches(), path)

    def _layout(self) -> pa.Schema:
        """Names and types of the columns."""
        import pyarrow as pa

        return pa.schema([pa.field(name, pa.type_for_alias(dtype), False) for name, dtype in self.dtypes.items()])
