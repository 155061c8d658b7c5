"""Plans: every noisy question that may be asked, and what each may cost, fixed before any data is read.

A `Question` says what is counted, how each person is bounded, which noise is added and which share of the budget it
takes. How far one person can move its answer follows from the bound alone, so the noise follows from plan and budget
and from nothing else. An earlier answer may decide what a `Linear` or a `Gridded` question asks (its matrix or its grid
is given when it is asked), never how much it may cost.

A `Gridded` question may leave its bound l2(C) open: C is given when it is asked, as a public number (a constant, or one
that earlier answers or public data tell). The answer divided by C has sensitivity 1 for every C and gets noise of the
planned level, so the cost is the planned one whatever C is; the noise in records is C times as large.

Costs (Dong, Roth & Su 2022; Dwork & Roth 2014): Gaussian noise σ on an answer that one person moves by at most Δ in
L2 is Δ/σ-Gaussian DP; discrete Laplace noise of scale s on an answer that one person moves by at most Δ in L1 is
(Δ/s)-DP. A person-level histogram has Δ = 1. `sfumato.privacy.budget` composes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from sfumato.bounds import UNIT, Bound
from sfumato.errors import InputError
from sfumato.marginal import Marginal
from sfumato.persons import ByRecords, Labelling
from sfumato.privacy.budget import Budget, Cost, GaussianCost, calibrate
from sfumato.privacy.scores import Score
from sfumato.schema import Schema

__all__ = [  # with the rules that place a person, for those who may not name the table they are counted in
    "ByRecords",
    "Gridded",
    "Histogram",
    "Linear",
    "Norms",
    "Persons",
    "Plan",
    "Priced",
    "Question",
    "Scores",
]

Noise = Literal["gaussian", "laplace"]
_PROVEN = ("sfumato.privacy.plan", "sfumato.persons", "sfumato.privacy.scores")  # see exact figures; carry a proof
LARGEST = 2.0**50  # lattice units: `sfumato.privacy.noise` draws no larger noise
MECHANISM = {"gaussian": "rounded gaussian", "laplace": "discrete laplace"}


@dataclass(frozen=True)
class Question:
    """Something to ask of the private table, with noise; `share` is its part of the budget."""

    name: str
    noise: Noise = field(default="gaussian", kw_only=True)
    share: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        if self.noise not in MECHANISM:
            raise InputError(f"question '{self.name}': noise is 'gaussian' or 'laplace', not {self.noise!r}")
        if not (math.isfinite(self.share) and self.share > 0):
            raise InputError(f"question '{self.name}': its share of the budget is {self.share}; give one above 0")

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

    def cells(self, schema: Schema) -> int | None:
        """How many numbers the answer holds, where that is known before asking."""
        return None

    def check(self, schema: Schema) -> None:
        """Raise unless the schema can answer it and its sensitivity is finite."""
        for part in (self, getattr(self, "labelling", self), getattr(self, "score", self)):
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


@dataclass(frozen=True)
class Priced:
    """A question with its cost and the noise that buys: `level` is σ or the scale, in records."""

    question: Question
    cost: Cost
    level: float

    def __post_init__(self) -> None:
        if self.level * self.question.unit > LARGEST:  # found before anything is spent
            raise InputError(
                f"question '{self.question.name}' would get noise of {self.level:.3g} records, more than "
                f"{LARGEST / self.question.unit:.3g}, which is the most there is; give it more of ε, a smaller bound, "
                "or ask fewer questions"
            )


@dataclass(frozen=True)
class Plan:
    """The questions of a method; their shares are taken relative to their sum."""

    method: str
    questions: tuple[Question, ...]
    notes: tuple[str, ...] = ()
    """What its reader should know, such as what is left out."""

    def __post_init__(self) -> None:
        names = [q.name for q in self.questions]
        if not names:
            raise InputError(f"the plan of {self.method} asks nothing")
        if len(set(names)) < len(names):
            raise InputError(f"the plan of {self.method} has two questions of one name; each needs its own")

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def check(self, schema: Schema) -> None:
        """Raise unless the schema can answer every question."""
        for question in self:
            question.check(schema)

    def priced(self, budget: Budget) -> tuple[Priced, ...]:
        """Every question with its cost and noise, spending the budget as shared out."""
        total = math.fsum(q.share for q in self)
        costs = calibrate([(q.noise, q.share / total) for q in self], budget)
        return tuple(Priced(q, c, q.sensitivity / _rate(c)) for q, c in zip(self, costs, strict=True))


def _rate(cost: Cost) -> float:
    return cost.mu if isinstance(cost, GaussianCost) else cost.epsilon
