"""Submissions of records, as the second and third sprint took them: checked as they stream past, and read by ε."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.coding import as_number, quote
from sfumato.columns import Floats, Ints
from sfumato.contest.checked import Checked, Fault, Tally
from sfumato.contest.parameters import PERSON, RECORDS_A_PERSON, Parameters
from sfumato.contest.rows import Mask, Rows, numbers, texts
from sfumato.errors import InputError
from sfumato.schema import Schema
from sfumato.table import Table

_MANY = 1 << 22  # (ε, person) pairs that are kept before equal ones are added up


def by_epsilon(submission: Any, schema: Schema, parameters: Parameters) -> dict[float, Table]:
    """The records of each ε, read where they are."""
    table = Table.open(submission, schema)
    if "epsilon" not in table.engine.families:
        raise InputError(f"{table.engine.origin} has no column 'epsilon' that says which run a record is of")
    x = as_number(f"s.{quote('epsilon')}", table.engine.families["epsilon"])
    return {e: table.where(f"{x} = CAST({e!r} AS DOUBLE)") for e in parameters.epsilons}


def check_records(submission: Any, parameters: Parameters) -> Checked:
    """Whether the contest would take a submission of records."""
    tally = Tally()
    rows = Rows.of(
        submission, lambda line, wanted, has: tally.note("values", f"{has} values instead of {wanted}", line)
    )
    tally.unit = rows.unit
    if faults := _columns(rows.names, ("epsilon", *parameters.columns)):
        return Checked(parameters.sprint, rows.origin, {}, tuple(faults))
    looked = _Looked(parameters, tally)
    first = rows.first
    for batch in rows.batches:
        looked.at(dict(zip(rows.names, batch.columns, strict=True)), first)
        first += batch.num_rows
    return Checked(
        parameters.sprint,
        rows.origin,
        looked.sizes,
        (*tally.faults(), *looked.limits()),
        looked.notes,
    )


class _Looked:
    """What is found while the batches of a submission stream past."""

    def __init__(self, parameters: Parameters, tally: Tally):
        self.parameters, self.tally = parameters, tally
        self.sizes = dict.fromkeys(parameters.epsilons, 0)
        self._persons: list[tuple[Ints, Ints]] = []
        self._waiting = 0
        self._cut: dict[str, int] = {}

    def at(self, batch: Mapping[str, Any], first: int) -> None:
        """Look at a batch whose first row has this number."""
        run = self._runs(batch["epsilon"], first)
        for name in self.parameters.columns:
            if name in self.parameters.entries:
                self._column(name, self.parameters.entries[name], batch[name], first)
        if self.parameters.sprint == 3:
            x, _ = numbers(batch[PERSON[3]])
            there = np.isfinite(x) & (np.abs(x) < 2.0**53) & (run >= 0)
            self._count(x[there].astype(np.int64) * len(self.sizes) + run[there])

    def _runs(self, column: Any, first: int) -> Ints:
        """Which run each row belongs to, -1 for none."""
        x, _ = numbers(column)
        run = np.full(len(x), -1, np.int64)
        for i, e in enumerate(self.sizes):
            run[x == e] = i
            self.sizes[e] += int((x == e).sum())
        self.tally.add("epsilon", "an ε that is no run's", run < 0, first, x)
        return run

    def _column(self, name: str, entry: Mapping[str, Any], column: Any, first: int) -> None:
        add = self.tally.add
        values = entry.get("values")
        if isinstance(values, list) and values and isinstance(values[0], str):
            words, known = texts(column), set(values)
            wrong = np.array([w not in known for w in words], bool)
            add("values", f"column '{name}': a value that is not in the schema", wrong, first, words)
            return
        x, bad = numbers(column)
        missing = np.isnan(x) & ~bad
        if isinstance(values, list):
            add("values", f"column '{name}': a value that is not in the schema", ~np.isin(x, values), first, x)
        else:
            self._type(name, str(entry.get("dtype", "")), x, bad, missing, first)
        low, high = entry.get("min"), entry.get("max")
        if low is not None:
            add("min", f"column '{name}': a value below {low}", x < low, first, x)
        if high is not None:
            add("max", f"column '{name}': a value above {high}", x > high, first, x)

    def _type(self, name: str, dtype: str, x: Floats, bad: Mask, missing: Mask, first: int) -> None:
        """A number is one, and is there."""
        add = self.tally.add
        add("dtype", f"column '{name}': no number ({dtype})", bad, first)
        rule = "finite" if "float" in dtype else "dtype"
        add(rule, f"column '{name}': nothing or infinity ({dtype})", missing | np.isinf(x), first)
        if "int" in dtype and (cut := int((np.isfinite(x) & (x != np.floor(x))).sum())):
            self._cut[name] = self._cut.get(name, 0) + cut

    def _count(self, keys: Ints) -> None:
        """Count persons, each a number together with its run; what is kept grows with the persons, not the rows."""
        found, times = np.unique(keys, return_counts=True)
        self._persons.append((found, times))
        self._waiting += len(found)
        if self._waiting > _MANY:
            self._persons = [self._merged()]
            self._waiting = 0

    def _merged(self) -> tuple[Ints, Ints]:
        if not self._persons:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        keys, back = np.unique(np.concatenate([k for k, _ in self._persons]), return_inverse=True)
        times = np.zeros(len(keys), np.int64)
        np.add.at(times, back, np.concatenate([t for _, t in self._persons]))
        return keys, times

    def limits(self) -> list[Fault]:
        """Runs without records, or with too many, and persons with too many."""
        out = []
        for run in self.parameters.runs:
            size = self.sizes[run.epsilon]
            if size == 0:
                out.append(Fault("epsilon", f"no row has ε = {run.epsilon:g}, which is one of the runs"))
            if run.max_records is not None and size > run.max_records:
                out.append(
                    Fault("records", f"ε = {run.epsilon:g} has {size:,} rows, more than {run.max_records:,}", size)
                )
        keys, times = self._merged()
        for i, run in enumerate(self.parameters.runs):
            limit = run.max_records_per_individual
            mine = keys % len(self.sizes) == i
            if limit is None or not (over := mine & (times > limit)).any():
                continue
            worst = int(np.argmax(np.where(mine, times, 0)))
            out.append(
                Fault(
                    "persons",
                    f"more than {limit:,} rows of one {PERSON[3]} at ε = {run.epsilon:g}: {int(over.sum()):,} have, "
                    f"{keys[worst] // len(self.sizes)} has {times[worst]:,}",
                    int(over.sum()),
                )
            )
        return out

    @property
    def notes(self) -> tuple[str, ...]:
        """What the official check lets pass, and a person may not want."""
        notes = [
            f"column '{n}': {k:,} values are no whole numbers; the contest cut them off" for n, k in self._cut.items()
        ]
        loose = [r for r in self.parameters.runs if (r.max_records_per_individual or 0) > RECORDS_A_PERSON[3]]
        if self.parameters.sprint == 3 and loose:
            notes.append(
                f"these parameters allow {loose[0].max_records_per_individual:,} trips a taxi; the contest said 200"
            )
        return tuple(notes)


def _columns(names: tuple[str, ...], wanted: tuple[str, ...]) -> list[Fault]:
    """What is wrong with the columns, which are to be these in this order."""
    if names == wanted:
        return []
    out = []
    if lost := [n for n in wanted if n not in names]:
        out.append(Fault("columns", f"there is no column {_listed(lost)}", len(lost)))
    if extra := [n for i, n in enumerate(names) if n not in wanted or n in names[:i]]:
        out.append(Fault("columns", f"the column {_listed(extra)} does not belong there", len(extra)))
    if not out:
        at = next(i for i, (a, b) in enumerate(zip(names, wanted, strict=True)) if a != b)
        out.append(Fault("columns", f"column {at + 1} is '{names[at]}' and should be '{wanted[at]}'"))
    return out


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"'{n}'" for n in names[:5])
    return shown + (" …" if len(names) > 5 else "")
