"""The pie-chart score of the contest's first sprint: is who looks at the pie of a place and month misled?

A pie is what the records of one place and time divide into. For one pie with true counts a and synthetic counts p:

1. Equal counts score 1.
2. Slices below 5 % are not seen: g is a where its share is at least `threshold`, 0 elsewhere; d the same of p.
3. j is the Jensen–Shannon distance (base 2) of g and d, each with 1e-9 in every slice.
4. Each slice that is seen in d and not in g misleads: `misleading` (0.2) off.
5. Totals that differ by more than `allowed` (500) records: `bias` (0.25) off.
6. The score is 1 − all of these, not below 0.

`value` is the mean over all pies; the contest added them up, over every ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.columns import Floats
from sfumato.errors import InputError
from sfumato.marginal import Marginal
from sfumato.metrics.codes import names, opened, where_and_when
from sfumato.metrics.listing import headline, listing
from sfumato.schema import Schema

if TYPE_CHECKING:
    from rich.console import RenderableType

_LITTLE = 1e-9  # in every slice, so that no logarithm is of zero


@dataclass(frozen=True)
class PieScore:
    """The score, and every pie: its labels, the records on both sides, its score; the lowest first."""

    value: float
    by: tuple[str, ...]
    pies: tuple[tuple[tuple[str, ...], int, int, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        pies = [
            dict(zip(self.by, labels, strict=True)) | {"truth": a, "synthetic": p, "score": score}
            for labels, a, p, score in self.pies
        ]
        return {"metric": "pie", "value": self.value, "pies": pies}

    def render(self, top: int) -> RenderableType:
        """The score and the worst pies."""
        from rich.console import Group

        line = headline("pie", f"{self.value:.4f}", f"mean of {len(self.pies):,} pies; 1 misleads nobody")
        rows = [(*labels, f"{a:,}", f"{p:,}", f"{score:.4f}") for labels, a, p, score in self.pies[:top]]
        return Group(line, listing([*self.by, "truth#", "synthetic#", "score#"], rows)) if rows else Group(line)


@dataclass(frozen=True)
class Pie:
    """The pie-chart score: pies of the column `slices`, one for each combination of the columns `by`.

    Unless told, `by` is the first place and the first time, `slices` the first column beside these.

    >>> import pyarrow as pa
    >>> from sfumato.columns import Category, Place
    >>> schema = Schema(columns=(Place(name="area", values=(1, 2)), Category(name="kind", values=("fire", "theft"))))
    >>> truth = pa.table({"area": [1, 1, 2], "kind": ["fire", "theft", "theft"]})
    >>> Pie(schema).score(truth, truth).value
    1.0
    """

    schema: Schema
    slices: str | None = None
    by: tuple[str, ...] | None = None
    threshold: float = 0.05
    misleading: float = 0.2
    bias: float = 0.25
    allowed: float = 500.0

    def marginal(self) -> Marginal:
        """The columns of the pies, then that of the slices."""
        by = where_and_when(self.schema) if self.by is None else self.by
        rest = [n for n in self.schema.names if n not in names(by)]
        if self.slices is None and not rest:
            raise InputError("every column tells pies apart, so none is left for the slices; name one as slices=kind")
        return Marginal.of(*by, self.slices or rest[0])

    def score(self, truth: Any, synthetic: Any) -> PieScore:
        """How little the pies of the synthetic table mislead."""
        marginal = self.marginal()
        axes = [str(axis) for axis in marginal.axes]
        true, made = (opened(data, self.schema, axes).counts([marginal])[0].values for data in (truth, synthetic))
        return self.scored(true, made)

    def scored(self, true: npt.NDArray[Any], made: npt.NDArray[Any]) -> PieScore:
        """The score of counts, an array with an axis for each column of `marginal()`."""
        slices = true.shape[-1]
        scores = self.rows(true.reshape(-1, slices), made.reshape(-1, slices))
        order = np.argsort(scores, kind="stable")
        axes = list(self.marginal().bound_axes(self.schema))[:-1]
        at = np.unravel_index(order, true.shape[:-1]) if axes else ()
        labels = [[c.title(i, level) for i in range(c.size(level))] for c, level in axes]
        columns = [[names[int(i)] for i in code] for names, code in zip(labels, at, strict=True)]
        sums = [m.reshape(-1, slices).sum(axis=1)[order].astype(np.int64).tolist() for m in (true, made)]
        named = list(zip(*columns, strict=True)) if axes else [()] * len(order)
        pies = tuple(zip(named, *sums, scores[order].tolist(), strict=True))
        return PieScore(float(scores.mean()), tuple(map(str, self.marginal().axes[:-1])), pies)

    def rows(self, true: npt.ArrayLike, made: npt.ArrayLike) -> Floats:
        """The score of every pie, from counts with a row for each pie and a column for each slice.

        >>> schema = Schema.from_dict({"sfumato": "schema", "version": 1,
        ...     "columns": {"kind": {"kind": "category", "values": [1, 2, 3]}}})
        >>> Pie(schema).rows([[10, 5, 0]], [[9, 6, 0]]).round(6).tolist()
        [0.941221]
        """
        self._check()
        a, p = np.asarray(true, float), np.asarray(made, float)
        g, d = self._seen(a), self._seen(p)
        off = _distance(g, d) + self.misleading * ((g == 0) & (d > 0)).sum(axis=1)
        off += np.where(np.abs(a.sum(axis=1) - p.sum(axis=1)) > self.allowed, self.bias, 0.0)
        scores: Floats = np.where((a == p).all(axis=1), 1.0, np.clip(1 - off, 0, 1))
        return scores

    def _check(self) -> None:
        for name in ("threshold", "misleading", "bias"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name):g}; give a number from 0 to 1")
        if not (math.isfinite(self.allowed) and self.allowed >= 0):
            raise InputError(f"allowed is {self.allowed:g}; give a number of records from 0 on")

    def _seen(self, counts: Floats) -> Floats:
        """The counts of the slices that are large enough to be seen, zero elsewhere."""
        totals = counts.sum(axis=1, keepdims=True)
        large: Floats = np.where(counts / np.where(totals > 0, totals, 1.0) >= self.threshold, counts, 0.0)
        return large


def _distance(g: Floats, d: Floats) -> Floats:
    """The Jensen–Shannon distance of each pair of rows, in base 2."""
    p, q = ((x + _LITTLE) / (x + _LITTLE).sum(axis=1, keepdims=True) for x in (g, d))
    m = (p + q) / 2
    divergence = (p * np.log2(p / m) + q * np.log2(q / m)).sum(axis=1) / 2
    distance: Floats = np.sqrt(np.clip(divergence, 0, 1))
    return distance
