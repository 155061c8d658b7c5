"""The run of `sfumato contest run`: every ε of a sprint, checked first, charged, written, and what it comes to said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.cli.output import Output
from sfumato.cli.settings import parse_settings
from sfumato.cli.synthesis import check_records
from sfumato.cli.targets import check_apart, files_of
from sfumato.cli.views import plan_data
from sfumato.contest.parameters import person_of
from sfumato.contest.running import Entry
from sfumato.errors import InputError
from sfumato.export import check_target
from sfumato.files import check_writable, write_text
from sfumato.privacy.explain import explanation
from sfumato.public import Public
from sfumato.schema import dumps
from sfumato.synthesizers import METHODS


@dataclass(frozen=True)
class Asked:
    """What the command line asked for."""

    sprint: int
    data: Path
    method: str
    out: Path | None
    ledger: Path | None
    account: str
    public: str | None
    records: int | None
    settings: tuple[str, ...]
    seed: int | None
    explain: bool
    json_out: str | None


def run_entry(asked: Asked, output: Output) -> None:
    """Check everything, show what will be asked, run, and say what it comes to."""
    if asked.method not in METHODS:
        raise InputError(f"there is no method '{asked.method}'; take one of {', '.join(METHODS)}")
    make = METHODS[asked.method]
    method = make(**parse_settings(make, asked.settings, f"method '{asked.method}'"))
    entry = Entry.of(asked.sprint, asked.data, method)
    schema = entry.parameters.released
    unit = person_of(schema).name
    for budget, plan in entry.plans:
        output.say(explanation(plan, schema, budget, unit))
    output.say(_composed(entry))
    if asked.explain:
        if output.as_json:
            output.result([plan_data(plan, schema, budget, unit) for budget, plan in entry.plans], "")
        return
    if asked.out is None:
        raise InputError("say where the submission goes: --out FILE, or --explain to see what would be asked")
    _check_targets(asked, asked.out, entry)
    public = None if asked.public is None else Public.open(asked.public, schema)
    if asked.seed is not None:
        output.warn("--seed makes the noise repeatable: this submission is NOT PRIVATE; publish nothing from it")
    with output.working(f"running sprint {asked.sprint}"):
        done = entry.run(asked.out, asked.ledger, asked.account, public, asked.records, asked.seed)
    made = done.to_dict() | {"out": str(asked.out), "method": asked.method}
    if asked.json_out is not None and asked.json_out != "-":
        write_text(asked.json_out, dumps(made) + "\n")
    sizes = sum(done.checked.records.values())
    output.result(
        made, f"{asked.out}: {sizes:,} rows, as the contest takes them\nSpent, and on record: {_composed(entry)}"
    )


def _composed(entry: Entry) -> str:
    """What all runs come to."""
    runs, together = entry.plans, entry.together
    listed = ", ".join(f"{budget.epsilon:g}" for budget, _ in runs)
    if len(runs) == 1:
        return f"one run of ε = {listed}, δ = {together.delta:.3g}."
    return (
        f"{len(runs)} runs, of ε = {listed}. The contest judges each alone; whoever is in the data is in all of them, "
        f"and all come to at most ε = {together.epsilon:g}, δ = {together.delta:.3g}; the ledger counts that."
    )


def _check_targets(asked: Asked, out: Path, entry: Entry) -> None:
    """Raise unless all that is to be written can be, before any budget is spent."""
    check_records(asked.records)
    if asked.seed is not None and asked.seed < 0:
        raise InputError(f"--seed is {asked.seed}; give a whole number from 0 on")
    check_target(out)
    json_file = None if asked.json_out in (None, "-") else Path(str(asked.json_out))
    if json_file is not None:
        check_writable(json_file)
    reads: dict[str, list[str | Path]] = {"the data": [entry.data], "the parameters": [asked.data / "parameters.json"]}
    if asked.ledger is not None:
        reads["the ledger"] = [asked.ledger]
    if asked.public is not None:
        reads["the public data"] = [*files_of(asked.public)]
        if entry.data.resolve() in {Path(f).resolve() for f in files_of(asked.public)}:
            raise InputError(f"--public {asked.public} is the private data itself; give a table that anyone may see")
    check_apart({"--out": out, "--json": json_file}, reads)
