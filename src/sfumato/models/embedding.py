"""Bins as points: what it means that two areas, hours or kinds are near each other.

Codes are names, so distances between them mean nothing. An `Embedding` gives each bin of a column some coordinates:

- a place whose map is there: the middle of its area in the plane; a bin that is not on the map stands in the middle of
  all of them, with a coordinate that says so;
- a cycle (hours, weekdays, shifts): sine and cosine; where a level cuts it into equal parts, as shifts into days, those
  of the part and of the turn within it;
- an order: the rank;
- anything else: each bin on an axis of its own if they are few, otherwise the main axes along which the counts of
  public persons differ.

All coordinates are whole units of 2^-16, so that a sum over a person's records is exact, in any order, on any engine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.columns import Binned, Floats, Ints, Place, Time
from sfumato.errors import InputError
from sfumato.files import read_json
from sfumato.schema import Schema

ONE = 1 << 16  # units in a coordinate of 1
REACH = 4 * ONE  # no coordinate is larger
_FEW = 4  # bins that get an axis each, and axes of a column with more
_COMMON = 512  # bins of a column whose counts are compared, the commonest first
_PERSONS = 4096  # persons looked at together


@dataclass(frozen=True, eq=False)
class Embedding:
    """Coordinates of the bins of some columns: a table (bins × coordinates) and a few words for each column."""

    columns: tuple[str, ...]
    how: tuple[str, ...]
    tables: tuple[Ints, ...]

    @property
    def size(self) -> int:
        """How many coordinates a record has."""
        return sum(t.shape[1] for t in self.tables)

    def points(self, codes: Sequence[Ints]) -> Floats:
        """The coordinates of records given by the codes of the columns, a row each."""
        return np.concatenate([t[c] for t, c in zip(self.tables, codes, strict=True)], axis=1) / ONE

    def means(self, codes: Sequence[Ints], starts: Ints) -> Floats:
        """What persons are like: the root of the number of records, and their mean coordinates.

        The records of a person stand side by side, from one of `starts` up to the next.
        """
        sizes = np.diff(np.append(starts, len(codes[0])))
        out = np.empty((len(starts), 1 + self.size))
        out[:, 0] = np.sqrt(sizes)
        at = 1
        for table, code in zip(self.tables, codes, strict=True):
            for j in range(table.shape[1]):
                out[:, at] = np.add.reduceat(table[code, j], starts) / sizes / ONE
                at += 1
        return out


def embed(schema: Schema, columns: Sequence[str], codes: Sequence[Ints], starts: Ints) -> Embedding:
    """The embedding of columns; the public records say which bins are alike where nothing else does."""
    how, tables = [], []
    for name, code in zip(columns, codes, strict=True):
        words, table = _embed(schema[name], code, starts)
        how.append(words)
        tables.append(np.rint(np.clip(table, -4, 4) * ONE).astype(np.int64))
    return Embedding(tuple(columns), tuple(how), tuple(tables))


def _embed(column: Binned, code: Ints, starts: Ints) -> tuple[str, Floats]:
    lost = ""
    if isinstance(column, Place) and column.map is not None:
        if os.path.exists(column.map):
            return f"middles of the areas on the map {column.map}", centroids(column)
        lost = f" (there is no map {column.map} here)"
    if column.is_cyclic:
        return _cycle(column)
    if column.is_ordered:
        return "rank", np.linspace(-1, 1, column.size())[:, None]
    if column.size() <= _FEW:
        return f"an axis for each bin{lost}", np.eye(column.size())
    return f"the {_FEW} main axes of persons' counts{lost}", main_axes(code, starts, column.size())


def _cycle(column: Binned) -> tuple[str, Floats]:
    """Sine and cosine, of part and turn where a level cuts the cycle into equal parts."""
    turn = _turn(column)
    place = np.arange(column.size())
    if turn is None:
        return "cycle", _circle(place, column.size())
    parts = column.size() // turn
    both = [_circle(place // turn, parts), _circle(place % turn, turn)]
    return f"cycle of {parts}, and of {turn} within", np.concatenate(both, axis=1)


def _turn(column: Binned) -> int | None:
    """How many bins make one of the equal parts of a cycle, if there are such."""
    if isinstance(column, Time) and column.part == "weekday_part" and len(column.hours) > 1:
        return len(column.hours)
    for level in range(column.depth - 1, 0, -1):
        turn, rest = divmod(column.size(), column.size(level))
        if turn > 1 and not rest and column.size(level) > 1:
            groups = column.coarsen(level)
            if (groups == np.repeat(groups[::turn], turn)).all():
                return turn
    return None


def _circle(place: Ints, size: int) -> Floats:
    angle = 2 * math.pi * place / size
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def centroids(column: Place) -> Floats:
    """The middle of each area, from -1 to 1 in the longer direction, and 1 for a bin that is not on the map."""
    from shapely.geometry import shape

    where = f"the map {column.map} of column '{column.name}'"
    document = read_json(str(column.map))
    features = document.get("features") if isinstance(document, dict) else None
    if not isinstance(features, list):
        raise InputError(f"{where} is no GeoJSON FeatureCollection")
    middles: dict[str, tuple[float, float]] = {}
    try:
        for feature in features:
            middle = shape(feature["geometry"]).centroid
            middles[_key(feature, column.key)] = (middle.x, middle.y)
    except Exception:  # shapely raises many kinds; the map is public, but its error texts say little
        raise InputError(f"{where} has a feature without an area, or without '{column.key or 'id'}'") from None
    found = np.array([middles.get(str(value), (math.nan, math.nan)) for value in column.values])
    here = np.isfinite(found).all(axis=1)
    if not here.any():
        raise InputError(f"{where} has none of its areas, such as {column.values[0]!r}, under '{column.key or 'id'}'")
    return np.column_stack([_flat(found, here), ~here])


def _key(feature: dict[str, Any], key: str | None) -> str:
    return str(feature["properties"][key] if key else feature["id"])


def _flat(degrees: Floats, here: np.ndarray) -> Floats:
    """Points in the plane round their middle, the far ones 1 away; 0 where there is none."""
    centre = degrees[here].mean(axis=0)
    plane = degrees - centre
    if np.abs(degrees[here]).max() <= 360:  # degrees: a degree of longitude is shorter than one of latitude
        plane = plane * [math.cos(math.radians(min(89.0, abs(centre[1])))), 1]
    far = np.abs(plane[here]).max() or 1.0
    return np.where(here[:, None], plane / far, 0.0)


def main_axes(code: Ints, starts: Ints, bins: int) -> Floats:
    """The coordinates of each bin on the main axes along which the shares of persons differ.

    Shares are whole units of 2^-10, so that the sums are exact and do not depend on the order of the persons.
    """
    common = np.argsort(-np.bincount(code, minlength=bins), kind="stable")[:_COMMON]
    place = np.full(bins, len(common))
    place[common] = np.arange(len(common))
    ends = np.append(starts, len(code))
    total, square = np.zeros(len(common)), np.zeros((len(common), len(common)))
    for first in range(0, len(starts), _PERSONS):
        some = ends[first : first + _PERSONS + 1]
        shares = _shares(place[code[some[0] : some[-1]]], np.diff(some), len(common))
        total += shares.sum(axis=0)
        square += shares.T @ shares
    spread = square / len(starts) - np.outer(total, total) / len(starts) ** 2
    axes = np.linalg.eigh(spread)[1][:, ::-1][:, : min(_FEW, len(common))]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])  # which of two signs is chance
    out = np.zeros((bins, axes.shape[1]))
    out[common] = axes
    return out


def _shares(place: Ints, sizes: Ints, bins: int) -> Floats:
    """What part of each person's records is in each bin, in units of 2^-10 rounded down."""
    who = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.bincount(who * (bins + 1) + place, minlength=len(sizes) * (bins + 1)).reshape(len(sizes), bins + 1)
    return np.asarray(counts[:, :bins] * 1024 // sizes[:, None], float)
