"""Where points fall: polygons cut up into a small table that any engine finds its way through by joins alone.

The ground is cut by a grid, and each square that a border crosses is cut further, by lines, until no piece has a
border inside it (a binary space partition). A row of the table is a cut: a point with a·x + b·y < c goes to the row
`below`, any other to the row `above`; a negative number there is the end, −1 − code. So a point is found by as many
joins on a whole number as the deepest cut, nothing is asked of a point but two comparisons and a few sums, and
nothing can fail. What is joined is public: it is made of the map alone.

>>> from shapely import box
>>> cuts = Cuts.of([box(0, 0, 1, 1), box(1, 0, 2, 1)])
>>> cuts.find([0.5, 1.5, 7.0, float("nan")], [0.5, 0.5, 0.5, 0.5]).tolist()
[0, 1, -1, -1]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Point = tuple[float, float]
Segment = tuple[float, float, float, float]

_FEW = 3  # borders in a piece that are cut by themselves; more are first parted by a line through the middle
_SQUARES = (1 << 10, 1 << 18)  # in the grid, at least and at most
_NEAR = 1e-11  # degrees, about a micrometre: as near as that a border is not told from a cut


@dataclass(frozen=True, eq=False)
class Cuts:
    """The table: a grid over a frame, then a row for each cut; `depth` rows lead from a point to its end."""

    west: float
    south: float
    scale: tuple[float, float]
    squares: tuple[int, int]
    line: Floats
    """a, b and c of each row."""
    to: Ints
    """Where each row leads: below and above the line; −1 − code at the end, and the row itself where nothing is."""
    depth: int

    @classmethod
    def of(cls, shapes: Sequence[Any]) -> Cuts:
        """The cuts of polygons; where some overlap, the first of them holds the point. None is a code without one."""
        return _Maker(shapes).cuts()

    def sql(self, x: str, y: str, table: str, step: Callable[[str, str], str]) -> str:
        """An expression for the code of a point, NULL where it is in no polygon.

        `step` is given an expression and a join that it needs, and gives back the name under which its value is kept.
        """
        east, north = self.west + self.squares[0] / self.scale[0], self.south + self.squares[1] / self.scale[1]
        column = _square(x, self.west, self.scale[0], self.squares[0])
        row = _square(y, self.south, self.scale[1], self.squares[1])
        inside = (
            f"{x} >= {_real(self.west)} AND {x} < {_real(east)} AND {y} >= {_real(self.south)} AND {y} < {_real(north)}"
        )
        at = step(f"CASE WHEN {inside} THEN {column} * {self.squares[1]} + {row} END", "")
        for _ in range(self.depth):
            side = f"CASE WHEN n.a * {x} + n.b * {y} < n.c THEN n.below ELSE n.above END"
            at = step(f"COALESCE({side}, {at})", f"LEFT JOIN {table} AS n ON n.id = {at}")
        return f"CASE WHEN {at} < 0 THEN -1 - {at} END"

    def table(self, codes: Ints) -> pa.Table:
        """The rows, each end with the code that stands for its polygon."""
        import pyarrow as pa

        ends = self.to < 0
        to = np.where(ends, -1 - codes[np.where(ends, -1 - self.to, 0)], self.to)
        a, b, c = self.line.T
        rows = {"id": np.arange(len(to)), "a": a, "b": b, "c": c, "below": to[:, 0], "above": to[:, 1]}
        return pa.table({name: pa.array(values) for name, values in rows.items()})

    def find(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Ints:
        """The code of each point, −1 where it is in no polygon: what the expression says, over arrays."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        with np.errstate(invalid="ignore"):
            u, v = np.floor((x - self.west) * self.scale[0]), np.floor((y - self.south) * self.scale[1])
        inside = (u >= 0) & (v >= 0) & (u < self.squares[0]) & (v < self.squares[1])
        at = np.where(inside, np.where(inside, u, 0) * self.squares[1] + np.where(inside, v, 0), -1).astype(np.int64)
        here = inside.copy()
        for _ in range(self.depth):
            row = np.where(here, at, 0)
            a, b, c = self.line[row].T
            at = np.where(here, self.to[row, np.where(a * x + b * y < c, 0, 1)], at)
            here &= at >= 0
        return np.where(inside & (at < 0), -1 - at, -1)


def _square(value: str, least: float, scale: float, squares: int) -> str:
    return f"LEAST(TRY_CAST(FLOOR(({value} - {_real(least)}) * {_real(scale)}) AS BIGINT), {squares - 1})"


def _real(x: float) -> str:
    return f"CAST({x!r} AS DOUBLE)"


class _Maker:
    """Makes the table: lists of rows that grow, and points in the pieces that are left, to ask the polygons about."""

    def __init__(self, shapes: Sequence[Any]):
        import shapely

        self.codes = np.array([i for i, s in enumerate(shapes) if s is not None], np.int64)
        self.shapes = np.array([shapes[i] for i in self.codes], object)
        self.segments = _segments(self.shapes)
        west, south, east, north = shapely.total_bounds(self.shapes)
        margin = 1e-6 * max(east - west, north - south, 1e-6)
        self.west, self.south = float(west - margin), float(south - margin)
        size = np.array([east - west, north - south]) + 2 * margin
        count = float(np.clip(4 * len(self.segments), *_SQUARES))
        across = np.clip(np.ceil(np.sqrt(count * size / size[::-1])), 1, 4096).astype(int)
        self.squares = (int(across[0]), int(across[1]))
        self.scale = (float(across[0] / size[0]), float(across[1] / size[1]))
        grid = self.squares[0] * self.squares[1]
        self.lines: list[tuple[float, float, float]] = [(0.0, 0.0, 1.0)] * grid
        self.to: list[list[int]] = [[i, i] for i in range(grid)]
        self.ends: list[tuple[int, int]] = []
        self.points: list[Point] = []
        self.depth = 1

    def cuts(self) -> Cuts:
        """The table."""
        self._cut_all()
        found = self._where()
        to = np.array(self.to, np.int64)
        for (row, side), code in zip(self.ends, found.tolist(), strict=True):
            to[row, side] = row if code < 0 else -1 - code
        # the rows of the grid ask for nothing: whatever a point is, it goes below
        to[: self.squares[0] * self.squares[1], 1] = to[: self.squares[0] * self.squares[1], 0]
        return Cuts(self.west, self.south, self.scale, self.squares, np.array(self.lines), to, self.depth)

    def _cut_all(self) -> None:
        """A row for every square, and the rows of cuts below those that a border crosses."""
        crossed = self._crossings()
        width, height = 1 / self.scale[0], 1 / self.scale[1]
        for square in range(self.squares[0] * self.squares[1]):
            u, v = divmod(square, self.squares[1])
            w, s = self.west + u * width, self.south + v * height
            region = [(w, s), (w + width, s), (w + width, s + height), (w, s + height)]
            self._cut(region, crossed.get(square, []), square, 0, 1)

    def _cut(self, region: list[Point], borders: list[Segment], row: int, side: int, depth: int) -> None:
        """Fill one side of a row: with the end where no border is inside its region, with a cut where one is."""
        self.depth = max(self.depth, depth)
        if borders:
            for line in _candidates(region, borders):
                below, above = _parted(borders, line)
                if max(len(below), len(above)) < len(borders):
                    break
            low, high = _split(region, line)
            if len(low) > 2 and len(high) > 2:
                made = len(self.lines)
                self.lines.append(line)
                self.to.append([made, made])
                self.to[row][side] = made
                self._cut(low, below, made, 0, depth + 1)
                self._cut(high, above, made, 1, depth + 1)
                return
            rest = above if len(low) <= 2 else below
            if len(rest) < len(borders):
                self._cut(region, rest, row, side, depth)
                return
        self.ends.append((row, side))
        self.points.append((sum(x for x, _ in region) / len(region), sum(y for _, y in region) / len(region)))

    def _crossings(self) -> dict[int, list[Segment]]:
        """For each square that borders cross, those borders, cut to it."""
        s = self.segments
        low = np.floor((np.minimum(s[:, :2], s[:, 2:]) - [self.west, self.south]) * self.scale - 1e-9).astype(np.int64)
        high = np.floor((np.maximum(s[:, :2], s[:, 2:]) - [self.west, self.south]) * self.scale + 1e-9).astype(np.int64)
        last = np.array(self.squares) - 1
        low, high = np.clip(low, 0, last), np.clip(high, 0, last)
        wide = high - low + 1
        times = wide.prod(axis=1)
        which = np.repeat(np.arange(len(s)), times)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
        u, v = low[which, 0] + nth // wide[which, 1], low[which, 1] + nth % wide[which, 1]
        clipped, kept = self._clipped(s[which], u, v)
        out: dict[int, list[Segment]] = {}
        for square, segment in zip((u * self.squares[1] + v)[kept].tolist(), clipped[kept].tolist(), strict=True):
            out.setdefault(square, []).append(tuple(segment))
        return out

    def _clipped(self, s: Floats, u: Ints, v: Ints) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Segments cut to squares (Liang and Barsky's way), and which of them have a length there."""
        start, way = s[:, :2], s[:, 2:] - s[:, :2]
        corner = np.stack([u, v], axis=1) / self.scale + [self.west, self.south]
        enter, leave = np.zeros(len(s)), np.ones(len(s))
        inside = np.ones(len(s), np.bool_)
        for axis in (0, 1):
            edges = corner[:, axis], corner[:, axis] + 1 / self.scale[axis]
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.stack([(e - start[:, axis]) / way[:, axis] for e in edges])
            flat = way[:, axis] == 0
            inside &= ~flat | ((start[:, axis] >= edges[0] - _NEAR) & (start[:, axis] <= edges[1] + _NEAR))
            enter = np.where(flat, enter, np.maximum(enter, t.min(axis=0)))
            leave = np.where(flat, leave, np.minimum(leave, t.max(axis=0)))
        out = np.concatenate([start + enter[:, None] * way, start + leave[:, None] * way], axis=1)
        return out, inside & ((leave - enter) * np.hypot(way[:, 0], way[:, 1]) > _NEAR)

    def _where(self) -> Ints:
        """The code of the first polygon that holds each point, −1 where none does."""
        import shapely

        points = shapely.points(np.array(self.points))
        which, shape = shapely.STRtree(self.shapes).query(points, predicate="intersects")
        out = np.full(len(points), len(self.shapes))
        np.minimum.at(out, which, shape)
        return np.where(out < len(self.shapes), self.codes[np.minimum(out, len(self.shapes) - 1)], -1)


def _segments(shapes: npt.NDArray[Any]) -> Floats:
    """Every piece of border between two corners, once: x, y, x, y."""
    import shapely

    rings = shapely.get_rings(shapely.get_parts(shapes))
    xy, ring = shapely.get_coordinates(rings, return_index=True)
    same = ring[1:] == ring[:-1]
    a, b = xy[:-1][same], xy[1:][same]
    turned = (a[:, 0] > b[:, 0]) | ((a[:, 0] == b[:, 0]) & (a[:, 1] > b[:, 1]))
    a, b = np.where(turned[:, None], b, a), np.where(turned[:, None], a, b)
    found = np.unique(np.concatenate([a, b], axis=1), axis=0)
    return np.asarray(found[np.any(found[:, :2] != found[:, 2:], axis=1)])


def _candidates(region: list[Point], borders: list[Segment]) -> list[tuple[float, float, float]]:
    """Lines to cut by, the best first: through the middle where there are many borders, else along one of them."""
    along = [_line(b) for b in borders[:8]]
    if len(borders) <= _FEW:
        return along
    balance = [max(map(len, _parted(borders, line))) for line in along]
    best = along[balance.index(min(balance))]
    xs, ys = [x for x, _ in region], [y for _, y in region]
    middle = [(1.0, 0.0, (min(xs) + max(xs)) / 2), (0.0, 1.0, (min(ys) + max(ys)) / 2)]
    middle.sort(key=lambda line: max(map(len, _parted(borders, line))))
    gain = max(map(len, _parted(borders, middle[0])))
    return [middle[0], best, *along] if gain < min(balance) else [best, *along]


def _line(s: Segment) -> tuple[float, float, float]:
    """The line a·x + b·y = c through a segment, with a² + b² = 1."""
    a, b = s[3] - s[1], s[0] - s[2]
    length = math.hypot(a, b)
    a, b = a / length, b / length
    return a, b, a * s[0] + b * s[1]


def _parted(borders: list[Segment], line: tuple[float, float, float]) -> tuple[list[Segment], list[Segment]]:
    """The borders below and above a line, those that cross it cut in two; what lies on it is done with."""
    a, b, c = line
    below, above = [], []
    for x, y, u, v in borders:
        d, e = a * x + b * y - c, a * u + b * v - c
        if min(d, e) >= -_NEAR:
            if max(d, e) > _NEAR:
                above.append((x, y, u, v))
        elif max(d, e) <= _NEAR:
            below.append((x, y, u, v))
        else:
            t = d / (d - e)
            p, q = x + t * (u - x), y + t * (v - y)
            (below if d < 0 else above).append((x, y, p, q))
            (above if d < 0 else below).append((p, q, u, v))
    return below, above


def _split(region: list[Point], line: tuple[float, float, float]) -> tuple[list[Point], list[Point]]:
    """The parts of a convex region below and above a line; fewer than three corners where there is none."""
    a, b, c = line
    low: list[Point] = []
    high: list[Point] = []
    sides = [a * x + b * y - c for x, y in region]
    for i, (x, y) in enumerate(region):
        d, e = sides[i - 1], sides[i]
        if min(d, e) < -_NEAR and max(d, e) > _NEAR:
            p, q = region[i - 1]
            t = d / (d - e)
            cut = (p + t * (x - p), q + t * (y - q))
            low.append(cut)
            high.append(cut)
        if e <= _NEAR:
            low.append((x, y))
        if e >= -_NEAR:
            high.append((x, y))
    return (low if min(sides) < -_NEAR else []), (high if max(sides) > _NEAR else [])
