"""The report: points found in the areas of a map beside shapely's own search, and the page of a release.

python -m benchmarks.report
"""

from __future__ import annotations

import json
import tempfile

from benchmarks.measure import CACHE, costs, incidents

POINTS, INCIDENTS = 10_000_000, 1_455_000
Row = tuple[str, str, str]


def rows() -> list[Row]:
    """What was measured, the figures, the target."""
    return [points(), page()]


def points() -> Row:
    """Ten million points counted by the 278 areas of the simulated city."""
    from sfumato.simulate import incidents as simulated

    CACHE.mkdir(exist_ok=True)
    drawn = CACHE / "areas.geojson"
    drawn.write_text(json.dumps(simulated(records=1000).city.geojson()))
    setup = f"""
import duckdb, numpy as np, pyarrow as pa, shapely
import sfumato as sf
from sfumato.maps import Map
chart = Map.load("{drawn}")
areas = chart.areas(chart.values())
west, south, east, north = shapely.total_bounds(chart.shapes)
rng = np.random.default_rng(1)
x, y = rng.uniform(west, east, {POINTS}), rng.uniform(south, north, {POINTS})
place = sf.Place(name="area", values=areas.values, map="{drawn}", longitude="x", latitude="y")
data = pa.table({{"x": x, "y": y}})
"""
    ours = "sf.Table.open(data, sf.Schema(columns=(place,))).counts([sf.Marginal.of('area')])"
    peer = "np.bincount(shapely.STRtree(areas.shapes).query(shapely.points(x, y), predicate='intersects')[1])"
    found = costs({"ours": (setup, ours), "shapely": (setup, peer)}, times=3)
    ratio = found["ours"].seconds / found["shapely"].seconds
    figures = f"{found['ours']}; shapely's tree {found['shapely']}; ratio {ratio:.2f} ×"
    return f"{POINTS:,} points in 278 areas, cutting the map included", figures, "≤ 20 s"


def page() -> Row:
    """Both pages of a release: 278 areas, 12 months, 10 kinds."""
    path = incidents(INCIDENTS)
    with tempfile.TemporaryDirectory() as folder:
        setup = f"""
import sfumato as sf
from sfumato.export import write_batches
from sfumato.simulate import incidents
schema = sf.Schema.load("{path.with_suffix(".json")}")
vault = sf.Vault.open("{path}", schema, sf.Budget(1.0), ledger=":memory:")
model = sf.NMD(marginal=("neighborhood", "period", "incident_type@kind")).fit(vault)
write_batches(model.sample(), "{folder}/s.parquet", model.provenance.to_dict())
drawn = incidents(records=1000).city.geojson()
"""
        work = f"""
made = sf.OwnersReport("{path}", "{folder}/s.parquet", schema, map=drawn).html
about = sf.Report("{folder}/s.parquet", schema, map=drawn).html
open("{folder}/sizes", "w").write(f"{{len(made.encode()):,}} and {{len(about.encode()):,}} bytes")
"""
        cost = costs({"page": (setup, work)}, times=3)["page"]
        with open(f"{folder}/sizes") as file:
            sizes = file.read()
    return "the owner's page and the publishable one", f"{cost}; {sizes}", "≤ 3,000,000 bytes"


if __name__ == "__main__":
    for what, figures, target in rows():
        print(f"{what}: {figures} (target {target})")
