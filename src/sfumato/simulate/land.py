"""The ground of the city, in miles from its centre: a shore or a river, airports, and the cells between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from shapely.geometry import Polygon

Water = Literal["lake", "river", "none"]
Floats = npt.NDArray[np.float64]

RADIUS = 9.0  # miles from the middle to the edge of the city
STRETCH = 1.3  # how much longer it is from north to south
CANDIDATES = 30_000
ROUNDS = 12  # of Lloyd's relaxation: more makes the areas rounder


@dataclass(frozen=True, eq=False)
class Land:
    """Dry land as a shapely geometry, and where the two airports lie on it."""

    shape: Any
    airports: Floats


def make(rng: np.random.Generator, water: Water) -> Land:
    """The land: a wobbly blob with an airport at its far edge, cut by the water."""
    import shapely

    blob = _blob(rng, middle=(-4.5, -1.0) if water == "lake" else (0.0, 0.0))
    far = _towards(blob, rng.uniform(128, 142), 1.2)
    near = _towards(blob, rng.uniform(222, 236), 0.68)
    neck = shapely.LineString([(0, 0), far]).buffer(0.9)
    ground = shapely.union_all([blob, neck, shapely.Point(far).buffer(2.0, quad_segs=5)])
    return Land(shapely.difference(ground, _water(rng, water)), np.array([far, near]))


def seeds(rng: np.random.Generator, land: Land, count: int) -> Floats:
    """Where the areas have their middles: close together downtown; the last two are the airports."""
    from scipy.spatial import cKDTree

    points = _candidates(rng, land)
    middles = points[rng.choice(len(points), count - 2, replace=False)]
    for _ in range(ROUNDS):
        nearest = cKDTree(middles).query(points)[1]
        here = np.bincount(nearest, minlength=len(middles))[:, None]
        sums = np.stack([np.bincount(nearest, points[:, axis], len(middles)) for axis in (0, 1)], axis=1)
        middles = np.where(here > 0, sums / np.maximum(here, 1), middles)
    return np.concatenate([middles, land.airports])


def cells(middles: Floats, land: Land) -> list[Polygon]:
    """A polygon for each middle: the land that is nearer to it than to the others, in one piece."""
    import shapely
    from scipy.spatial import Voronoi

    frame = 1e3 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    diagram = Voronoi(np.concatenate([middles, frame]))
    corners = [diagram.vertices[diagram.regions[r]] for r in diagram.point_region[: len(middles)]]
    whole = [shapely.intersection(shapely.MultiPoint(c).convex_hull, land.shape) for c in corners]
    pieces = [sorted(_polygons(w), key=lambda p: -p.area) for w in whole]
    return _join([p[0] for p in pieces], [q for p in pieces for q in p[1:]])


def _join(areas: list[Polygon], loose: list[Polygon]) -> list[Polygon]:
    """The areas with each loose piece (land across the water) given to the neighbour it borders on most."""
    import shapely

    for piece in loose:
        shared = np.array([shapely.intersection(piece, a).length for a in areas])
        best = int(shared.argmax())
        merged = _polygons(shapely.union(areas[best], piece))
        if shared[best] > 0 and len(merged) == 1:
            areas[best] = merged[0]
    return areas


def _polygons(shape: Any) -> list[Polygon]:
    """The polygons in a geometry of any kind."""
    return [g for g in getattr(shape, "geoms", [shape]) if g.geom_type == "Polygon" and g.area > 1e-6]


def _blob(rng: np.random.Generator, middle: tuple[float, float]) -> Any:
    """A round shape with an uneven edge, longer from north to south."""
    import shapely

    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    waves = np.arange(2, 9)
    turn = angle[:, None] * waves + rng.uniform(0, 2 * np.pi, len(waves))
    radius = RADIUS * (1 + (np.cos(turn) * rng.uniform(0.02, 0.13, len(waves)) / np.sqrt(waves)).sum(axis=1))
    edge = np.stack([radius * np.cos(angle), STRETCH * radius * np.sin(angle)], axis=1)
    return shapely.Polygon(edge + np.array(middle))


def _towards(blob: Any, degrees: float, share: float) -> tuple[float, float]:
    """The point at a share of the way from the centre to the edge of the city."""
    import shapely

    direction = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    way = shapely.intersection(blob, shapely.LineString([(0, 0), tuple(60 * direction)]))
    x, y = direction * way.length * share
    return float(x), float(y)


def _water(rng: np.random.Generator, water: Water) -> Any:
    """What is not land: everything east of a shore, a band through the city, or nothing."""
    import shapely

    along = np.linspace(-40, 40, 321)
    bends = np.stack([np.sin(along / length + rng.uniform(0, 2 * np.pi)) for length in (5.0, 1.9, 0.8)])
    if water == "lake":
        across = 1.3 + np.array([0.7, 0.25, 0.1]) @ bends - 0.003 * along**2
        shore = np.stack([across, along], axis=1)
        return shapely.Polygon([*shore, (60, 40), (60, -40)])
    if water == "river":
        across = 1.2 + np.array([1.3, 0.5, 0.1]) @ bends + 0.15 * along
        return shapely.LineString(np.stack([along, across], axis=1)).buffer(0.16, cap_style="flat")
    return shapely.Polygon()


def _candidates(rng: np.random.Generator, land: Land) -> Floats:
    """Points on land, denser near the centre, away from the airports."""
    import shapely

    west, south, east, north = land.shape.bounds
    points = rng.uniform((west, south), (east, north), (CANDIDATES, 2))
    apart = np.linalg.norm(points[:, None] - land.airports, axis=2)
    density = np.exp(-np.hypot(*points.T) / 2.8) + 0.2
    keep = (rng.random(CANDIDATES) < density) & (apart > (2.2, 1.3)).all(axis=1)
    chosen: Floats = points[keep & shapely.contains_xy(land.shape, *points.T)]
    return chosen
