"""Columns filled in one after another, each drawn from what public records with the same key have there.

A `Step` says which column is filled and what its key is: `tips ~ * + fare` draws tips from the public records with the
same place and time (`*`, the columns that are there from the start) and the same fare. Where no public record has that
key, the key is cut: numbers count by their bins, then the key is `*` alone, then `*` without its first column, then
nothing. So a value always is one that a public record has, and inside the schema.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.columns import Binned, Floats, Ints, Number
from sfumato.errors import InputError
from sfumato.models.choices import MOST, Choices
from sfumato.public import Public
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = (
    "fare ~ *",
    "tips ~ * + fare",
    "trip_total ~ fare + tips",
    "trip_seconds ~ * + fare",
    "trip_miles ~ * + fare",
    "payment_type ~ fare + tips + trip_total",
)
"""Table 1 of the design, in the order in which its text fills them."""


@dataclass(frozen=True)
class Step:
    """A column to fill, and the columns that its values depend on."""

    target: str
    keys: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, columns: Sequence[str]) -> Step:
        """The step of a text such as `tips ~ * + fare`.

        >>> Step.parse("tips ~ * + fare", ("pickup", "dropoff"))
        Step(target='tips', keys=('pickup', 'dropoff', 'fare'))
        """
        target, tilde, right = text.partition("~")
        keys = [part.strip() for part in right.split("+")] if right.strip() else []
        if not tilde or not target.strip() or not all(keys):
            raise InputError(f"completion '{text}' is not of the form 'tips ~ * + fare' ('tips ~' depends on nothing)")
        named = [name for key in keys for name in (columns if key == "*" else (key,))]
        return cls(target.strip(), tuple(dict.fromkeys(named)))

    def __str__(self) -> str:
        return f"{self.target} ~ {' + '.join(self.keys)}"


def steps(
    schema: Schema, columns: Sequence[str], attribute: str | None, given: Sequence[str] | None
) -> tuple[Step, ...]:
    """The steps asked for, or the design's where its columns are there and `name ~ *` for the others; checked."""
    known = [*columns, *([attribute] if attribute else [])]
    texts = _default(schema, known) if given is None else given
    out: list[Step] = []
    for step in (Step.parse(text, columns) for text in texts):
        _ = schema[step.target]
        if step.target in known:
            raise InputError(f"completion '{step}' fills '{step.target}', which is there already")
        if lost := [key for key in step.keys if key not in known]:
            raise InputError(f"completion '{step}' needs '{lost[0]}' first; there are {', '.join(known)} by then")
        known.append(step.target)
        out.append(step)
    return tuple(out)


def _default(schema: Schema, known: Sequence[str]) -> list[str]:
    """The lines of the design's table that this schema can follow, and all other columns given place and time alone."""
    out, there = [], set(known)
    for line in TABLE:
        step = Step.parse(line, ())
        if step.target in schema and step.target not in there and set(step.keys) - {"*"} <= there:
            out.append(line)
            there.add(step.target)
    return out + [f"{name} ~ *" for name in schema.names if name not in there]


@dataclass(frozen=True, eq=False)
class Values:
    """What a column may be filled with: numbers as public records have them with their bins, or the bins alone."""

    codes: Ints
    numbers: Floats | None

    @property
    def exact(self) -> bool:
        """Whether a key tells its values apart, not its bins alone."""
        return self.numbers is not None and not bool(
            (self.numbers != np.floor(self.numbers))[~np.isnan(self.numbers)].any()
        )

    def place(self, numbers: Floats, column: Number) -> Ints:
        """The position of each number."""
        assert self.numbers is not None
        return np.searchsorted(self.numbers, _inside(numbers, column))


def _inside(numbers: Floats, column: Number) -> Floats:
    """Numbers within the ends of their column; markers of a missing value as they are."""
    low, high = column.ends
    return np.where(np.isin(numbers, column.marks), numbers, np.clip(numbers, low, high))


@dataclass(frozen=True, eq=False)
class Drawn:
    """The tables of a step: by its own key, and by place and time where its key leaves these out."""

    step: Step
    tables: tuple[tuple[tuple[str, ...], Choices], ...]
    """Each with the parts of its keys: a name for the bins of a column, `=name` for its values."""


@dataclass(frozen=True, eq=False)
class Completion:
    """Steps with their tables, learned from public records."""

    columns: tuple[str, ...]
    values: Mapping[str, Values]
    drawn: tuple[Drawn, ...]

    def fill(self, codes: dict[str, Ints], rng: np.random.Generator) -> dict[str, Ints]:
        """For each column filled, the positions in its `values`; `codes` are those of the columns that are there."""
        parts, out = dict(codes), {}
        rows = len(next(iter(codes.values())))
        for drawn in self.drawn:
            name, luck = drawn.step.target, rng.random(rows)
            at = np.full(rows, -1)
            for table_parts, choices in drawn.tables:
                todo = np.flatnonzero(at < 0)
                keys = [parts[p][todo] for p in table_parts]
                at[todo] = choices.draw(keys, luck[todo], depths(table_parts, self.columns))
            out[name] = at
            parts[name], parts[f"={name}"] = self.values[name].codes[at], at
        return out

    def decode(self, name: str, at: Ints, schema: Schema) -> pa.Array | None:
        """The numbers at these positions as Arrow has them; None for a column that holds no numbers."""
        import pyarrow as pa

        numbers, column = self.values[name].numbers, schema[name]
        if numbers is None or not isinstance(column, Number):
            return None
        found = numbers[at]
        lost = np.isnan(found)
        kind = pa.int64() if column.integer else pa.float64()
        return pa.array(
            np.where(lost, 0, found).astype(kind.to_pandas_dtype()), kind, mask=lost if lost.any() else None
        )


def parts_of(step: Step, columns: Sequence[str], values: Mapping[str, Values]) -> tuple[tuple[str, ...], ...]:
    """The parts of the keys of a step's tables, coarse to fine.

    >>> parts_of(Step.parse("tips ~ *", ("shift", "pickup", "dropoff")), ("shift", "pickup", "dropoff"), {})
    (('pickup', 'dropoff', 'shift'),)
    """
    if not step.keys:
        return ((),)
    near = (*columns[1:], columns[0])
    whole = set(columns) <= set(step.keys)
    more = tuple(k for k in step.keys if not (whole and k in columns))
    exact = tuple(f"={k}" for k in more if k in values and values[k].exact)
    if whole:
        return ((*near, *more, *exact),)
    return ((*more, *exact), near) if more else (near,)


def depths(parts: Sequence[str], columns: Sequence[str]) -> tuple[int, ...]:
    """How much of a key is looked for, from all of it to nothing."""
    bins = sum(not p.startswith("=") for p in parts)
    near = len(columns) if tuple(parts[: len(columns)]) == (*columns[1:], columns[0]) else None
    cut = [len(parts), bins] if near is None else [len(parts), bins, near, near - 1, 0]
    return tuple(dict.fromkeys(cut))


def part_sizes(parts: Sequence[str], schema: Schema, values: Mapping[str, Values]) -> tuple[int, ...]:
    """How many values each part of a key has."""
    return tuple(len(values[p[1:]].codes) if p.startswith("=") else schema[p].size() for p in parts)


def stored(completion: Completion) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a file says of a completion: settings and arrays."""
    settings: dict[str, Any] = {"steps": [], "numbers": {}}
    arrays: dict[str, Any] = {}
    for i, drawn in enumerate(completion.drawn):
        rows = [len(choices) for _, choices in drawn.tables]
        settings["steps"].append({"target": drawn.step.target, "keys": list(drawn.step.keys), "rows": rows})
        for j, (_, choices) in enumerate(drawn.tables):
            arrays |= choices.to_arrays(f"table{i}_{j}")
    for name, values in completion.values.items():
        if values.numbers is not None:
            settings["numbers"][name] = len(values.numbers)
            arrays[f"numbers_{list(completion.values).index(name)}"] = values.numbers
    return settings, arrays


def stored_shapes(settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of these arrays."""
    shapes: dict[str, tuple[int, ...]] = {}
    for i, step in enumerate(settings["steps"]):
        for j, rows in enumerate(step["rows"]):
            shapes |= Choices.shapes(f"table{i}_{j}", int(rows))
        if step["target"] in settings["numbers"]:
            shapes[f"numbers_{i}"] = (int(settings["numbers"][step["target"]]),)
    return shapes


def restored(
    schema: Schema,
    columns: Sequence[str],
    attribute: str | None,
    settings: Mapping[str, Any],
    arrays: Mapping[str, Any],
) -> Completion:
    """The completion of a file; a ValueError where its parts do not fit."""
    values: dict[str, Values] = {}
    drawn = []
    known = [*columns, *([attribute] if attribute else [])]
    for i, entry in enumerate(settings["steps"]):
        step = Step(str(entry["target"]), tuple(map(str, entry["keys"])))
        if step.target in known or not set(step.keys) <= set(known):
            raise ValueError(f"step {i} does not follow from those before")
        values[step.target] = _restored_values(schema[step.target], arrays.get(f"numbers_{i}"))
        parts = parts_of(step, columns, values)
        if len(parts) != len(entry["rows"]) or not entry["rows"][-1]:
            raise ValueError(f"step {i} has other tables")
        bins = len(values[step.target].codes)
        tables = [
            (p, Choices.of_arrays(f"table{i}_{j}", part_sizes(p, schema, values), bins, arrays))
            for j, p in enumerate(parts)
        ]
        drawn.append(Drawn(step, tuple(tables)))
        known.append(step.target)
    return Completion(tuple(columns), values, tuple(drawn))


def _restored_values(column: Binned, numbers: Any) -> Values:
    """The numbers of a file with their bins: sorted, whole where the column is, all of them inside it."""
    if (numbers is None) == isinstance(column, Number):
        raise ValueError("numbers are there for columns of numbers alone")
    if numbers is None or not isinstance(column, Number):
        return Values(np.arange(column.size()), None)
    numbers = numbers.astype(float)
    real = numbers[~np.isnan(numbers)]
    codes = np.where(np.isnan(numbers), 0 if None in column.missing else -1, column.code(numbers))
    whole = not column.integer or bool((real == np.floor(real)).all() and (np.abs(real) < 2.0**53).all())
    alone = len(numbers) - len(real) <= 1 and not np.isnan(numbers[:-1]).any()
    if not (whole and alone and (np.diff(real) > 0).all() and (codes >= 0).all()):
        raise ValueError("a number is none of the column")
    return Values(codes, numbers)


# ---------------------------------------------------------------------- learning


def learn_completion(public: Public, columns: Sequence[str], asked: Sequence[Step]) -> Completion:
    """The tables of the steps, counted from a public table."""
    schema = public.schema
    values: dict[str, Values] = {}
    drawn = []
    for step in asked:
        values[step.target] = _values(public, schema[step.target])
        tables = tuple((p, _table(public, p, step.target, values)) for p in parts_of(step, columns, values))
        if not len(tables[-1][1]):
            raise InputError(f"{public.origin} has no record whose '{step.target}' and {', '.join(columns)} are known")
        drawn.append(Drawn(step, tables))
    return Completion(tuple(columns), values, tuple(drawn))


def _values(public: Public, column: Binned) -> Values:
    if not isinstance(column, Number):
        return Values(np.arange(column.size()), None)
    found = public.groups([column.name], [column.name])
    known = found.codes[column.name] >= 0
    numbers, first = np.unique(_inside(found.values[column.name][known], column), return_index=True)
    if column.integer:
        whole = (numbers == np.floor(numbers)) | np.isnan(numbers)
        numbers, first = numbers[whole], first[whole]
    return Values(found.codes[column.name][known][first], numbers)


def _table(public: Public, parts: Sequence[str], target: str, values: Mapping[str, Values]) -> Choices:
    """The counts of the target's values by key."""
    schema = public.schema
    sizes = part_sizes(parts, schema, values)
    if math.prod(sizes) > MOST:
        raise InputError(
            f"completion of '{target}': {', '.join(parts)} have too many values together; name fewer columns"
        )
    names = list(dict.fromkeys([*(p.removeprefix("=") for p in parts), target]))
    numbers = [n for n in names if n in values and values[n].numbers is not None and (n == target or f"={n}" in parts)]
    found = public.groups(names, numbers)
    known = np.all([found.codes[n] >= 0 for n in names], axis=0)
    places = {n: _places(values[n], found.values[n], schema[n]) for n in numbers}
    known &= np.all([p >= 0 for p in places.values()], axis=0) if places else True
    keys = [(places[p[1:]] if p.startswith("=") else found.codes[p])[known] for p in parts]
    drawn = places.get(target, found.codes[target])
    return Choices.of(sizes, keys, drawn[known], found.counts[known])


def _places(values: Values, numbers: Floats, column: Binned) -> Ints:
    """The position of each number among the values, -1 where it is none of them."""
    assert isinstance(column, Number)
    assert values.numbers is not None
    at = np.minimum(values.place(numbers, column), len(values.numbers) - 1)
    wanted = _inside(numbers, column)
    same = (values.numbers[at] == wanted) | (np.isnan(wanted) & np.isnan(values.numbers[at]))
    return np.where(same, at, -1)
