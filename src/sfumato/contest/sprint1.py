"""The first sprint: counts of incidents by neighbourhood, month and kind, scored by pie charts.

A submission has a row for each ε, neighbourhood and month, in that order, and a column for each kind of incident, named
by its code; counts are whole and not negative. The score is the sum of the pie scores of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from sfumato.columns import Floats, Ints, Time
from sfumato.contest.checked import Checked, Fault, Tally
from sfumato.contest.parameters import Parameters, Source
from sfumato.contest.rows import Rows, numbers
from sfumato.contest.score import ContestScore
from sfumato.errors import InputError
from sfumato.marginal import Marginal
from sfumato.metrics.pie import Pie, PieScore
from sfumato.table import Table

INDEX = ("epsilon", "neighborhood", "year", "month")
COLUMNS = ("neighborhood", "period", "incident_type")
_LARGEST = 2.0**64


@dataclass(frozen=True)
class Counts:
    """What a submission says: a table of neighbourhoods × months × kinds for every ε, and the verdict on the file."""

    values: Floats
    checked: Checked


def score(truth: Any, submission: Any, parameters: Source | Parameters) -> ContestScore:
    """The score of a submission; `truth` holds the incidents, one a row, as the contest's `incidents.csv`."""
    given = Parameters.load(parameters, 1)
    read_in = read(submission, given)
    read_in.checked.require()
    return score_counts(truth, dict(zip(given.epsilons, read_in.values, strict=True)), given)


def score_counts(truth: Any, made: Mapping[float, Floats | Ints], parameters: Parameters) -> ContestScore:
    """The score of counts, neighbourhoods × months × kinds, for every ε."""
    true = true_counts(truth, parameters)
    pie = Pie(parameters.schema, "incident_type", COLUMNS[:2])
    found: dict[float, PieScore] = {e: pie.scored(true, counts) for e, counts in made.items()}
    rows = true.shape[0] * true.shape[1]
    sums = {e: s.value * rows for e, s in found.items()}
    parts = {e: {"mean of rows": s.value, "Inv-Pie": 1 - s.value} for e, s in found.items()}
    return ContestScore(1, sum(sums.values()), rows * len(made), sums, parts, {e: {"pie": s} for e, s in found.items()})


def true_counts(truth: Any, parameters: Parameters) -> Ints:
    """The counts of incidents, neighbourhoods × months × kinds; others than the schema's are left out."""
    table = Table.open(truth, parameters.schema.select(COLUMNS))
    counts: Ints = table.counts([Marginal.of(*COLUMNS)])[0].values
    return counts


def check(submission: Any, parameters: Source | Parameters) -> Checked:
    """Whether the contest would take it, by the rules of its own check."""
    return read(submission, Parameters.load(parameters, 1)).checked


def read(submission: Any, parameters: Parameters) -> Counts:
    """The counts in a submission, and the verdict on it."""
    tally = Tally()
    rows = Rows.of(
        submission, lambda line, wanted, has: tally.note("values", f"{has} values instead of {wanted}", line)
    )
    tally.unit = rows.unit
    kinds = [str(v) for v in parameters.schema["incident_type"].bins]
    wanted = expected(parameters)
    shape = (len(parameters.runs), *Marginal.of(*COLUMNS).shape(parameters.schema))
    values = np.zeros(shape)
    if faults := _columns(rows.names, kinds):
        return Counts(values, Checked(1, rows.origin, {}, tuple(faults)))
    at = {name: i for i, name in enumerate(rows.names)}
    flat = values.reshape(-1, len(kinds))
    done = 0
    for batch in rows.batches:
        n = batch.num_rows
        first = rows.first + done
        place = wanted[done : done + n]
        for i, name in enumerate(INDEX):
            x, _ = numbers(batch.column(at[name]))
            wrong = np.ones(n, bool)
            wrong[: len(place)] = x[: len(place)] != place[:, i]
            tally.add("order", f"another {name} than the order asks for", wrong, first, x)
        room = max(0, min(n, len(flat) - done))
        for i, kind in enumerate(kinds):
            flat[done : done + room, i] = _counts(tally, batch.column(at[kind]), kind, first)[:room]
        done += n
    faults = tally.faults()
    if done != len(wanted):
        faults.insert(
            0, Fault("shape", f"there are {done:,} rows, but every ε, neighbourhood and month make {len(wanted):,}")
        )
    each = len(wanted) // len(parameters.runs)
    sizes = {e: max(0, min(each, done - i * each)) for i, e in enumerate(parameters.epsilons)}
    return Counts(values, Checked(1, rows.origin, sizes, tuple(faults)))


def expected(parameters: Parameters) -> Floats:
    """ε, neighbourhood, year and month of every row, in order."""
    areas = [int(v) for v in parameters.schema["neighborhood"].bins]
    places = product(parameters.epsilons, areas, months(parameters))
    return np.array([(e, area, year, month) for e, area, (year, month) in places], float)


def months(parameters: Parameters) -> tuple[tuple[int, int], ...]:
    """Year and month of every period."""
    period = parameters.schema["period"]
    assert isinstance(period, Time)
    return period.months


def _columns(names: tuple[str, ...], kinds: list[str]) -> list[Fault]:
    """What is wrong with the columns: the four that say which row it is stand anywhere, as in the official check."""
    out = [Fault("columns", f"there is no column '{n}'") for n in INDEX if n not in names]
    rest = [n for n in names if n not in INDEX]
    if len(names) != len(set(names)):
        double = next(n for i, n in enumerate(names) if n in names[:i])
        return [*out, Fault("columns", f"the column '{double}' stands twice")]
    if rest == kinds:
        return out
    if extra := [n for n in rest if n not in kinds]:
        out.append(Fault("columns", f"the column '{extra[0]}' does not belong there", len(extra)))
    if lost := [k for k in kinds if k not in rest]:
        out.append(Fault("columns", f"there is no column '{lost[0]}'", len(lost)))
    if not extra and not lost:
        wrong = next(a for a, b in zip(rest, kinds, strict=True) if a != b)
        out.append(Fault("columns", f"the columns of incident types are not in order, from '{wrong}' on"))
    return out


def _counts(tally: Tally, column: Any, kind: str, first: int) -> Floats:
    """The counts of one kind; whole numbers as the official check reads them, so 3.0 is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    x, bad = numbers(column)
    about = f"column '{kind}': a count that is"
    if pa.types.is_string(column.type):
        digits = pc.match_substring_regex(column, r"^\s*[+-]?[0-9]+\s*$").to_numpy(zero_copy_only=False)
        whole = np.array([d is True or d is np.True_ for d in digits]) if digits.dtype == object else digits
    else:
        whole = np.full(len(x), bool(pa.types.is_integer(column.type))) & ~np.isnan(x)
    missing = np.isnan(x) & ~bad
    tally.add("finite", f"{about} missing or infinite", missing | np.isinf(x), first)
    tally.add("whole", f"{about} no whole number", ~whole & ~missing & ~np.isinf(x) | (np.abs(x) >= _LARGEST), first, x)
    tally.add("negative", f"{about} below zero", x < 0, first, x)
    return np.nan_to_num(x)


def table_of(counts: dict[float, Ints], parameters: Parameters) -> Any:
    """A submission of counts (neighbourhoods × months × kinds, for every ε) as an Arrow table."""
    import pyarrow as pa

    if tuple(counts) != parameters.epsilons:
        raise InputError(f"counts are needed for every ε, {', '.join(f'{e:g}' for e in parameters.epsilons)}, in order")
    where = expected(parameters)
    columns: dict[str, Any] = {"epsilon": where[:, 0]}
    columns |= {name: where[:, i].astype(np.int64) for i, name in enumerate(INDEX) if i}
    flat = np.concatenate([c.reshape(-1, c.shape[-1]) for c in counts.values()]).astype(np.int64)
    columns |= {str(kind): flat[:, i] for i, kind in enumerate(parameters.schema["incident_type"].bins)}
    return pa.table(columns)
