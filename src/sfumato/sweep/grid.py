"""What a sweep runs, what that would cost, and running it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.export import write_batches
from sfumato.metrics import Metric
from sfumato.privacy.budget import Budget, Cost, compose
from sfumato.privacy.ledger import DEFAULT_ACCOUNT, Ledger
from sfumato.privacy.vault import Vault
from sfumato.public import Public
from sfumato.schema import Schema
from sfumato.sweep.results import Folder, Result
from sfumato.synthesizers import Synthesizer
from sfumato.table import Table, comparable

Told = Callable[["Run"], None]
Noted = Callable[[str], None]


@dataclass(frozen=True, order=True)
class Run:
    """One method at one ε, for the n-th time."""

    method: str
    epsilon: float
    seed: int

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.method}-{self.epsilon:g}-{self.seed}"


@dataclass(frozen=True, eq=False)
class Sweep:
    """Methods by epsilons by seeds, scored by metrics against one truth.

    With `public_truth` the noise is seeded and nothing is charged: for public or simulated data. Without it the noise
    is real and every run is charged to the account of the ledger.
    """

    schema: Schema
    truth: Any
    methods: Mapping[str, Synthesizer]
    epsilons: tuple[float, ...]
    metrics: Mapping[str, Metric]
    delta: float = 0.0
    seeds: int = 1
    public: Public | None = None
    public_truth: bool = False
    ledger: Path | None = None
    account: str = DEFAULT_ACCOUNT
    unit: str = "person"

    def __post_init__(self) -> None:
        for what, given in (("method", self.methods), ("epsilon", self.epsilons), ("metric", self.metrics)):
            if not given:
                raise InputError(f"a sweep needs at least one {what}")
        if not 1 <= self.seeds <= 1_000:
            raise InputError(f"the number of seeds is {self.seeds}; give one from 1 to 1,000")
        told = [f"{e:g}" for e in self.epsilons]  # as in the names of files: two of one name would be one run
        if len(set(told)) < len(told):
            raise InputError(f"the epsilons {', '.join(told)} name one twice; they are told apart by six digits")

    def runs(self) -> list[Run]:
        """All of them, the cheap comparisons first: every method once at every ε, then again."""
        return [Run(m, e, s) for s in range(self.seeds) for e in sorted(self.epsilons) for m in self.methods]

    def check(self) -> None:
        """Raise unless every method can make its plan and the truth has the columns; no record is read."""
        if isinstance(self.truth, str | Path):
            Table.open(self.truth, self.schema).close()
        for run in self.runs():
            self.costs(run)

    def costs(self, run: Run) -> list[Cost]:
        """What a run would charge."""
        budget = Budget(run.epsilon, self.delta)
        plan = self.methods[run.method].plan(self.schema, budget)
        plan.check(self.schema)
        return [priced.cost for priced in plan.priced(budget)]

    def open(self, folder: Folder) -> list[Run]:
        """The runs whose synthetic records are not there yet: these would be charged."""
        return [run for run in self.runs() if folder.result(run.name) is None]

    def price(self, runs: list[Run]) -> Budget:
        """What these runs cost together, in the worst case for everybody."""
        epsilon = compose([cost for run in runs for cost in self.costs(run)], self.delta)
        return Budget(epsilon * (1 + 1e-9), self.delta)

    def reserve(self, runs: list[Run]) -> None:
        """Open the account with a cap that covers these runs, or raise where it is open and they do not fit.

        Nothing is charged yet: each run is, as it goes, before it reads a record.
        """
        with self._book() as book:
            if self.account not in [a.name for a in book.accounts()]:
                book.set_cap(self.account, self.price(runs))
                return
            (holder,) = [a for a in book.accounts() if a.name == self.account]
            spent = [charge.cost for release in book.releases(self.account) for charge in release.charges]
            total = compose([*spent, *(c for run in runs for c in self.costs(run))], holder.cap.delta)
            if total > holder.cap.epsilon * (1 + 1e-9):
                raise InputError(
                    f"these {len(runs)} runs would bring account '{self.account}' to ε = {total:.6g} at "
                    f"δ = {holder.cap.delta:g}, above its cap ε = {holder.cap.epsilon:g}; raise the cap with "
                    "`sfumato ledger cap`, or ask for less"
                )

    def _book(self) -> Ledger:
        if self.ledger is None:
            raise InputError("a sweep over private data needs a ledger; name one, or say that the truth is public")
        return Ledger(self.ledger)

    def go(self, out: Path, told: Told = lambda run: None, noted: Noted = lambda note: None) -> list[Result]:
        """Run what is missing in the folder, and write all results there.

        A method that makes fewer columns than the schema has is scored by those it makes, with a note. A metric that
        cannot score what a method makes, such as one of persons where there are none, leaves a gap and a note; only
        when nothing at all can be scored is that an error.
        """
        folder = Folder(out, self.public_truth)
        folder.settle(self.described())
        notes: dict[tuple[str, str], str] = {}
        for run in self.runs():
            told(run)
            result = folder.result(run.name) or self._made(run, folder)
            missing = {name: m for name, m in self.metrics.items() if name not in result.scores}
            made = str(folder.synthetic(run.name))
            held, lacking = comparable(self.schema, made) if missing else (self.schema, ())
            if lacking:
                left = f"{run.method} makes no {', '.join(lacking)}: it is scored by the other columns alone"
                notes.setdefault(("", run.method), left)
            for name, metric in missing.items():
                try:
                    score = (_narrowed(metric, held) if lacking else metric).score(self.truth, made).value
                except InputError as error:
                    notes.setdefault((name, run.method), f"{name} does not score {run.method}: {error}")
                    continue
                result = result.scored(name, float(score))
                folder.keep(run.name, result)
            folder.keep(run.name, result)
        results = [found for run in self.runs() if (found := folder.result(run.name)) is not None]
        shown = [r.only(list(self.metrics)) for r in results]
        if not any(r.scores for r in shown):
            raise InputError(f"{list(notes.values())[-1]}; the synthetic records stay in {out}, to be scored otherwise")
        folder.write(shown)
        for note in notes.values():
            noted(note)
        return results

    def _made(self, run: Run, folder: Folder) -> Result:
        """The synthetic records of a run, written; its result, not yet scored."""
        started = time.perf_counter()
        vault = Vault.open(
            self.truth,
            self.schema,
            Budget(run.epsilon, self.delta),
            ledger=":memory:" if self.public_truth else self._book(),
            account=self.account,
            unit=self.unit,  # type: ignore[arg-type]  # the vault says what it may be
            seed=run.seed if self.public_truth else None,
        )
        model = self.methods[run.method].fit(vault, self.public)
        records = write_batches(model.sample(seed=run.seed), folder.synthetic(run.name), model.provenance.to_dict())
        seconds = round(time.perf_counter() - started, 3)
        result = Result(run.method, run.epsilon, self.delta, run.seed, records, seconds, {})
        folder.keep(run.name, result)
        return result

    def described(self) -> dict[str, Any]:
        """What has to be the same for runs to belong to one sweep."""
        return {
            "truth": str(self.truth) if isinstance(self.truth, str | Path) else type(self.truth).__name__,
            "public truth": self.public_truth,
            "public": None if self.public is None else self.public.origin,
            "schema": self.schema.to_dict(),
            "delta": self.delta,
            "methods": {name: repr(method) for name, method in self.methods.items()},
            "metrics": {name: _settings(metric) for name, metric in self.metrics.items()},
        }


def _settings(metric: Metric) -> str:
    """A metric's settings as text, without the schema."""
    return repr({f.name: getattr(metric, f.name) for f in fields(metric) if f.name != "schema"})  # type: ignore[arg-type]


def _narrowed(metric: Any, schema: Schema) -> Metric:
    """The metric for fewer columns."""
    narrowed: Metric = replace(metric, schema=schema)
    return narrowed
