"""Which marginals a metric weighs, and how counts may move in each: read from JSON, given in Python, or by default.

A file of marginals, whose shorter forms mean the same:

    {"sfumato": "marginals", "version": 1, "tolerance": 2, "alpha": 1,
     "marginals": [
       "neighborhood, period",
       {"columns": ["neighborhood", "incident_type@kind"], "weight": 2},
       {"columns": {"period": {"weight": "1/3"}, "neighborhood": {"weight": "2/3"}, "incident_type": "inf"}}]}

A column may have a `weight`, a `level`, a `distance` ("ordinal", "cyclic", "categorical", a matrix, or {"map": GeoJSON
file, "key": property} for the least number of borders on the way), and `levels` of its own in place of the schema's: a
list from coarse to fine of {group: [bins]}. Where no weights are given, counts move along ordered columns, all of the
same weight, and not between the bins of the others.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.checked import short
from sfumato.columns import Binned, Place, Time
from sfumato.errors import InputError
from sfumato.files import read_json
from sfumato.marginal import Axis as Level
from sfumato.marginal import Marginal
from sfumato.metrics.aemc import Axis
from sfumato.schema import Schema

EXAMPLES = ("census", "police")
MOST_EACH, MOST_ALL = 1_000_000, 20_000_000  # cells of one marginal, and of all, that are taken by default

_KEYS = ("weight", "level", "distance", "levels")


@dataclass(frozen=True)
class Weighed:
    """A marginal, its share in the score, and how counts may move along its columns.

    >>> Weighed.of("neighborhood", "period", weights={"neighborhood": 0.5, "period": 0.5}, weight=2.0).weight
    2.0
    """

    marginal: Marginal
    weights: Mapping[str, float] = field(default_factory=dict)
    """By column; those left out share what is missing to 1 if they are ordered, and are infinite otherwise."""
    weight: float = 1.0
    tolerance: float | None = None
    distances: Mapping[str, Any] = field(default_factory=dict)
    """By column: "ordinal", "cyclic", "categorical", or a matrix."""
    levels: Mapping[str, Sequence[Mapping[str, Sequence[Any]]]] = field(default_factory=dict)
    """By column: a hierarchy in place of the schema's, from coarse to fine, as group -> bins."""

    @classmethod
    def of(cls, *axes: str | Level, **settings: Any) -> Weighed:
        """The marginal of columns given as `column` or `column@level`, with settings."""
        return cls(Marginal.of(*axes), **settings)

    def axes(self, schema: Schema) -> tuple[Axis, ...]:
        """How counts may move along each column."""
        found = self._weights(schema)
        out = []
        for (column, level), weight in zip(self.marginal.bound_axes(schema), found, strict=True):
            out.append(self._axis(column, level, weight))
        return tuple(out)

    def check(self, schema: Schema) -> None:
        """Raise unless the schema has the columns and levels, and the weights make sense."""
        self.marginal.check_sparse(schema)
        for what in (self.weights, self.distances, self.levels):
            if strange := [name for name in what if name not in self.marginal.columns]:
                raise InputError(f"marginal {self.marginal}: it has no column '{strange[0]}'")
        _number(self.weight, f"marginal {self.marginal}: weight", positive=True)
        if self.tolerance is not None:
            _number(self.tolerance, f"marginal {self.marginal}: tolerance")
        axes = self.axes(schema)
        total = sum(a.weight for a in axes if math.isfinite(a.weight))
        if any(math.isfinite(a.weight) for a in axes) and abs(total - 1) > 1e-9:
            raise InputError(
                f"marginal {self.marginal}: its finite weights sum to {total:.6g}; make them sum to 1 "
                '("inf" forbids moving along a column)'
            )
        for i, (axis, k) in enumerate(zip(axes, self.marginal.shape(schema), strict=True)):
            try:
                axis.check(k, i)
            except InputError as error:
                raise InputError(f"marginal {self.marginal}, column '{self.marginal.columns[i]}': {error}") from None

    def _weights(self, schema: Schema) -> list[float]:
        """The weight of each column, those that are not given filled in."""
        columns = [schema[name] for name in self.marginal.columns]
        given = {name: _weight(w, f"marginal {self.marginal}, column '{name}'") for name, w in self.weights.items()}
        moves = [c.name for c in columns if c.name not in given and self._kind(c) != "categorical"]
        left = 1 - sum(w for w in given.values() if math.isfinite(w))
        each = max(0.0, left) / max(1, len(moves))
        return [given.get(c.name, each if c.name in moves else math.inf) for c in columns]

    def _kind(self, column: Binned) -> str:
        given = self.distances.get(column.name)
        if given is None:
            return "cyclic" if column.is_cyclic else "ordinal" if column.is_ordered else "categorical"
        return given if isinstance(given, str) else "distance"

    def _axis(self, column: Binned, level: int, weight: float) -> Axis:
        match self._kind(column):
            case "ordinal":
                return Axis.ordinal(weight)
            case "cyclic":
                return Axis.cyclic(weight)
            case "categorical":
                return Axis.categorical(weight, self._groups(column, level))
            case "distance":
                return Axis.distance(self.distances[column.name], weight)
            case other:
                raise InputError(
                    f"marginal {self.marginal}, column '{column.name}': distance is ordinal, cyclic, categorical, "
                    f"or a matrix, not {short(other)}"
                )

    def _groups(self, column: Binned, level: int) -> list[list[Any]]:
        """The groups of each bin at the levels above, from coarse to fine."""
        if column.name in self.levels:
            return [self._mapped(column, level, groups) for groups in self.levels[column.name]]
        first = np.unique(column.coarsen(level), return_index=True)[1]
        return [column.coarsen(i)[first].tolist() for i in range(1, level)]

    def _mapped(self, column: Binned, level: int, groups: Mapping[str, Sequence[Any]]) -> list[Any]:
        """The group of each bin, from a mapping group -> bins."""
        where = f"marginal {self.marginal}, column '{column.name}'"
        if not isinstance(groups, Mapping) or not all(isinstance(m, Sequence) for m in groups.values()):
            raise InputError(f"{where}: levels is a list, from coarse to fine, of objects with the bins of each group")
        group_of = {str(member): group for group, members in groups.items() for member in members}
        labels = [str(b) for b in column.labels(level)]
        if lost := [b for b in labels if b not in group_of]:
            raise InputError(f"{where}: a level leaves {lost[0]!r} out; every bin needs a group (uniform depth)")
        if odd := [b for b in group_of if b not in labels]:
            raise InputError(f"{where}: a level groups {odd[0]!r}, which is no bin of the column")
        return [group_of[b] for b in labels]


@dataclass(frozen=True)
class Weighing:
    """All marginals, with what holds for each of them that does not say otherwise; notes say what was left out."""

    marginals: tuple[Weighed, ...]
    tolerance: float | None = None
    alpha: float | None = None
    notes: tuple[str, ...] = ()


def example(name: str) -> Path:
    """The file of a worked example, `police` or `census`: copy it and make it yours.

    >>> example("police").name
    'police.json'
    """
    if name not in EXAMPLES:
        raise InputError(f"there is no example '{name}'; take one of {', '.join(EXAMPLES)}")
    return Path(str(resources.files("sfumato.metrics") / "examples" / f"{name}.json"))


def weighing(given: Any, schema: Schema) -> Weighing:
    """The marginals that were given: a file or the name of an example, a sequence, a document, or none."""
    if given is None:
        return default(schema)
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        if not path.exists() and str(given) in EXAMPLES:
            path = example(str(given))
        elif not path.exists() and path.suffix != ".json":
            raise InputError(
                f"there is no file {path} of marginals, and no example of that name ({', '.join(EXAMPLES)})"
            )
        found = _document(read_json(path), str(path), path.parent, schema)
    elif isinstance(given, Mapping):
        found = _document(given, "marginals", Path(), schema)
    elif isinstance(given, Iterable):
        found = Weighing(tuple(_entry(m, f"marginal {i + 1}", Path(), schema) for i, m in enumerate(given)))
    else:
        raise InputError(f"marginals are a file, an example's name or a list, not {short(given)}")
    if not found.marginals:
        raise InputError("there are no marginals to compare; name at least one")
    for weighed in found.marginals:
        weighed.check(schema)
    return found


def default(schema: Schema) -> Weighing:
    """All single columns, all pairs, and triples with a time or a place, as far as they are not too large."""
    names = schema.names
    anchors = {c.name for c in schema.attributes if isinstance(c, Time | Place)}
    sets = [s for n in (1, 2, 3) for s in itertools.combinations(names, n) if n < 3 or anchors & set(s)]
    taken, total, left = [], 0, 0
    for columns in sorted(sets, key=lambda s: (len(s), Marginal.of(*s).size(schema))):
        cells = Marginal.of(*columns).size(schema)
        if len(columns) > 1 and (cells > MOST_EACH or total + cells > MOST_ALL):
            left += 1
            continue
        taken.append(Weighed.of(*columns))
        total += cells
    notes = [f"{len(taken)} marginals by default, {total:,} cells: columns, pairs, and triples with a time or a place"]
    if left:
        notes.append(
            f"{left} larger ones are left out (beyond {MOST_EACH:,} cells each, {MOST_ALL:,} in all); "
            "name marginals, or coarser levels, to have them"
        )
    return Weighing(tuple(taken), notes=tuple(notes))


def _document(data: Any, where: str, folder: Path, schema: Schema) -> Weighing:
    """The marginals of a JSON document."""
    if isinstance(data, list):
        data = {"sfumato": "marginals", "version": 1, "marginals": data}
    if not isinstance(data, Mapping) or data.get("sfumato") != "marginals":
        raise InputError(
            f'{where} is no file of marginals: it needs {{"sfumato": "marginals", "version": 1, "marginals": …}}'
        )
    if data.get("version") != 1:
        raise InputError(f"{where} is version {data.get('version')!r} of marginals; this Sfumato reads version 1")
    _known(data, ("sfumato", "version", "tolerance", "alpha", "about", "marginals"), where)
    entries = data.get("marginals")
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{where}: marginals is a list with at least one entry")
    made = tuple(_entry(e, f"{where}, marginal {i + 1}", folder, schema) for i, e in enumerate(entries))
    numbers = {key: data.get(key) for key in ("tolerance", "alpha")}
    for key, value in numbers.items():
        if value is not None:
            _number(value, f"{where}: {key}")
    return Weighing(made, numbers["tolerance"], numbers["alpha"])


def _entry(entry: Any, where: str, folder: Path, schema: Schema) -> Weighed:
    """One marginal: as it is, as text, as a sequence of columns, or as an object."""
    if isinstance(entry, Weighed):
        return entry
    if isinstance(entry, Marginal):
        return Weighed(entry)
    if isinstance(entry, str):
        entry = [part.strip() for part in entry.split(",")]
    if not isinstance(entry, Mapping):
        entry = {"columns": entry}
    _known(entry, ("columns", "weight", "tolerance"), where)
    columns = entry.get("columns")
    try:
        if isinstance(columns, Mapping):
            return _detailed(entry, columns, where, folder, schema)
        if not isinstance(columns, Sequence) or isinstance(columns, str) or not columns:
            raise InputError("columns is a list of columns, or an object with a key for each")
        if odd := [c for c in columns if not isinstance(c, str | Level)]:
            raise InputError(f"a column is named by a text such as 'area@district', not by {short(odd[0])}")
        return Weighed.of(*columns, weight=_weight(entry.get("weight", 1.0), where), tolerance=entry.get("tolerance"))
    except InputError as error:
        raise InputError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None


def _detailed(
    entry: Mapping[str, Any], columns: Mapping[str, Any], where: str, folder: Path, schema: Schema
) -> Weighed:
    axes, weights, distances, levels = [], {}, {}, {}
    for name, settings in columns.items():
        if not isinstance(settings, Mapping):
            settings = {"weight": settings}
        _known(settings, _KEYS, f"{where}, column '{name}'")
        axis = Level.parse(name)
        axes.append(Level(axis.column, settings["level"]) if "level" in settings else axis)
        if "weight" in settings:
            weights[axis.column] = _weight(settings["weight"], f"{where}, column '{name}'")
        if "levels" in settings:
            levels[axis.column] = settings["levels"] if isinstance(settings["levels"], list) else [settings["levels"]]
        if (distance := settings.get("distance")) is not None:
            distances[axis.column] = _distance(distance, axes[-1], folder, schema)
    return Weighed.of(
        *axes, weights=weights, weight=_weight(entry.get("weight", 1.0), where), tolerance=entry.get("tolerance"),
        distances=distances, levels=levels,
    )  # fmt: skip


def _distance(given: Any, axis: Level, folder: Path, schema: Schema) -> Any:
    """A kind, a matrix, or one made from a map."""
    if not isinstance(given, Mapping):
        return given
    _known(given, ("map", "key"), f"column '{axis.column}': distance")
    from sfumato.metrics.borders import borders

    column = schema[axis.column]
    known = column if isinstance(column, Place) else None
    file, key = given.get("map") or (known and known.map), given.get("key") or (known and known.key)
    if not file:
        raise InputError(
            f'column \'{axis.column}\': name the map of its areas, {{"map": "areas.geojson", "key": "id"}}'
        )
    return borders(folder / str(file), [str(v) for v in column.labels(axis.level)], None if key is None else str(key))


def _known(given: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    if strange := [k for k in given if k not in keys]:
        raise InputError(f"{where}: unknown key '{strange[0]}'; it has {', '.join(keys)}")


def _weight(given: Any, where: str) -> float:
    """A weight as a number, a fraction such as "1/3", or "inf"."""
    try:
        if isinstance(given, str):
            return math.inf if given.strip().lower() in ("inf", "∞", "infinity") else float(Fraction(given))
        if isinstance(given, int | float | np.number) and not isinstance(given, bool) and given >= 0:
            return float(given)
    except (ValueError, ZeroDivisionError):
        pass
    raise InputError(f'{where}: a weight is a number from 0 on, a fraction such as "1/3", or "inf", not {short(given)}')


def _number(given: Any, what: str, positive: bool = False) -> None:
    good = isinstance(given, int | float | np.number) and not isinstance(given, bool) and 0 <= given < math.inf
    if not good or (positive and given == 0):
        raise InputError(f"{what} is a number {'above 0' if positive else 'from 0 on'}, not {short(given)}")
