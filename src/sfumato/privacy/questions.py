"""Questions: what may be asked of a private table, and how far one person can move each answer.

A `Question` says what is counted, how each person is bounded, which noise is added and which share of the budget it
takes. How far one person can move its answer follows from the bound alone. What a `Linear`, a `Gridded` or a `Chosen`
question asks may be left to earlier answers; its sensitivity may not.

A `Gridded` question may leave its bound l2(C) open: C is given when it is asked, as a public number (a constant, or one
that earlier answers or public data tell). The answer divided by C has sensitivity 1 for every C and gets noise of the
planned level, so the cost is the planned one whatever C is; the noise in records is C times as large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sfumato.bounds import UNIT, Bound
from sfumato.columns import Ints
from sfumato.errors import InputError
from sfumato.marginal import MAX_CELLS, Marginal
from sfumato.persons import Labelling
from sfumato.privacy.scores import Score
from sfumato.schema import Schema

Noise = Literal["gaussian", "laplace"]
# what sees exact figures or says how far a person moves them: these modules carry the proofs
_PROVEN = ("sfumato.privacy.questions", "sfumato.persons", "sfumato.privacy.scores", "sfumato.bounds")
LARGEST = 2.0**50  # lattice units: `sfumato.privacy.noise` draws no larger noise
MECHANISM = {"gaussian": "rounded gaussian", "laplace": "discrete laplace"}


@dataclass(frozen=True)
class Question:
    """Something to ask of the private table, with noise; `share` is its part of the budget.

    Its noise is at least `least`, in records, also where its share would buy a more exact answer: then it costs less,
    and what it costs is what is charged.
    """

    name: str
    noise: Noise = field(default="gaussian", kw_only=True)
    share: float = field(default=1.0, kw_only=True)
    least: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if self.noise not in MECHANISM:
            raise InputError(f"question '{self.name}': noise is 'gaussian' or 'laplace', not {self.noise!r}")
        if not (math.isfinite(self.share) and self.share > 0):
            raise InputError(f"question '{self.name}': its share of the budget is {self.share}; give one above 0")
        if not 0 <= self.least < math.inf:
            raise InputError(f"question '{self.name}': its least noise is {self.least}; give a number from 0 on")

    @property
    def l1(self) -> float:
        """The most that one person changes the answer, in L1."""
        raise TypeError(f"{type(self).__name__} has no sensitivity")

    @property
    def l2(self) -> float:
        """The most that one person changes the answer, in L2."""
        raise TypeError(f"{type(self).__name__} has no sensitivity")

    @property
    def sensitivity(self) -> float:
        """The one of the two that the noise needs."""
        return self.l2 if self.noise == "gaussian" else self.l1

    @property
    def about(self) -> str:
        """What is asked, in a few words."""
        return self.name

    @property
    def capped(self) -> str:
        """How each person is bounded, in a few words."""
        return "one bin a person"

    @property
    def unit(self) -> int:
        """How many steps of the lattice that its answer lies on make one record."""
        return UNIT

    @property
    def stretch(self) -> float:
        """How many times its level the noise of a part of the answer may be."""
        return 1.0

    def cells(self, schema: Schema) -> int | None:
        """How many numbers the answer holds, where that is known before asking."""
        return None

    def check(self, schema: Schema) -> None:
        """Raise unless the schema can answer it and its sensitivity is finite."""
        for part in (self, *(getattr(self, name, None) or self for name in ("labelling", "score", "bound"))):
            if type(part).__module__ not in _PROVEN:
                raise InputError(
                    f"question '{self.name}': {type(part).__name__} is none of Sfumato's own, so nothing is known of "
                    "its sensitivity; the vault answers the questions of sfumato.privacy.plan alone"
                )
        if not math.isfinite(self.sensitivity):
            raise InputError(
                f"question '{self.name}': {self.capped} does not bound a person in L1, which Laplace noise needs; "
                "use Gaussian noise, or the bound records or weight"
            )


@dataclass(frozen=True)
class Histogram(Question):
    """The counts of a marginal, with every person bounded."""

    marginal: Marginal
    bound: Bound

    @property
    def l1(self) -> float:
        """That of the bound."""
        return self.bound.l1

    @property
    def l2(self) -> float:
        """That of the bound."""
        return self.bound.l2

    @property
    def about(self) -> str:
        """The columns."""
        return str(self.marginal)

    @property
    def capped(self) -> str:
        """The bound."""
        return str(self.bound)

    @property
    def unit(self) -> int:
        """That of the bound."""
        return self.bound.unit

    def cells(self, schema: Schema) -> int:
        """Those of the marginal."""
        return self.marginal.size(schema)

    def check(self, schema: Schema) -> None:
        """The marginal fits the schema."""
        super().check(schema)
        self.marginal.check(schema)


@dataclass(frozen=True)
class Persons(Question):
    """A histogram of persons, each in exactly one bin: one person changes one count by one."""

    labelling: Labelling

    @property
    def l1(self) -> float:
        """One person, one count, by one."""
        return 1.0

    @property
    def l2(self) -> float:
        """One person, one count, by one."""
        return 1.0

    @property
    def about(self) -> str:
        """The rule that places a person."""
        return str(self.labelling)

    @property
    def unit(self) -> int:
        """Persons are whole."""
        return 1

    def cells(self, schema: Schema) -> int:
        """The bins."""
        return self.labelling.bins(schema)

    def check(self, schema: Schema) -> None:
        """The labelling fits the schema, which has its columns."""
        super().check(schema)
        for column in self.labelling.columns(schema):
            _ = schema[column]
        if self.labelling.bins(schema) < 1:
            raise InputError(f"question '{self.name}' has no bin that a person could be in")


@dataclass(frozen=True)
class Linear(Question):
    """Answers A·x about a marginal; the matrix A comes when it is asked, with columns of norm at most `norm`.

    `norm` is the largest norm of a column, L2 for Gaussian noise and L1 for Laplace. It does not matter under the
    bound `l2`, which caps each person's answers themselves.
    """

    marginal: Marginal
    bound: Bound
    norm: float = 1.0

    @property
    def l1(self) -> float:
        """C times the largest L1 norm of a column."""
        return self.bound.l1 * self.norm

    @property
    def l2(self) -> float:
        """C, times the largest L2 norm of a column unless the bound caps the answers."""
        return self.bound.l2 * (1.0 if self.bound.rule == "l2" else self.norm)

    @property
    def about(self) -> str:
        """The columns."""
        return f"linear questions on {self.marginal}"

    @property
    def capped(self) -> str:
        """The bound, and the norm."""
        return str(self.bound) if self.bound.rule == "l2" else f"{self.bound}, columns ≤ {self.norm:g}"

    @property
    def unit(self) -> int:
        """That of the matrix, times that of the counts unless each person's answers are rounded themselves."""
        return UNIT if self.bound.rule == "l2" else UNIT * self.bound.unit

    def check(self, schema: Schema) -> None:
        """The marginal fits the schema and the norm is a number."""
        if not (math.isfinite(self.norm) and self.norm > 0):
            raise InputError(f"question '{self.name}': the norm of a column is {self.norm}; give one above 0")
        super().check(schema)
        self.marginal.check(schema)


@dataclass(frozen=True)
class Gridded(Question):
    """Answers to a grid on a marginal (`sfumato.grid`); the grid comes when it is asked, with columns of norm ≤ 1.

    Without a bound it is l2(C), and C comes with the grid: sensitivity and noise are for C = 1 then.
    """

    marginal: Marginal
    bound: Bound | None

    @property
    def l1(self) -> float:
        """Not bounded: a column of a grid has many entries."""
        return math.inf

    @property
    def l2(self) -> float:
        """C, for a column has norm at most 1; or 1, in units of the C to come."""
        return 1.0 if self.bound is None else self.bound.l2

    @property
    def about(self) -> str:
        """The columns, unless it is called by them."""
        return "adaptive grid" if self.name == str(self.marginal) else f"adaptive grid on {self.marginal}"

    @property
    def capped(self) -> str:
        """The bound."""
        return "l2(C), C given when asked" if self.bound is None else str(self.bound)

    @property
    def unit(self) -> int:
        """That of the grid's coefficients, times that of the counts unless each person's answers are rounded."""
        return UNIT if self.bound is None or self.bound.rule == "l2" else UNIT * self.bound.unit

    def cells(self, schema: Schema) -> int:
        """Those of the marginal; the answer may hold some more, or fewer."""
        return self.marginal.size(schema)

    def check(self, schema: Schema) -> None:
        """The marginal fits the schema."""
        super().check(schema)
        self.marginal.check(schema)


@dataclass(frozen=True)
class Norms(Question):
    """A histogram of persons by the Euclidean norm of their answers to a grid, which comes when it is asked.

    A person is in exactly one bin: below the first edge, between two, or above the last.
    """

    marginal: Marginal
    edges: tuple[float, ...]

    @property
    def l1(self) -> float:
        """One person, one count, by one."""
        return 1.0

    @property
    def l2(self) -> float:
        """One person, one count, by one."""
        return 1.0

    @property
    def about(self) -> str:
        """What is measured of a person."""
        return "persons by the norm of their answers"

    @property
    def unit(self) -> int:
        """Persons are whole."""
        return 1

    def cells(self, schema: Schema) -> int:
        """The bins."""
        return len(self.edges) + 1

    def check(self, schema: Schema) -> None:
        """The marginal fits the schema, and the edges increase."""
        super().check(schema)
        self.marginal.check(schema)
        if list(self.edges) != sorted(set(self.edges)) or not self.edges or self.edges[0] <= 0:
            raise InputError(f"question '{self.name}': edges of norms are above 0 and increase")


@dataclass(frozen=True)
class Scores(Question):
    """Scores of bounded counts; k scores that one person moves by at most s each are moved by s·√k in L2, s·k in L1."""

    score: Score
    bound: Bound

    @property
    def l1(self) -> float:
        """All scores may move at once."""
        return self.score.sensitivity(self.bound) * len(self.score.marginals)

    @property
    def l2(self) -> float:
        """All scores may move at once."""
        return self.score.sensitivity(self.bound) * math.sqrt(len(self.score.marginals))

    @property
    def about(self) -> str:
        """The score."""
        return str(self.score)

    @property
    def capped(self) -> str:
        """The bound."""
        return str(self.bound)

    def cells(self, schema: Schema) -> int:
        """One for each score."""
        return len(self.score.marginals)

    def check(self, schema: Schema) -> None:
        """The marginals fit the schema."""
        super().check(schema)
        for marginal in self.score.marginals:
            marginal.check(schema)


@dataclass(frozen=True, eq=False)
class Part:
    """A marginal chosen for a `Chosen` question, and its weight: what it takes of the question's μ², relatively.

    `groups` merges bins: for each axis the group of every bin, numbered from 0; -1 leaves a bin out.
    """

    marginal: Marginal
    weight: float
    groups: tuple[Ints, ...] | None = None

    def check(self, name: str, columns: frozenset[str], schema: Schema) -> None:
        """Raise unless it is about the columns that were planned and its groups fit their bins."""
        where = f"question '{name}', {self.marginal}"
        if strange := [a.column for a in self.marginal.axes if a.column not in columns]:
            raise InputError(f"{where}: column '{strange[0]}' is none of those that were planned")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise InputError(f"{where}: its weight is {self.weight}; give one above 0")
        self.marginal.check(schema)
        if self.groups is None:
            return
        shape = self.marginal.shape(schema)
        if [len(g) for g in self.groups] != list(shape):
            raise InputError(f"{where}: its groups have lengths {[len(g) for g in self.groups]}, its axes {shape}")
        if any(g.dtype.kind != "i" or g.min() < -1 or g.max() >= len(g) for g in self.groups):
            raise InputError(f"{where}: groups are whole numbers from -1 to below the number of bins")

    def size(self, schema: Schema) -> int:
        """How many cells its answer has."""
        if self.groups is None:
            return self.marginal.size(schema)
        return math.prod(int(group.max(initial=-1)) + 1 for group in self.groups)

    def merged(self, counts: Ints) -> Ints:
        """The counts of the groups; each count goes to one cell or to none, so nobody adds more than before."""
        if self.groups is None:
            return counts
        for axis, group in enumerate(self.groups):
            out = np.zeros((int(group.max(initial=-1)) + 1, *np.delete(counts.shape, axis)), counts.dtype)
            kept = np.flatnonzero(group >= 0)
            np.add.at(out, group[kept], np.moveaxis(counts, axis, 0)[kept])
            counts = np.moveaxis(out, 0, axis)
        return np.ascontiguousarray(counts)


@dataclass(frozen=True)
class Chosen(Question):
    """Counts of marginals that earlier answers choose: which ones, and their weights, are given when it is asked.

    Parts i with weights w_i, Σw_i = 1, are counted with noise σ/√w_i each. That is one Gaussian answer: the vector
    of all √w_i·counts_i, with noise σ on every entry. One person moves part i by at most C in L2, and no more after
    bins are merged (a bound in L1 holds for any merging, and L2 is never larger), so the vector by at most
    √(Σw_i·C²) = C: the cost is fixed before anything is chosen, whatever and however much is chosen.
    """

    columns: tuple[str, ...]
    bound: Bound

    LEAST = 2.0**-30
    """The least weight of a part."""

    @property
    def l1(self) -> float:
        """Not bounded: there may be any number of parts."""
        return math.inf

    @property
    def l2(self) -> float:
        """That of the bound, which must hold in L1 too."""
        return self.bound.l2

    @property
    def about(self) -> str:
        """The columns."""
        return f"marginals of {', '.join(self.columns)}, chosen by earlier answers"

    @property
    def capped(self) -> str:
        """The bound."""
        return str(self.bound)

    @property
    def unit(self) -> int:
        """That of the bound."""
        return self.bound.unit

    @property
    def stretch(self) -> float:
        """The noise of the part with the least weight."""
        return 1 / math.sqrt(self.LEAST)

    def check(self, schema: Schema) -> None:
        """The columns are there, and the bound holds when bins are merged."""
        super().check(schema)
        if not math.isfinite(self.bound.l1):
            raise InputError(
                f"question '{self.name}': the bound {self.bound} does not hold when bins are merged; use records or "
                "weight"
            )
        for column in self.columns:
            _ = schema[column]

    def weighed(self, parts: Sequence[Part], schema: Schema) -> list[float]:
        """The weights of the parts, with sum 1; raises unless all of them can be answered."""
        if not parts:
            raise InputError(f"question '{self.name}' needs at least one marginal")
        for part in parts:
            part.check(self.name, frozenset(self.columns), schema)
        total = math.fsum(part.weight for part in parts) * (1 + 1e-12)  # a hair, so that rounding is against us
        weights = [part.weight / total for part in parts]
        if min(weights) < self.LEAST:
            raise InputError(f"question '{self.name}': a weight is less than {self.LEAST:.3g} of their sum")
        if (cells := sum(part.size(schema) for part in parts)) > MAX_CELLS:
            raise InputError(f"question '{self.name}': its marginals have {cells:,} cells, more than {MAX_CELLS:,}")
        return weights
