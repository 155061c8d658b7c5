"""Points in polygons, on every engine, against shapely and the H3 library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import InputError, Marginal, Place, Table
from sfumato.bounded import bounded_counts
from sfumato.locate import Cuts
from sfumato.places import cuts_of
from tests.conftest import OnEngine
from tests.report.conftest import squares


def slow(shapes: list[Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The first shape that holds each point, −1 where none does: one shape after the other."""
    out = np.full(len(x), -1)
    for code in range(len(shapes) - 1, -1, -1):
        if shapes[code] is not None:
            out[shapely.intersects_xy(shapes[code], x, y)] = code
    return out


def apart(shapes: list[Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which points are not on a border, to 1e-9."""
    lines = shapely.union_all([s.boundary for s in shapes if s is not None])
    return np.asarray(shapely.distance(lines, shapely.points(x, y)) > 1e-9)


corner = st.integers(0, 12)
ring = st.lists(st.tuples(corner, corner), min_size=3, max_size=9)


@st.composite
def polygons(draw: st.DrawFn) -> list[Any]:
    """Polygons of any form on a coarse lattice: with holes, in several parts, overlapping, sharing borders, or none."""
    out: list[Any] = []
    for points in draw(st.lists(ring, min_size=1, max_size=6)):
        made = shapely.make_valid(shapely.Polygon(points))
        parts = [p for p in getattr(made, "geoms", [made]) if p.geom_type in ("Polygon", "MultiPolygon")]
        out.append(shapely.union_all(parts) if parts else None)
    return out if any(s is not None for s in out) else [shapely.box(0, 0, 1, 1)]


@settings(max_examples=150)
@given(polygons(), st.integers(0, 2**32 - 1))
def test_any_polygons_hold_the_points_that_shapely_says(shapes: list[Any], seed: int) -> None:
    """Random polygons and points: the first polygon that holds each point, wherever it is not on a border."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1, 13, 300), rng.uniform(-1, 13, 300)
    inner = apart(shapes, x, y)
    np.testing.assert_array_equal(Cuts.of(shapes).find(x, y)[inner], slow(shapes, x, y)[inner])


def test_many_borders_in_one_corner() -> None:
    """Sixty slices of a pie meet in one point, and each is found right up to it; no more rows than some per border."""
    angle = np.linspace(0, 2 * np.pi, 61)
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    slices = [shapely.Polygon([(0, 0), rim[i], rim[i + 1]]) for i in range(60)]
    turn = np.random.default_rng(2).uniform(0, 60, 4000)
    far = 10.0 ** -np.random.default_rng(3).uniform(0.01, 6, 4000)
    x, y = far * np.cos(turn * np.pi / 30), far * np.sin(turn * np.pi / 30)
    inner = apart(slices, x, y)
    cuts = Cuts.of(slices)
    np.testing.assert_array_equal(cuts.find(x, y)[inner], turn.astype(int)[inner])
    assert cuts.depth < 20


@pytest.fixture
def town(tmp_path: Path) -> Place:
    """Twelve squares on a map, of which the schema's column knows ten and a place for all else."""
    (tmp_path / "areas.geojson").write_text(json.dumps(squares(4, 3)))
    column = Place(
        name="area", values=(*range(1, 11), -1), other=-1, map="areas.geojson", longitude="lon", latitude="lat",
        levels={"half": ("w",) * 5 + ("e",) * 5 + ("?",)},
    )  # fmt: skip
    return column.beside(str(tmp_path))


def slow_area(lon: float | None, lat: float | None) -> int:
    """The code by plain arithmetic: the squares are 0.01 degrees wide, four in a row."""
    if lon is None or lat is None or not (0 < lon < 0.04 and 0 < lat < 0.03):
        return 10
    area = int(lat / 0.01) * 4 + int(lon / 0.01)
    return min(area, 10)


def test_points_fall_into_areas_alike_on_every_engine(on_engine: OnEngine, town: Place) -> None:
    """With nulls, NaN and infinity among them, at both levels; what is in no area is the place for all else."""
    rng = np.random.default_rng(5)
    lon = [*rng.uniform(-0.01, 0.05, 300).tolist(), float("nan"), float("inf"), -1e300, None, 0.015]
    lat = [*rng.uniform(-0.01, 0.04, 300).tolist(), 0.015, 0.015, 0.015, 0.015, None]
    want = [slow_area(a, b) for a, b in zip(lon, lat, strict=True)]
    table = on_engine(pa.table({"lon": pa.array(lon, pa.float64()), "lat": pa.array(lat, pa.float64())}))
    with Table.open(table, sf.Schema(columns=(town,))) as opened:
        fine, coarse = opened.counts([Marginal.of("area"), Marginal.of("area@half")])
    assert fine.values.tolist() == [want.count(code) for code in range(11)]
    assert coarse.values.tolist() == [fine.values[:5].sum(), fine.values[5:10].sum(), fine.values[10]]


def test_a_city_is_counted_as_its_map_says(tmp_path: Path) -> None:
    """20,000 points over 77 areas of a simulated city: the engine's counts are those of asking shapely one by one."""
    from sfumato.simulate import taxi

    drawn = taxi(records=1000).city
    drawn.write(tmp_path / "areas.geojson")
    codes = tuple(drawn.codes)
    place = Place(name="area", values=codes, map=str(tmp_path / "areas.geojson"), longitude="x", latitude="y")
    west, south, east, north = shapely.total_bounds(np.array(drawn.shapes, object))
    rng = np.random.default_rng(8)
    x, y = rng.uniform(west, east, 20_000), rng.uniform(south, north, 20_000)
    with Table.open(pa.table({"x": x, "y": y}), sf.Schema(columns=(place,))) as table:
        (counts,) = table.counts([Marginal.of("area")])
    found = slow(list(drawn.shapes), x, y)
    assert counts.values.tolist() == np.bincount(found[found >= 0], minlength=len(codes)).tolist()


def test_text_that_is_no_number_is_in_no_area(town: Place) -> None:
    """Coordinates as text are read; words are nowhere, and are quoted nowhere."""
    data = pa.table({"lon": ["0.005", "SECRET", ""], "lat": [" 0.005", "0.005", "0.005"]})
    with Table.open(data, sf.Schema(columns=(town,))) as opened:
        (counts,) = opened.counts([Marginal.of("area")])
    assert counts.values.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]


@pytest.mark.parametrize("bound", [sf.records(2), sf.weight(1.5), sf.l2(2)], ids=str)
def test_a_person_of_any_coordinates_moves_the_counts_of_areas_within_the_bound(town: Place, bound: sf.Bound) -> None:
    """On borders, outside, beyond all numbers or at the date line: a record is in one area, or in none."""
    odd = [0.0, -0.0, 0.01, 0.02, 0.04, 0.03, 180.0, -180.0, 1e308, -1e308, float("nan"), float("inf"), None, 5e-324]
    rng = np.random.default_rng(9)
    points = [(a, b) for a in odd for b in odd] + [tuple(p) for p in rng.uniform(0, 0.04, (100, 2)).tolist()]
    who = rng.integers(0, 12, len(points)).tolist()
    schema = sf.Schema(columns=(sf.Person(name="who"), town))
    marginals = [Marginal.of("area"), Marginal.of("area@half")]

    def counted(left_out: int | None) -> list[np.ndarray]:
        kept = [(w, a, b) for w, (a, b) in zip(who, points, strict=True) if w != left_out]
        columns = dict(zip(("who", "lon", "lat"), map(list, zip(*kept, strict=True)), strict=True))
        with Table.open(pa.table(columns), schema) as table:
            for plain in table.counts(marginals):
                assert plain.total == len(kept), "each record once"
            return [c.values / bound.unit for c in bounded_counts(table, marginals, bound, "key")]

    whole = counted(None)
    for person in range(12):
        for have, left in zip(whole, counted(person), strict=True):
            assert np.linalg.norm(have - left) <= bound.l2
            assert np.abs(have - left).sum() <= bound.l1


def test_a_release_from_coordinates_is_one_of_areas(town: Place) -> None:
    """Bounded counts by coordinates are those of the same table with the areas written out; decoded, it holds areas."""
    rng = np.random.default_rng(6)
    lon, lat, who = rng.uniform(0, 0.04, 500), rng.uniform(0, 0.03, 500), rng.integers(0, 60, 500)
    areas = np.array([(*range(1, 11), -1)[slow_area(a, b)] for a, b in zip(lon, lat, strict=True)])
    schema = sf.Schema(columns=(sf.Person(name="who"), town))
    budget = sf.Budget(2.0)
    models = []
    for data in ({"lon": lon, "lat": lat, "who": who}, {"area": areas, "who": who}):
        vault = sf.Vault.open(pa.table(data), schema, budget, ":memory:", seed=4)
        models.append(sf.NMD(bound=sf.records(3)).fit(vault))
    assert models[0].to_counts().values.tolist() == models[1].to_counts().values.tolist()
    assert models[0].to_table().column_names == ["area"]


def test_points_fall_into_the_cells_that_h3_says() -> None:
    """Of 20,000 points over a city, all but one or two at a side are in the cell that the library says."""
    rng = np.random.default_rng(7)
    lat, lon = rng.uniform(41.7, 42.0, 20_000), rng.uniform(-87.8, -87.5, 20_000)
    cells = tuple(sorted({h3.latlng_to_cell(a, b, 7) for a, b in zip(lat[:15_000], lon[:15_000], strict=True)}))
    place = Place(name="cell", values=cells, h3=7, longitude="lon", latitude="lat")
    want = {cell: i for i, cell in enumerate(cells)}
    found = cuts_of(place).find(lon, lat)
    said = np.array([want.get(h3.latlng_to_cell(a, b, 7), -1) for a, b in zip(lat, lon, strict=True)])
    assert (found != said).sum() <= 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"longitude": "x"}, "longitude and latitude are named together"),
        ({"longitude": "x", "latitude": "y"}, "need a map, or an H3 resolution"),
        ({"longitude": "x", "latitude": "y", "map": "m", "source": "z"}, "source goes without"),
        ({"longitude": "x", "latitude": "y", "h3": 7}, "as text"),
        ({"h3": 16}, "less than or equal to 15"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], sentence: str) -> None:
    """Coordinates come in pairs, with a map or a grid, and not with another source."""
    with pytest.raises(InputError, match=sentence):
        Place(name="area", values=(1, 2), **settings)


def test_a_map_that_is_missing_is_named() -> None:
    """The sentence says which column needs which file."""
    place = Place(name="area", values=(1, 2), map="nowhere.geojson", longitude="x", latitude="y")
    with pytest.raises(InputError, match=r"column 'area': nowhere.geojson does not exist"):
        Table.open(pa.table({"x": [1.0], "y": [1.0]}), sf.Schema(columns=(place,)))
    with pytest.raises(InputError, match=r"'z' is no cell of the H3 grid of resolution 7"):
        cuts_of(Place(name="area", values=("z",), h3=7, longitude="x", latitude="y"))


def test_a_schema_takes_its_places_from_the_map(tmp_path: Path) -> None:
    """Without values, a place gets those of the map beside the schema's file, with names, or the H3 cells of it."""
    (tmp_path / "areas.geojson").write_text(json.dumps(squares(2, 2)))
    point = {"kind": "place", "longitude": "x", "latitude": "y", "map": "areas.geojson"}
    columns = {"area": {**point, "key": "code"}, "cell": {**point, "h3": 8}}
    (tmp_path / "schema.json").write_text(json.dumps({"sfumato": "schema", "version": 1, "columns": columns}))
    schema = sf.Schema.load(tmp_path / "schema.json")
    assert schema["area"].bins == (1, 2, 3, 4)
    assert schema["area"].title(2) == "Quarter 3"
    with Table.open(pa.table({"x": [0.005, 0.015, 9.0], "y": [0.015, 0.005, 9.0]}), schema) as table:
        area, cell = table.counts([Marginal.of("area"), Marginal.of("cell")])
    assert area.values.tolist() == [0, 1, 1, 0]
    assert cell.total == 2
    assert str(tmp_path) not in json.dumps(schema.to_dict())
    with pytest.raises(InputError, match="'values' is missing"):  # as in a model from elsewhere: no file is opened
        sf.Schema.from_dict({"sfumato": "schema", "version": 1, "columns": columns})


@pytest.mark.parametrize(("file", "x", "y", "area"), [
    ("chicago_taxi_2022-03-01_raw.parquet", "pickup_centroid_longitude", "pickup_centroid_latitude",
     "pickup_community_area"),
    ("chicago_crimes_2018.parquet", "Longitude", "Latitude", "CommunityArea"),
])  # fmt: skip
def test_real_points_fall_into_the_area_that_they_state(shared: Path, file: str, x: str, y: str, area: str) -> None:
    """99 in 100 real points lie in their stated area, or within 1 m of it: the map's corners are rounded to 1 m."""
    import duckdb

    sql = f'SELECT "{x}" AS x, "{y}" AS y, TRY_CAST("{area}" AS INTEGER) AS a FROM read_parquet(?) WHERE x IS NOT NULL'
    found = duckdb.execute(f"{sql} AND a BETWEEN 1 AND 77", [str(shared / file)]).fetchnumpy()
    place = Place(
        name="area", values=tuple(range(1, 78)), map=str(shared / "chicago_community_areas.geojson"), longitude="x",
        latitude="y",
    )  # fmt: skip
    lon, lat, stated = (np.asarray(found[n]) for n in "xya")
    wrong = np.flatnonzero(cuts_of(place).find(lon, lat) != stated - 1)
    metres = np.array([111_195 * np.cos(np.radians(41.85)), 111_195])
    from sfumato.places import areas_of

    areas = areas_of(place)
    assert areas is not None
    shapes = shapely.transform(np.array(areas.shapes, object), lambda xy: xy * metres)
    points = shapely.points(np.stack([lon, lat], axis=1)[wrong] * metres)
    off = shapely.distance(shapes[stated[wrong].astype(int) - 1], points) > 1.0
    assert off.sum() / len(lon) <= 0.01
