"""MGD: a mean of earth mover costs, with its parts in real values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Category, InputError, Number, Person, Place, Schema, Time
from sfumato.metrics import METRICS, MGD, Axis, Staged, Weighed, aemc, example
from sfumato.metrics.borders import borders
from sfumato.metrics.weighing import MOST_EACH, default, weighing
from tests.conftest import OnEngine

SCHEMA = Schema(
    columns=(
        Person(name="who"),
        Place(name="area", values=(10, 20, 30), names=("Old Town", "Port", "Hill"), levels={"side": ("w", "w", "e")}),
        Time(name="hour", part="hour"),
        Number(name="fare", edges=(0, 10, 20, 30)),
        Category(name="kind", values=("a", "b")),
    )
)

records = st.lists(
    st.tuples(st.sampled_from((10, 20, 30, 99)), st.integers(0, 24), st.integers(0, 29), st.sampled_from("ab")),
    min_size=1, max_size=30,
)  # fmt: skip


def table(rows: list[tuple[int, int, int, str]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [[]] * 4
    return pa.table({"who": [0] * len(rows), **dict(zip(("area", "hour", "fare", "kind"), columns, strict=True))})


def counts(rows: list[tuple[int, int, int, str]], *names: str) -> np.ndarray:
    """Records in bins, one by one, of those that fit in every one of the columns."""
    code = {
        "area": lambda r: {10: 0, 20: 1, 30: 2}.get(r[0]), "hour": lambda r: r[1] if r[1] < 24 else None,
        "fare": lambda r: r[2] // 10, "kind": lambda r: "ab".index(r[3]),
    }  # fmt: skip
    size = {"area": 3, "hour": 24, "fare": 3, "kind": 2}
    out = np.zeros([size[n] for n in names], int)
    for row in rows:
        at = [code[n](row) for n in names]
        if None not in at:
            out[tuple(at)] += 1
    return out


TWO = [
    {"columns": {"area": {"weight": "1/3"}, "hour": {"weight": "2/3"}}, "weight": 3, "tolerance": 1},
    {"columns": ["fare", "kind"]},
]


@given(records, records)
def test_it_is_the_weighted_mean_of_the_costs_of_its_marginals(truth: Any, synthetic: Any) -> None:
    """Counts made record by record and the cost of each marginal give the score; the parts add up to it."""
    truth, synthetic = ([(10, 0, 0, "a"), *rows] for rows in (truth, synthetic))
    found = MGD(SCHEMA, marginals=TWO).score(table(truth), table(synthetic))
    side = Axis.categorical(1 / 3, levels=[["w", "w", "e"]])
    one = aemc(counts(synthetic, "area", "hour"), counts(truth, "area", "hour"), [side, Axis.cyclic(2 / 3)], 1)
    kinds = [Axis.ordinal(1.0), Axis.categorical(math.inf)]
    two = aemc(counts(synthetic, "fare", "kind"), counts(truth, "fare", "kind"), kinds)
    assert found.value == pytest.approx((3 * one.value + two.value) / 4)
    by_name = {m.marginal: m for m in found.marginals}
    assert by_name["area × hour"].value == pytest.approx(one.value)
    assert by_name["fare × kind"].value == pytest.approx(two.value)
    assert [m.share for m in found.marginals] == sorted((m.share for m in found.marginals), reverse=True)
    if found.value:
        assert sum(m.share for m in found.marginals) == pytest.approx(1)
    for m in found.marginals:
        assert sum(b.cost for b in m.bins) == pytest.approx(m.value)
        assert sum(m.by_column.values()) + (m.added + m.removed) / m.records == pytest.approx(m.value)
        for costs in m.by_value.values():
            assert sum(costs.values()) == pytest.approx(m.value)


def test_bins_are_told_by_their_values(on_engine: OnEngine) -> None:
    """On every engine: the area by its name, the hour as it is, with both counts and the worst first."""
    truth = table([(10, 3, 5, "a")] * 6 + [(20, 4, 5, "a")] * 2)
    synthetic = table([(10, 3, 5, "a")] * 3 + [(20, 4, 5, "a")] * 2 + [(30, 3, 5, "a")] * 3)
    found = MGD(SCHEMA, marginals=["area,hour"]).score(on_engine(truth), synthetic)
    (m,) = found.marginals
    assert found.value == pytest.approx(6 / 8)
    assert [(b.values, b.truth, b.synthetic, b.cost) for b in m.bins] == [
        ({"area": "Old Town", "hour": "3"}, 6.0, 3.0, 3 / 8),
        ({"area": "Hill", "hour": "3"}, 0.0, 3.0, 3 / 8),
    ]
    assert m.by_value["area"] == {"Old Town": 3 / 8, "Hill": 3 / 8}
    assert json.loads(json.dumps(found.to_dict()))["marginals"][0]["bins"][0]["values"]["area"] == "Old Town"


def test_by_default_singles_pairs_and_triples_with_time_or_place() -> None:
    """Four columns of which two are anchors: all singles and pairs, and every triple that holds one."""
    found = default(SCHEMA)
    sizes = [len(w.marginal.columns) for w in found.marginals]
    assert [sizes.count(n) for n in (1, 2, 3)] == [4, 6, 4]
    assert "14 marginals by default" in found.notes[0]
    plain = Schema(columns=tuple(Category(name=n, values=(1, 2)) for n in "abcd"))
    assert max(len(w.marginal.columns) for w in default(plain).marginals) == 2


def test_what_is_too_large_by_default_is_left_out_and_said() -> None:
    """A pair beyond the cap is not taken, a column always is, and a note says how many are missing."""
    many = tuple(range(1001))
    schema = Schema(columns=(Category(name="a", values=many), Category(name="b", values=many)))
    found = default(schema)
    assert [str(w.marginal) for w in found.marginals] == ["a", "b"]
    assert f"1 larger ones are left out (beyond {MOST_EACH:,} cells each" in found.notes[1]


def test_weights_are_filled_in() -> None:
    """Ordered columns share what is left of 1; the others forbid moving, unless they are given a weight."""
    weights = lambda *names, **given: [a.weight for a in Weighed.of(*names, **given).axes(SCHEMA)]  # noqa: E731
    assert weights("hour", "fare", "kind") == [0.5, 0.5, math.inf]
    assert weights("area", "hour", "fare", weights={"area": 0.5}) == [0.5, 0.25, 0.25]
    assert weights("kind") == [math.inf]
    assert [a.kind for a in Weighed.of("area", "hour", "fare").axes(SCHEMA)] == ["categorical", "cyclic", "ordinal"]


def test_distances_are_those_of_the_schema() -> None:
    """Each column at each level: the axis has the distances that the column tells."""
    for name, level in (("area", 1), ("area", 2), ("hour", None), ("fare", None), ("kind", None)):
        column = SCHEMA[name]
        (axis,) = Weighed.of(f"{name}@{level}" if level else name).axes(SCHEMA)
        assert axis.distances(column.size(level)) == pytest.approx(column.distance(level))


def test_levels_and_matrices_of_a_file_stand_in_for_the_schema(tmp_path: Path) -> None:
    """A hierarchy by the names of its groups, a matrix, and borders read off a map beside the file."""
    squares = [
        {
            "type": "Feature", "id": name, "properties": {"code": code},
            "geometry": {"type": "Polygon", "coordinates": [[[x, 0], [x + 1, 0], [x + 1, 1], [x, 1], [x, 0]]]},
        }
        for x, (name, code) in enumerate(zip("abcd", (10, 20, 30, 40), strict=True))
    ]  # fmt: skip
    (tmp_path / "map.json").write_text(json.dumps({"type": "FeatureCollection", "features": squares}))
    (tmp_path / "m.json").write_text(
        json.dumps(
            {
                "sfumato": "marginals", "version": 1, "tolerance": 2, "alpha": 0.5,
                "marginals": [
                    {"columns": {"area": {"weight": 1, "levels": [{"inner": [10], "outer": [20, 30]}]}}},
                    {"columns": {"area": {"weight": 1, "distance": [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]}}},
                    {"columns": {"area": {"weight": 1, "distance": {"map": "map.json", "key": "code"}}}},
                    {"columns": {"area": {"level": "side", "weight": 1}}},
                ],
            }
        )
    )  # fmt: skip
    found = weighing(tmp_path / "m.json", SCHEMA)
    assert (found.tolerance, found.alpha) == (2, 0.5)
    tables = [w.axes(SCHEMA)[0].distances(k).tolist() for w, k in zip(found.marginals, (3, 3, 3, 2), strict=True)]
    line = [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]
    assert tables == [[[0, 1, 1], [1, 0, 0.5], [1, 0.5, 0]], line, line, [[0, 1], [1, 0]]]
    assert borders(tmp_path / "map.json", ["a", "d"])[0].tolist() == [0, math.inf]


def test_the_examples_fit_the_challenges_own_data(shared: Path) -> None:
    """Police and census, as they ship, against the parameters of the first and second sprint."""
    for name, sprint, marginals in (("police", 1, 7), ("census", 2, 6)):
        schema = Schema.load(shared / f"sprint{sprint}_parameters.json")
        assert len(weighing(name, schema).marginals) == marginals
        assert weighing(example(name), schema).tolerance == 2


def test_the_police_example_fits_the_simulated_city() -> None:
    """Seven marginals of neighbourhood, period and type; a table scores 0 against itself, more against another."""
    from sfumato.simulate import incidents

    city = incidents(records=3000)
    truth, other = city.to_table(), incidents(records=3000, seed=8).to_table()
    metric = MGD(city.schema, marginals="police", jobs=1)
    assert metric.stages == 7
    assert metric.score(truth, truth).value == 0
    done: list[int] = []
    assert 0 < metric.score(truth, other, done.append).value < 1
    assert done == [1] * 7
    assert isinstance(metric, Staged)
    assert METRICS["mgd"] is MGD


def test_settings_stand_above_the_file() -> None:
    """A tolerance or a cost given to the metric is the one that counts."""
    truth, synthetic = table([(10, 0, 0, "a")] * 4), table([(10, 0, 0, "a")] * 7)
    file = {"sfumato": "marginals", "version": 1, "tolerance": 1, "alpha": 2, "marginals": ["area"]}
    score = lambda **given: MGD(SCHEMA, marginals=file, **given).score(truth, synthetic).value  # noqa: E731
    assert score() == pytest.approx(2 * 2 / 4)
    assert score(tolerance=0) == pytest.approx(3 * 2 / 4)
    assert score(alpha=1.0) == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    ("marginals", "says"),
    [
        (["nowhere"], "the schema has no column 'nowhere'"),
        (["area@planet"], "column 'area' has no level 'planet'"),
        (["area,area"], "names a column twice"),
        ([], "there are no marginals to compare"),
        ("absent.json", "absent.json"),
        ("crime", "no example of that name"),
        ({"marginals": []}, "is no file of marginals"),
        ({"sfumato": "marginals", "version": 2}, "reads version 1"),
        ({"sfumato": "marginals", "version": 1, "marginals": []}, "at least one entry"),
        ({"sfumato": "marginals", "version": 1, "marginals": ["area"], "x": 1}, "unknown key 'x'"),
        ({"sfumato": "marginals", "version": 1, "marginals": ["area"], "tolerance": -1}, "tolerance is a number"),
        ([{"columns": {"area": {"weight": 0.4}, "hour": {"weight": 0.4}}}], "its finite weights sum to 0.8"),
        ([{"columns": {"area": {"weight": "heavy"}}}], "a weight is a number from 0 on"),
        ([{"columns": {"area": {"colour": 1}}}], "unknown key 'colour'"),
        ([{"columns": {"area": {"distance": "far"}}}], "distance is ordinal, cyclic, categorical"),
        ([{"columns": {"area": {"weight": 1, "distance": [[0, 1], [1, 0]]}}}], "the distance matrix has 2 bins"),
        ([{"columns": {"area": {"weight": 1, "levels": [{"x": [10, 20]}]}}}], "a level leaves '30' out"),
        ([{"columns": {"area": {"weight": 1, "levels": [{"x": [10, 20, 30, 40]}]}}}], "which is no bin"),
        ([{"columns": {"area": {"distance": {"map": "absent.json"}}}}], "absent.json"),
        ([{"columns": ["area"], "weight": 0}], "weight is a number above 0"),
        ([{"columns": ["area"], "tolerance": "much"}], "tolerance is a number from 0 on"),
        ([{"columns": [1]}], "a column is named by a text"),
        ([{"columns": "area"}], "columns is a list of columns"),
        (7, "marginals are a file, an example's name or a list"),
        ([Weighed.of("area", weights={"hour": 1.0})], "it has no column 'hour'"),
    ],
)
def test_what_cannot_be_weighed_is_refused(marginals: Any, says: str) -> None:
    """Before any table is opened, in one sentence."""
    with pytest.raises(InputError, match=says):
        MGD(SCHEMA, marginals=marginals)


def test_an_empty_truth_is_refused_with_its_marginal() -> None:
    """Nothing to divide by: the sentence says where."""
    with pytest.raises(InputError, match="marginal area: the truth is empty"):
        MGD(SCHEMA, marginals=["area"]).score(table([(99, 0, 0, "a")]), table([(10, 0, 0, "a")]))


def test_freedom_among_too_many_cells_is_refused_before_counting() -> None:
    """Two ordered columns of 100,000 bins: the product is told, and what to do."""
    many = tuple(range(100_000))
    schema = Schema(columns=tuple(Category(name=n, values=many, ordered=True) for n in "ab"))
    with pytest.raises(InputError, match="counts would move among 10,000,000,000 cells"):
        MGD(schema, marginals=["a,b"])
