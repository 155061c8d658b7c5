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


def test_it_writes_over_none_of_its_inputs(released: Path, sfumato: Sfumato) -> None:
    """A page that would take the place of the schema, the map, the ledger or a table is refused."""
    for name in ("schema.json", "areas.geojson", "trips.ledger", "synthetic.parquet"):
        before = (released / name).read_bytes()
        ran = sfumato("report", "synthetic.parquet", *MORE, "--publishable", "--out", name)
        assert ran.code == 2
        assert (released / name).read_bytes() == before
