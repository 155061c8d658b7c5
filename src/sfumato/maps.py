"""Maps: the areas of a GeoJSON file, found by a key, as shapes to draw, and who is next to whom.

>>> square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
>>> beside = {"type": "Polygon", "coordinates": [[[1, 0], [2, 0], [2, 1], [1, 1], [1, 0]]]}
>>> features = [{"type": "Feature", "id": i, "properties": {}, "geometry": g} for i, g in enumerate((square, beside))]
>>> drawn = Map.of({"type": "FeatureCollection", "features": features})
>>> drawn.areas((1, 0, 7)).shapes[2] is None
True
>>> drawn.areas((1, 0)).neighbours().tolist()
[[False, True], [True, False]]
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.files import read_json

KM_PER_DEGREE = 111.195  # on a sphere as large as the earth
WIDTH = 4000  # units of a drawing; whole numbers are fine enough then
MOST_POINTS = 30_000  # corners that a drawing keeps
_NAMES = ("name", "neighborhood", "neighbourhood", "area", "community", "label", "title")


@dataclass(frozen=True, eq=False)
class Map:
    """The features of a GeoJSON file: the id of each, its properties, its shape."""

    origin: str
    ids: tuple[object, ...]
    properties: tuple[Mapping[str, Any], ...]
    shapes: npt.NDArray[Any]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Map:
        """The map in a file."""
        return cls.of(read_json(path), os.fspath(path))

    @classmethod
    def of(cls, data: object, origin: str = "the map") -> Map:
        """The map in a parsed GeoJSON document: a FeatureCollection of polygons."""
        features = data.get("features") if isinstance(data, dict) else None
        if not isinstance(features, list) or not features:
            raise InputError(f"{origin} is no map: a GeoJSON FeatureCollection with an area a feature is needed")
        ids, properties, shapes = [], [], []
        for number, feature in enumerate(features, start=1):
            ids.append(feature.get("id") if isinstance(feature, dict) else None)
            shapes.append(_polygon(feature, f"{origin}, feature {number}"))
            found = feature.get("properties")
            properties.append(found if isinstance(found, dict) else {})
        return cls(origin, tuple(ids), tuple(properties), np.array(shapes, object))

    def areas(self, values: Sequence[int | str], key: str | None = None) -> Areas:
        """A shape for each value, None where the map has none; `key` is the property that holds the values.

        Without a key it is the features' id, or else the property that names the most values.
        """
        import shapely

        place = {_text(v): i for i, v in enumerate(values)}
        chosen = self._key(place, key)
        parts: list[list[int]] = [[] for _ in values]
        for feature, text in enumerate(self._texts(chosen)):
            if text in place:
                parts[place[text]].append(feature)
        shapes = [self._joined(p, shapely) for p in parts]
        names = tuple(self._name(p[0]) if p else None for p in parts)
        return Areas(self.origin, tuple(values), tuple(shapes), names, len(self.ids) - sum(map(len, parts)))

    def values(self, key: str | None = None) -> tuple[int | str, ...]:
        """The values of a key, each once, in the order of the file; the features' ids without a key."""
        found = dict.fromkeys(t for t in self._texts(key) if t is not None)
        if not found:
            what = f"property '{key}'" if key else "id"
            raise InputError(f"{self.origin}: no feature has the {what} that would name its area; say another key")
        whole = all(t.removeprefix("-").isdecimal() and str(int(t)) == t for t in found)
        return tuple(int(t) for t in found) if whole else tuple(found)

    def _joined(self, parts: Sequence[int], shapely: Any) -> Any:
        if len(parts) < 2:
            return self.shapes[parts[0]] if parts else None
        return shapely.union_all(self.shapes[list(parts)])

    def _texts(self, key: str | None) -> list[str | None]:
        """What each feature is called under a key."""
        if key is None:
            return [_text(i) for i in self.ids]
        return [_text(p.get(key)) for p in self.properties]

    def _key(self, wanted: Mapping[str | None, int], key: str | None) -> str | None:
        """The key under which the most values are found."""
        names = dict.fromkeys(n for p in self.properties for n in p)
        if key is not None and key not in names:
            raise InputError(
                f"{self.origin}: no feature has a property '{key}'; there are {', '.join(names) or 'none'}"
            )
        tried: list[str | None] = [None, *names] if key is None else [key]
        hits = [len(set(self._texts(k)) & set(wanted)) for k in tried]
        if not any(hits):
            has = next((t for t in self._texts(tried[0]) if t is not None), None)
            where = f"property '{key}'" if key else "ids and properties"
            such = f", such as {has!r}," if has else ""
            raise InputError(
                f"{self.origin}: the {where} of its {len(self.ids):,} features{such} hold none of the schema's values, "
                f"such as {next(iter(wanted))!r}; give the map of these places, or the property that holds the values"
            )
        return tried[int(np.argmax(hits))]

    def _name(self, feature: int) -> str | None:
        """What a person calls an area, where a property says so."""
        lower = {k.lower(): v for k, v in self.properties[feature].items()}
        return next((str(lower[n]) for n in _NAMES if isinstance(lower.get(n), str) and lower[n].strip()), None)


@dataclass(frozen=True, eq=False)
class Areas:
    """Values of a place, each with its shape and its name on the map, None where the map has none."""

    origin: str
    values: tuple[int | str, ...]
    shapes: tuple[Any, ...]
    names: tuple[str | None, ...]
    strangers: int
    """Features of the map that are none of the values."""

    @property
    def missing(self) -> tuple[int, ...]:
        """Positions of the values that the map does not show."""
        return tuple(i for i, s in enumerate(self.shapes) if s is None)

    @cached_property
    def _drawn(self) -> npt.NDArray[np.int64]:
        return np.array([i for i, s in enumerate(self.shapes) if s is not None], np.int64)

    @cached_property
    def _scale(self) -> npt.NDArray[np.float64]:
        """Kilometres per unit east and north: degrees on a sphere, or units as they are where they are no degrees."""
        import shapely

        west, south, east, north = shapely.total_bounds(self._present)
        if max(abs(west), abs(east)) > 360 or max(abs(south), abs(north)) > 90:
            return np.ones(2)
        return KM_PER_DEGREE * np.array([max(0.02, math.cos(math.radians((south + north) / 2))), 1.0])

    @property
    def _present(self) -> npt.NDArray[Any]:
        return np.array([self.shapes[i] for i in self._drawn], object)

    @property
    def geographic(self) -> bool:
        """Whether coordinates are degrees, so that sizes in km² are known."""
        return bool((self._scale > 1).any())

    def square_km(self) -> npt.NDArray[np.float64]:
        """The size of each area, NaN where it has no shape."""
        import shapely

        out = np.full(len(self.values), np.nan)
        out[self._drawn] = shapely.area(self._present) * self._scale.prod()
        return out

    def neighbours(self) -> npt.NDArray[np.bool_]:
        """Whether two areas share a border; a common corner is none. Small gaps in the drawing do not part them."""
        import shapely

        k = len(self.values)
        out = np.zeros((k, k), np.bool_)
        shapes = self._present
        gap = 1e-3 * math.sqrt(float(np.median(shapely.area(shapes))))
        a, b = shapely.STRtree(shapes).query(shapes, predicate="dwithin", distance=gap)
        a, b = a[a < b], b[a < b]
        border = shapely.intersection(shapely.boundary(shapes[a]), shapely.buffer(shapes[b], gap))
        close = shapely.length(border) > 12 * gap
        a, b = self._drawn[a[close]], self._drawn[b[close]]
        out[a, b] = out[b, a] = True
        return out

    def steps(self) -> npt.NDArray[np.float64]:
        """How far apart two areas are, from 0 to 1: steps from neighbour to neighbour, over the most there are.

        Infinite where no way leads: to an island, and to a value without a shape.
        """
        from scipy.sparse.csgraph import shortest_path

        hops = np.asarray(shortest_path(self.neighbours(), method="D", unweighted=True, directed=False), float)
        return hops / max(1.0, float(hops[np.isfinite(hops)].max()))

    def grouped(self, codes: npt.NDArray[np.int64], labels: Sequence[int | str]) -> Areas:
        """The areas of groups, from the group of each value: their shapes joined."""
        import shapely

        shapes: list[Any] = []
        for code in range(len(labels)):
            parts = [self.shapes[i] for i in np.flatnonzero(codes == code) if self.shapes[i] is not None]
            shapes.append(shapely.union_all(parts) if parts else None)
        return Areas(self.origin, tuple(labels), tuple(shapes), (None,) * len(labels), self.strangers)

    # ------------------------------------------------------------------ drawing

    def drawing(self) -> Drawing:
        """The areas in `WIDTH` units from west to east, simplified together so that borders still meet."""
        import shapely

        west, south, east, north = shapely.total_bounds(self._present)
        unit = WIDTH / max((east - west) * self._scale[0], (north - south) * self._scale[1] / 1.25, 1e-12)
        origin, turn = np.array([west, north]), unit * self._scale * np.array([1.0, -1.0])
        shapes = shapely.transform(self._present, lambda xy: (xy - origin) * turn)
        width, height = (np.array([east - west, north - south]) * self._scale * unit).tolist()
        paths = [""] * len(self.values)
        middles = np.full((len(self.values), 2), np.nan)
        points = shapely.point_on_surface(shapes)
        middles[self._drawn] = np.stack([shapely.get_x(points), shapely.get_y(points)], axis=1)
        for i, shape in zip(self._drawn, _simplified(shapes), strict=True):
            paths[i] = _path(shape)
        return Drawing(max(1, round(width)), max(1, round(height)), tuple(paths), middles)


@dataclass(frozen=True, eq=False)
class Drawing:
    """SVG paths in a frame of whole units; an empty path and NaN where there is nothing to draw."""

    width: int
    height: int
    paths: tuple[str, ...]
    middles: npt.NDArray[np.float64]


def h3_areas(values: Sequence[int | str], resolution: int, column: str, other: object = None) -> Areas:
    """The cells of the H3 grid as areas; their sides, which are arcs on a sphere, in pieces too short to tell."""
    import h3
    import shapely

    shapes: list[Any] = []
    for value in values:
        if value == other:
            shapes.append(None)
            continue
        if not (h3.is_valid_cell(str(value)) and h3.get_resolution(str(value)) == resolution):
            raise InputError(f"column '{column}': {value!r} is no cell of the H3 grid of resolution {resolution}")
        corners = np.array(h3.cell_to_boundary(str(value)))[:, ::-1]
        shapes.append(shapely.Polygon(_arcs(corners)))
    return Areas("the H3 grid", tuple(values), tuple(shapes), (None,) * len(values), 0)


def h3_cells(drawn: Map, resolution: int) -> tuple[str, ...]:
    """The cells of the H3 grid that cover a map, in the order of their indexes."""
    import h3
    import shapely

    whole = shapely.union_all(drawn.shapes)
    shape = h3.geo_to_h3shape(whole)
    return tuple(sorted(h3.h3shape_to_cells_experimental(shape, resolution, contain="overlap")))


def _arcs(corners: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A ring of corners in degrees with points between them on great circles: chords then stray a centimetre or so."""
    radians = np.radians(corners)
    flat = np.cos(radians[:, 1])
    xyz = np.stack([flat * np.cos(radians[:, 0]), flat * np.sin(radians[:, 0]), np.sin(radians[:, 1])], axis=1)
    after = np.roll(xyz, -1, axis=0)
    longest = float(np.linalg.norm(xyz - after, axis=1).max())
    pieces = int(np.clip(np.ceil(longest / 1.2e-4), 1, 512))  # a chord of 1.2e-4 of the radius strays some 1 cm
    t = np.arange(pieces)[None, :, None] / pieces
    x, y, z = ((1 - t) * xyz[:, None] + t * after[:, None]).reshape(-1, 3).T
    out = np.degrees(np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))], axis=1))
    apart = out[:, 0] - corners[0, 0]
    out[:, 0] -= 360 * (apart > 180)  # a cell on the far side of the earth is not cut in two
    out[:, 0] += 360 * (apart < -180)
    return np.asarray(out)


def _text(value: object) -> str | None:
    """A key as text: 7, 7.0 and "7" are alike."""
    if value is None or isinstance(value, bool | dict | list):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _polygon(feature: object, where: str) -> Any:
    """The valid (multi)polygon of a feature."""
    import shapely
    from shapely.geometry import shape

    geometry = feature.get("geometry") if isinstance(feature, dict) else None
    if not isinstance(geometry, dict) or geometry.get("type") not in ("Polygon", "MultiPolygon"):
        found = geometry.get("type") if isinstance(geometry, dict) else None
        raise InputError(f"{where} is no area: a Polygon or a MultiPolygon is needed (got {found})")
    try:
        made = shapely.force_2d(shape(geometry))
    except (KeyError, TypeError, ValueError, IndexError, shapely.errors.ShapelyError):
        raise InputError(f"{where}: its coordinates are not those of a {geometry['type']}") from None
    if made.is_empty or not np.isfinite(shapely.get_coordinates(made)).all():
        raise InputError(f"{where}: its coordinates are empty or no numbers")
    if made.is_valid:
        return made
    parts = [g for g in _flat(shapely.make_valid(made)) if g.geom_type == "Polygon"]
    if not parts:
        raise InputError(f"{where}: its polygon has no inside")
    return shapely.union_all(parts)


def _flat(geometry: Any) -> Iterator[Any]:
    for part in getattr(geometry, "geoms", [geometry]):
        yield from _flat(part) if hasattr(part, "geoms") else [part]


def _simplified(shapes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Shapes with at most `MOST_POINTS` corners, or as near to that as keeps every area visible."""
    import shapely

    plain = shapes
    for tolerance in (WIDTH / 2000, WIDTH / 1000, WIDTH / 500, WIDTH / 250):
        try:
            plain = shapely.coverage_simplify(shapes, tolerance)
        except shapely.errors.GEOSException:
            plain = shapely.simplify(shapes, tolerance)
        if shapely.get_num_coordinates(plain).sum() <= MOST_POINTS:
            break
    return plain


def _path(shape: Any) -> str:
    """A shape as an SVG path of whole, relative steps; rings that vanish in rounding are left out."""
    rings = [r for p in getattr(shape, "geoms", [shape]) for r in (p.exterior, *p.interiors)]
    out = []
    for i, ring in enumerate(rings):
        xy = np.rint(np.asarray(ring.coords)).astype(np.int64)
        moves = np.diff(xy[:-1], axis=0)
        moves = moves[np.any(moves != 0, axis=1)]
        if len(moves) >= 2 or i == 0:
            steps = " ".join(f"{x} {y}" for x, y in moves.tolist())
            out.append(f"M{xy[0, 0]} {xy[0, 1]}l{steps or '1 0'}z".replace(" -", "-"))
    return "".join(out)


def tiles(count: int) -> Drawing:
    """A grid of equal squares, row by row: for places of which nobody knows where they are."""
    across = max(1, math.ceil(math.sqrt(1.5 * count)))
    side = WIDTH // across
    cells = [(i % across * side, i // across * side) for i in range(count)]
    gap = max(2, side // 14)
    paths = tuple(f"M{x + gap} {y + gap}h{side - 2 * gap}v{side - 2 * gap}h-{side - 2 * gap}z" for x, y in cells)
    middles = np.array(cells, float).reshape(-1, 2) + side / 2
    return Drawing(across * side, math.ceil(count / across) * side, paths, middles)
