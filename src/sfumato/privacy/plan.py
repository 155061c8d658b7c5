"""Plans: every noisy question that may be asked, and what each may cost, fixed before any data is read.

The noise follows from plan and budget and from nothing else. An earlier answer may decide what a `Linear` or a
`Gridded` question asks (its matrix or its grid is given when it is asked) or which marginals a `Chosen` question
counts, never how much it may cost.

Costs (Dong, Roth & Su 2022; Dwork & Roth 2014): Gaussian noise σ on an answer that one person moves by at most Δ in
L2 is Δ/σ-Gaussian DP; discrete Laplace noise of scale s on an answer that one person moves by at most Δ in L1 is
(Δ/s)-DP. A person-level histogram has Δ = 1. `sfumato.privacy.budget` composes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.errors import InputError
from sfumato.persons import Awaited, ByLabel, ByMixture, ByRecords, ByValue
from sfumato.privacy.budget import Budget, Cost, GaussianCost, calibrate
from sfumato.privacy.questions import (
    LARGEST,
    Chosen,
    Gridded,
    Histogram,
    Linear,
    Norms,
    Part,
    Persons,
    Question,
    Scores,
)
from sfumato.schema import Schema

__all__ = [  # with the questions and the rules that place a person: all that a method needs to say what it will ask
    "Awaited",
    "ByLabel",
    "ByMixture",
    "ByRecords",
    "ByValue",
    "Chosen",
    "Gridded",
    "Histogram",
    "Linear",
    "Norms",
    "Part",
    "Persons",
    "Plan",
    "Priced",
    "Question",
    "Scores",
]


@dataclass(frozen=True)
class Priced:
    """A question with its cost and the noise that buys: `level` is σ or the scale, in records."""

    question: Question
    cost: Cost
    level: float

    def __post_init__(self) -> None:
        most = LARGEST / self.question.unit / self.question.stretch
        if self.level > most:  # found before anything is spent
            raise InputError(
                f"question '{self.question.name}' would get noise of {self.level:.3g} records, more than {most:.3g}, "
                "which is the most there is; give it more of ε, a smaller bound, or ask fewer questions"
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

    def check_ready(self) -> None:
        """Raise where a question waits for what public data will say: planned it can be, not asked."""
        for question in self:
            if isinstance(question, Persons) and question.labelling.waits:
                raise InputError(
                    f"question '{question.name}' waits for public data, which {self.method} learns from when it is "
                    "fitted; fit it, rather than asking its plan"
                )

    def priced(self, budget: Budget) -> tuple[Priced, ...]:
        """Every question with its cost and noise, spending the budget as shared out."""
        total = math.fsum(q.share for q in self)
        costs = calibrate([(q.noise, q.share / total) for q in self], budget)
        return tuple(_priced(q, c) for q, c in zip(self, costs, strict=True))


def _priced(question: Question, most: Cost) -> Priced:
    """The question with the noise that a cost buys, or its own least noise where that is more, and so costs less."""
    level = question.sensitivity / _rate(most)
    if level >= question.least:
        return Priced(question, most, level)
    return Priced(question, type(most)(question.sensitivity / question.least), question.least)


def _rate(cost: Cost) -> float:
    return cost.mu if isinstance(cost, GaussianCost) else cost.epsilon
