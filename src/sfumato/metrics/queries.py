"""The range queries of the 2018 challenge: do random questions get the same answer?

A question is made around a record of the truth. Each column takes part with probability `share` (10 % in the
challenge's generator, 33 % in a later account), and at least one does. Of a category it accepts the record's value and
further ones, drawn until one comes twice; a number x has to lie within |x − x₀| ≤ U(0, max − min). With f the share of
the truth's records that fit and q that of the synthetic ones, the score is

    max(0, 1 + √(mean (ln max(q, 1e-6) − ln f)²) / ln(1e-3)),

1 where all agree, 0 where they are a factor of a thousand apart (the challenge multiplied by 1e6).

The challenge published no seed. Here the base records are the `questions` different records whose hash with `seed` is
smallest, whatever their order, and `RandomState(seed)` draws the rest. max − min is that of the schema where both ends
are closed, of the base records otherwise. A missing number fits where the base record's is missing too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.columns import Floats, Ints, Number
from sfumato.errors import InputError
from sfumato.metrics.codes import opened, sizes, stream_values, titles
from sfumato.metrics.listing import headline, listing
from sfumato.schema import Schema

if TYPE_CHECKING:
    from rich.console import RenderableType

_LEAST, _WORST = 1e-6, 1e-3


@dataclass(frozen=True)
class QueriesScore:
    """The score; for each question its text and the shares that fit, the furthest apart first."""

    value: float
    questions: tuple[tuple[str, float, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        questions = [{"question": text, "truth": f, "synthetic": q} for text, f, q in self.questions]
        return {"metric": "queries", "value": self.value, "questions": questions}

    def render(self, top: int) -> RenderableType:
        """The score and the worst questions."""
        from rich.console import Group

        line = headline("queries", f"{self.value:.4f}", f"{len(self.questions):,} questions; 1 is the same answers")
        rows = [(text, f"{f:.4%}", f"{q:.4%}") for text, f, q in self.questions[:top]]
        return Group(line, listing(["question", "truth#", "synthetic#"], rows)) if rows else Group(line)


@dataclass(frozen=True)
class Queries:
    """The range queries of 2018, over all columns of the schema or some.

    >>> import pyarrow as pa
    >>> from sfumato.columns import Category
    >>> schema = Schema(columns=(Category(name="hour", values=tuple(range(10))),))
    >>> truth = pa.table({"hour": [1, 1, 2, 3]})
    >>> Queries(schema, share=1.0).score(truth, truth).value
    1.0
    """

    schema: Schema
    columns: tuple[str, ...] | None = None
    share: float = 0.1
    questions: int = 300
    seed: int = 2018

    def score(self, truth: Any, synthetic: Any) -> QueriesScore:
        """How far the answers to random questions agree."""
        self._check()
        columns = self.columns or self.schema.names
        base = self._base(truth, columns)
        if base.shape[1] == 0:
            raise InputError("the truth has no records to ask about; give a table with records")
        asked = self._asked(base, columns)
        f, q = (self._shares(data, columns, asked) for data in (truth, synthetic))
        apart = np.log(np.maximum(q, _LEAST)) - np.log(f)
        value = max(0.0, 1 + float(np.sqrt(np.mean(apart**2))) / math.log(_WORST))
        order = np.argsort(-np.abs(apart), kind="stable")
        return QueriesScore(value, tuple((asked.text(int(i)), float(f[i]), float(q[i])) for i in order))

    def _check(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"share is {self.share:g}; give a probability above 0, up to 1")
        if not 1 <= self.questions <= 100_000:
            raise InputError(f"questions is {self.questions}; give a number from 1 to 100,000")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"the seed is {self.seed}; give one from 0 to {2**32 - 1}")

    def _base(self, truth: Any, columns: tuple[str, ...]) -> Floats:
        """The records that questions are made around, as columns."""
        from sfumato.metrics.kernels import hashes

        kept, marks = np.empty((len(columns), 0)), np.empty(0, np.uint64)
        for values in stream_values(opened(truth, self.schema, columns), columns):
            plain = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN, one zero
            kept = np.concatenate([kept, plain], axis=1)
            marks, first = np.unique(np.concatenate([marks, hashes(plain, self.seed)]), return_index=True)
            marks, kept = marks[: self.questions], kept[:, first[: self.questions]]
        return kept

    def _asked(self, base: Floats, columns: tuple[str, ...]) -> _Asked:
        """The questions."""
        rng = np.random.RandomState(self.seed)
        count = base.shape[1]
        chosen = rng.random_sample((count, len(columns))) < self.share
        chosen[np.arange(count), rng.randint(0, len(columns), count)] |= ~chosen.any(axis=1)  # each asks something
        size = [0 if isinstance(self.schema[c], Number) else int(sizes(self.schema, (c,))[0]) for c in columns]
        first = np.where(np.array(size) > 0, np.concatenate([[0], np.cumsum(size)[:-1]]), -1)
        low, high = np.full((2, count, len(columns)), np.nan)
        accepted = np.zeros((count, sum(size)), np.uint8)
        for i, name in enumerate(columns):
            x = base[i]
            if first[i] < 0:
                reach = rng.random_sample(count) * self._span(name, x)
                low[:, i], high[:, i] = x - reach, x + reach
            else:
                for question in range(count):
                    accepted[question, first[i] + _until_twice(int(x[question]), size[i], rng)] = 1
        used = np.where(chosen, np.arange(len(columns)), len(columns))
        used = np.sort(used, axis=1)
        return _Asked(self.schema, columns, np.where(used < len(columns), used, -1), low, high, accepted, first)

    def _span(self, name: str, x: Floats) -> float:
        """Max − min of a number."""
        column = self.schema[name]
        if isinstance(column, Number) and np.isfinite(column.ends).all():
            return column.ends[1] - column.ends[0]
        there = x[~np.isnan(x)]
        return float(np.ptp(there)) if there.size else 0.0

    def _shares(self, data: Any, columns: tuple[str, ...], asked: _Asked) -> Floats:
        """For each question, the share of records that fit."""
        from sfumato.metrics.kernels import add_matches

        found = np.zeros(len(asked.used), np.int64)
        total = 0
        for values in stream_values(opened(data, self.schema, columns), columns):
            add_matches(values, asked.used, asked.low, asked.high, asked.accepted, asked.first, found)
            total += values.shape[1]
        return found / max(1, total)


@dataclass(frozen=True)
class _Asked:
    """Questions as arrays; see `sfumato.metrics.kernels.add_matches`."""

    schema: Schema
    columns: tuple[str, ...]
    used: Ints
    low: Floats
    high: Floats
    accepted: npt.NDArray[np.uint8]
    first: Ints

    def text(self, question: int) -> str:
        """A question in words."""
        return ", ".join(self._part(question, int(c)) for c in self.used[question] if c >= 0)

    def _part(self, question: int, c: int) -> str:
        name = self.columns[c]
        if self.first[c] < 0:
            a, b = self.low[question, c], self.high[question, c]
            return f"{name} missing" if np.isnan(a) else f"{name} {a:.6g} to {b:.6g}"
        labels = titles(self.schema, name)
        accepted = self.accepted[question, self.first[c] : self.first[c] + len(labels)]
        words = [labels[i] for i in np.flatnonzero(accepted)]
        return f"{name} in {'/'.join(words[:4])}{f' and {len(words) - 4} more' if len(words) > 4 else ''}"


def _until_twice(value: int, size: int, rng: np.random.RandomState) -> list[int]:
    """The value and further ones, drawn until one comes twice."""
    out = [value]
    while (drawn := int(rng.randint(0, size))) not in out:
        out.append(drawn)
    return out
