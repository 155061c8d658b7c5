"""The vault: the only door to a private table. It answers the questions of a plan, with noise, and charges first.

What it promises, for neighbouring tables that differ by all records of one person:

- **Bounded.** Every exact answer is an integer vector on a lattice that one person moves by at most the question's
  sensitivity: the bound is enforced in the engine on the cells that are counted (`sfumato.bounds`), a person-level
  histogram counts each person once (`sfumato.persons`), a linear question and a grid have their columns' norms
  checked (`sfumato.linear`, `sfumato.gridded`), a score carries its own proof (`sfumato.privacy.scores`), and so does
  a question whose marginals are chosen on the way (`sfumato.privacy.questions.Chosen`).
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
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Never, Protocol

from sfumato._version import __version__
from sfumato.bounds import records
from sfumato.errors import InputError
from sfumato.privacy.answers import CHARGED, Answers
from sfumato.privacy.budget import Budget
from sfumato.privacy.door import HELD, Held, Sealed
from sfumato.privacy.exact import Noisy
from sfumato.privacy.ledger import DEFAULT_ACCOUNT, Charge, Ledger
from sfumato.privacy.noise import generator
from sfumato.privacy.plan import Plan, Priced
from sfumato.privacy.provenance import Provenance
from sfumato.privacy.questions import MECHANISM, Chosen, Gridded, Histogram, Question, Scores
from sfumato.schema import Schema
from sfumato.table import Table

__all__ = ["Answers", "HasPlan", "Noisy", "Vault", "fingerprint", "ledger_path", "protected"]


class HasPlan(Protocol):
    """A synthesizer, as far as the vault needs to know one."""

    def plan(self, schema: Schema, budget: Budget) -> Plan:
        """Every question it may ask."""
        ...


class Vault(Sealed):
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
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger_path(data, ledger))
        key = secrets.token_hex(16) if seed is None else f"seed {seed}"
        HELD[vault] = Held(table, book, noise, key, os.getpid())
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
        given = method if isinstance(method, Plan) else method.plan(self.schema, self.budget)
        plan = Plan(given.method, tuple(given.questions), tuple(given.notes))  # a subclass could price itself
        plan.check(self.schema)
        if self.schema.person is None:
            for question in plan:
                _check_single_records(question)
        return plan

    def ask(self, method: HasPlan | Plan) -> Answers:
        """The answers of a plan, ready to be read one by one; its whole cost is on disk in the ledger by then."""
        plan = self._plan(method)
        plan.check_ready()
        held = HELD[self]
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
        return Answers(self, self.schema, {p.question.name: p for p in priced}, made, CHARGED)


def _check_single_records(question: Question) -> None:
    """Without a person column each record is its own person; only counts of records make sense then."""
    if not isinstance(question, Histogram | Scores | Chosen | Gridded) or question.bound != records(1):
        raise InputError(
            f"question '{question.name}' bounds persons, but the schema names no person id; "
            "protecting single records, use the bound records(1) and histograms or grids alone"
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


def ledger_path(data: Any, ledger: str | os.PathLike[str] | None) -> str | os.PathLike[str]:
    """Where the ledger is: as told, or beside the data."""
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
