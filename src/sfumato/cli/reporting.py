"""The run of `sfumato report`: the owner's page, or the one that may be published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.cli.output import Output
from sfumato.cli.targets import check_apart, files_of
from sfumato.errors import InputError
from sfumato.files import check_writable
from sfumato.report import OwnersReport, Report
from sfumato.schema import Schema


@dataclass(frozen=True)
class Asked:
    """What the command line asked for."""

    tables: tuple[str, ...]
    schema: Path
    out: Path
    map: Path | None
    key: str | None
    ledger: Path | None
    account: str | None
    title: str | None
    marginals: str | None
    publishable: bool


def run_report(asked: Asked, output: Output) -> None:
    """Check everything, write the page, say what it is and who may see it."""
    _check(asked)
    schema = Schema.load(asked.schema)
    with output.working("reading and drawing"):
        made = _made(asked, schema)
        made.save(asked.out)
    size = asked.out.stat().st_size
    who = "may be published" if asked.publishable else "PRIVATE, for the owner of the data alone"
    done = {"out": str(asked.out), "bytes": size, "publishable": asked.publishable}
    output.result(done, f"{asked.out}: {size / 1e3:,.0f} kB, {who}")


def _made(asked: Asked, schema: Schema) -> Report | OwnersReport:
    more: dict[str, Any] = {
        "map": asked.map,
        "key": asked.key,
        "ledger": asked.ledger,
        "account": asked.account,
        "title": asked.title,
    }
    if asked.publishable:
        return Report(asked.tables[0], schema, **more)
    truth, synthetic = asked.tables
    return OwnersReport(truth, synthetic, schema, marginals=asked.marginals, **more)


def _check(asked: Asked) -> None:
    """Raise unless the tables are those that the page needs, and it can be written."""
    given = len(asked.tables)
    if asked.publishable and given != 1:
        raise InputError(
            f"a publishable page is made of the synthetic table alone, and {given} tables are given; "
            "leave the truth out"
        )
    if not asked.publishable and given != 2:
        raise InputError(
            f"the owner's page needs two tables, the truth and the synthetic one, and {given} "
            f"{'is' if given == 1 else 'are'} given; add the other, or --publishable for a page without the truth"
        )
    if asked.publishable and asked.marginals is not None:
        raise InputError("--marginals is about the comparison with the truth, which a publishable page has not")
    check_writable(asked.out)
    inputs: dict[str, Iterable[str | Path]] = {"the schema": [asked.schema]}
    names = ("the synthetic data",) if asked.publishable else ("the truth", "the synthetic data")
    inputs |= {name: files_of(table) for name, table in zip(names, asked.tables, strict=True)}
    inputs |= {"the map": [asked.map] if asked.map else [], "the ledger": [asked.ledger] if asked.ledger else []}
    check_apart({"--out": asked.out}, inputs)
