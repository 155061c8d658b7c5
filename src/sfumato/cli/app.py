"""The commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.contest import contest_app
from sfumato.cli.output import Output

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_COST, _WRITE = "Privacy", "What to write"
_RELEASE, _PREPARE, _COMPARE = "With private data", "To begin", "To compare"

app = typer.Typer(
    name="sfumato",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they show local variables, which may hold private data
    rich_markup_mode="rich",
    context_settings=_SETTINGS,
    epilog="Begin with [bold]sfumato demo[/], which needs no data; every command says more with [bold]--help[/].",
)


def _group(name: str, text: str, panel: str) -> typer.Typer:
    """A command with commands of its own."""
    made = typer.Typer(no_args_is_help=True, context_settings=_SETTINGS)
    app.add_typer(made, name=name, help=text, rich_help_panel=panel)
    return made


simulate_app = _group("simulate", "Invent a city with people in it: records that are nobody's.", _PREPARE)
schema_app = _group("schema", "Draft and show schemas: what each column may hold.", _PREPARE)
ledger_app = _group("ledger", "See and set what may be spent on a dataset.", _RELEASE)
app.add_typer(
    contest_app,
    name="contest",
    help="The temporal map challenge rerun: score, check and make submissions.",
    rich_help_panel=_COMPARE,
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


def _number(text: str | None, option: str) -> int | None:
    """A whole number as people write it: 1000000, 1_000_000 or 1,000,000."""
    from sfumato.errors import InputError

    if text is None:
        return None
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise InputError(f"{option} is a whole number, not {text!r}") from None


@app.command(rich_help_panel=_PREPARE)
def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder to write into.")] = Path("demo"),
    records: Count = "1_455_000",
    quiet: Quiet = False,
) -> None:
    """See it work: invent a city, release synthetic records of it, compare the two."""
    from sfumato.cli.demo import run_demo

    run_demo(out, _number(records, "--records") or 0, Output(quiet))


# ---------------------------------------------------------------------- simulate


@simulate_app.command("incidents")
def simulate_incidents(
    out: Out,
    records: Count = "1_455_000",
    schema_out: Annotated[Path | None, typer.Option(help="Where to write the schema.")] = None,
    map_out: Annotated[Path | None, typer.Option(help="Where to write the areas, as GeoJSON.")] = None,
    persons: Annotated[str | None, typer.Option(help="How many residents.")] = None,
    drift: Annotated[float, typer.Option(help="0 to 1: how far this year differs from the seed's own.")] = 0.0,
    seed: Seed = 7,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Incidents of a year: 278 areas, 12 months, 174 types, residents with at most 20 each."""
    from sfumato.simulate import incidents

    _simulate(incidents, out, records, schema_out, map_out, persons, drift, seed, Output(quiet, as_json))


@simulate_app.command("taxi")
def simulate_taxi(
    out: Out,
    records: Count = "1_000_000",
    schema_out: Annotated[Path | None, typer.Option(help="Where to write the schema.")] = None,
    map_out: Annotated[Path | None, typer.Option(help="Where to write the areas, as GeoJSON.")] = None,
    persons: Annotated[str | None, typer.Option(help="How many taxi-weeks.")] = None,
    drift: Annotated[float, typer.Option(help="0 to 1: how far this year differs from the seed's own.")] = 0.0,
    seed: Seed = 7,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Taxi trips in the columns of the challenge's third sprint; a person is a taxi-week of at most 200 trips."""
    from sfumato.simulate import taxi

    _simulate(taxi, out, records, schema_out, map_out, persons, drift, seed, Output(quiet, as_json))


def _simulate(
    make: Any,
    out: Path,
    records: str,
    schema_out: Path | None,
    map_out: Path | None,
    persons: str | None,
    drift: float,
    seed: int,
    output: Output,
) -> None:
    import json

    from sfumato.cli.targets import check_apart
    from sfumato.export import check_target
    from sfumato.files import check_writable, write_text

    check_target(out)
    for path in (schema_out, map_out):
        if path is not None:
            check_writable(path)
    check_apart({"--out": out, "--schema-out": schema_out, "--map-out": map_out})
    count = _number(records, "--records")
    with output.working(f"inventing {count:,} records"):
        simulation = make(records=count, persons=_number(persons, "--persons"), drift=drift, seed=seed)
        simulation.write(out)
    wrote = {"data": str(out)}
    if schema_out is not None:
        simulation.schema.save(schema_out)
        wrote["schema"] = str(schema_out)
    if map_out is not None:
        write_text(map_out, json.dumps(simulation.city.geojson(), ensure_ascii=False) + "\n")
        wrote["map"] = str(map_out)
    output.result({"records": count, **wrote}, f"{count:,} invented records: {', '.join(wrote.values())}")


# ---------------------------------------------------------------------- schema, check


@schema_app.command("draft")
def schema_draft(
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="The schema to write.")],
    person: Annotated[str | None, typer.Option(help="The column that says whose record it is.")] = None,
    quiet: Quiet = False,
) -> None:
    """Guess a schema from PUBLIC data; correct it by hand. It reads values and writes them down."""
    from sfumato.cli.targets import check_apart, files_of
    from sfumato.draft import draft
    from sfumato.files import check_writable

    output = Output(quiet)
    output.warn("this reads the values of the data and writes them into the schema: use it on PUBLIC data alone")
    check_writable(out)
    check_apart({"--out": out}, {"the data": files_of(data)})
    made = draft(data, person)
    made.schema.save(out)
    for note in made.notes:
        output.say(f"  {note}")
    output.say(f"{out}: {len(made.schema.names)} columns; read it and correct it before use")


@schema_app.command("show")
def schema_show(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A schema, or a parameters.json.")],
    as_json: Json = False,
) -> None:
    """Print a schema's columns, bins and levels; --json prints it in Sfumato's own form."""
    from sfumato.cli.views import schema_table
    from sfumato.schema import Schema

    loaded = Schema.load(schema)
    Output(as_json=as_json).result(loaded.to_dict(), schema_table(loaded))


@app.command(rich_help_panel=_RELEASE)
def check(data: Data, schema: SchemaFile, quiet: Quiet = False, as_json: Json = False) -> None:
    """The owner's own look at private data: unknown values, missing ids, records per person. PRIVATE output."""
    from sfumato.check import check as look
    from sfumato.check import render
    from sfumato.schema import Schema
    from sfumato.table import Table

    output = Output(quiet, as_json)
    with output.working("checking"), Table.open(data, Schema.load(schema)) as table:
        found = look(table)
    output.result(found.to_dict(), render(found))


# ---------------------------------------------------------------------- synthesize, sample


@app.command(rich_help_panel=_RELEASE)
def synthesize(
    data: Data,
    schema: SchemaFile,
    method: Annotated[str, typer.Option(help="The synthesizer: nmd, uniform.")],
    epsilon: Annotated[
        float, typer.Option(help="The privacy budget ε, above 0; 1 is strong, 10 is weak.", rich_help_panel=_COST)
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The synthetic records: .parquet, .csv or .csv.gz.", rich_help_panel=_WRITE),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="The privacy budget δ; far below 1 / number of persons.", rich_help_panel=_COST)
    ] = 0.0,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger; beside the data unless told.", rich_help_panel=_COST)
    ] = None,
    account: Annotated[str, typer.Option(help="The dataset's name in the ledger.", rich_help_panel=_COST)] = "data",
    model_out: Annotated[
        Path | None, typer.Option(help="Where to keep the model, to sample from it later.", rich_help_panel=_WRITE)
    ] = None,
    records: Annotated[
        str | None,
        typer.Option(help="How many synthetic records; else as many as the model says.", rich_help_panel=_WRITE),
    ] = None,
    bound: Annotated[
        str | None, typer.Option(help="How a person is capped: records:20, weight:150, l2:25.", rich_help_panel=_COST)
    ] = None,
    marginal: Annotated[
        str | None, typer.Option(help="The columns to keep, each at a level: area,hour or area@district,hour.")
    ] = None,
    public: Annotated[
        str | None, typer.Option(help="Data that anyone may see, such as last year's, for methods that learn from it.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; give it as often as needed."),
    ] = None,
    unit: Annotated[
        str, typer.Option(help="person, or record where no column says whose a record is.", rich_help_panel=_COST)
    ] = "person",
    seed: Annotated[int | None, typer.Option(help="Repeatable noise, for tests: NOT PRIVATE.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print plan, bounds, noise and cost; read and spend nothing.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Synthetic records of a private table, with a differential privacy guarantee for every person in it.

    Everything is checked before anything is spent, and what is spent is on record before the first answer.

    Look first with --explain, which reads and spends nothing:

    sfumato synthesize trips.parquet --schema schema.json --method nmd --marginal area,hour --epsilon 1 --explain
    """
    from sfumato.cli.synthesis import Request, run_synthesis

    request = Request(
        data, schema, method, epsilon, delta, out, ledger, account, model_out,
        _number(records, "--records"), bound, marginal, unit, seed, explain, public, tuple(settings or ()),
    )  # fmt: skip
    run_synthesis(request, Output(quiet, as_json))


@app.command(rich_help_panel=_RELEASE)
def sample(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that synthesize kept.")],
    out: Out,
    records: Annotated[str | None, typer.Option(help="How many records; else as many as the model says.")] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat the same sample; costs no privacy.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """More records from a model: free, as often as wanted."""
    from sfumato.cli.synthesis import write_sample
    from sfumato.cli.targets import check_apart
    from sfumato.export import check_target
    from sfumato.models import load_model

    output = Output(quiet, as_json)
    check_target(out)
    check_apart({"--out": out}, {"the model": [model]})
    loaded = load_model(model)
    if not loaded.provenance.private:
        output.warn("this model is NOT PRIVATE: it was made with seeded noise; publish nothing from it")
    written = write_sample(loaded, out, _number(records, "--records"), seed, output)
    output.result({"records": written, "out": str(out)}, f"{out}: {written:,} records from {model}")


# ---------------------------------------------------------------------- score


@app.command(rich_help_panel=_COMPARE)
def score(
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="The true records, as any DATA.")],
    synthetic: Annotated[str, typer.Argument(metavar="SYNTHETIC", help="The synthetic records, as any DATA.")],
    schema: SchemaFile,
    metric: Annotated[str, typer.Option(help="How to compare: mgd, edges, kmarginal, pie, … (docs/metrics).")],
    marginals: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What to compare: a file of marginals, or an example, police or census."),
    ] = None,
    tolerance: Annotated[
        str | None, typer.Option(metavar="COUNT", help="By how many records a bin may differ for free.")
    ] = None,
    jobs: Annotated[str | None, typer.Option(metavar="N", help="How many threads; all cores unless told.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the metric; give it as often as needed."),
    ] = None,
    top: Annotated[int, typer.Option(help="How many of the largest contributions to show.")] = 20,
    json_out: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the score as JSON; - prints it.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """How faithful synthetic records are. PRIVATE output where the truth is private."""
    from sfumato.cli.scoring import Comparison, run_score

    options = {"marginals": marginals, "tolerance": tolerance, "jobs": jobs}
    asked = Comparison(truth, synthetic, schema, metric, tuple(settings or ()), options, top, json_out)
    run_score(asked, Output(quiet, json_out == "-"))


@app.command(rich_help_panel=_COMPARE)
def report(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="[TRUTH] SYNTHETIC",
            help="The true and the synthetic records; with --publishable the synthetic alone.",
        ),
    ],
    schema: SchemaFile,
    out: Annotated[Path, typer.Option("--out", help="The page to write, an HTML file.")],
    area_map: Annotated[
        Path | None, typer.Option("--map", help="The areas as GeoJSON; else the map that the schema names, or tiles.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The property of the map's features that holds the schema's values.")
    ] = None,
    ledger: Annotated[Path | None, typer.Option(help="The ledger that paid for the release.")] = None,
    account: Annotated[str | None, typer.Option(help="The dataset's name in the ledger.")] = None,
    title: Annotated[str | None, typer.Option(help="What stands on top of the page.")] = None,
    marginals: Annotated[
        str | None, typer.Option(metavar="FILE", help="What MGD compares: a file of marginals, or an example's name.")
    ] = None,
    publishable: Annotated[
        bool, typer.Option("--publishable", help="A page without the truth, which may go out with the release.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """A page to look at: maps through time, flows, fidelity, persons, the privacy statement. One HTML file.

    For the owner of the data, PRIVATE: sfumato report truth.parquet synthetic.parquet --schema schema.json --out r.html

    To publish with the release: sfumato report synthetic.parquet --schema schema.json --publishable --out about.html
    """
    from sfumato.cli.reporting import Asked, run_report

    asked = Asked(tuple(tables), schema, out, area_map, key, ledger, account, title, marginals, publishable)
    run_report(asked, Output(quiet, as_json))


# ---------------------------------------------------------------------- ledger

LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="A ledger.")]


@ledger_app.command("show")
def ledger_show(
    ledger: LedgerFile,
    account: Annotated[str | None, typer.Option(help="One dataset; all of them unless told.")] = None,
    as_json: Json = False,
) -> None:
    """What has been spent, on what, when, and what is left: a statement for each dataset."""
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.statement import render

    with Ledger.open(ledger, create=False) as book:
        names = [account] if account is not None else [a.name for a in book.accounts()]
        statements = [book.statement(name) for name in names]
    output = Output(as_json=as_json)
    if not statements:
        output.result([], f"{ledger} is empty: nothing has been spent")
    elif as_json:
        output.result([s.to_dict() for s in statements], "")
    else:
        for statement in statements:
            output.result(None, render(statement))


@ledger_app.command("cap")
def ledger_cap(
    ledger: LedgerFile,
    epsilon: Annotated[float, typer.Option(help="The most ε that may ever be spent on the dataset.")],
    delta: Annotated[float, typer.Option(help="The δ at which it is counted.")] = 0.0,
    account: Annotated[str, typer.Option(help="The dataset's name in the ledger.")] = "data",
    quiet: Quiet = False,
) -> None:
    """Set the most that may ever be spent on a dataset; the change is on record."""
    from sfumato.privacy.book import account_name
    from sfumato.privacy.budget import Budget
    from sfumato.privacy.ledger import Ledger

    cap = Budget(epsilon, delta)
    account_name(account)
    with Ledger.open(ledger) as book:
        book.set_cap(account, cap)
    Output(quiet).say(f"{ledger}: the cap of '{account}' is now ε = {epsilon:g}, δ = {delta:g}")


if __name__ == "__main__":
    sys.exit(app())
