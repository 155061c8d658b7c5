"""From values to bins and back: SQL that gives a record's code, and arrays of codes turned into values again.

Encoding is total: whatever a private record holds, the expression gives a code or NULL and never raises. Text is
read with TRY_CAST; a value outside the schema becomes the column's `other` or missing bin where it has one, NULL
otherwise. The SQL is written in DuckDB's dialect with functions that every engine has (`sfumato.engine`
translates). Comparisons against sorted cuts are balanced trees of CASE, so a column of k bins costs log k
comparisons a record; lists of text or of scattered numbers are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sfumato.columns import Binned, Category, Floats, Ints, Number, Place, Time, Value
from sfumato.errors import InputError
from sfumato.places import cuts_of

if TYPE_CHECKING:
    import pyarrow as pa

Family = str  # "integer", "float", "text", "time", "boolean" or "other": what a column of the data holds

_MAX_RUNS = 64  # beyond that a join is faster than a tree
_EXACT = "9007199254740992"  # 2^53: doubles up to here are exact integers


def quote(name: str) -> str:
    """A column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


@dataclass
class Encoding:
    """Expressions of codes, and what they read: typed values of the source, computed once, and lists joined to them.

    `tables` are public tables that the joins name; they go with the query to the engine.
    """

    values: dict[str, str] = field(default_factory=dict)
    joins: list[str] = field(default_factory=list)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    _steps: list[tuple[str, str]] = field(default_factory=list)
    _found: dict[tuple[str, bytes], str] = field(default_factory=dict)

    def value(self, sql: str) -> str:
        """A name for an expression over the source, so that it is computed once a record."""
        return self.values.setdefault(sql, f"v{len(self.values)}")

    def query(self, source: str, select: str, where: str) -> str:
        """Select expressions of codes from the source."""
        values = ", ".join(f"{sql} AS {name}" for sql, name in self.values.items()) or "1 AS v"
        inner = f"SELECT {values} FROM {source} AS s"
        for i, (sql, join) in enumerate(self._steps):
            inner = f"SELECT t.*, {sql} AS w{i} FROM ({inner}) AS t {join}"
        return f"SELECT {select} FROM ({inner}) AS t {' '.join(self.joins)} WHERE {where}"

    def _step(self, sql: str, join: str) -> str:
        """A name for an expression over values and earlier steps, and over what it joins: computed once a record."""
        self._steps.append((sql, join))
        return f"w{len(self._steps) - 1}"

    def lookup(self, text: str, codes: Mapping[str, int]) -> str:
        """The code of a text in a list, NULL when it is not there."""
        alias = f"d{len(self.joins)}"
        rows = ", ".join(f"({literal(value)}, {code})" for value, code in codes.items())
        self.joins.append(f"LEFT JOIN (VALUES {rows}) AS {alias}(v, c) ON {alias}.v = {text}")
        return f"{alias}.c"

    def code(self, column: Binned, level: int, families: Mapping[str, Family]) -> str:
        """The code of a column at a level; `families` are the columns that the data has."""
        at = column.coarsen(level)
        names = _present(column, families)
        inputs = [(f"s.{quote(n)}", families[n]) for n in names]
        if isinstance(column, Number):
            return _number_code(column, self.value(as_number(*inputs[0])), at)
        if isinstance(column, Category):
            points = isinstance(column, Place) and len(inputs) == 2
            found = (
                self._point_code(column, inputs, at) if points else self._category_code(column.values, inputs[0], at)
            )
            return found if column.other is None else f"COALESCE({found}, {at[column.values.index(column.other)]})"
        if isinstance(column, Time):
            return self._time_code(column, inputs, at)
        raise TypeError(f"no encoding for {type(column).__name__}")

    def _category_code(self, values: Sequence[Value], given: tuple[str, Family], at: Ints) -> str:
        if isinstance(values[0], str):
            return self.lookup(self.value(as_text(*given)), {str(v): int(c) for v, c in zip(values, at, strict=True)})
        return self._integer_code([int(v) for v in values], self.value(as_integer(*given)), at)

    def _point_code(self, column: Binned, inputs: Sequence[tuple[str, Family]], at: Ints) -> str:
        """The area that a point lies in, found by joins with a table of cuts; see `sfumato.locate`."""
        mark = (column.name, at.tobytes())
        if mark not in self._found:
            assert isinstance(column, Place)
            cuts, name = cuts_of(column), f"cuts{len(self.tables)}"
            self.tables[name] = cuts.table(at)
            x, y = (self.value(as_number(*given)) for given in inputs)
            self._found[mark] = cuts.sql(x, y, name, self._step)
        return self._found[mark]

    def _integer_code(self, values: Sequence[int], number: str, at: Ints) -> str:
        """A tree over runs of neighbouring values, or a join where there are too many."""
        order = np.argsort(np.array(values, dtype=object).astype(np.int64), kind="stable")
        v, c = np.array(values, np.int64)[order], at[order]
        flat = (np.diff(v) == 1) & (np.diff(c) == 0)
        rising = (np.diff(v) == 1) & (np.diff(c) == 1)
        runs: list[tuple[int, int, int, int]] = []  # first value, last value, first code, slope
        for value, code, stays, rises in zip(v, c, [False, *flat], [False, *rising], strict=True):
            if runs:
                first, _, start, slope = runs[-1]
                alone = first == runs[-1][1]
                if (stays and (alone or slope == 0)) or (rises and (alone or slope == 1)):
                    runs[-1] = (first, int(value), start, int(rises))
                    continue
            runs.append((int(value), int(value), int(code), 0))
        if len(runs) > _MAX_RUNS:
            codes = {str(int(value)): int(code) for value, code in zip(v, c, strict=True)}
            return self.lookup(f"CAST({number} AS VARCHAR)", codes)
        cuts: list[str] = []
        leaves = ["NULL"]
        for first, last, start, slope in runs:
            cuts += [str(first), str(last + 1)]
            leaves += [f"{number} - {first} + {start}" if slope else str(start), "NULL"]
        return f"CASE WHEN {number} IS NOT NULL THEN {balanced(number, '<', cuts, leaves)} END"

    def _time_code(self, column: Time, inputs: Sequence[tuple[str, Family]], at: Ints) -> str:
        if len(inputs) == 2:
            year, month = (as_integer(*given) for given in inputs)
            ordinals = [12 * y + m - 1 for y, m in column.months]
            sensible = f"{month} BETWEEN 1 AND 12 AND {year} BETWEEN 1 AND 9999"  # ABS would raise for -2^63
            guarded = f"CASE WHEN {sensible} THEN {year} * 12 + {month} - 1 END"
            return self._integer_code(ordinals, self.value(guarded), at)
        sql, family = inputs[0]
        ready = None if family == "time" else self._ready_code(column, sql, family, at)
        if family in ("integer", "float", "boolean", "other"):
            return ready or "NULL"
        stamp = as_timestamp(sql, family, column.format)
        code = self._stamp_code(column, stamp, at)
        return code if ready is None else f"COALESCE({code}, {ready})"

    def _ready_code(self, column: Time, sql: str, family: Family, at: Ints) -> str:
        """The code where the data holds the bins themselves, as Sfumato writes them."""
        return self._category_code(column.bins, (sql, family), at)

    def _stamp_code(self, column: Time, stamp: str, at: Ints) -> str:
        if column.part == "period":
            return _period_code(column, self.value(stamp), at)
        if column.part == "year_month":
            ordinals = [12 * y + m - 1 for y, m in column.months]
            return self._integer_code(ordinals, self.value(f"(YEAR({stamp}) * 12 + MONTH({stamp}) - 1)"), at)
        day = f"((DATE_DIFF('day', DATE '1970-01-05', CAST({stamp} AS DATE)) % 7 + 7) % 7)"
        if column.part == "weekday_part":
            cuts, leaves = [str(h) for h in column.hours[1:]], [str(i) for i in range(len(column.hours))]
            part = f"CASE WHEN {stamp} IS NOT NULL THEN {balanced(f'HOUR({stamp})', '<', cuts, leaves)} END"
            number = f"({day} * {len(column.hours)} + {part})"
        else:
            number = {"month": f"MONTH({stamp})", "hour": f"HOUR({stamp})", "weekday": day}[column.part]
        return self._integer_code([int(b) for b in column.bins], self.value(number), at)


def has(families: Mapping[str, Family], column: Binned) -> bool:
    """Whether data with these columns have what a column of the schema is read from."""
    return column.name in families or all(name in families for name in column.sources)


def _present(column: Binned, families: Mapping[str, Family]) -> tuple[str, ...]:
    """The data's columns for this one: its sources, or a column of its own name with ready bins."""
    if all(n in families for n in column.sources):
        return column.sources
    if column.name in families:
        return (column.name,)
    lost = next(n for n in column.sources if n not in families)
    via = "" if lost == column.name else f" (for '{column.name}' of the schema)"
    raise InputError(f"has no column '{lost}'{via}; its columns are {', '.join(families)}")


def balanced(value: str, less: str, cuts: Sequence[str], leaves: Sequence[str]) -> str:
    """A balanced CASE: leaf i for values from cut i-1 to cut i."""
    if not cuts or len(set(leaves)) == 1:
        return leaves[0]
    mid = len(cuts) // 2
    low = balanced(value, less, cuts[:mid], leaves[: mid + 1])
    high = balanced(value, less, cuts[mid + 1 :], leaves[mid + 1 :])
    return f"CASE WHEN {value} {less} {cuts[mid]} THEN {low} ELSE {high} END"


def _number_code(column: Number, number: str, at: Ints) -> str:
    shift = 1 if column.missing else 0
    less = "<" if column.closed == "left" else "<="
    leaves = [str(int(c)) for c in at[shift:]]
    code = balanced(number, less, [_real(c) for c in column.cuts], leaves)
    low, high = column.ends
    if column.outside == "drop" and (np.isfinite(low) or np.isfinite(high)):
        tests = [f"{number} >= {_real(low)}"] * bool(np.isfinite(low)) + [f"{number} <= {_real(high)}"] * bool(
            np.isfinite(high)
        )
        code = f"CASE WHEN {' AND '.join(tests)} THEN {code} END"
    missing = str(int(at[0])) if column.missing else "NULL"
    marks = [f"{number} = {_real(m)}" for m in column.missing if m is not None]
    absent = " OR ".join([f"{number} IS NULL", f"ISNAN({number})", *marks])
    return f"CASE WHEN {absent} THEN {missing} ELSE {code} END"


def _period_code(column: Time, stamp: str, at: Ints) -> str:
    cuts: list[str] = []
    leaves = ["NULL"]
    last = None
    for i in sorted(range(len(column.periods)), key=lambda i: column.periods[i].start):
        period = column.periods[i]
        if period.start == last:
            leaves[-1] = str(int(at[i]))
        else:
            cuts.append(f"TIMESTAMP '{period.start.isoformat(' ')}'")
            leaves.append(str(int(at[i])))
        cuts.append(f"TIMESTAMP '{period.end.isoformat(' ')}'")
        leaves.append("NULL")
        last = period.end
    return f"CASE WHEN {stamp} IS NOT NULL THEN {balanced(stamp, '<', cuts, leaves)} END"


def _real(x: float) -> str:
    return f"CAST({x!r} AS DOUBLE)"


def as_number(sql: str, family: Family) -> str:
    """A column as a double, NULL where it holds no number."""
    if family in ("integer", "float", "boolean"):
        return f"CAST({sql} AS DOUBLE)"
    return f"TRY_CAST({as_text(sql, family)} AS DOUBLE)"


def as_integer(sql: str, family: Family) -> str:
    """A column as a whole number, NULL where it holds none."""
    if family in ("integer", "boolean"):
        return f"TRY_CAST({sql} AS BIGINT)"
    x = as_number(sql, family)
    whole = f"TRY_CAST({x} AS BIGINT)"
    # engines round or cut, and some raise beyond 64 bits: whatever comes back counts only if it is the number itself
    return f"CASE WHEN CAST({whole} AS DOUBLE) = {x} AND ABS({x}) < {_EXACT} THEN {whole} END"


def as_text(sql: str, family: Family) -> str:
    """A column as text without blanks around it; whole numbers without a decimal point."""
    if family == "text":
        return f"TRIM({sql})"
    if family == "float":
        whole = as_integer(sql, family)
        return f"COALESCE(CAST({whole} AS VARCHAR), CAST({sql} AS VARCHAR))"
    return f"CAST({sql} AS VARCHAR)"


def as_person(sql: str, family: Family) -> str:
    """A person id to group by: NULL where it is empty, or one of the words that tools write for nothing."""
    if family == "integer":
        return sql
    if family == "float":
        return f"CASE WHEN NOT ISNAN({sql}) THEN {as_text(sql, family)} END"
    text = as_text(sql, family)
    return f"CASE WHEN LOWER({text}) NOT IN ('', 'nan', 'null', 'none') THEN {text} END"


def as_timestamp(sql: str, family: Family, pattern: str | None) -> str:
    """A column as a timestamp, NULL where it holds none."""
    if family == "time":
        return f"TRY_CAST({sql} AS TIMESTAMP)"  # finer units do not reach as far as coarser ones and dates
    if pattern is not None:
        return f"TRY_STRPTIME({as_text(sql, family)}, {literal(pattern)})"
    return f"TRY_CAST({as_text(sql, family)} AS TIMESTAMP)"


# ---------------------------------------------------------------------- back to values

Decoder = Callable[[Ints, np.random.Generator], "dict[str, pa.Array]"]


def decoder(column: Binned, level: int) -> Decoder:
    """A function from codes at a level to arrays of values, one for each column it writes."""
    import pyarrow as pa

    if level != column.depth or isinstance(column, Time):
        return _label_decoder(column, level)
    if isinstance(column, Number):
        return _number_decoder(column)
    values = pa.array(column.bins)
    return lambda codes, rng: {column.name: values.take(pa.array(codes))}


def _label_decoder(column: Binned, level: int) -> Decoder:
    import pyarrow as pa

    if isinstance(column, Time) and column.year and column.month and level == column.depth:
        months = np.array(column.months)
        names = (column.year, column.month)
        return lambda codes, rng: {n: pa.array(months[codes, i]) for i, n in enumerate(names)}
    labels = column.labels(level)
    same = len({type(label) for label in labels}) == 1
    values = pa.array(labels if same else [str(label) for label in labels])
    return lambda codes, rng: {column.name: values.take(pa.array(codes))}


def _number_decoder(column: Number) -> Decoder:
    import pyarrow as pa

    draw = _whole_numbers(column) if column.integer else _real_numbers(column)
    shares = None if isinstance(column.decode, str) else column.decode
    kind = pa.int64() if column.integer else pa.float64()
    missing_is_null = bool(column.missing) and column.missing[0] is None

    def decode(codes: Ints, rng: np.random.Generator) -> dict[str, pa.Array]:
        if shares is not None:
            x = _draw_shares(codes, [(np.array(s.values), s.weights) for s in shares], rng)
        elif column.missing:
            x = np.where(codes == 0, column.missing[0] or 0.0, draw(np.maximum(codes - 1, 0), rng))
        else:
            x = draw(codes, rng)
        mask = (codes == 0) if missing_is_null else None
        return {column.name: pa.array(x.astype(np.int64) if column.integer else x, kind, mask=mask)}

    return decode


Draw = Callable[[Ints, np.random.Generator], Floats]


def _whole_numbers(column: Number) -> Draw:
    """Whole numbers for bins of edges: those inside, without the markers of a missing value, are numbered 0..free-1.

    An open bin gives the number next to its edge.
    """
    marks = np.array(column.marks)
    least, most = column.whole_bounds()
    if np.isinf(least[0]):
        least[0] = most[0] = _unmarked(0.0 if np.isinf(most[0]) else most[0], -1.0, marks)
    if np.isinf(most[-1]):
        least[-1] = most[-1] = _unmarked(least[-1], 1.0, marks)
    free = most - least + 1 - np.searchsorted(marks, most, side="right") + np.searchsorted(marks, least)

    def draw(codes: Ints, rng: np.random.Generator) -> Floats:
        n = free[codes]
        start = least[codes]
        x = start + (rng.integers(0, n.astype(np.int64)) if column.decode == "uniform" else n // 2)
        for mark in marks:  # from the least on: a number at or after a marker makes room for it
            x += (start <= mark) & (mark <= x)
        return x

    return draw


def _real_numbers(column: Number) -> Draw:
    """Numbers for bins of edges, never on an edge that belongs to the neighbour nor on a marker.

    An open bin gives its edge where that belongs to it, a number half a neighbour's width beyond where not.
    """
    marks = np.array(column.marks)
    edges = np.array([column.ends[0], *column.cuts, column.ends[1]])
    left = column.closed == "left"
    low, high = edges[:-1].copy(), edges[1:].copy()
    least = low.copy() if left else np.nextafter(low, np.inf)
    most = np.nextafter(high, -np.inf) if left else high.copy()
    finite = edges[np.isfinite(edges)]
    beyond = np.diff(finite) / 2 if len(finite) > 1 else np.ones(1)
    if np.isinf(low[0]):
        start = 0.0 if np.isinf(high[0]) else min(most[0], high[0] - beyond[0]) if left else most[0]
        low[0] = high[0] = least[0] = most[0] = _unmarked(start, -beyond[0], marks)
    if np.isinf(high[-1]):
        start = least[-1] if left else max(least[-1], low[-1] + beyond[-1])
        low[-1] = high[-1] = least[-1] = most[-1] = _unmarked(start, beyond[-1], marks)
    middle = np.clip((low + high) / 2, least, most)
    for mark in marks:
        middle = np.where(middle == mark, (middle + most) / 2, middle)

    def draw(codes: Ints, rng: np.random.Generator) -> Floats:
        if column.decode != "uniform":
            return np.asarray(middle[codes])
        part = rng.random(len(codes))
        part = part if left else 1 - part
        return np.clip(low[codes] * (1 - part) + high[codes] * part, least[codes], most[codes])

    return draw


def _unmarked(x: float, step: float, marks: np.ndarray) -> float:
    """The first of x, x + step, ... that is no marker of a missing value."""
    while x in marks:
        x += step
    return x


def _draw_shares(
    codes: Ints, shares: Sequence[tuple[np.ndarray, Sequence[float] | None]], rng: np.random.Generator
) -> np.ndarray:
    """A value for each code by its bin's shares: one search in the joined cumulative shares."""
    weights = [np.ones(len(v)) if w is None else np.asarray(w, float) for v, w in shares]
    steps = np.concatenate([i + np.cumsum(w) / np.sum(w) for i, w in enumerate(weights)])
    ends = np.cumsum([len(w) for w in weights]) - 1
    steps[ends] = np.arange(1, len(weights) + 1)  # exactly, in spite of rounding
    at = np.searchsorted(steps, codes + rng.random(len(codes)), side="right")
    drawn: np.ndarray = np.concatenate([v for v, _ in shares])[np.minimum(at, ends[codes])]
    return drawn
