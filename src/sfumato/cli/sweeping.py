"""The run of `sfumato sweep`: what it would cost is told, and on private data asked for, before anything is spent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.output import Output
from sfumato.cli.settings import parse_settings, setting_names
from sfumato.cli.targets import check_public, files_of
from sfumato.errors import InputError
from sfumato.metrics import METRICS
from sfumato.privacy.book import account_name
from sfumato.public import Public
from sfumato.schema import Schema
from sfumato.sweep import Run, Sweep
from sfumato.sweep.results import WARNING, Folder
from sfumato.synthesizers import METHODS

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Asked:
    """What the command line asked for; lists stand as text with commas."""

    truth: str
    schema: Path
    methods: str
    epsilons: str
    metrics: str
    out: Path
    delta: float
    seeds: int
    public: str | None
    public_truth: bool
    ledger: Path | None
    account: str
    unit: str
    options: Mapping[str, str | None]
    settings: tuple[str, ...]
    yes: bool


def run_sweep(asked: Asked, output: Output) -> None:
    """Check everything, say what it costs, ask where it costs something, run what is missing, show the scores."""
    sweep = _sweep(asked)
    sweep.check()
    folder = Folder(asked.out, asked.public_truth)
    folder.check(sweep.described())
    waiting = sweep.open(folder)
    output.say(f"{asked.out}: runs in all {len(sweep.runs())}, still to be made {len(waiting)}")
    if waiting and not asked.public_truth:
        _consent(sweep, waiting, asked.yes, output)
        folder.settle(sweep.described())  # before the ledger is touched: nothing is paid for what cannot be written
        sweep.reserve(waiting)
    total = len(sweep.runs())
    with output.counting("sweeping", total) as advance:

        def told(run: Run) -> None:
            advance(1)

        results = sweep.go(asked.out, told, output.warn)
    shown = [row for r in results for row in r.only(list(sweep.metrics)).rows("")]
    output.result(shown, _shown(asked.out))
    if not asked.public_truth:
        output.warn(WARNING)


def _consent(sweep: Sweep, waiting: list[Run], yes: bool, output: Output) -> None:
    """Say what the runs cost together, and go on only when somebody agrees."""
    price = sweep.price(waiting)
    said = (
        f"The truth counts as private. The runs still to be made, {len(waiting)}, would cost everybody in it "
        f"ε = {price.epsilon:.6g} at δ = {price.delta:g}, together, charged to account '{sweep.account}' of "
        f"{sweep.ledger}; the scores come on top and are counted by no ledger. For public or simulated data say "
        "--public-truth."
    )
    output.warn(said)
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(
            f"nobody is there to agree to ε = {price.epsilon:.6g}; say --yes to spend it, or --public-truth where the "
            "data are public or simulated"
        )
    import typer

    typer.confirm("Spend it?", abort=True)


def _shown(out: Path) -> RenderableType:
    text = (out / "results.md").read_text(encoding="utf-8")
    return (
        f"{text}\n{out}: results.parquet, results.csv, results.md, results.svg, results.png; synthetic/ has the records"
    )


def _sweep(asked: Asked) -> Sweep:
    """The sweep with its methods and metrics."""
    schema = Schema.load(asked.schema)
    account_name(asked.account)
    given = _by_owner(asked.settings)
    methods = {
        name: _made(METHODS, name, "method", given, asked.options) for name in _listed(asked.methods, "--methods")
    }
    metrics = {name: _made(METRICS, name, "metric", given, {}, schema) for name in _listed(asked.metrics, "--metrics")}
    if strange := sorted(set(given) - set(methods) - set(metrics)):
        raise InputError(f"--set {strange[0]}.…: the sweep has no method or metric '{strange[0]}'")
    if asked.public is not None and not asked.public_truth:
        check_public(asked.public, asked.truth)
    ledger = asked.ledger
    if ledger is None and not asked.public_truth:
        if not (files := files_of(asked.truth)):
            raise InputError(f"{asked.truth} does not exist")
        ledger = Path(files[0]).with_suffix(".ledger")
    public = None if asked.public is None else Public.open(asked.public, schema)
    return Sweep(
        schema, asked.truth, methods, _epsilons(asked.epsilons), metrics, asked.delta, asked.seeds, public,
        asked.public_truth, ledger, asked.account, asked.unit,
    )  # fmt: skip


def _listed(text: str, option: str) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if double := [n for i, n in enumerate(names) if n in names[:i]]:
        raise InputError(f"{option} names '{double[0]}' twice")
    if not names:
        raise InputError(f"{option} is empty; name at least one, with commas between")
    return names


def _epsilons(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in _listed(text, "--epsilons"))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"--epsilons {text}: give numbers with commas between, such as 0.1,1,10") from None


def _by_owner(settings: Iterable[str]) -> dict[str, list[str]]:
    """Settings written as `dpsyn.iterations=50`, by the method or metric before the dot."""
    out: dict[str, list[str]] = {}
    for text in settings:
        owner, dot, rest = text.partition(".")
        if not dot or "=" in owner:
            raise InputError(f"--set {text}: write it as method.name=value or metric.name=value")
        out.setdefault(owner, []).append(rest)
    return out


def _made(
    known: Mapping[str, Callable[..., Any]],
    name: str,
    what: str,
    given: Mapping[str, list[str]],
    options: Mapping[str, str | None],
    *first: Schema,
) -> Any:
    """A method or a metric with its settings; an option that several share goes to those that have it."""
    if name not in known:
        raise InputError(f"there is no {what} '{name}'; take some of {', '.join(known)}")
    make = known[name]
    pairs = list(given.get(name, []))
    own = {pair.partition("=")[0].strip().replace("-", "_") for pair in pairs}
    pairs += [f"{o}={t}" for o, t in options.items() if t is not None and o in setting_names(make) and o not in own]
    return make(*first, **parse_settings(make, pairs, f"{what} '{name}'"))
