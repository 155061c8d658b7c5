"""The vault: the only door to a private table. It answers the questions of a plan, with noise, and charges first.

What it promises, for neighbouring tables that differ by all records of one person:

- **Bounded.** Every exact answer is an integer vector on a lattice that one person moves by at most the question's
  sensitivity: the bound is enforced in the engine on the cells that are counted (`sfumato.bounds`), a person-level
  histogram counts each person once (`sfumato.persons`), a linear question has its columns' norms checked
  (`sfumato.linear`), a score carries its own proof (`sfumato.privacy.scores`), and so does a question whose marginals
  are chosen on the way (`sfumato.privacy.plan.Chosen`).
- **Noisy.** Independent noise of an exact law on the same lattice (`sfumato.privacy.noise`), from a generator keyed by
  the operating system; its level follows from plan and budget alone (`sfumato.privacy.plan`). Every cell of an answer
  gets noise, empty ones too.
- **Charged first.** `ask` writes the whole plan into the ledger, on disk, before the first record is read. A refusal
  reads and spends nothing; a crash afterwards wastes budget and hides nothing.
- **Once.** A question has one noisy answer; asked again it gives the same, by whatever thread. A vault answers in the
  process that opened it alone: a fork would carry its generator along and give the same noise to other questions. It
  and its answers cannot be copied, pickled or set otherwise.
- **Composed.** The answers of a plan are (ε, δ)-differentially private together: each is Δ/σ-Gaussian or (Δ/s)-pure DP,
  calibrated so that their adaptive composition meets the budget (`sfumato.privacy.budget`).

The private table is reachable from no attribute of the vault; it is held in this module and given to nobody.

A `seed` makes noise and choices repeatable, for tests. Whoever knows the seed can take the noise off again, so such a
release is marked NOT PRIVATE, in the ledger and in whatever is made from it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, Never, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.random import Generator

from sfumato._version import __version__
from sfumato.bounded import bounded_counts
from sfumato.bounds import UNIT, Bound, records
from sfumato.columns import Floats, Ints
from sfumato.errors import InputError, RunError
from sfumato.linear import column_norm, linear_answers, on_lattice
from sfumato.marginal import Counts, Marginal
from sfumato.privacy.budget import Budget
from sfumato.privacy.ledger import DEFAULT_ACCOUNT, Charge, Ledger
from sfumato.privacy.noise import discrete_laplace, generator, rounded_gaussian
from sfumato.privacy.plan import MECHANISM, Chosen, Histogram, Linear, Part, Persons, Plan, Priced, Question, Scores
from sfumato.privacy.provenance import Provenance
from sfumato.schema import Schema
from sfumato.table import Table


@dataclass(frozen=True)
class Noisy:
    """A noisy answer, in records: `level` is the σ or the scale of its noise."""

    question: Question
    values: Floats
    level: float


class HasPlan(Protocol):
    """A synthesizer, as far as the vault needs to know one."""

    def plan(self, schema: Schema, budget: Budget) -> Plan:
        """Every question it may ask."""
        ...


@dataclass
class _Private:
    """What stays behind the door."""

    table: Table
    ledger: Ledger
    noise: Generator
    key: str
    process: int


class _Door(WeakKeyDictionary["Vault", _Private]):
    """What each vault holds, for the process that opened it."""

    def __getitem__(self, vault: Vault) -> _Private:
        held = super().__getitem__(vault)
        if held.process != os.getpid():
            raise InputError(
                "a vault answers only in the process that opened it: a forked copy would repeat its noise; "
                "open one in the process that asks"
            )
        return held


_HELD = _Door()
_SCAN, _SCAN_CELLS = 16, 2**24  # marginals counted in one scan, and their cells together


class _Sealed:
    """Neither copied nor pickled: a copy could be asked what the original was asked."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> Never:
        raise InputError(f"the {type(self).__name__.lower()} of a private table cannot be copied or pickled")


class Vault(_Sealed):
    """A private table that answers with noise, within a budget."""

    __slots__ = ("__weakref__", "account", "budget", "private", "schema", "unit")

    schema: Schema
    budget: Budget
    account: str
    private: bool
    unit: str

    @classmethod
    def open(
        cls,
        data: Any,
        schema: Schema,
        budget: Budget,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        *,
        account: str = DEFAULT_ACCOUNT,
        unit: Literal["person", "record"] = "person",
        seed: int | None = None,
    ) -> Vault:
        """A vault over a path or a table; nothing but the names and types of the columns is looked at.

        `ledger` is a file (beside the data where it is a path and none is given), or ":memory:" to try things out.
        `unit="record"` protects single records where no column says whose they are.
        """
        vault = cls.__new__(cls)
        public = {"schema": schema, "budget": budget, "account": account, "private": seed is None}
        for name, value in (public | {"unit": protected(schema, unit)}).items():
            object.__setattr__(vault, name, value)
        noise = generator(seed)
        table = Table.open(data, schema)
        if unit == "person":
            _ = table.person  # raises where the column is not there
        book = ledger if isinstance(ledger, Ledger) else Ledger(_ledger_path(data, ledger))
        key = secrets.token_hex(16) if seed is None else f"seed {seed}"
        _HELD[vault] = _Private(table, book, noise, key, os.getpid())
        return vault

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a vault's {name} is fixed when it is opened")

    def __repr__(self) -> str:
        return f"Vault({self.budget}, account {self.account!r}, protects one {self.unit})"

    def explain(self, method: HasPlan | Plan) -> None:
        """Print what a method would ask, the bounds, the noise and the cost; nothing is read or spent."""
        from rich.console import Console

        from sfumato.privacy.explain import explanation

        Console().print(explanation(self._plan(method), self.schema, self.budget, self.unit))

    def _plan(self, method: HasPlan | Plan) -> Plan:
        plan = method if isinstance(method, Plan) else method.plan(self.schema, self.budget)
        plan.check(self.schema)
        if self.schema.person is None:
            for question in plan:
                _check_single_records(question)
        return plan

    def ask(self, method: HasPlan | Plan) -> Answers:
        """The answers of a plan, ready to be read one by one; its whole cost is on disk in the ledger by then."""
        plan = self._plan(method)
        held = _HELD[self]
        priced = plan.priced(self.budget)
        release = held.ledger.charge(
            self.account,
            self.budget,
            [_charge(p) for p in priced],
            method=plan.method,
            unit=self.unit,
            fingerprint=fingerprint(self.schema, held.table.engine.families),
            private=self.private,
            version=__version__,
        )
        made = Provenance(
            method=plan.method,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            unit=self.unit,
            private=self.private,
            release=f"{self.account}/{release.id}",
        )
        return Answers(self, {p.question.name: p for p in priced}, made, _CHARGED)


P = ParamSpec("P")
T = TypeVar("T")
_CHARGED = object()  # who holds it has charged the ledger


def one_at_a_time(
    ask: Callable[Concatenate[Answers, P], T],
) -> Callable[Concatenate[Answers, P], T]:
    """A method of `Answers` that one thread runs at a time: two at once would both find a question not answered yet."""

    @wraps(ask)
    def alone(self: Answers, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return ask(self, *args, **kwargs)

    return alone


class Answers(_Sealed):
    """The noisy answers of a charged plan, by the names of its questions; `Vault.ask` makes them."""

    def __init__(self, vault: Vault, priced: Mapping[str, Priced], provenance: Provenance, seal: object):
        if seal is not _CHARGED:
            raise InputError("answers come from Vault.ask, which charges the ledger for them")
        self._lock = threading.RLock()
        self._vault = vault
        self._priced = priced
        self._given: dict[str, Noisy] = {}
        self._chosen: set[str] = set()
        self.provenance = provenance

    def __contains__(self, name: object) -> bool:
        return name in self._priced

    def level(self, name: str) -> float:
        """The σ or the scale of a question's noise, known before it is asked."""
        return self._find(name).level

    @one_at_a_time
    def __getitem__(self, name: str) -> Noisy:
        """The answer to a question."""
        priced = self._find(name)
        if isinstance(priced.question, Linear):
            raise InputError(f"question '{name}' needs its matrix; ask for it with linear('{name}', matrix)")
        if isinstance(priced.question, Chosen):
            raise InputError(f"question '{name}' needs its marginals; ask for it with chosen('{name}', parts)")
        return self._give(name, priced, None)

    @one_at_a_time
    def linear(self, name: str, matrix: object) -> Noisy:
        """The answers A·x to a linear question, for a dense or sparse matrix with a column for each cell."""
        priced = self._find(name)
        if not isinstance(priced.question, Linear):
            raise InputError(f"question '{name}' takes no matrix")
        if name in self._given:
            raise InputError(f"question '{name}' has been answered; another matrix would need another question")
        return self._give(name, priced, matrix)

    @one_at_a_time
    def chosen(self, name: str, parts: Sequence[Part]) -> list[Noisy]:
        """The counts of the marginals chosen for a question, each with the noise that its weight buys."""
        priced = self._find(name)
        if not isinstance(priced.question, Chosen):
            raise InputError(f"question '{name}' takes no marginals")
        if name in self._chosen:
            raise InputError(f"question '{name}' has been answered; other marginals would need another question")
        weights = priced.question.weighed(parts, self._vault.schema)
        self._chosen.add(name)
        return list(_noisy_parts(_HELD[self._vault], priced, parts, weights))

    def _find(self, name: str) -> Priced:
        if name not in self._priced:
            raise InputError(f"the plan has no question '{name}'; it has {', '.join(self._priced)}")
        return self._priced[name]

    def _give(self, name: str, priced: Priced, matrix: object) -> Noisy:
        if name not in self._given:
            try:
                self._given[name] = _noisy(_HELD[self._vault], priced, matrix)
            except (InputError, RunError) as error:
                if matrix is not None:
                    raise
                spent = f"release {self.provenance.release} was charged before and stays in the ledger"
                raise type(error)(f"{error}; {spent}") from None
        return self._given[name]


# ---------------------------------------------------------------------- behind the door


def _noisy(held: _Private, priced: Priced, matrix: object) -> Noisy:
    """The exact answer on its lattice, plus noise of the same lattice."""
    exact, unit = _exact(held, priced.question, matrix)
    law = rounded_gaussian if priced.question.noise == "gaussian" else discrete_laplace
    noise = law(priced.level * unit, exact.shape, held.noise)
    return Noisy(priced.question, (exact + noise) / unit, priced.level)


def _noisy_parts(held: _Private, priced: Priced, parts: Sequence[Part], weights: Sequence[float]) -> Iterator[Noisy]:
    """The counts of each part with noise level/√weight on their lattice."""
    question = priced.question
    assert isinstance(question, Chosen)
    found = _bounded(held, [part.marginal for part in parts], question.bound)
    for part, weight, counts in zip(parts, weights, found, strict=True):
        level = priced.level / math.sqrt(weight)
        exact = part.merged(counts.values)
        noise = rounded_gaussian(level * question.unit, exact.shape, held.noise)
        about = Histogram(f"{question.name}: {part.marginal}", part.marginal, question.bound, share=weight)
        yield Noisy(about, (exact + noise) / question.unit, level)


def _exact(held: _Private, question: Question, matrix: object) -> tuple[Ints, int]:
    """The exact answer as whole units of its lattice, and how many of them make one record."""
    if isinstance(question, Histogram):
        (counts,) = _bounded(held, [question.marginal], question.bound)
        return counts.values, question.bound.unit
    if isinstance(question, Persons):
        return question.labelling.count(held.table, held.key), 1
    if isinstance(question, Linear):
        lattice = on_lattice(matrix, question.marginal, question.marginal.size(held.table.schema))
        order = 2 if question.noise == "gaussian" else 1
        if question.bound.rule != "l2" and (norm := column_norm(lattice, order)) > question.norm:
            raise InputError(
                f"question '{question.name}': a column has norm {norm:.6g}, planned were {question.norm:g}"
            )
        return linear_answers(held.table, question.marginal, lattice, question.bound, held.key)
    if isinstance(question, Scores):
        values = [
            question.score.values([Counts(c.marginal, c.values / question.bound.unit)])
            for c in _bounded(held, question.score.marginals, question.bound)
        ]
        return np.rint(np.concatenate(values) * UNIT).astype(np.int64), UNIT
    raise TypeError(f"the vault knows no question of type {type(question).__name__}")


def _bounded(held: _Private, marginals: Sequence[Marginal], bound: Bound) -> Iterator[Counts]:
    """The bounded counts of marginals, a few in each scan: memory holds so many of their cells at a time."""
    schema = held.table.schema
    for few in _few(marginals, schema):
        if schema.person is None:
            yield from held.table.counts(few)
        else:
            yield from bounded_counts(held.table, few, bound, held.key)


def _few(marginals: Sequence[Marginal], schema: Schema) -> Iterator[list[Marginal]]:
    """Marginals in runs of at most `_SCAN`, and of at most `_SCAN_CELLS` cells unless one alone has more."""
    run: list[Marginal] = []
    for marginal in marginals:
        if run and (len(run) == _SCAN or sum(m.size(schema) for m in [*run, marginal]) > _SCAN_CELLS):
            yield run
            run = []
        run.append(marginal)
    if run:
        yield run


def _check_single_records(question: Question) -> None:
    """Without a person column each record is its own person; only counts of records make sense then."""
    if not isinstance(question, Histogram | Scores | Chosen) or question.bound != records(1):
        raise InputError(
            f"question '{question.name}' bounds persons, but the schema names no person id; "
            "protecting single records, use the bound records(1) and histograms alone"
        )


def protected(schema: Schema, unit: str) -> str:
    """What a release protects: the name of the person id, or "record"; raises where the schema is for the other."""
    if unit == "record":
        if schema.person is not None:
            raise InputError(
                f"unit='record' would protect less than the persons in '{schema.person.name}'; "
                "leave the unit out, or take that column out of the schema if it names nobody"
            )
        return "record"
    if unit != "person":
        raise InputError(f"unit is 'person' or 'record', not {unit!r}")
    if schema.person is None:
        raise InputError(
            "the schema has no person id, so nobody's records can be bounded; "
            'add a column of kind "person", or say unit="record" to protect single records'
        )
    return schema.person.name


def _ledger_path(data: Any, ledger: str | os.PathLike[str] | None) -> str | os.PathLike[str]:
    if ledger is not None:
        return ledger
    if isinstance(data, str | os.PathLike):
        file = os.fspath(data).partition("::")[0]
        if os.path.isfile(file):
            return Path(file).with_suffix(".ledger")
    raise InputError('say where the ledger is: --ledger city.ledger, or ledger="city.ledger" in Python')


def _charge(priced: Priced) -> Charge:
    question = priced.question
    return Charge(
        question=question.name,
        columns=question.about,
        mechanism=MECHANISM[question.noise],
        bound=question.capped,
        sensitivity=question.sensitivity,
        noise=priced.level,
        cost=priced.cost,
    )


def fingerprint(schema: Schema, families: Mapping[str, str]) -> str:
    """A short hash of public facts alone: the schema, and the names and kinds of the data's columns.

    It tells the reader of a ledger which releases read the same kind of table. It is no hash of the records: that
    would let one who knows all but one of them find the last.
    """
    public = json.dumps([schema.to_dict(), dict(families)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(public.encode()).hexdigest()[:16]
