"""`sfumato archetypes`: learn kinds of persons from a public table, and look at them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.cli.output import Output
from sfumato.cli.settings import parse_settings
from sfumato.cli.targets import check_apart, files_of
from sfumato.columns import Binned, Category, Ints
from sfumato.errors import InputError, one_line
from sfumato.files import check_writable
from sfumato.models import Archetypes, load_model
from sfumato.schema import Schema
from sfumato.synthesizers import TaxiTrip

if TYPE_CHECKING:
    from rich.console import RenderableType

TOP = 3  # bins of a column that are shown


def run_learning(public: str, schema: Path, out: Path, settings: Sequence[str], output: Output) -> None:
    """Learn archetypes with the settings of the method that will use them, and write their file."""
    loaded = Schema.load(schema)
    given = parse_settings(TaxiTrip, settings, "archetypes")
    if odd := sorted(set(given) & {"split", "noise", "least"}):
        raise InputError(f"archetypes are public and need no '{odd[0]}'; give it to sfumato synthesize")
    method = TaxiTrip(**given)
    check_writable(out)
    check_apart({"--out": out}, {"the public data": files_of(public), "the schema": [schema]})
    output.warn("what is learned is published as it is: use it on PUBLIC data alone")
    started = time.perf_counter()
    with output.working("learning archetypes"):
        learned = method.learn(public, loaded)
        learned.save(out)
    made = {"archetypes": len(learned), "out": str(out), "seconds": round(time.perf_counter() - started, 2)}
    output.say(archetypes_table(learned, TOP))
    output.result(made, f"{out}: {len(learned)} archetypes; sfumato synthesize --method taxitrip --public {out}")


def run_showing(path: Path, top: int, output: Output) -> None:
    """Show the archetypes in a file."""
    model = load_model(path)
    if not isinstance(model, Archetypes):
        raise InputError(f"{path} holds no archetypes; sfumato archetypes learn writes such a file")
    if top < 1:
        raise InputError(f"--top is {top}; give a number of bins from 1 on")
    output.result(archetypes_data(model, top), archetypes_table(model, top))


def archetypes_data(model: Archetypes, top: int) -> dict[str, Any]:
    """What is shown, for a program."""
    public = bool(model.provenance.epsilon == 0)
    return {
        "columns": list(model.columns),
        "attribute": model.attribute,
        "cluster": model.cluster,
        "public": public,
        "nearness": dict(zip(model.columns, model.embedding.how, strict=True)),
        "completion": [str(drawn.step) for drawn in model.completion.drawn],
        "archetypes": list(_kinds(model, top)),
    }


def _kinds(model: Archetypes, top: int) -> Iterator[dict[str, Any]]:
    kinds, persons, shares = model.kinds(), model.people.totals(), model.shares()
    shape = model.marginal.shape(model.schema)
    for k in range(len(model)):
        cells, counts = model.cells.profile(k)
        table = np.zeros(int(np.prod(shape)), np.int64)
        table[cells] = counts
        sides = [
            table.reshape(shape).sum(axis=tuple(j for j in range(len(shape)) if j != i)) for i in range(len(shape))
        ]
        profiles = dict(zip(model.columns, sides, strict=True)) | {n: p[k] for n, p in model.profiles.items()}
        sizes = model.sizes[kinds == k]
        spread = np.quantile(sizes, (0.05, 0.5, 0.95)).astype(int).tolist() if len(sizes) else [0, 0, 0]
        yield {
            "archetype": k,
            "persons": int(persons[k]),
            "share": float(shares[k]),
            "records": dict(zip(("5 %", "median", "95 %"), spread, strict=True)),
            "most": {name: _top(model.schema[name], profile, top) for name, profile in profiles.items()},
        }


def _top(column: Binned, counts: Ints, top: int) -> dict[str, float]:
    """The commonest bins with their shares."""
    best = [int(i) for i in np.argsort(-counts, kind="stable")[:top] if counts[i]]
    return {_title(column, i): round(float(counts[i] / counts.sum()), 4) for i in best}


def _title(column: Binned, code: int) -> str:
    return column.title(code) if isinstance(column, Category) else str(column.bins[code])


def archetypes_table(model: Archetypes, top: int) -> RenderableType:
    """What rich prints: a line for each archetype, and how they came about."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    data = archetypes_data(model, top)
    names = [*model.columns, *(n for n in model.profiles if n == "payment_type" or len(model.profiles) == 1)]
    grid = Table(title=f"{len(model)} archetypes by {model.cluster}", title_justify="left", header_style="bold")
    for heading in ("", "persons", "drawn", "records each", *names):
        grid.add_column(heading, justify="right" if heading in ("", "persons", "drawn") else "left", overflow="fold")
    for kind in data["archetypes"]:
        low, middle, high = kind["records"].values()
        most = [", ".join(f"{title} {share:.0%}" for title, share in kind["most"][name].items()) for name in names]
        cells = (
            str(kind["archetype"]),
            f"{kind['persons']:,}",
            f"{kind['share']:.1%}",
            f"{middle} ({low}–{high})",
            *most,
        )
        grid.add_row(*(Text(one_line(cell)) for cell in cells))
    made = model.provenance
    source = "public data alone" if data["public"] else f"noisy counts of release {made.release}, ε = {made.epsilon:g}"
    lines = [
        f"Shares that are drawn: from {source}. Public persons: {len(model.sizes):,}.",
        *(f"Near in {name}: {how}." for name, how in data["nearness"].items()),
        f"Filled in: {'; '.join(data['completion'])}." if data["completion"] else "Nothing is filled in.",
    ]
    return Group(grid, *(Text(line, style="dim") for line in lines))
