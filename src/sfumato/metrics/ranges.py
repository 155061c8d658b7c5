"""The range-query error of the MGD design: how far random sums of counts are off.

A query takes 30 % of each column's bins, at random, and counts the records that fall into all of them. With c its
count in the truth and c' in the synthetic table, the error is |c' − c| / max(c, 1), and the value its mean over 300
queries: 0 is best, there is no worst. Counts are compared, not shares, so it needs a synthetic table of the same size.

`RandomState(seed)` draws, query by query and column by column, ⌈30 % · bins⌉ different bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.columns import Floats, Ints
from sfumato.errors import InputError
from sfumato.marginal import Marginal
from sfumato.metrics.codes import opened
from sfumato.metrics.listing import headline, listing
from sfumato.schema import Schema

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class RangesScore:
    """The mean error, and the count of each query in the truth and the synthetic table, the worst first."""

    value: float
    queries: tuple[tuple[int, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        queries = [{"truth": c, "synthetic": s} for c, s in self.queries]
        return {"metric": "ranges", "value": self.value, "queries": queries}

    def render(self, top: int) -> RenderableType:
        """The error and the worst queries."""
        from rich.console import Group

        line = headline(
            "ranges", f"{self.value:.4f}", f"mean relative error of {len(self.queries):,} queries; 0 is best"
        )
        rows = [(f"{c:,}", f"{s:,}", f"{abs(s - c) / max(c, 1):.4f}") for c, s in self.queries[:top]]
        return Group(line, listing(["truth#", "synthetic#", "error#"], rows)) if rows else Group(line)


@dataclass(frozen=True)
class Ranges:
    """The range-query error over some columns; all of the schema's unless told.

    >>> import pyarrow as pa
    >>> from sfumato.columns import Category
    >>> schema = Schema(columns=(Category(name="hour", values=tuple(range(10))),))
    >>> truth = pa.table({"hour": list(range(10))})
    >>> Ranges(schema).score(truth, truth.slice(0, 0)).value
    1.0
    """

    schema: Schema
    columns: tuple[str, ...] | None = None
    queries: int = 300
    share: float = 0.3
    seed: int = 300

    def score(self, truth: Any, synthetic: Any) -> RangesScore:
        """How far random sums of counts are off."""
        marginal = Marginal.of(*(self.columns or self.schema.names))
        marginal.check(self.schema)
        axes = [str(axis) for axis in marginal.axes]
        true, made = (opened(data, self.schema, axes).counts([marginal])[0].values for data in (truth, synthetic))
        drawn = [np.ix_(*bins) for bins in self._drawn(true.shape)]
        c, s = (np.array([values[bins].sum() for bins in drawn]) for values in (true, made))
        errors: Floats = np.abs(s - c) / np.maximum(c, 1)
        order = np.argsort(-errors, kind="stable")
        return RangesScore(float(errors.mean()), tuple((int(c[i]), int(s[i])) for i in order))

    def _drawn(self, shape: tuple[int, ...]) -> list[list[Ints]]:
        """The bins of each column, for every query."""
        if not 0 < self.share <= 1:
            raise InputError(f"share is {self.share:g}; give a part of each column's bins above 0, up to 1")
        if not 1 <= self.queries <= 100_000:
            raise InputError(f"queries is {self.queries}; give a number from 1 to 100,000")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"the seed is {self.seed}; give one from 0 to {2**32 - 1}")
        rng = np.random.RandomState(self.seed)
        counts = [math.ceil(self.share * bins - 1e-9) for bins in shape]
        return [
            [np.sort(rng.choice(bins, n, replace=False)) for bins, n in zip(shape, counts, strict=True)]
            for _ in range(self.queries)
        ]
