"""Maps: keys, shapes, neighbours, drawings, and what is wrong with a file said in one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato import InputError
from sfumato.maps import MOST_POINTS, WIDTH, Map, tiles
from tests.report.conftest import squares


def test_a_key_is_found_by_itself() -> None:
    """Without a key it is the property that names the most values; numbers match numbers, text and 7.0 alike."""
    data = squares(2, 2)
    for feature in data["features"]:
        feature["properties"] |= {"code": float(feature["properties"]["code"]), "other": 3}
    areas = Map.of(data).areas((4, 3, 2, 1, 9))
    assert areas.names == ("Quarter 4", "Quarter 3", "Quarter 2", "Quarter 1", None)
    assert areas.missing == (4,)
    assert Map.of(data).areas(("1", "2")).strangers == 2


def test_parts_under_one_key_are_one_area() -> None:
    """Two features of one value are drawn as one, with the size of both."""
    data = squares(2, 1)
    data["features"][1]["properties"]["code"] = 1
    one, whole = Map.of(data).areas((1,)), Map.of(squares(2, 1)).areas((1, 2))
    assert one.square_km()[0] == pytest.approx(whole.square_km().sum())


def test_sizes_are_those_on_the_earth() -> None:
    """A hundredth of a degree squared at the equator is 1.11 km by 1.11 km."""
    assert Map.of(squares(1, 1)).areas((1,)).square_km()[0] == pytest.approx(1.112**2, rel=1e-3)


def test_neighbours_share_a_border_and_not_a_corner() -> None:
    """In a grid of 3 × 3 the middle has four neighbours, a corner two; steps between them are those of a rook."""
    areas = Map.of(squares(3, 3)).areas(tuple(range(1, 10)))
    assert areas.neighbours().sum(axis=1).tolist() == [2, 3, 2, 3, 4, 3, 2, 3, 2]
    apart = np.abs(np.arange(9)[:, None] // 3 - np.arange(9) // 3) + np.abs(
        np.arange(9)[:, None] % 3 - np.arange(9) % 3
    )
    np.testing.assert_allclose(areas.steps(), apart / 4)


def test_islands_and_the_unknown_are_as_far_as_can_be() -> None:
    """An area across the water and a value without a shape are infinitely many steps from the others."""
    data = squares(3, 1)
    del data["features"][1]
    steps = Map.of(data).areas((1, 3, -1)).steps()
    assert steps.tolist() == [[0, np.inf, np.inf], [np.inf, 0, np.inf], [np.inf, np.inf, 0]]


def test_a_gap_in_the_drawing_parts_nobody() -> None:
    """Borders that miss each other by a ten-thousandth of an area's width still are borders."""
    data = squares(2, 1)
    ring = data["features"][1]["geometry"]["coordinates"][0]
    data["features"][1]["geometry"]["coordinates"][0] = [[x + 1e-6, y] for x, y in ring]
    assert Map.of(data).areas((1, 2)).neighbours()[0, 1]


def test_a_drawing_fills_its_frame() -> None:
    """Squares become paths of whole steps in a frame as wide as said, with each middle inside its square."""
    drawing = Map.of(squares(4, 2)).areas((*range(1, 9), 99)).drawing()
    assert (drawing.width, drawing.height) == (WIDTH, WIDTH // 2)
    assert all(re.fullmatch(r"M\d+ \d+l(-?\d+[ -]?)+z", p) for p in drawing.paths[:8])
    assert drawing.middles[0].tolist() == pytest.approx([500, 1500], abs=0.01)
    assert drawing.paths[8] == ""
    assert np.isnan(drawing.middles[8]).all()
    assert (drawing.middles[:4, 1] > 1000).all()


def test_a_drawing_of_many_corners_is_simplified_alike_on_both_sides() -> None:
    """A coast of 90,000 corners is cut down; a shared border stays shared, so no gap and no overlap appears."""
    wave = [(x / 45_000, 0.5 + 0.0004 * np.sin(x)) for x in range(45_001)]
    north = [*wave, (1, 1), (0, 1), wave[0]]
    south = [*wave, (1, 0), (0, 0), wave[0]]
    features = [
        {"type": "Feature", "id": i, "properties": {}, "geometry": {"type": "Polygon", "coordinates": [r]}}
        for i, r in enumerate((north, south))
    ]
    drawing = Map.of({"type": "FeatureCollection", "features": features}).areas((0, 1)).drawing()
    assert sum(p.count(" ") for p in drawing.paths) <= 2 * MOST_POINTS


def test_tiles_stand_in_rows() -> None:
    """Twenty tiles have a frame, none is empty and no two have one place."""
    drawing = tiles(20)
    assert len(set(drawing.paths)) == 20
    assert len(np.unique(drawing.middles, axis=0)) == 20
    assert (drawing.middles < [drawing.width, drawing.height]).all()


LINE = {"type": "Feature", "properties": {}, "geometry": {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}}
TEXT = {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": "x"}}
FLAT = {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [0, 0]]]}}


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "is no map"),
        ({"type": "FeatureCollection", "features": []}, "is no map"),
        ({"features": [LINE]}, r"feature 1 is no area: a Polygon or a MultiPolygon is needed \(got LineString\)"),
        ({"features": ["x"]}, "feature 1 is no area"),
        ({"features": [TEXT]}, "feature 1: its coordinates"),
        ({"features": [FLAT]}, "feature 1: its"),
    ],
)
def test_what_is_no_map_is_refused(tmp_path: Path, document: Any, sentence: str) -> None:
    """One sentence with the file and the feature."""
    (tmp_path / "m.geojson").write_text(json.dumps(document))
    with pytest.raises(InputError, match=sentence) as caught:
        Map.load(tmp_path / "m.geojson")
    assert "m.geojson" in str(caught.value)


def test_keys_that_do_not_match_are_told_with_examples() -> None:
    """The sentence shows what the map has and what the schema needs; a property that is not there is named."""
    with pytest.raises(InputError, match=r"of its 4 features.* hold none of the schema's values, such as 'north'"):
        Map.of(squares(2, 2)).areas(("north", "south"))
    with pytest.raises(InputError, match="no feature has a property 'kode'; there are code, name"):
        Map.of(squares(2, 2)).areas((1, 2), "kode")
