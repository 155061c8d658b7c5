"""`sfumato sweep`: a table and a picture for public data; a price and a question for private."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import SCHEMA, Sfumato, trips


@pytest.fixture
def city(tmp_path: Path) -> Path:
    """A schema of two columns of places, and trips between them."""
    schema = {**SCHEMA, "columns": {**SCHEMA["columns"], "to": {"kind": "place", "values": [1, 2, 3, 4]}}}
    table = trips(400)
    table = table.append_column("to", [[1 + k % 4 for k in range(400)]])
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "s.json").write_text(json.dumps(schema))
    return tmp_path


def arguments(city: Path, *more: object) -> list[object]:
    base = ["sweep", city / "t.parquet", "--schema", city / "s.json", "--methods", "nmd,dpsyn", "--marginal", "area,to"]
    return [*base, "--epsilons", "1,5", "--delta", "1e-6", "--metrics", "edges", "--out", city / "out", *more]


def test_public_data_are_swept_without_a_ledger(sfumato: Sfumato, city: Path) -> None:
    """The table is printed and written with pictures; asked again nothing is left to do."""
    (city / "out").mkdir()  # an empty folder is as good as none
    ran = sfumato(*arguments(city, "--public-truth", "--seeds", 2, "--epsilons", 1))
    assert ran.code == 0, ran.err
    assert "runs in all 4, still to be made 4" in ran.out
    assert "| dpsyn |" in ran.out
    assert "±" in ran.out
    assert sorted(p.name for p in (city / "out").glob("results.*")) == [
        f"results.{kind}" for kind in ("csv", "md", "parquet", "png", "svg")
    ]
    assert not list(city.glob("*.ledger"))
    assert "PRIVATE" not in ran.out + ran.err
    again = sfumato(*arguments(city, "--public-truth", "--seeds", 2, "--epsilons", 1, "--json"))
    assert len(again.json) == 4
    assert {row["metric"] for row in again.json} == {"edges"}


def test_the_private_data_are_not_public_under_another_name(sfumato: Sfumato, city: Path) -> None:
    """A link to the truth, or another way to write its path, is the truth; nothing is spent."""
    (city / "last_year.parquet").symlink_to(city / "t.parquet")
    for name in (city / "last_year.parquet", f"{city}/../{city.name}/t.parquet"):
        ran = sfumato(*arguments(city, "--yes", "--public", name))
        assert ran.code == 2
        assert "is the private data itself" in ran.err
        assert not list(city.glob("*.ledger"))


def test_private_data_need_somebody_to_agree(sfumato: Sfumato, city: Path) -> None:
    """It says the price; without a terminal it needs --yes; then the ledger has the runs, and the output is PRIVATE."""
    ran = sfumato(*arguments(city))
    assert ran.code == 2
    assert "counts as private" in ran.err
    assert "ε = " in ran.err
    assert "--yes" in ran.err
    assert not (city / "out").exists()
    assert not list(city.glob("*.ledger"))
    ran = sfumato(*arguments(city, "--epsilons", 1, "--yes"))
    assert ran.code == 0, ran.err
    assert "PRIVATE" in ran.out
    shown = sfumato("ledger", "show", city / "t.ledger", "--json").json
    assert shown[0]["account"]["releases"] == 2
    again = sfumato(*arguments(city, "--epsilons", 1))
    assert again.code == 0, "nothing is left to be paid for"
    more = sfumato(*arguments(city, "--epsilons", 1, "--seeds", 2, "--yes"))
    assert more.code == 2
    assert "above its cap" in more.err


def test_settings_go_to_their_owners(sfumato: Sfumato, city: Path) -> None:
    """dpsyn.… and edges.… reach method and metric; the bound reaches every method that takes one."""
    how = [
        "--public-truth",
        "--set",
        "dpsyn.iterations=3",
        "--set",
        "edges.columns=to,area",
        "--bound",
        "records:3",
        "--epsilons",
        1,
    ]
    assert sfumato(*arguments(city, *how)).code == 0
    kept = json.loads((city / "out" / "sweep.json").read_text())
    assert "iterations=3" in kept["methods"]["dpsyn"]
    assert "'to', 'area'" in kept["metrics"]["edges"]
    assert all("limit=3" in method for method in kept["methods"].values())


def test_a_truth_that_is_not_there_leaves_no_folder(sfumato: Sfumato, city: Path) -> None:
    """Neither a missing file nor one without the columns is found out after something was written."""
    pq.write_table(trips(9), city / "other.parquet")
    for truth, words in (("missing.parquet", "does not exist"), ("other.parquet", "no column 'to'")):
        ran = sfumato("sweep", city / truth, *arguments(city, "--public-truth")[2:])
        assert ran.code == 2
        assert words in ran.err
        assert not (city / "out").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--methods", "magic"], "no method 'magic'"),
        (["--metrics", "magic"], "no metric 'magic'"),
        (["--epsilons", "1,x"], "--epsilons 1,x"),
        (["--epsilons", "-1"], "Epsilon must be"),
        (["--epsilons", ","], "--epsilons is empty"),
        (["--methods", "nmd,nmd"], "names 'nmd' twice"),
        (["--set", "iterations=3"], "method.name=value"),
        (["--set", "taxi.x=3"], "no method or metric 'taxi'"),
        (["--set", "dpsyn.magic=3"], "no setting 'magic'"),
        (["--seeds", "0"], "seeds is 0"),
        (["--delta", "0"], "delta"),
        (["--marginal", "nowhere"], "nowhere"),
        (["--public", "nowhere.csv"], "nowhere.csv"),
        (["--out", "/proc/nowhere/out"], "cannot be made"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(sfumato: Sfumato, city: Path, more: list[str], words: str) -> None:
    """Exit code 2, nothing written."""
    ran = sfumato(*arguments(city, "--public-truth", *more))
    assert ran.code == 2
    assert words.lower() in ran.err.lower()
    assert not (city / "out").exists()
