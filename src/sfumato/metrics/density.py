"""The density score of the 2018 challenge: how alike the shares of random sets of three columns are, over all records.

For each set of k columns L1 = Σ |p − q| over its cells; the score is the mean of 1 − L1/2 over the sets (the challenge
multiplied by 1e6). Categories are compared as they are; a number between two closed ends is cut into `buckets` equal
ones of width 1.0001·(max − min)/buckets, one that is open keeps its bins; a missing value is a bucket of its own, and
so is all that lies outside the schema.

Sets are drawn from `RandomState(seed)`, k different columns each; the challenge took 100, and said 300 for its final,
without a seed. Its generator could never draw the last column: `official_bug` leaves it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.columns import Number
from sfumato.errors import InputError
from sfumato.metrics.histograms import Sets
from sfumato.metrics.listing import headline, listing
from sfumato.schema import AnyColumn, Schema

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_SETS = 100_000


@dataclass(frozen=True)
class DensityScore:
    """The score, and each set that was drawn with its L1 distance (0..2), the largest first."""

    value: float
    sets: tuple[tuple[tuple[str, ...], float], ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        sets = [{"columns": list(columns), "distance": t} for columns, t in self.sets]
        return {"metric": "density", "value": self.value, "sets": sets}

    def render(self, top: int) -> RenderableType:
        """The score and the worst sets."""
        from rich.console import Group

        line = headline("density", f"{self.value:.4f}", "1 is the same shares, 0 nothing in common")
        rows = [(" × ".join(columns), f"{1 - t / 2:.4f}") for columns, t in self.sets[:top]]
        return Group(line, listing(["columns", "score#"], rows)) if rows else Group(line)


@dataclass(frozen=True)
class Density:
    """The density score of `sets` random sets of `k` columns, out of all or those named.

    >>> import pyarrow as pa
    >>> from sfumato.columns import Category
    >>> schema = Schema(columns=tuple(Category(name=n, values=(0, 1)) for n in "abc"))
    >>> truth = pa.table({"a": [0, 1, 0, 1], "b": [0, 1, 1, 0], "c": [0, 0, 0, 0]})
    >>> Density(schema, sets=10).score(truth, truth.slice(0, 2)).value
    0.5
    """

    schema: Schema
    columns: tuple[str, ...] | None = None
    k: int = 3
    sets: int = 100
    seed: int = 2018
    buckets: int = 100
    official_bug: bool = False

    def drawn(self) -> Sets:
        """The sets of columns, over all records."""
        columns = self.columns or self.schema.names
        columns = columns[:-1] if self.official_bug else columns
        if not 1 <= self.k <= len(columns):
            raise InputError(f"k is {self.k}; give a number from 1 to {len(columns)}, as many as there are columns")
        if not 1 <= self.sets <= MOST_SETS:
            raise InputError(f"sets is {self.sets}; give a number from 1 to {MOST_SETS:,}")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"the seed is {self.seed}; give one from 0 to {2**32 - 1}")
        rng = np.random.RandomState(self.seed)
        chosen = tuple(tuple(str(c) for c in rng.choice(columns, self.k, replace=False)) for _ in range(self.sets))
        return Sets(self._bucketed(), (), chosen)

    def _bucketed(self) -> Schema:
        """The schema with numbers cut into equal buckets."""
        if self.buckets < 1:
            raise InputError(f"buckets is {self.buckets}; give a number from 1 on")
        return self.schema.model_copy(update={"columns": tuple(map(self._cut, self.schema.columns))})

    def _cut(self, column: AnyColumn) -> AnyColumn:
        if not (isinstance(column, Number) and np.isfinite(column.ends).all()):
            return column
        low, high = column.ends
        edges = low + 1.0001 * (high - low) / self.buckets * np.arange(self.buckets)
        cut = (*(float(e) for e in edges[edges < high]), high)
        return Number(
            name=column.name, source=column.source, edges=cut, closed="left", missing=column.missing, outside="drop"
        )

    def score(self, truth: Any, synthetic: Any) -> DensityScore:
        """How far the shares agree."""
        (found,) = self.drawn().distances(truth, synthetic)
        apart = np.nan_to_num(found.distances[0], nan=0.0)  # two empty tables agree
        order = np.argsort(-apart, kind="stable")
        sets = tuple((found.sets.sets[i], float(apart[i])) for i in order)
        return DensityScore(1 - float(apart.mean()) / 2, sets)
