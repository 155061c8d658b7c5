"""The demonstration: an invented city, a release from it, and how the two compare."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.cli.output import Output
from sfumato.columns import Place
from sfumato.errors import InputError
from sfumato.export import write_batches
from sfumato.marginal import Counts, Marginal
from sfumato.privacy.budget import Budget
from sfumato.privacy.explain import explanation, promise
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.vault import Vault
from sfumato.schema import Schema
from sfumato.synthesizers import NMD
from sfumato.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

METHOD = NMD(marginal=("neighborhood", "period", "incident_type@kind"))
BUDGET = Budget(epsilon=1.0)
ACCOUNT = "demo city"
_SHADES = " ▁▂▃▄▅▆▇█"


def run_demo(folder: Path, records: int, output: Output) -> None:
    """Simulate, synthesize, compare, and say what was made and what it cost."""
    started = time.perf_counter()
    _check_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error.strerror}; name another with --out") from None
    schema = _invent(folder, records, output)
    _release(folder, schema, output)
    _compare(folder, schema, output)
    _report(folder, schema, output)
    output.say(f"\nAll of it took {time.perf_counter() - started:.0f} seconds. Yours is next: see README.md.")


def _check_folder(folder: Path) -> None:
    """Raise unless the folder is new, empty, or that of an earlier demonstration: its files are written over."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if (folder / "city.ledger").exists():
        with Ledger.open(folder / "city.ledger", create=False) as ledger:
            if {account.name for account in ledger.accounts()} <= {ACCOUNT}:
                return
    raise InputError(f"the folder {folder} holds files that are not a demonstration's; name a new one with --out")


def _invent(folder: Path, records: int, output: Output) -> Schema:
    from sfumato.simulate import incidents

    output.step("1. A city that does not exist", f"calls for help {records:,} times in a year.")
    with output.working("inventing it"):
        simulation = incidents(records=records)
        simulation.write(folder / "incidents.parquet")
        simulation.city.write(folder / "areas.geojson")
        simulation.schema.save(folder / "schema.json")
    output.say("   incidents.parquet (private, if it were real), schema.json, areas.geojson\n")
    return simulation.schema


def _release(folder: Path, schema: Schema, output: Output) -> None:
    output.step("2. The vault", "is asked for counts of neighbourhood × month × kind of incident, with noise.")
    (folder / "city.ledger").unlink(missing_ok=True)  # the demonstration invents its people anew, each time
    vault = Vault.open(folder / "incidents.parquet", schema, BUDGET, folder / "city.ledger", account=ACCOUNT)
    output.say(explanation(METHOD.plan(schema, BUDGET), schema, BUDGET, vault.unit))
    with output.working("asking the vault"):
        model = METHOD.fit(vault)
    model.save(folder / "model.sfumato")
    written = write_batches(model.sample(), folder / "synthetic.parquet", model.provenance.to_dict())
    with Ledger.open(folder / "city.ledger", create=False) as ledger:
        spent = ledger.accounts()[0].spent
    output.say(f"   synthetic.parquet: {written:,} records of nobody; model.sfumato makes more at no cost")
    output.say(f"   city.ledger: ε = {spent:g} spent. {promise(BUDGET, vault.unit)}\n")


def _compare(folder: Path, schema: Schema, output: Output) -> None:
    """Truth beside synthetic; a look that only invented data may have."""
    output.step("3. How alike?", "Only the data's owner could make this comparison; here nobody is harmed.")
    areas, months = Marginal.of("neighborhood"), Marginal.of("period")
    with (
        Table.open(folder / "incidents.parquet", schema) as truth,
        Table.open(folder / "synthetic.parquet", _seen(schema)) as made,
    ):
        (area, month), (area2, month2) = truth.counts([areas, months]), made.counts([areas, months])
    output.say(_busiest(schema, area, area2))
    for name, counts in (("truth    ", month), ("synthetic", month2)):
        output.say(f"   month by month, {name} {_line(counts.values)}  {int(counts.total):,} records")


def _report(folder: Path, schema: Schema, output: Output) -> None:
    """Both pages: the owner's, and the one that may go out with the release."""
    from sfumato.report import OwnersReport, Report

    output.step("\n4. A page to look at,", "and one that may be published.")
    made = folder / "synthetic.parquet"
    more: dict[str, Any] = {"map": folder / "areas.geojson", "ledger": folder / "city.ledger"}
    with output.working("drawing"):
        OwnersReport(folder / "incidents.parquet", made, schema, **more).save(folder / "report.html")
        Report(made, schema, **more).save(folder / "about.html")
    output.say(f"   {(folder / 'report.html').resolve()}: open it in a browser (with the truth: private)")
    output.say(f"   {(folder / 'about.html').resolve()}: made of the release alone")


def _seen(schema: Schema) -> Schema:
    """The schema of the synthetic table, which holds kinds of incident where the truth has types."""
    return schema.select(["neighborhood", "period"])


def _busiest(schema: Schema, truth: Counts, synthetic: Counts) -> RenderableType:
    from rich.table import Table as Grid

    column = schema["neighborhood"]
    assert isinstance(column, Place)
    grid = Grid("busiest neighbourhoods", "truth", "synthetic", "off by", title_justify="left")
    for code in np.argsort(-truth.values)[:6]:
        a, b = int(truth.values[code]), int(synthetic.values[code])
        grid.add_row(column.title(int(code)), f"{a:,}", f"{b:,}", f"{(b - a) / a:+.1%}")
    return grid


def _line(values: np.ndarray) -> str:
    """A row of blocks as high as the values."""
    heights = np.rint(values / values.max() * (len(_SHADES) - 1)).astype(int)
    return "".join(_SHADES[h] for h in heights)
