"""The higher-order conjunction of the contest's third sprint: are there as many persons of each kind?

A person is a vector: for each bin of the columns (shift and pickup area in the contest) the number of their records
there. In each of 50 rounds a person of the truth is drawn, and for every entry a tolerance from 5 to 50. With a the
share of the truth's persons who differ from the drawn one by no more than the tolerance in every entry, and b that of
the synthetic persons, the score is 1 − |a − b| on average over the rounds.

Persons are numbered by their ids, and `RandomState(seed)` draws per round first the person, then the tolerances, as
the published scorer did. That scorer told columns of one label (shift 5 and area 5) apart by a suffix, which it gave
only where the synthetic table had both: where no synthetic record was in one of the two, the counts of the other were
lost as well. `official_bug` repeats it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.columns import Floats, Ints
from sfumato.errors import InputError
from sfumato.marginal import Axis
from sfumato.metrics.codes import names, opened, persons, sizes, stream, where_and_when
from sfumato.metrics.listing import headline, listing
from sfumato.schema import Schema
from sfumato.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import RenderableType

Vectors = npt.NDArray[np.int32]

MOST = 2**26  # entries of vectors at a time: 256 MiB; more persons are taken in several scans


@dataclass(frozen=True)
class ConjunctionScore:
    """The score; for each round the shares of persons alike, truth and synthetic, the largest difference first."""

    value: float
    persons: tuple[int, int]
    rounds: tuple[tuple[float, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        rounds = [{"truth": a, "synthetic": b} for a, b in self.rounds]
        return {"metric": "conjunction", "value": self.value, "persons": list(self.persons), "rounds": rounds}

    def render(self, top: int) -> RenderableType:
        """The score and the rounds that differ most."""
        from rich.console import Group

        meaning = f"1 is as many persons of every kind; {self.persons[0]:,} persons against {self.persons[1]:,}"
        line = headline("conjunction", f"{self.value:.4f}", meaning)
        rows = [(f"{a:.3%}", f"{b:.3%}", f"{b - a:+.3%}") for a, b in self.rounds[:top]]
        return Group(line, listing(["alike in truth#", "in synthetic#", "difference#"], rows)) if rows else Group(line)


@dataclass(frozen=True)
class Conjunction:
    """The higher-order conjunction over some columns, the first place and the first time unless told.

    >>> import pyarrow as pa
    >>> from sfumato.columns import Category, Person
    >>> schema = Schema(columns=(Person(name="who"), Category(name="hour", values=(0, 1))))
    >>> truth = pa.table({"who": [1, 1, 2, 3], "hour": [0, 1, 1, 0]})
    >>> Conjunction(schema, columns=("hour",)).score(truth, truth).value
    1.0
    """

    schema: Schema
    columns: tuple[str, ...] | None = None
    rounds: int = 50
    seed: int = 123456
    least: int = 5
    most: int = 50
    official_bug: bool = False

    def score(self, truth: Any, synthetic: Any) -> ConjunctionScore:
        """How far the shares of persons of a kind agree."""
        return self.score_all(truth, synthetic)[0]

    def score_all(self, truth: Any, *synthetic: Any) -> list[ConjunctionScore]:
        """The score of each of several synthetic tables; the truth is counted once."""
        columns = self._columns()
        true = _Vectors(opened(truth, self.schema, columns), columns)
        if true.count == 0:
            raise InputError("the truth has no person, so none can be drawn; give a table with records")
        picks, tolerances = self._draws(true.count, true.width)
        examples = true.at(picks)
        p = true.alike(examples, tolerances)
        return [
            self._scored(true, p, _Vectors(opened(data, self.schema, columns), columns), examples, tolerances)
            for data in synthetic
        ]

    def _scored(
        self, true: _Vectors, p: Floats, made: _Vectors, examples: Vectors, tolerances: Ints
    ) -> ConjunctionScore:
        q = made.alike(examples, tolerances, self._lost(made) if self.official_bug else None)
        order = np.argsort(-np.abs(p - q), kind="stable")
        rounds = tuple((float(p[i]), float(q[i])) for i in order)
        return ConjunctionScore(1 - float(np.abs(p - q).mean()), (true.count, made.count), rounds)

    def _columns(self) -> tuple[str, ...]:
        columns = self.columns or where_and_when(self.schema)
        if not columns:
            raise InputError("the schema has no place and no time; say which columns to count in as columns=area,hour")
        if len(set(names(columns))) < len(columns):
            raise InputError(f"columns {', '.join(columns)} name one twice; give each once")
        if self.official_bug and len(columns) != 2:
            raise InputError(
                f"official_bug is about two columns, and {len(columns)} are compared; name two, or leave it"
            )
        if not 1 <= self.rounds <= 100_000:
            raise InputError(f"rounds is {self.rounds}; give a number from 1 to 100,000")
        if not 0 <= self.least <= self.most < 2**31:
            raise InputError(
                f"tolerances go from {self.least} to {self.most}; give least and most, 0 or above, in order"
            )
        if not 0 <= self.seed < 2**32:
            raise InputError(f"the seed is {self.seed}; give one from 0 to {2**32 - 1}")
        return columns

    def _draws(self, count: int, width: int) -> tuple[Ints, Ints]:
        """The number of a person and the tolerances of every round, from the stream the published scorer draws."""
        rng = np.random.RandomState(self.seed)
        picks = np.empty(self.rounds, np.int64)
        tolerances = np.empty((self.rounds, width), np.int64)
        for i in range(self.rounds):
            picks[i] = rng.randint(0, count)
            tolerances[i] = rng.randint(self.least, self.most + 1, size=width)
        return picks, tolerances

    def _lost(self, made: _Vectors) -> Ints:
        """The entries that the published scorer reads as zero: of two bins of one label, where one has no record."""
        first, second = (self.schema[Axis.parse(c).column].labels(Axis.parse(c).level) for c in made.columns)
        pairs = [(i, len(first) + second.index(label)) for i, label in enumerate(first) if label in second]
        totals = made.totals()
        return np.array([e for pair in pairs if min(totals[list(pair)]) == 0 for e in pair], np.int64)


class _Vectors:
    """The persons of a table as vectors of counts, some at a time."""

    def __init__(self, table: Table, columns: tuple[str, ...]):
        self.table, self.columns = table, columns
        self.numbers: pa.Table = persons(table)
        self.count = self.numbers.num_rows
        self.starts = np.concatenate([[0], np.cumsum(sizes(table.schema, columns) - 1)])
        self.width = int(self.starts[-1])
        self._all: Vectors | None = None

    def _blocks(self) -> Iterator[tuple[int, Vectors]]:
        """The vectors of persons from a number on; kept where all of them are one block."""
        from sfumato.metrics.kernels import add_vectors

        if self._all is not None:
            yield 0, self._all
            return
        step = max(1, MOST // self.width)
        for first in range(0, self.count, step):
            vectors = np.zeros((min(step, self.count - first), self.width), np.int32)
            for codes in stream(self.table, self.columns, self.numbers):
                add_vectors(codes[:-1], self.starts, codes[-1], first, vectors)
            if len(vectors) == self.count:
                self._all = vectors
            yield first, vectors

    def at(self, picks: Ints) -> Vectors:
        """The vectors of some persons."""
        out = np.zeros((len(picks), self.width), np.int32)
        for first, vectors in self._blocks():
            here = (picks >= first) & (picks < first + len(vectors))
            out[here] = vectors[picks[here] - first]
        return out

    def totals(self) -> Ints:
        """The sum of all vectors."""
        out = np.zeros(self.width, np.int64)
        for _, vectors in self._blocks():
            out += vectors.sum(axis=0, dtype=np.int64)
        return out

    def alike(self, examples: Vectors, tolerances: Ints, lost: Ints | None = None) -> Floats:
        """The share of persons within the tolerances of each example; zero where there is nobody."""
        from sfumato.metrics.kernels import add_alike

        found = np.zeros(len(examples), np.int64)
        for _, vectors in self._blocks():
            if lost is not None:
                vectors[:, lost] = 0
            add_alike(vectors, examples, tolerances, found)
        share: Floats = found / max(1, self.count)
        return share
