"""What one begins with: the demonstration, an invented city, a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.output import Output
from sfumato.cli.root import (
    PREPARE,
    Count,
    Data,
    Json,
    Out,
    Quiet,
    SchemaFile,
    Seed,
    app,
    archetypes_app,
    number,
    schema_app,
    simulate_app,
)


@app.command(rich_help_panel=PREPARE)
def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder to write into.")] = Path("demo"),
    records: Count = "1_455_000",
    quiet: Quiet = False,
) -> None:
    """See it work: invent a city, release synthetic records of it, compare the two."""
    from sfumato.cli.demo import run_demo

    run_demo(out, number(records, "--records") or 0, Output(quiet))


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
    count = number(records, "--records")
    with output.working(f"inventing {count:,} records"):
        simulation = make(records=count, persons=number(persons, "--persons"), drift=drift, seed=seed)
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


# ---------------------------------------------------------------------- archetypes


@archetypes_app.command("learn")
def archetypes_learn(
    data: Data,
    schema: SchemaFile,
    out: Annotated[Path, typer.Option("--out", help="The file of archetypes to write, such as taxis.sfumato.")],
    k: Annotated[int, typer.Option("--k", help="How many archetypes.")] = 10,
    cluster: Annotated[str, typer.Option(help="persons, or records whose commonest kind is the person's.")] = "persons",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another setting of the method taxitrip, such as columns."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Kinds of persons in a PUBLIC table, for `synthesize --method taxitrip --public FILE`."""
    from sfumato.cli.archetypes import run_learning

    given = [f"archetypes={k}", f"cluster={cluster}", *(settings or ())]
    run_learning(data, schema, out, given, Output(quiet, as_json))


@archetypes_app.command("show")
def archetypes_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archetypes, or a model that taxitrip kept.")],
    top: Annotated[int, typer.Option(help="How many of the commonest bins of each column.")] = 3,
    as_json: Json = False,
) -> None:
    """How many persons of each kind, how many records they have, when, where, and how they pay."""
    from sfumato.cli.archetypes import run_showing

    run_showing(file, top, Output(as_json=as_json))
