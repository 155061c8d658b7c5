"""What the page holds: levels, cubes, flows and persons against slow counting; and pages of odd tables."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.columns import Number
from sfumato.privacy.budget import calibrate
from sfumato.privacy.ledger import Charge
from sfumato.privacy.provenance import Provenance
from sfumato.report import cubes, flows, persons
from sfumato.report.noise import Noise
from sfumato.report.reading import Seen, read_release, read_truth
from tests.conftest import OnEngine
from tests.report.conftest import SCHEMA, City, release, squares, truth


def script(html: str) -> dict[str, Any]:
    """What the page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert found is not None
    made: dict[str, Any] = json.loads(found[1])
    return made


def words(html: str) -> str:
    """The page's text."""
    body = re.sub(r"<(script|style).*?</\1>", " ", html, flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)))


def test_the_level_of_each_column_is_found(city: City) -> None:
    """Kinds are held in groups, areas and months in single values, the fare not at all."""
    reading = read_release(city / "synthetic.parquet", city.schema)
    held = {s.name: s.finest for s in reading.seen}
    assert held == {"from_area": True, "to_area": True, "month": True, "kind": False}
    assert reading["kind"].titles == ["early", "late"]
    assert reading["kind"].what == "kind, by group"


def test_the_truth_is_counted_at_the_levels_of_the_release(city: City) -> None:
    """Counts of both tables have one shape; those of the truth are what a slow count says, those of the release too."""
    made = read_release(city / "synthetic.parquet", city.schema)
    true = read_truth(city / "truth.parquet", city.schema, made.seen)
    group = {"a": "early", "b": "early", "c": "late", "d": "late"}
    for reading, name in ((true, "truth.parquet"), (made, "synthetic.parquet")):
        rows = pq.read_table(city / name).to_pylist()
        slow = Counter((r["month"], group.get(r["kind"], r["kind"])) for r in rows)
        (counts,) = reading.counts([[reading["month"], reading["kind"]]])
        assert {(m + 1, ("early", "late")[k]): int(counts[m, k]) for m, k in np.ndindex(12, 2)} == slow


def test_a_map_of_many_types_keeps_the_commonest() -> None:
    """Of 40 unordered values the 11 commonest can be chosen and the rest together; none is lost or counted twice."""
    place = Seen(sf.Place(name="area", values=(1, 2, 3)), 1)
    kind = Seen(sf.Category(name="kind", values=tuple(range(40))), 1)
    rng = np.random.default_rng(3)
    data = pa.table({"area": rng.integers(1, 4, 900), "kind": np.minimum(rng.geometric(0.1, 900), 39)})
    reading = read_release(data, sf.Schema(columns=(place.column, kind.column)))
    (common,) = reading.counts([[kind]])
    (view,) = cubes.plan((place, kind), {"kind": common})
    whole, typed = cubes.cube(view, reading)
    assert typed.shape == (1, 12, 3)
    np.testing.assert_array_equal(typed.sum(axis=1), whole[:, 0])
    assert sorted(typed[0, :11].sum(axis=1).tolist()) == sorted(common)[-11:]
    assert view.types[0].titles[-1] == "the other 29"


def test_a_map_has_room_for_what_it_shows() -> None:
    """With 5,000 areas and a year by days the slider gives way, so that the page stays small."""
    place = Seen(sf.Place(name="area", values=tuple(range(5000))), 1)
    days = sf.Time(
        name="day", part="period",
        periods=tuple(sf.Period(start=f"2020-01-{d:02d}", end=f"2020-01-{d + 1:02d}") for d in range(1, 31)),
    )  # fmt: skip
    time = Seen(days, 1)
    assert cubes.plan((place, time), {})[0].times == time
    more = (place, Seen(sf.Place(name="to", values=tuple(range(5000))), 1), time)
    assert [v.times for v in cubes.plan(more, {})] == [None, None]


def test_flows_are_the_largest_pairs(city: City) -> None:
    """The list is that of a slow count, the matrix agrees with it, and no arc leads from a place to itself."""
    made = read_release(city / "synthetic.parquet", city.schema)
    places = flows.of(made.seen)
    assert places is not None
    found = flows.count(places, {"synthetic": made})
    drawing = squares_drawing()
    shown = flows.data(found, drawing, [f"Q{i}" for i in range(1, 13)])
    slow = Counter((r["from_area"], r["to_area"]) for r in pq.read_table(city / "synthetic.parquet").to_pylist())
    assert [r["synthetic"] for r in shown["rows"]] == sorted(slow.values(), reverse=True)[:20]
    top = shown["rows"][0]
    assert slow[int(top["from"][1:]), int(top["to"][1:])] == top["synthetic"]
    names = shown["matrix"]["names"]
    for a, row in zip(names, shown["matrix"]["tables"]["synthetic"], strict=True):
        assert [v for v, _ in row] == [slow[int(a[1:]), int(b[1:])] for b in names]
    assert not any(
        t["title"].split(" to ")[0] == t["title"].split(" to ")[1].split(":")[0] for t in shown["arcs"]["synthetic"]
    )


def squares_drawing() -> Any:
    from sfumato.maps import Map

    return Map.of(squares(4, 3)).areas(tuple(range(1, 13))).drawing()


def test_persons_are_counted_as_they_are(city: City) -> None:
    """Persons by records, by different places and months, against plain Python; the release has none."""
    made = read_release(city / "synthetic.parquet", city.schema)
    true = read_truth(city / "truth.parquet", city.schema, made.seen)
    rows = pq.read_table(city / "truth.parquet").to_pylist()
    each = Counter(r["who"] for r in rows)
    places = Counter(who for who, _ in {(r["who"], r["from_area"]) for r in rows})
    charts = persons.data({"truth": true, "synthetic": made}, made.seen)
    assert [c["title"] for c in charts][:2] == ["records", "different values of from area"]
    assert list(charts[0]["tables"]) == ["truth"]
    for chart, slow in zip(charts, (each, places), strict=False):
        told = chart["tables"]["truth"]
        assert told["persons"] == len(slow)
        assert told["most"] == max(slow.values())
        assert told["mean"] == pytest.approx(np.mean(list(slow.values())))
        assert told["median"] == sorted(slow.values())[(len(slow) - 1) // 2]
        assert sum(chart["shares"]["truth"]) == pytest.approx(1)


def test_persons_are_counted_alike_on_every_engine(on_engine: OnEngine) -> None:
    """Two persons of two records and one of three; one of them in two areas; a record without a person is nobody's."""
    data = pa.table({"who": [1, 1, 2, 2, 3, 3, 3, None], "area": [1, 1, 1, 2, 3, 3, 3, 3]})
    schema = sf.Schema(columns=(sf.Person(name="who"), sf.Place(name="area", values=(1, 2, 3))))
    area = Seen(schema["area"], 1)
    found = read_truth(on_engine(data), schema, (area,)).persons([area])
    assert found is not None
    assert [each.tolist() for each in found] == [[0, 0, 2, 1], [0, 2, 1]]


def test_the_owners_page_says_so_and_shows_both(city: City) -> None:
    """Red, with the number of true records, the score, the ledger, and both tables in what its script reads."""
    page = sf.OwnersReport(
        city / "truth.parquet", city / "synthetic.parquet", city.schema, map=city / "areas.geojson",
        ledger=city / "city.ledger", title="Trips of a town",
    )  # fmt: skip
    text = words(page.html)
    for part in ("PRIVATE.", "6,000 true records", "Trips of a town", "MGD", "Statement of account", "records(20)"):
        assert part.replace("6,000 true records", "true records 6,000") in text
    data = script(page.html)
    assert data["tables"] == ["truth", "synthetic"]
    assert sum(data["views"][0]["sets"][0]["truth"]) == 6000
    assert page._repr_html_().startswith("<iframe srcdoc=")


def test_a_spent_budget_leaves_nothing(tmp_path: Path) -> None:
    """A Gaussian release of the whole cap leaves ε = 0 on the page, and not the last bits of an arithmetic."""
    budget = sf.Budget(10.0, 1e-5)
    shares = calibrate([("gaussian", 1 / 27)] * 27, budget)
    charges = [
        Charge(f"q{i}", "kind", "rounded gaussian", "records(2)", 2.0, 2 / c.mu, c) for i, c in enumerate(shares)
    ]
    with sf.Ledger.open(tmp_path / "l.ledger") as ledger:
        made = ledger.charge("data", budget, charges, method="x", unit="who", fingerprint="f" * 16, version="1")
        left = ledger.remaining("data")
    assert 0 < left < 1e-9
    about = Provenance("x", 10.0, 1e-5, "who", True, f"data/{made.id}")
    page = sf.Report(truth(20), SCHEMA, provenance=about, ledger=tmp_path / "l.ledger")
    assert "left ε = 0." in words(page.html)


def test_the_score_is_that_of_mgd(tmp_path: Path) -> None:
    """Where the release holds single values, the page's MGD is what the metric itself gives over the same marginals."""
    schema = SCHEMA.select(["from_area", "month"])
    made, data = truth(3000, seed=9), truth(3000, seed=2)
    page = sf.OwnersReport(data, made, schema)
    from sfumato.metrics import MGD

    names = [["from_area"], ["month"], ["from_area", "month"]]
    want = MGD(schema, marginals=names).score(data, made).value
    assert f"{want:.3f}" in words(page.html)


def odd(**columns: Any) -> tuple[pa.Table, sf.Schema]:
    made = []
    for name, values in columns.items():
        kind = sf.Place if name.startswith("area") else sf.Category
        made.append(kind(name=name, values=tuple(sorted(set(values)))))
    return pa.table(columns), sf.Schema(columns=tuple(made))


def test_no_person_no_time_no_map_no_ledger() -> None:
    """Such a table has tiles in place of a map, no slider to move, and says what it does not know."""
    data, schema = odd(area=[1, 2, 2, 3], kind=["x", "y", "y", "x"])
    page = sf.OwnersReport(data, data, schema)
    text = words(page.html)
    assert "No map was given" in text
    assert "Neither table says whose record is whose" in text
    assert "No ledger was given" in text
    assert script(page.html)["views"][0]["time"]["steps"] == []


def test_no_place_at_all() -> None:
    """A table without places has no maps; a map given with it is refused in a sentence."""
    data, schema = odd(kind=["x", "y", "y"])
    assert 'id="maps"' not in sf.OwnersReport(data, data, schema).html
    with pytest.raises(sf.InputError, match="no column of kind place"):
        sf.OwnersReport(data, data, schema, map=squares(2, 2))


def test_a_single_period_and_an_empty_table() -> None:
    """One period needs no slider; a table without records is drawn without a division by nothing."""
    schema = sf.Schema(columns=(
        sf.Place(name="area", values=(1, 2, 3, 4)), sf.Time(name="ym", part="year_month", months=((2020, 1),)),
    ))  # fmt: skip
    data = pa.table({"area": [1, 2], "ym": ["2020-01", "2020-01"]})
    for synthetic in (data, data.slice(0, 0)):
        page = sf.OwnersReport(data.slice(0, 0), synthetic, schema, map=squares(2, 2))
        assert script(page.html)["views"][0]["time"]["steps"] == []


def test_keys_that_do_not_match_stop_it_in_a_sentence(city: City) -> None:
    """A map of other areas is refused; one with an area more and one less is drawn, and says so."""
    with pytest.raises(sf.InputError, match="hold none of the schema's values"):
        sf.Report(city / "synthetic.parquet", city.schema, map=squares(2, 2, key="name2") | other_keys())
    drawn = squares(4, 4)
    del drawn["features"][11]
    text = words(sf.Report(city / "synthetic.parquet", city.schema, map=drawn).html)
    assert "From area and to area: the map has no shape for 12; counted, but not drawn." in text
    assert "4 areas of the map are no value of the schema" in text


def other_keys() -> dict[str, Any]:
    """Features whose ids and properties are nobody's."""
    features = squares(2, 2)["features"]
    return {"features": [{**f, "properties": {"plot": f"x{i}"}} for i, f in enumerate(features)]}


def test_five_thousand_areas_make_a_small_page() -> None:
    """With a map of 5,000 areas and twelve months the page is below 3 MB."""
    rng = np.random.default_rng(4)
    schema = sf.Schema(
        columns=(sf.Place(name="area", values=tuple(range(1, 5001))), sf.Time(name="month", part="month"))
    )
    data = pa.table({"area": rng.integers(1, 5001, 60_000), "month": rng.integers(1, 13, 60_000)})
    page = sf.OwnersReport(data, data, schema, map=squares(100, 50))
    assert len(page.html.encode()) < 3_000_000


def test_the_noise_of_a_map_is_in_its_data(city: City) -> None:
    """What the script hatches by is the noise of the ledger's question: for all months and for one."""
    page = sf.Report(city / "synthetic.parquet", city.schema, ledger=city / "city.ledger")
    with sf.Ledger.open(city / "city.ledger", create=False) as ledger:
        (line,) = ledger.statement("city").lines
    noise = Noise.of(city.schema, line.release.charges)
    area, month = Seen(city.schema["from_area"], 1), Seen(city.schema["month"], 1)
    want = [noise.level({area: 1}), noise.level({area: 1, month: 1})]
    assert script(page.html)["views"][0]["sets"][0]["noise"] == [pytest.approx([round(w or 0, 2) for w in want])]


def test_numbers_without_a_ledger_are_not_hatched(city: City) -> None:
    """Nothing is known of the noise then, and nothing is said of it."""
    page = sf.Report(city / "synthetic.parquet", city.schema)
    assert script(page.html)["views"][0]["sets"][0]["noise"] == [[None, None]]


def test_numbers_in_bins_are_columns_too() -> None:
    """A column of numbers is drawn in the order of its bins, the one for missing values first."""
    schema = sf.Schema(columns=(Number(name="fare", edges=(0, 10, 20), missing=(None,)),))
    data = pa.table({"fare": [1.0, 11.0, None, 12.0]})
    assert "missing: truth 25.0 %, synthetic 25.0 %" in sf.OwnersReport(data, data, schema).html


def test_an_example_release_fits(tmp_path: Path) -> None:
    """A release of one column, with a map beside the schema that its place names, is drawn from the folder alone."""
    schema = sf.Schema(
        columns=(sf.Person(name="who"), sf.Place(name="from_area", values=tuple(range(1, 13)), map="areas.geojson"))
    )
    made = release(tmp_path, schema, truth(500), sf.NMD(bound=sf.records(5)), squares(4, 3))
    page = sf.Report(made / "synthetic.parquet", sf.Schema.load(made / "schema.json"), ledger=made / "city.ledger")
    assert len(script(page.html)["drawings"][0]["paths"]) == 12
    assert script(page.html)["views"][0]["km2"] is not None
