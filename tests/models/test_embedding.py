"""Bins as points: near is what is near in the city, on the clock, or in what people do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato import Category, InputError, Number, Place, Schema, Time
from sfumato.models.embedding import ONE, centroids, embed, main_axes

AREA = Place(name="area", values=(-1, 10, 20, 30), map="areas.geojson", key="code")


def square(code: int, x: float, y: float) -> dict[str, object]:
    """An area one degree wide whose middle is at (x, y)."""
    ring = [[x - 0.5, y - 0.5], [x + 0.5, y - 0.5], [x + 0.5, y + 0.5], [x - 0.5, y + 0.5], [x - 0.5, y - 0.5]]
    return {"properties": {"code": code}, "geometry": {"type": "Polygon", "coordinates": [ring]}}


@pytest.fixture
def city(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    squares = [square(10, 0, -2), square(20, 4, -2), square(30, 2, 4)]
    (tmp_path / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": squares}))
    return tmp_path


def test_areas_stand_where_the_map_says(city: Path) -> None:
    """Near the equator a degree is a degree: the plane has the map's proportions, and the unknown a mark of its own."""
    points = centroids(AREA)
    known = points[1:, :2]
    distances = np.linalg.norm(known[:, None] - known, axis=2)
    assert distances[0, 1] / distances[0, 2] == pytest.approx(4 / np.hypot(2, 6), rel=1e-3)
    assert np.abs(points[:, :2]).max() == pytest.approx(1)
    assert points[:, 2].tolist() == [1, 0, 0, 0]
    assert points[0, :2].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[1, 2]", "FeatureCollection"),
        ('{"features": [{"properties": {}, "geometry": null}]}', "without an area"),
        ('{"features": []}', "none of its areas"),
        ("{", "line 1"),
    ],
)
def test_a_map_that_is_none_is_refused(city: Path, text: str, match: str) -> None:
    """Another document, features without shape or key, no area of the column, no JSON: one sentence."""
    (city / "areas.geojson").write_text(text)
    with pytest.raises(InputError, match=match):
        centroids(AREA)


def embedded(*columns: Category | Number | Time | Place) -> dict[str, tuple[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    made = embed(Schema(columns=columns), [c.name for c in columns], [rng.integers(0, c.size(), 500) for c in columns],
                 np.arange(0, 500, 10))  # fmt: skip
    assert made.size == sum(t.shape[1] for t in made.tables)
    return {c.name: (h, t / ONE) for c, h, t in zip(columns, made.how, made.tables, strict=True)}


def test_each_kind_of_column_is_near_in_its_own_way() -> None:
    """Cycles close, shifts are near in day and in part of the day, ranks are even, a few bins have an axis each."""
    shifts = Category(
        name="shift", values=tuple(range(21)), cyclic=True, levels={"day": tuple(i // 3 for i in range(21))}
    )
    found = embedded(
        shifts,
        Time(name="part", part="weekday_part"),
        Category(name="hour", values=tuple(range(24)), cyclic=True),
        Number(name="fare", edges=(0, 1, 2, 3)),
        Category(name="how", values=("a", "b")),
        Category(name="firm", values=tuple(range(9))),
        AREA,
    )
    words, points = found["hour"]
    away = np.linalg.norm(points - points[0], axis=1)
    assert words == "cycle"
    assert away[23] == pytest.approx(away[1])
    assert away.argmax() == 12
    for name in ("shift", "part"):
        words, points = found[name]
        assert words == "cycle of 7, and of 3 within"
        away = np.linalg.norm(points - points[0], axis=1)
        assert away[3] == pytest.approx(away[18])
        assert away[3] < away[9]
    assert found["fare"][1][:, 0].tolist() == pytest.approx([-1, 0, 1], abs=1e-4)
    np.testing.assert_array_equal(found["how"][1], np.eye(2))
    assert found["firm"][0] == "the 4 main axes of persons' counts"
    assert found["area"][0] == "an axis for each bin (there is no map areas.geojson here)"


def test_main_axes_tell_apart_what_different_people_do() -> None:
    """Bins that the same persons visit lie together, whatever their codes; the order of the persons does not matter."""
    rng = np.random.default_rng(3)
    clans = rng.integers(0, 2, 200)
    visits = [rng.choice([0, 3, 5] if clan else [1, 2, 4], 30) for clan in clans]
    points = main_axes(np.concatenate(visits), np.arange(0, 6000, 30), 6)
    near = np.linalg.norm(points[0, :1] - points[[3, 5], :1], axis=1).max()
    far = np.linalg.norm(points[0, :1] - points[[1, 2, 4], :1], axis=1).min()
    assert near < far / 4
    np.testing.assert_array_equal(points, main_axes(np.concatenate(visits[::-1]), np.arange(0, 6000, 30), 6))


def test_means_of_persons_are_those_of_their_records() -> None:
    """The root of the number of records, then the mean of each coordinate."""
    made = embed(
        Schema(columns=(Category(name="how", values=("a", "b")),)),
        ["how"],
        [np.array([0, 1, 1, 1, 0])],
        np.array([0, 4]),
    )
    got = made.means([np.array([0, 1, 1, 1, 0])], np.array([0, 4]))
    np.testing.assert_allclose(got, [[2, 0.25, 0.75], [1, 1, 0]])
