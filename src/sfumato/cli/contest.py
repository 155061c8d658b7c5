"""`sfumato contest`: a sprint's submissions scored, checked and made."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.output import Output

if TYPE_CHECKING:
    from sfumato.contest.parameters import Parameters


class Sprint(StrEnum):
    """The three sprints."""

    ONE, TWO, THREE = "sprint1", "sprint2", "sprint3"


class Of(StrEnum):
    """What a subsample is of."""

    RECORDS, PERSONS = "records", "persons"


contest_app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})

Which = Annotated[Sprint, typer.Argument(metavar="SPRINT", help="sprint1, sprint2 or sprint3.", show_default=False)]
Truth = Annotated[
    str, typer.Option("--truth", help="The true records: incidents.csv or ground_truth.csv, as any DATA.")
]
Submitted = Annotated[Path, typer.Option("--submission", help="The submission: .csv, .csv.gz or .parquet.")]
ParametersFile = Annotated[Path, typer.Option("--parameters", help="The sprint's parameters.json.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")]
JsonOut = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write it as JSON; - prints it.")]
Top = Annotated[int, typer.Option(help="How many of the worst places to show.")]


def _number(sprint: Sprint) -> int:
    return int(sprint.value[-1])


def _module(sprint: Sprint) -> Any:
    from importlib import import_module

    return import_module(f"sfumato.contest.{sprint.value}")


def _parameters(sprint: Sprint, path: Path) -> Parameters:
    from sfumato.contest.parameters import Parameters

    return Parameters.load(path, _number(sprint))


def _tell(found: Any, what: Any, json_out: str | None, output: Output) -> None:
    """Print a result and write its JSON where it was asked for."""
    from sfumato.files import write_text
    from sfumato.schema import dumps

    if json_out is not None and json_out != "-":
        write_text(json_out, dumps(found) + "\n")
    output.result(found, what)


def _check_json(json_out: str | None, reads: dict[str, list[Any]]) -> None:
    from sfumato.cli.targets import check_apart
    from sfumato.files import check_writable

    if json_out is not None and json_out != "-":
        check_writable(json_out)
        check_apart({"--json": Path(json_out)}, reads)


@contest_app.command("score")
def contest_score(
    sprint: Which,
    truth: Truth,
    submission: Submitted,
    parameters: ParametersFile,
    official_bug: Annotated[
        bool, typer.Option("--official-bug", help="Sprint 3: repeat what the published scorer lost in H.")
    ] = False,
    top: Top = 0,
    json_out: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """The score that the contest would have given. PRIVATE output where the truth is private."""
    from sfumato.cli.targets import files_of
    from sfumato.errors import InputError

    output = Output(quiet, json_out == "-")
    if top < 0:
        raise InputError(f"--top is {top}; give a number from 0 on")
    if official_bug and sprint is not Sprint.THREE:
        raise InputError("--official-bug is about sprint 3, whose scorer had one; leave it out")
    given = _parameters(sprint, parameters)
    reads: dict[str, list[Any]] = {
        "the truth": files_of(truth),
        "the submission": [submission],
        "the parameters": [parameters],
    }
    _check_json(json_out, reads)
    more = {"official_bug": True} if official_bug else {}
    with output.working(f"scoring {submission}"):
        score = _module(sprint).score(truth, submission, given, **more)
    _tell(score.to_dict(), score.render(top), json_out, output)
    output.say("Compared with the truth: where that is private, so is all of this.")


@contest_app.command("check")
def contest_check(
    sprint: Which,
    submission: Submitted,
    parameters: ParametersFile,
    json_out: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Whether the contest would take a submission: which rules it breaks, how often and where. Exit code 2 if not."""
    output = Output(quiet, json_out == "-")
    given = _parameters(sprint, parameters)
    reads: dict[str, list[Any]] = {"the submission": [submission], "the parameters": [parameters]}
    _check_json(json_out, reads)
    with output.working(f"checking {submission}"):
        checked = _module(sprint).check(submission, given)
    _tell(checked.to_dict(), checked.render(), json_out, output)
    if not checked.ok:
        raise typer.Exit(2)


@contest_app.command("run")
def contest_run(
    sprint: Which,
    data: Annotated[Path, typer.Option(help="The contest's data folder: parameters.json and the sprint's records.")],
    method: Annotated[str, typer.Option(help="The synthesizer, as in `sfumato synthesize`.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The submission to write: .csv, .csv.gz or .parquet.", show_default=False),
    ] = None,
    ledger: Annotated[Path | None, typer.Option("--ledger", help="The ledger; beside the data unless told.")] = None,
    account: Annotated[str, typer.Option(help="The dataset's name in the ledger.")] = "data",
    public: Annotated[str | None, typer.Option(help="Data that anyone may see, such as last year's.")] = None,
    records: Annotated[int | None, typer.Option(help="Records for every ε; else as many as the model says.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; give it as often as needed."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Repeatable noise, for tests: NOT PRIVATE.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print what would be asked; read and spend nothing.")
    ] = False,
    json_out: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """A submission with every ε of parameters.json, from the contest's data folder. What it spends is on the ledger."""
    from sfumato.cli.entering import Asked, run_entry

    asked = Asked(
        _number(sprint),
        data,
        method,
        out,
        ledger,
        account,
        public,
        records,
        tuple(settings or ()),
        seed,
        explain,
        json_out,
    )
    run_entry(asked, Output(quiet, json_out == "-"))


@contest_app.command("reference")
def contest_reference(
    sprint: Which,
    truth: Truth,
    parameters: ParametersFile,
    share: Annotated[float, typer.Option(help="The part of the truth, up to 1 for all of it.")],
    of: Annotated[Of, typer.Option(help="What is sampled: records or persons.")] = Of.RECORDS,
    seed: Annotated[int, typer.Option(help="Take another part.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Write the part too. NOT PRIVATE: real records.")] = None,
    top: Top = 0,
    json_out: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """The score of a part of the truth itself, to read other scores by. NOT PRIVATE: it copies real records."""
    from sfumato.cli.targets import check_apart, files_of
    from sfumato.contest import references
    from sfumato.export import check_target

    output = Output(quiet, json_out == "-")
    given = _parameters(sprint, parameters)
    reads: dict[str, list[Any]] = {"the truth": files_of(truth), "the parameters": [parameters]}
    _check_json(json_out, reads)
    if out is not None:
        check_target(out)
        check_apart({"--out": out, "--json": None if json_out in (None, "-") else Path(str(json_out))}, reads)
    output.warn(references.WARNING)
    with output.working("scoring a part of the truth"):
        score = references.score(truth, given, _number(sprint), share, of.value, seed)
    about = references.about(share, of.value, seed)
    if out is not None:
        part = references.subsample(truth, given.released, share, of.value, seed)
        references.write(part, out, about)
    _tell(about | score.to_dict(), score.render(top), json_out, output)
    left_out = "; the rule on differing totals is left out, which no part could meet" if sprint is Sprint.TWO else ""
    output.say(f"{share:g} of the {of.value}, seed {seed}{left_out}. {references.WARNING}.")
