"""The run of `sfumato synthesize`: everything is checked before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.output import Output
from sfumato.cli.settings import parse_settings, setting_names
from sfumato.cli.targets import check_apart, check_public, files_of
from sfumato.cli.views import plan_data
from sfumato.errors import InputError, RunError
from sfumato.export import check_target, write_batches
from sfumato.files import check_writable
from sfumato.models import Model
from sfumato.models.base import MOST_UNASKED, check_believed
from sfumato.privacy.book import account_name
from sfumato.privacy.budget import Budget
from sfumato.privacy.explain import explanation, promise
from sfumato.privacy.vault import Vault, ledger_path, protected
from sfumato.public import Public
from sfumato.schema import Schema
from sfumato.synthesizers import METHODS, Synthesizer

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 10**12  # records that may be asked for; nobody has the disk for more


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    data: str
    schema: Path
    method: str
    epsilon: float
    delta: float
    out: Path | None
    ledger: Path | None
    account: str
    model_out: Path | None
    records: int | None
    bound: str | None
    marginal: str | None
    unit: str
    seed: int | None
    explain: bool
    public: str | None = None
    settings: tuple[str, ...] = ()


def run_synthesis(request: Request, output: Output) -> None:
    """Check, ask the vault, keep the model, write the records, say what was made and what it cost."""
    schema = Schema.load(request.schema)
    budget = Budget(request.epsilon, request.delta)
    method = _method(request)
    public = _public(request, schema)
    informed = getattr(method, "informed", None)
    if informed is not None and public is not None:
        method = informed(schema, public)
    plan = method.plan(schema, budget)
    plan.check(schema)
    plan.priced(budget)  # raises where that much or so little noise cannot be
    if request.explain:
        unit = protected(schema, request.unit)
        output.result(plan_data(plan, schema, budget, unit), explanation(plan, schema, budget, unit))
        return
    _check_targets(request)
    vault = Vault.open(
        request.data,
        schema,
        budget,
        ledger=request.ledger,
        account=request.account,
        unit=request.unit,  # type: ignore[arg-type]  # the vault says what it may be
        seed=request.seed,
    )
    output.say(explanation(plan, schema, budget, vault.unit))
    if not vault.private:
        output.warn("--seed makes the noise repeatable: this release is NOT PRIVATE; publish nothing from it")
    with output.working("asking the vault"):
        model = method.fit(vault, public)
    _write(request, model, vault, output)


def _write(request: Request, model: Model, vault: Vault, output: Output) -> None:
    made: dict[str, Any] = {"method": request.method, **model.provenance.to_dict()}
    lines = [f"Spent, and on record in the ledger: {promise(vault.budget, vault.unit)}"]
    if request.model_out is not None:
        model.save(request.model_out)
        made["model"] = str(request.model_out)
        lines.append(f"{request.model_out}: the model, to sample from as often as you like")
    if request.out is not None:
        if request.records is None and model.believed > MOST_UNASKED:
            _keep(model, request.out, request.model_out)
        made["records"] = write_sample(model, request.out, request.records, request.seed, output)
        made["out"] = str(request.out)
        lines.insert(0, f"{request.out}: {made['records']:,} synthetic records")
    output.result(made, "\n".join(lines))


def _keep(model: Model, out: Path, kept: Path | None) -> None:
    """Raise because there are too many records to write, after keeping the model beside them: it has been paid for."""
    if kept is None:
        names = chain([f"{out.name}.sfumato"], (f"{out.name}.{i}.sfumato" for i in count(1)))
        kept = next(path for path in map(out.with_name, names) if not path.exists())
        model.save(kept)
    raise RunError(
        f"the model believes in {model.believed:,} records, too many to write unasked (so little ε leaves noise "
        f"alone); it is kept in {kept}, so draw as many as you want with: sfumato sample {kept} --records N --out {out}"
    )


def write_sample(model: Model, out: Path, records: int | None, seed: int | None, output: Output) -> int:
    """The number of records written from a model."""
    check_records(records)
    if records is None:
        check_believed(model)
    with output.counting("writing records", records) as advance:
        return write_batches(_told(model.sample(records, seed), advance), out, model.provenance.to_dict())


def check_records(records: int | None) -> None:
    """Raise unless so many records can be asked for."""
    if records is not None and not 0 <= records <= MOST:
        raise InputError(f"--records is {records:,}; give a number from 0 to {MOST:,}")


def _told(batches: Iterator[pa.RecordBatch], advance: Any) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        advance(batch.num_rows)
        yield batch


def _public(request: Request, schema: Schema) -> Public | None:
    """The public table, which must not be the private one; None where what is public was learned before."""
    if request.public is None:
        return None
    check_public(request.public, request.data)
    return None if _is_model(request) else Public.open(request.public, schema)


def _check_targets(request: Request) -> None:
    """Raise unless all that is to be written can be, before any budget is spent."""
    if request.out is None and request.model_out is None:
        raise InputError("say where the result goes: --out FILE for records, --model-out FILE for the model, or both")
    check_records(request.records)
    account_name(request.account)
    if request.seed is not None and request.seed < 0:
        raise InputError(f"--seed is {request.seed}; give a whole number from 0 on")
    if request.out is not None:
        check_target(request.out)
    if request.model_out is not None:
        check_writable(request.model_out)
    inputs: dict[str, Iterable[str | os.PathLike[str]]] = {
        "the data": files_of(request.data),
        "the schema": [request.schema],
    }
    if request.public is not None:
        inputs["the public data"] = files_of(request.public)
    with suppress(InputError):  # of data that are not there; the vault says so
        inputs["the ledger"] = [ledger_path(request.data, request.ledger)]
    check_apart({"--out": request.out, "--model-out": request.model_out}, inputs)


def _is_model(request: Request) -> bool:
    """Whether what is public was learned before: a file for a method that takes archetypes instead of their number."""
    is_file = request.public is not None and request.public.endswith(".sfumato")
    return is_file and "archetypes" in setting_names(METHODS[request.method])


def _method(request: Request) -> Synthesizer:
    """The synthesizer with its settings."""
    if request.method not in METHODS:
        raise InputError(f"there is no method '{request.method}'; take one of {', '.join(METHODS)}")
    make = METHODS[request.method]
    given = list(request.settings)
    for option in ("marginal", "bound"):
        if (text := getattr(request, option)) is not None:
            if option not in setting_names(make):
                raise InputError(f"method '{request.method}' takes no --{option}")
            given.append(f"{option}={text}")
    if _is_model(request):
        given.append(f"archetypes={request.public}")
    synthesizer: Synthesizer = make(**parse_settings(make, given, f"method '{request.method}'"))
    return synthesizer
