"""The root of the command line: the groups of commands, and the options that several of them share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.contest import contest_app

SETTINGS = {"help_option_names": ["-h", "--help"]}
COST, WRITE = "Privacy", "What to write"
RELEASE, PREPARE, COMPARE = "With private data", "To begin", "To compare"

app = typer.Typer(
    name="sfumato",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they show local variables, which may hold private data
    rich_markup_mode="rich",
    context_settings=SETTINGS,
    epilog="Begin with [bold]sfumato demo[/], which needs no data; every command says more with [bold]--help[/].",
)


def _group(name: str, text: str, panel: str) -> typer.Typer:
    """A command with commands of its own."""
    made = typer.Typer(no_args_is_help=True, context_settings=SETTINGS)
    app.add_typer(made, name=name, help=text, rich_help_panel=panel)
    return made


simulate_app = _group("simulate", "Invent a city with people in it: records that are nobody's.", PREPARE)
schema_app = _group("schema", "Draft and show schemas: what each column may hold.", PREPARE)
archetypes_app = _group("archetypes", "Learn kinds of persons from public data, and look at them.", PREPARE)
ledger_app = _group("ledger", "See and set what may be spent on a dataset.", RELEASE)
app.add_typer(
    contest_app,
    name="contest",
    help="The temporal map challenge rerun: score, check and make submissions.",
    rich_help_panel=COMPARE,
)

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="CSV, Parquet, a quoted pattern such as 'trips/*.parquet', or file.duckdb::table."
    ),
]
SchemaFile = Annotated[Path, typer.Option("--schema", help="The schema, or a parameters.json of the challenge.")]
Out = Annotated[Path, typer.Option("--out", help="The file to write: .parquet, .csv or .csv.gz.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Seed = Annotated[int, typer.Option("--seed", help="Repeat the same invention.")]
Count = Annotated[str, typer.Option("--records", help="How many records; 1_000_000 is fine.")]


def _version(wanted: bool) -> None:
    if wanted:
        from sfumato import __version__

        print(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Private records of who was where, when, turned into synthetic records that can be published."""


def number(text: str | None, option: str) -> int | None:
    """A whole number as people write it: 1000000, 1_000_000 or 1,000,000."""
    from sfumato.errors import InputError

    if text is None:
        return None
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise InputError(f"{option} is a whole number, not {text!r}") from None
