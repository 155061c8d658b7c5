"""The report on the command line: both forms, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Sfumato, release

MAP = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature", "id": i, "properties": {},
            "geometry": {"type": "Polygon", "coordinates": [[[i, 0], [i + 1, 0], [i + 1, 1], [i, 1], [i, 0]]]},
        }
        for i in range(1, 5)
    ],
}  # fmt: skip


@pytest.fixture
def released(city: Path, sfumato: Sfumato) -> Path:
    """The city with a release and a map."""
    assert sfumato(*release("--out", "synthetic.parquet", "--marginal", "area,how")).code == 0
    (city / "areas.geojson").write_text(json.dumps(MAP))
    return city


MORE = ("--schema", "schema.json", "--map", "areas.geojson", "--ledger", "trips.ledger")


def test_both_pages_are_written(released: Path, sfumato: Sfumato) -> None:
    """The owner's page with two tables, the publishable one with the synthetic table; each says whose it is."""
    owner = sfumato("report", "trips.parquet", "synthetic.parquet", *MORE, "--out", "report.html")
    assert owner.code == 0
    assert re.fullmatch(r"report.html: \d+ kB, PRIVATE, for the owner of the data alone\n", owner.out)
    (released / "trips.parquet").unlink()
    public = sfumato("report", "synthetic.parquet", *MORE, "--publishable", "--out", "about.html", "--json")
    assert public.json["publishable"] is True
    assert "PRIVATE.</strong>" in (released / "report.html").read_text()
    assert "PUBLISHABLE.</strong>" in (released / "about.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("synthetic.parquet",), "needs two tables, the truth and the synthetic one, and 1 is given"),
        (("trips.parquet", "synthetic.parquet", "--publishable"), "made of the synthetic table alone, and 2 tables"),
        (("trips.parquet", "--publishable"), "nothing says how trips.parquet was made"),
        (("nowhere.parquet", "synthetic.parquet"), "nowhere.parquet does not exist"),
        (("synthetic.parquet", "--publishable", "--key", "kode"), "no feature has a property 'kode'"),
        (("synthetic.parquet", "--publishable", "--account", "x"), "has no account 'x'"),
        (("synthetic.parquet", "--publishable", "--map", "schema.json"), "is no map"),
        (("synthetic.parquet", "--publishable", "--marginals", "m.json"), "which a publishable page has not"),
        (("trips.parquet", "synthetic.parquet", "--marginals", "m.json"), "m.json does not exist"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    released: Path, sfumato: Sfumato, arguments: tuple[str, ...], sentence: str
) -> None:
    """Exit code 2, the reason, and no page."""
    ran = sfumato("report", *MORE, *arguments, "--out", "r.html")
    assert ran.code == 2
    assert sentence in ran.err
    assert not (released / "r.html").exists()


def test_marginals_are_those_of_the_score(released: Path, sfumato: Sfumato) -> None:
    """With marginals from a file, the page's MGD is what `sfumato score` prints for the same file."""
    (released / "m.json").write_text(json.dumps({"sfumato": "marginals", "version": 1, "marginals": ["area, how"]}))
    tables = ("trips.parquet", "synthetic.parquet", "--schema", "schema.json", "--marginals", "m.json")
    assert sfumato("report", *tables, "--out", "r.html").code == 0
    schema = json.loads((released / "schema.json").read_text())
    schema["columns"] = {k: v for k, v in schema["columns"].items() if k in ("area", "how")}
    (released / "schema.json").write_text(json.dumps(schema))
    score = sfumato("score", *tables, "--metric", "mgd", "--json", "-").json["value"]
    assert f"<b>{score:.3f}</b>" in (released / "r.html").read_text()


def test_the_demonstration_ends_with_both_pages(city: Path, sfumato: Sfumato) -> None:
    """Both are written and their paths printed; the publishable one holds no table but the synthetic."""
    ran = sfumato("demo", "--out", "d", "--records", 4000)
    assert ran.code == 0
    for name in ("report.html", "about.html"):
        assert str((city / "d" / name).resolve()) in ran.out.replace("\n", "")
    assert '"tables":["synthetic"]' in (city / "d" / "about.html").read_text()


def test_it_writes_over_none_of_its_inputs(released: Path, sfumato: Sfumato) -> None:
    """A page that would take the place of the schema, the map, the ledger or a table is refused."""
    for name in ("schema.json", "areas.geojson", "trips.ledger", "synthetic.parquet"):
        before = (released / name).read_bytes()
        ran = sfumato("report", "synthetic.parquet", *MORE, "--publishable", "--out", name)
        assert ran.code == 2
        assert (released / name).read_bytes() == before
