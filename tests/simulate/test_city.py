import json
from pathlib import Path

import numpy as np
import pytest
import shapely
from shapely.geometry import shape

from sfumato.errors import InputError
from sfumato.simulate import City
from sfumato.simulate.city import CHARACTERS

MAPS = Path(__file__).resolve().parents[3] / "shared" / "data"
KINDS = [(5, "lake"), (78, "lake"), (78, "river"), (278, "river"), (40, "none")]


@pytest.fixture(params=KINDS, ids=lambda p: f"{p[0]}-{p[1]}", scope="module")
def city(request: pytest.FixtureRequest) -> City:
    areas, water = request.param
    return City.build(areas, seed=3, water=water)


def test_every_code_has_one_area_on_the_map(city: City) -> None:
    """The map holds each code once, as id and as property, with name and character."""
    found = city.geojson()["features"]
    assert tuple(f["id"] for f in found) == tuple(f["properties"]["code"] for f in found) == city.codes
    assert tuple(f["properties"]["name"] for f in found) == city.names
    assert {f["properties"]["character"] for f in found} <= set(CHARACTERS)


def test_areas_are_valid_and_apart(city: City) -> None:
    """Each area is one valid polygon, and no two of them overlap by more than the rounding."""
    assert all(s.is_valid and s.geom_type == "Polygon" and s.area > 0 for s in city.shapes)
    together = shapely.union_all(city.shapes).area
    assert sum(s.area for s in city.shapes) == pytest.approx(together, rel=1e-5)


def test_rings_turn_left_and_have_five_digits(city: City) -> None:
    """Rings wind as RFC 7946 asks, outer ones counter-clockwise, and coordinates are short."""
    for feature in city.geojson()["features"]:
        assert shape(feature["geometry"]).exterior.is_ccw
    flat = shapely.get_coordinates(city.shapes)
    assert np.array_equal(flat, flat.round(5))


def test_two_airports_one_far_out(city: City) -> None:
    """There are two airports, and the first of them is the farther one."""
    assert city.characters.count("airport") == 2
    far, near = (float(np.hypot(*city.middles[a])) for a in city.airports)
    assert far > near


def test_downtown_is_in_the_middle_and_draws_most() -> None:
    """The few areas downtown get more visits than all quiet ones."""
    city = City.build()
    kinds = np.array(city.characters)
    assert city.attraction[kinds == "downtown"].sum() > city.attraction[kinds == "residential"].sum()
    away = np.hypot(*city.middles.T)
    assert away[kinds == "downtown"].max() < np.median(away)


def test_names_are_unique_and_of_no_real_place() -> None:
    """No name stands twice, and none is on the maps of the challenge's cities."""
    names = City.build(278).names
    assert len(set(names)) == 278
    for path in MAPS.glob("*.geojson"):
        assert not any(f'"{name}"'.lower() in path.read_text().lower() for name in names)


def test_same_seed_same_city_other_seed_another() -> None:
    """A city is a function of its seed."""
    first, again, other = City.build(20, seed=1), City.build(20, seed=1), City.build(20, seed=2)
    assert first.geojson() == again.geojson()
    assert first.names != other.names
    assert first.geojson()["features"][0]["geometry"] != other.geojson()["features"][0]["geometry"]


def test_about_nine_sides() -> None:
    """The parts of the city are nine, of like size."""
    sides = City.build(77).sides
    counts = [sides.count(s) for s in set(sides)]
    assert len(counts) == 9
    assert max(counts) - min(counts) <= 2


def test_the_map_is_written_as_json(tmp_path: Path) -> None:
    """The file holds the map."""
    city = City.build(9)
    city.write(tmp_path / "areas.geojson")
    read = json.loads((tmp_path / "areas.geojson").read_text())
    assert [f["id"] for f in read["features"]] == list(city.codes)


@pytest.mark.parametrize(
    "bad", [{"areas": 4}, {"areas": 2_000}, {"areas": 7.5}, {"water": "sea"}, {"seed": -1}, {"first": -2}]
)
def test_bad_arguments_are_one_sentence(bad: dict[str, object]) -> None:
    """What cannot be a city is an InputError."""
    with pytest.raises(InputError, match=r"^[^\n]+$"):
        City.build(**bad)  # type: ignore[arg-type]
