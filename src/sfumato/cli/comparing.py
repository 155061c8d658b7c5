"""How synthetic records are looked at: scores, the report, the sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import Output
from sfumato.cli.root import COMPARE, COST, Json, Quiet, SchemaFile, app


@app.command(rich_help_panel=COMPARE)
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


@app.command(rich_help_panel=COMPARE)
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


@app.command(rich_help_panel=COMPARE)
def sweep(
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="The true records, as any DATA.")],
    schema: SchemaFile,
    methods: Annotated[str, typer.Option(help="The synthesizers, with commas between: nmd,dpsyn.")],
    epsilons: Annotated[str, typer.Option(help="The budgets ε, with commas between: 0.1,1,10.")],
    metrics: Annotated[str, typer.Option(help="How to compare, with commas between.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write; a sweep in it goes on where it stopped.")],
    delta: Annotated[float, typer.Option(help="The δ of every run.", rich_help_panel=COST)] = 0.0,
    seeds: Annotated[int, typer.Option(help="How often each method runs at each ε.")] = 1,
    public: Annotated[
        str | None, typer.Option(help="Data that anyone may see, for methods that learn from it.")
    ] = None,
    public_truth: Annotated[
        bool,
        typer.Option(
            "--public-truth", help="The truth is public or simulated: nothing is charged.", rich_help_panel=COST
        ),
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger; beside the data unless told.", rich_help_panel=COST)
    ] = None,
    account: Annotated[str, typer.Option(help="The dataset's name in the ledger.", rich_help_panel=COST)] = "data",
    unit: Annotated[str, typer.Option(help="person, or record.", rich_help_panel=COST)] = "person",
    bound: Annotated[str | None, typer.Option(help="For every method that takes one.", rich_help_panel=COST)] = None,
    marginal: Annotated[str | None, typer.Option(help="The columns, for every method that takes them.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="OWNER.NAME=VALUE", help="A setting of a method or a metric: dpsyn.iterations=50."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Spend what it costs without asking.", rich_help_panel=COST)
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Every method at every ε, scored: a tidy table, a Markdown table and a picture.

    For public or simulated data (--public-truth). On private data it says what all runs cost together and asks; each
    is charged to the ledger, and the scores, which no ledger counts, are PRIVATE.
    """
    from sfumato.cli.sweeping import Asked, run_sweep

    options = {"bound": bound, "marginal": marginal}
    asked = Asked(
        truth, schema, methods, epsilons, metrics, out, delta, seeds, public, public_truth, ledger, account, unit,
        options, tuple(settings or ()), yes,
    )  # fmt: skip
    run_sweep(asked, Output(quiet, as_json))
