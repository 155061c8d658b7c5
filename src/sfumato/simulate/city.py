"""The invented city: areas with a shape, a name, a character, people living there and reasons to go there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.files import write_text
from sfumato.simulate import land
from sfumato.simulate.draws import check_seed, generator
from sfumato.simulate.words import city_name, place_names

if TYPE_CHECKING:
    from shapely.geometry import Polygon

Floats = npt.NDArray[np.float64]

CHARACTERS = ("downtown", "dense", "residential", "industrial", "leisure", "airport")
DOWNTOWN, DENSE, RESIDENTIAL, INDUSTRIAL, LEISURE, AIRPORT = range(len(CHARACTERS))

MIDDLE = (-31.5, 41.0)  # lon, lat: open ocean, so that nobody takes it for a real place
MILES_PER_DEGREE = 69.0
MOST_AREAS = 1_000

PEOPLE = np.array([14.0, 20.0, 9.0, 2.5, 6.0, 0.02])  # thousands a square mile, by character
PULL = np.array([13.5, 1.2, 0.1, 0.14, 0.5, 0.0])  # visitors an area draws, by character
AIRPORT_PULL = (5.0, 1.3)  # of the far and the near airport

COLUMNS, BANDS = ("West", "", "East"), ("North", "", "South")


@dataclass(frozen=True, eq=False)
class City:
    """Areas of an invented city; every tuple and array has an entry for each area.

    >>> city = City.build(areas=20, seed=3)
    >>> len(city.codes), city.codes[0], len(set(city.names)), city.characters.count("airport")
    (20, 1, 20, 2)
    """

    name: str
    seed: int
    codes: tuple[int, ...]
    names: tuple[str, ...]
    kinds: npt.NDArray[np.int64]
    """The character of each area, as a position in `CHARACTERS`."""
    sides: tuple[str, ...]
    """The part of the city, about nine in all: West, North East, Centre, …"""
    middles: Floats
    """Centroids in miles east and north of the centre."""
    square_miles: Floats
    population: Floats
    attraction: Floats
    """Share of all visits, heavy-tailed; sums to 1."""
    shapes: tuple[Polygon, ...]
    """Shapely polygons in degrees."""

    @classmethod
    def build(cls, areas: int = 77, seed: int = 7, water: land.Water = "lake", first: int = 1) -> City:
        """A city with that many areas, coded from `first` up, by a lake, on a river or without water (`"none"`)."""
        if isinstance(areas, bool) or not isinstance(areas, int) or not 5 <= areas <= MOST_AREAS:
            raise InputError(f"areas is {areas!r}; a city has 5 to {MOST_AREAS:,} of them, two being airports")
        if water not in get_args(land.Water):
            raise InputError(f"water is {water!r}; it is one of {', '.join(get_args(land.Water))}")
        if isinstance(first, bool) or not isinstance(first, int) or not 0 <= first <= 20_000:
            raise InputError(f"first is {first!r}; the code of the first area is a whole number from 0 to 20,000")
        rng = generator(check_seed(seed), 1)
        ground = land.make(rng, water)
        polygons = land.cells(land.seeds(rng, ground, areas), ground)
        return cls._settle(rng, seed, first, polygons, ground)

    @classmethod
    def _settle(cls, rng: np.random.Generator, seed: int, first: int, polygons: list[Polygon], ground: Any) -> City:
        """The city on a map: its areas in the order of their names."""
        middles = np.array([p.centroid.coords[0] for p in polygons])
        miles = np.array([p.area for p in polygons])
        kinds = _characters(rng, middles, ground)
        names = place_names(rng, kinds == AIRPORT)
        order = np.argsort(names)
        people = np.rint(1000 * miles * PEOPLE[kinds] * rng.lognormal(0, 0.35, len(kinds)))
        return cls(
            name=city_name(rng),
            seed=seed,
            codes=tuple(range(first, first + len(order))),
            names=tuple(names[i] for i in order),
            kinds=kinds[order],
            sides=tuple(_sides(middles)[i] for i in order),
            middles=middles[order],
            square_miles=miles[order],
            population=people[order],
            attraction=_attraction(rng, kinds)[order],
            shapes=tuple(_degrees(polygons[i]) for i in order),
        )

    @property
    def characters(self) -> tuple[str, ...]:
        """downtown, dense, residential, industrial, leisure or airport, for each area."""
        return tuple(CHARACTERS[k] for k in self.kinds)

    @property
    def centroids(self) -> Floats:
        """Longitude and latitude of the middle of each area."""
        return np.array([s.centroid.coords[0] for s in self.shapes])

    @cached_property
    def airports(self) -> tuple[int, int]:
        """Positions of the far (large) and the near (small) airport."""
        here = np.flatnonzero(self.kinds == AIRPORT)
        far = np.hypot(*self.middles[here].T).argmax()
        return int(here[far]), int(here[1 - far])

    @cached_property
    def miles(self) -> Floats:
        """Miles by road between the middles of the areas; within an area, a typical short ride."""
        apart: Floats = 1.25 * np.linalg.norm(self.middles[:, None] - self.middles, axis=2)
        np.fill_diagonal(apart, 0.35 + 0.4 * np.sqrt(self.square_miles))
        return apart

    def geojson(self) -> dict[str, Any]:
        """The map as a GeoJSON FeatureCollection (RFC 7946): an area a feature, its code as id."""
        from shapely.geometry import mapping

        rows = zip(self.codes, self.names, self.characters, self.sides, self.shapes, strict=True)
        features = [
            {
                "type": "Feature",
                "id": code,
                "properties": {"code": code, "name": name, "character": character, "side": side},
                "geometry": mapping(shape),
            }
            for code, name, character, side, shape in rows
        ]
        return {"type": "FeatureCollection", "name": self.name, "features": features}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the map as a GeoJSON file."""
        import json

        write_text(path, json.dumps(self.geojson(), ensure_ascii=False) + "\n")


def _characters(rng: np.random.Generator, middles: Floats, ground: land.Land) -> npt.NDArray[np.int64]:
    """What each area is like: downtown in the middle, leisure near water and centre, industry on one side."""
    from shapely import MultiPoint, distance

    out = np.full(len(middles), RESIDENTIAL)
    out[-2:] = AIRPORT
    rest = len(middles) - 2
    from_centre = np.hypot(*middles.T)
    from_edge = np.array([distance(p, ground.shape.boundary) for p in MultiPoint(middles).geoms])
    bearing = np.radians(rng.uniform(170, 260))
    works = 5.0 * np.array([np.cos(bearing), np.sin(bearing)])
    choices = (
        (DOWNTOWN, max(1, round(0.05 * rest)), from_centre),
        (DENSE, max(1, round(0.13 * rest)), from_centre),
        (LEISURE, round(0.06 * rest), from_centre + 3 * from_edge),
        (INDUSTRIAL, round(0.12 * rest), np.linalg.norm(middles - works, axis=1)),
    )
    for kind, count, order in choices:
        free = np.flatnonzero(out == RESIDENTIAL)
        out[free[np.argsort(order[free])[:count]]] = kind
    return out


def _attraction(rng: np.random.Generator, kinds: npt.NDArray[np.int64]) -> Floats:
    """The share of visits of each area: set by its character, with a long tail within each."""
    pull = PULL[kinds] * rng.lognormal(0, 0.75, len(kinds))
    downtown = np.flatnonzero(kinds == DOWNTOWN)
    ranks = rng.permutation(len(downtown)) + 1
    pull[downtown] = PULL[DOWNTOWN] * ranks**-0.8 * 3.7 / (np.arange(1, len(ranks) + 1) ** -0.8).sum()
    pull[kinds != DOWNTOWN] *= 73 / max(73, len(kinds) - 2)
    pull[kinds == AIRPORT] = AIRPORT_PULL
    return np.asarray(pull / pull.sum())


def _sides(middles: Floats) -> list[str]:
    """The part of the city each area is in: bands from north to south of equal count, each cut from west to east."""
    parts = min(3, int(np.sqrt(len(middles))))
    named = {3: (0, 1, 2), 2: (0, 2), 1: (1,)}[parts]
    band = _ranks(-middles[:, 1]) * parts // len(middles)
    column = np.zeros(len(middles), np.int64)
    for b in range(parts):
        here = np.flatnonzero(band == b)
        column[here] = _ranks(middles[here, 0]) * parts // len(here)
    words = [f"{BANDS[named[b]]} {COLUMNS[named[c]]}".strip() for b, c in zip(band, column, strict=True)]
    return [w or "Centre" for w in words]


def _ranks(values: Floats) -> npt.NDArray[np.int64]:
    """The rank of each value, from 0."""
    return np.argsort(np.argsort(values))


def _degrees(polygon: Polygon) -> Polygon:
    """A polygon in miles as one in degrees, to 5 digits (about a yard), wound as RFC 7946 asks."""
    from shapely import transform
    from shapely.geometry.polygon import orient

    scale = MILES_PER_DEGREE * np.array([np.cos(np.radians(MIDDLE[1])), 1.0])
    return orient(transform(polygon, lambda xy: np.round(np.array(MIDDLE) + xy / scale, 5)))
