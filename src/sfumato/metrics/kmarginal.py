"""The k-marginal score: how alike the shares of a few columns are, place by place and time by time.

Records are grouped, by place and time unless told. In each group g and for each set s of k further columns the L1
distance of the shares is t = Σ |c/N − c'/N'| over the cells of s (0..2; 2 where only one side has records in g). The
score is 1 − t/2 on average over sets and groups: 1 where all shares agree. Groups count that have records on either
side; where none has, the two tables agree.

The contest's second sprint took PUMA × YEAR, 50 pairs drawn with a seed, and 2 for a group whose numbers of records
differ by 250 or more (`bias`); its third pickup area × shift and all pairs. Both multiplied by 1000.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.columns import Floats
from sfumato.errors import InputError
from sfumato.metrics.codes import names, titles, where_and_when
from sfumato.metrics.histograms import Compared, Sets
from sfumato.metrics.listing import headline, listing
from sfumato.schema import Schema

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_SETS = 100_000


@dataclass(frozen=True)
class Group:
    """A group: its labels, the records on both sides, its mean distance (0..2)."""

    labels: tuple[str, ...]
    truth: int
    synthetic: int
    distance: float


@dataclass(frozen=True)
class KMarginalScore:
    """The score; groups and sets with the largest distance first."""

    value: float
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    sets: tuple[tuple[tuple[str, ...], float], ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        rest = ("truth", "synthetic", "distance")
        return {
            "metric": "kmarginal",
            "value": self.value,
            "groups": [
                dict(zip(self.by, g.labels, strict=True)) | {name: getattr(g, name) for name in rest}
                for g in self.groups
            ],
            "sets": [{"columns": list(columns), "distance": t} for columns, t in self.sets],
        }

    def render(self, top: int) -> RenderableType:
        """The score, the worst groups and the worst sets."""
        from rich.console import Group as Lines

        lines = [headline("kmarginal", f"{self.value:.4f}", "1 is the same shares everywhere, 0 nothing in common")]
        if top and self.groups:
            rows = [
                (*g.labels, f"{g.truth:,}", f"{g.synthetic:,}", f"{1 - g.distance / 2:.4f}") for g in self.groups[:top]
            ]
            lines.append(listing([*self.by, "truth#", "synthetic#", "score#"], rows))
            sets = [(" × ".join(columns), f"{1 - t / 2:.4f}") for columns, t in self.sets[:top]]
            lines.append(listing(["columns", "score#"], sets))
        return Lines(*lines)


@dataclass(frozen=True)
class KMarginal:
    """The k-marginal score of a schema.

    `by` groups records (the first place and the first time unless told), `columns` are compared (all others unless
    told), `k` at once. All sets of k columns are taken, or `draws` random ones: as the contest drew them, from the
    names in alphabetical order, independently, so that one may come twice. `bias` is the difference of the records in
    a group from which its distance is 2.

    >>> import pyarrow as pa
    >>> from sfumato.columns import Category, Place
    >>> schema = Schema(columns=tuple([Place(name="area", values=(1, 2))] + [
    ...     Category(name=n, values=(0, 1)) for n in "abc"]))
    >>> truth = pa.table({"area": [1, 1, 2, 2], "a": [0, 1, 0, 1], "b": [0, 1, 1, 0], "c": [0, 0, 0, 0]})
    >>> KMarginal(schema).score(truth, truth).value, KMarginal(schema).score(truth, truth.slice(0, 2)).value
    (1.0, 0.5)
    """

    schema: Schema
    by: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    k: int = 2
    draws: int | None = None
    seed: int = 123456
    bias: int | None = None

    def sets(self) -> Sets:
        """The groups, and the sets of columns that are compared in them; one drawn twice is there twice."""
        by = where_and_when(self.schema) if self.by is None else self.by
        columns = self.columns or tuple(n for n in self.schema.names if n not in names(by))
        if not 1 <= self.k <= len(columns):
            raise InputError(f"k is {self.k}; give a number from 1 to {len(columns)}, as many columns as are compared")
        if self.bias is not None and self.bias < 0:
            raise InputError(f"bias is {self.bias}; give a difference of records from 0 on")
        count = comb(len(columns), self.k) if self.draws is None else self.draws
        if not 1 <= count <= MOST_SETS:
            raise InputError(f"{count:,} sets of columns are to be compared; give draws from 1 to {MOST_SETS:,}")
        return Sets(self.schema, by, self._drawn(columns))

    def _drawn(self, columns: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        if self.draws is None:
            return tuple(itertools.combinations(columns, self.k))
        if not 0 <= self.seed < 2**32:
            raise InputError(f"the seed is {self.seed}; give one from 0 to {2**32 - 1}")
        rng = np.random.RandomState(self.seed)  # the contest's own stream
        return tuple(
            tuple(str(c) for c in rng.choice(sorted(columns), self.k, replace=False)) for _ in range(self.draws)
        )

    def score(self, truth: Any, synthetic: Any) -> KMarginalScore:
        """How far the shares agree."""
        return self.score_all(truth, synthetic)[0]

    def score_all(self, truth: Any, *synthetic: Any) -> list[KMarginalScore]:
        """The score of each of several synthetic tables; the truth is counted once."""
        return [self._scored(found) for found in self.sets().distances(truth, *synthetic)]

    def _scored(self, found: Compared) -> KMarginalScore:
        here = found.present
        mean = self._by_group(found)
        order = here[np.argsort(-mean[here], kind="stable")]
        codes = found.codes(order)
        labels = [titles(self.schema, axis) for axis in found.sets.by]
        groups = tuple(
            Group(
                tuple(name[int(code[i])] for name, code in zip(labels, codes, strict=True)),
                int(found.truth[g]),
                int(found.synthetic[g]),
                float(mean[g]),
            )
            for i, g in enumerate(order)
        )
        by_set = dict(zip(found.sets.sets, found.distances[here].mean(axis=0), strict=True)) if here.size else {}
        worst = sorted(((columns, float(t)) for columns, t in by_set.items()), key=lambda pair: -pair[1])
        value = 1 - float(mean[here].mean()) / 2 if here.size else 1.0
        return KMarginalScore(value, found.sets.by, groups, tuple(worst))

    def _by_group(self, found: Compared) -> Floats:
        """The mean distance of each group over its sets."""
        mean: Floats = found.distances.mean(axis=1)
        if self.bias is not None:
            mean[np.abs(found.truth - found.synthetic) >= self.bias] = 2.0
        return mean
