"""What one does with private data: the owner's look, synthetic records, the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import Output
from sfumato.cli.root import COST, RELEASE, WRITE, Data, Json, Out, Quiet, SchemaFile, app, ledger_app, number


@app.command(rich_help_panel=RELEASE)
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


@app.command(rich_help_panel=RELEASE)
def synthesize(
    data: Data,
    schema: SchemaFile,
    method: Annotated[
        str, typer.Option(help="The synthesizer: adagrid, dpsyn, nmd, taxitrip, uniform (docs/methods).")
    ],
    epsilon: Annotated[
        float, typer.Option(help="The privacy budget ε, above 0; 1 is strong, 10 is weak.", rich_help_panel=COST)
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The synthetic records: .parquet, .csv or .csv.gz.", rich_help_panel=WRITE),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="The privacy budget δ; far below 1 / number of persons.", rich_help_panel=COST)
    ] = 0.0,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger; beside the data unless told.", rich_help_panel=COST)
    ] = None,
    account: Annotated[str, typer.Option(help="The dataset's name in the ledger.", rich_help_panel=COST)] = "data",
    model_out: Annotated[
        Path | None, typer.Option(help="Where to keep the model, to sample from it later.", rich_help_panel=WRITE)
    ] = None,
    records: Annotated[
        str | None,
        typer.Option(help="How many synthetic records; else as many as the model says.", rich_help_panel=WRITE),
    ] = None,
    bound: Annotated[
        str | None, typer.Option(help="How a person is capped: records:20, weight:150, l2:25.", rich_help_panel=COST)
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
        str, typer.Option(help="person, or record where no column says whose a record is.", rich_help_panel=COST)
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
        number(records, "--records"), bound, marginal, unit, seed, explain, public, tuple(settings or ()),
    )  # fmt: skip
    run_synthesis(request, Output(quiet, as_json))


@app.command(rich_help_panel=RELEASE)
def sample(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that synthesize kept.")],
    out: Out,
    records: Annotated[str | None, typer.Option(help="How many records; else as many as the model says.")] = None,
    where: Annotated[
        str | None, typer.Option(help="Only records that meet a condition: 'area = 8 and shift >= 12'.")
    ] = None,
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
    if where is not None:
        loaded = loaded.given(where)
    if not loaded.provenance.private:
        output.warn("this model is NOT PRIVATE: it was made with seeded noise; publish nothing from it")
    written = write_sample(loaded, out, number(records, "--records"), seed, output)
    output.result({"records": written, "out": str(out)}, f"{out}: {written:,} records from {model}")


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
