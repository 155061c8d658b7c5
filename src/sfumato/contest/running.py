"""A sprint run: its data folder in, a submission with every ε out.

Each ε is a release of its own, with its own vault and budget, as the contest judged them. The people in the data do not
care how they are judged: all runs together compose, and the ledger says to what. Where the account is new its cap is
set to the sum of all ε and all δ, no more; where it has a cap already that has to hold all runs, or nothing is asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.columns import Ints
from sfumato.contest import sprint1
from sfumato.contest.checked import Checked
from sfumato.contest.parameters import PERSON, RECORDS_A_PERSON, Parameters
from sfumato.contest.records import check_records
from sfumato.errors import BudgetError, InputError, RunError
from sfumato.export import check_target, write_batches
from sfumato.models import HistogramModel, Model
from sfumato.privacy.book import account_name
from sfumato.privacy.budget import Budget, Cost, compose
from sfumato.privacy.ledger import DEFAULT_ACCOUNT, Ledger, rounded_up
from sfumato.privacy.plan import Plan
from sfumato.privacy.vault import Vault
from sfumato.schema import Run
from sfumato.synthesizers import Synthesizer
from sfumato.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

DATA = {1: ("incidents", "ground_truth"), 2: ("ground_truth",), 3: ("ground_truth",)}
ENDINGS = (".csv", ".csv.gz", ".parquet")
_FIRST_TAXI = 1_000_000
_TRIPS = (55, 25)  # mean and spread of the trips of a taxi, in the contest's own baseline


@dataclass(frozen=True)
class Done:
    """What a run made: the check of the file, the provenance of every release, and what they come to together."""

    checked: Checked
    releases: tuple[Mapping[str, Any], ...]
    together: Budget

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        together = {"epsilon": self.together.epsilon, "delta": self.together.delta}
        return {"releases": list(self.releases), "together": together, "check": self.checked.to_dict()}


@dataclass(frozen=True)
class Entry:
    """A method entered for a sprint, over the contest's data folder."""

    parameters: Parameters
    data: Path
    method: Synthesizer

    @classmethod
    def of(cls, sprint: int, folder: str | os.PathLike[str], method: Synthesizer) -> Entry:
        """The entry over a folder that holds `parameters.json` and the sprint's data."""
        place = Path(folder)
        if not place.is_dir():
            raise InputError(f"{place} is no folder; give the one with parameters.json and {DATA[sprint][0]}.csv")
        parameters = Parameters.load(place / "parameters.json", sprint)
        files = [place / f"{name}{ending}" for name in DATA[sprint] for ending in ENDINGS]
        data = next((file for file in files if file.is_file()), None)
        if data is None:
            raise InputError(f"{place} has no {' or '.join(f'{n}.csv' for n in DATA[sprint])} (or .csv.gz, .parquet)")
        entry = cls(parameters, data, method)
        entry.refuse_few_columns()
        return entry

    def refuse_few_columns(self) -> None:
        """Raise where the method is told to model only some of the columns that a submission needs."""
        some = getattr(self.method, "marginal", None)
        if some is None:
            return
        named = {str(axis).partition("@")[0] for axis in some}
        lost = [c for c in self.parameters.released.names if c not in named]
        if lost and self.parameters.sprint != 1:
            raise InputError(
                f"the method makes {', '.join(some)} alone, but sprint {self.parameters.sprint} needs "
                f"{', '.join(lost)} as well; take a method that models every column"
            )
        if lost or any("@" in str(axis) for axis in some):
            raise InputError(f"sprint 1 needs {', '.join(sprint1.COLUMNS)}, each at its finest level")

    @cached_property
    def plans(self) -> tuple[tuple[Budget, Plan], ...]:
        """The budget and the plan of every run."""
        schema = self.parameters.released
        out = []
        for run in self.parameters.runs:
            budget = Budget(run.epsilon, run.delta)
            try:
                plan = self.method.plan(schema, budget)
                plan.check(schema)
            except InputError as error:
                raise InputError(
                    f"the method cannot make a submission to sprint {self.parameters.sprint}: {error}"
                ) from None
            out.append((budget, plan))
        return tuple(out)

    @property
    def together(self) -> Budget:
        """What all runs come to: the sum of all ε and all δ always holds."""
        return Budget(sum(b.epsilon for b, _ in self.plans), min(sum(b.delta for b, _ in self.plans), 1 - 1e-9))

    def run(
        self,
        out: str | os.PathLike[str],
        ledger: str | os.PathLike[str] | Ledger | None = None,
        account: str = DEFAULT_ACCOUNT,
        public: Any = None,
        records: int | None = None,
        seed: int | None = None,
    ) -> Done:
        """Ask for every ε, write the submission, and check it as the contest would."""
        check_target(out)
        schema = self.parameters.released
        costs = [p.cost for budget, plan in self.plans for p in plan.priced(budget)]
        Table.open(self.data, schema).close()  # raises where a column is not there, before a ledger is made
        own = self.data.parent / f"{self.data.name.partition('.')[0]}.ledger"
        book = ledger if isinstance(ledger, Ledger) else Ledger(own if ledger is None else ledger)
        vaults = [
            Vault.open(self.data, schema, budget, book, account=account, seed=None if seed is None else seed + i)
            for i, (budget, _) in enumerate(self.plans)
        ]
        self._reserve(book, account_name(account), costs)
        models = [self.method.fit(vault, public) for vault in vaults]
        releases = tuple(model.provenance.to_dict() for model in models)
        together = {"epsilon": self.together.epsilon, "delta": self.together.delta}
        write_batches(self._written(models, records, seed), out, {"runs": list(releases), "together": together})
        checked = (sprint1.check if self.parameters.sprint == 1 else check_records)(out, self.parameters)
        if not checked.ok:
            raise RunError(f"{out} was written, but the contest would not take it: {checked.faults[0]}")
        return Done(checked, releases, self.together)

    def _reserve(self, book: Ledger, account: str, costs: Sequence[Cost]) -> None:
        """Set the cap of a new account to what all runs come to; raise where an old one's cannot hold them all."""
        known = {a.name: a for a in book.accounts()}
        if account not in known:
            book.set_cap(account, self.together)
            return
        cap = known[account].cap
        spent = [charge.cost for release in book.releases(account) for charge in release.charges]
        if (total := compose([*spent, *costs], cap.delta)) > cap.epsilon * (1 + 1e-9):
            raise BudgetError(
                f"the {len(self.plans)} runs come to ε = {rounded_up(self.together.epsilon)}, with what account "
                f"{account!r} has spent to ε = {rounded_up(total)} at δ = {cap.delta:g}, above its cap of "
                f"ε = {cap.epsilon:g}; if its people may lose that much, raise it with `sfumato ledger cap {book.path} "
                f"--account {account} --epsilon {rounded_up(total)} --delta {max(cap.delta, self.together.delta)!r}`"
            )

    def _written(self, models: Sequence[Model], records: int | None, seed: int | None) -> Iterator[pa.RecordBatch]:
        """The batches of the submission."""
        if self.parameters.sprint == 1:
            epsilons = self.parameters.epsilons
            counts = {e: counts_of(m, self.parameters, seed) for e, m in zip(epsilons, models, strict=True)}
            yield from sprint1.table_of(counts, self.parameters).to_batches()
            return
        for run, model in zip(self.parameters.runs, models, strict=True):
            yield from _rows(model, run, self.parameters, records, seed)


def counts_of(model: Model, parameters: Parameters, seed: int | None = None) -> Ints:
    """What a model of the first sprint counts: those of its histogram, or of its records."""
    if isinstance(model, HistogramModel):
        axes = list(model.marginal.bound_axes(model.schema))
        if {c.name for c, level in axes if level == c.depth} >= set(sprint1.COLUMNS):
            counts: Ints = model.to_counts().project(*sprint1.COLUMNS).values
            return counts
    import pyarrow as pa

    tables = (Table.open(pa.Table.from_batches([batch]), parameters.schema) for batch in model.sample(seed=seed))
    total: Ints = np.sum([sprint1.true_counts(table, parameters) for table in tables], axis=0)
    return total


def _rows(
    model: Model, run: Run, parameters: Parameters, records: int | None, seed: int | None
) -> Iterator[pa.RecordBatch]:
    """The records of one ε in the submission's columns, no more than the contest takes."""
    import pyarrow as pa

    person = PERSON[parameters.sprint]
    ids = _Ids(parameters.sprint, np.random.default_rng(seed))
    left = run.max_records
    for batch in model.sample(records, seed):
        if left is not None:
            batch = batch.slice(0, left)
            left -= batch.num_rows
        there = dict(zip(batch.schema.names, batch.columns, strict=True))
        if lost := [c for c in parameters.columns if c not in there and c != person]:
            raise RunError(f"the model makes no {', '.join(lost)}, which sprint {parameters.sprint} needs")
        if person not in there:
            there[person] = pa.array(ids.take(batch.num_rows))
        columns = {"epsilon": pa.array(np.full(batch.num_rows, run.epsilon))}
        yield pa.RecordBatch.from_pydict(columns | {c: there[c] for c in parameters.columns})
        if left == 0:
            return


class _Ids:
    """Made-up persons for records that come without: none has more records than the contest allows.

    In the third sprint a taxi gets about 55 trips one after the other, as in the contest's own baseline; in the second
    each record is a person of its own.
    """

    def __init__(self, sprint: int, rng: np.random.Generator):
        self._sprint, self._rng = sprint, rng
        self._next = _FIRST_TAXI if sprint == 3 else 0
        self._waiting = np.zeros(0, np.int64)

    def take(self, count: int) -> Ints:
        """The persons of the next records."""
        while len(self._waiting) < count:
            self._waiting = np.concatenate([self._waiting, self._more()])
        out, self._waiting = self._waiting[:count], self._waiting[count:]
        return out

    def _more(self) -> Ints:
        people = 1 << 12
        sizes = np.ones(people, np.int64)
        if self._sprint == 3:
            sizes = np.clip(self._rng.normal(*_TRIPS, people).astype(np.int64), 1, RECORDS_A_PERSON[3])
        first, self._next = self._next, self._next + people
        return np.repeat(np.arange(first, first + people), sizes)
