"""The publishable page: it cannot reach the truth, and holds no number that the release does not."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.export import write_batches
from tests.report.conftest import SCHEMA, City, truth
from tests.report.test_contents import script, words


def about(city: City, folder: Path) -> str:
    """The page made in a folder that holds the release and nothing else."""
    for name in ("synthetic.parquet", "schema.json", "areas.geojson", "city.ledger"):
        shutil.copy(city / name, folder / name)
    schema = sf.Schema.load(folder / "schema.json")
    return sf.Report(
        folder / "synthetic.parquet", schema, map=folder / "areas.geojson", ledger=folder / "city.ledger"
    ).html


def test_it_is_made_without_the_truth(city: City, tmp_path: Path) -> None:
    """In a folder without the truth it is made, green, with one table; none could be given it to compare with."""
    page = about(city, tmp_path)
    assert "PUBLISHABLE." in words(page)
    assert "PRIVATE." not in words(page)
    assert script(page)["tables"] == ["synthetic"]
    assert not {n for n in inspect.signature(sf.Report).parameters if "true" in n or "truth" in n}


def test_another_truth_makes_the_same_page(city: City, tmp_path: Path) -> None:
    """The page depends on nothing but its files: with the truth deleted or replaced it is the same to the letter."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = about(city, tmp_path / "one")
    pq.write_table(truth(50, seed=99), tmp_path / "two" / "truth.parquet")
    assert about(city, tmp_path / "two") == first


def test_every_number_on_it_is_one_of_the_release(city: City, tmp_path: Path) -> None:
    """Counts that the script reads are those of the synthetic table, and the true total is nowhere on the page."""
    page = about(city, tmp_path)
    rows = pq.read_table(city / "synthetic.parquet").to_pylist()
    base = script(page)["views"][0]["sets"][0]["synthetic"]
    slow = np.zeros((12, 12), int)
    for r in rows:
        slow[r["month"] - 1, r["from_area"] - 1] += 1
    assert base == slow.reshape(-1).tolist()
    true = pq.read_table(city / "truth.parquet")
    private = {true.num_rows, len(set(true["who"].to_pylist()))} - {len(rows)}
    numbers = {int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", words(page)) if n.strip(",")}
    assert not private & numbers


def test_what_nobody_vouches_for_is_refused(city: City, tmp_path: Path) -> None:
    """A table without provenance may be the truth itself; one with seeded noise is not private. Neither gets a page."""
    with pytest.raises(sf.InputError, match=r"nothing says how truth.parquet was made, so it may be private records"):
        sf.Report(city / "truth.parquet", SCHEMA)
    vault = sf.Vault.open(truth(200), SCHEMA, sf.Budget(1.0), ":memory:", seed=3)
    model = sf.NMD(marginal=("kind",)).fit(vault)
    write_batches(model.sample(), tmp_path / "seeded.parquet", model.provenance.to_dict())
    with pytest.raises(sf.InputError, match="seeded noise and is NOT PRIVATE"):
        sf.Report(tmp_path / "seeded.parquet", SCHEMA)


def test_a_table_in_memory_needs_the_provenance_of_its_model() -> None:
    """With it the page is made; the same is read from a CSV file's companion."""
    vault = sf.Vault.open(truth(200), SCHEMA, sf.Budget(1.0), ":memory:")
    model = sf.NMD(marginal=("kind",)).fit(vault)
    table = model.to_table(records=40)
    with pytest.raises(sf.InputError, match="nothing says how a table in memory was made"):
        sf.Report(table, SCHEMA)
    assert "synthetic records 40" in words(sf.Report(table, SCHEMA, provenance=model.provenance).html)


def test_a_csv_file_brings_its_provenance(city: City, tmp_path: Path) -> None:
    """What stands beside a CSV file counts like what stands inside a Parquet file."""
    vault = sf.Vault.open(truth(200), SCHEMA, sf.Budget(1.0), tmp_path / "l.ledger")
    model = sf.NMD(marginal=("kind",)).fit(vault)
    write_batches(model.sample(), tmp_path / "made.csv", model.provenance.to_dict())
    assert "e^ε with ε = 1" in words(sf.Report(tmp_path / "made.csv", SCHEMA, ledger=tmp_path / "l.ledger").html)


def test_a_ledger_that_did_not_pay_is_refused(city: City, tmp_path: Path) -> None:
    """The page would tell the noise of another release: one sentence says which entry is missing."""
    vault = sf.Vault.open(truth(200), SCHEMA, sf.Budget(1.0), tmp_path / "l.ledger", account="city")
    sf.NMD(marginal=("kind",)).fit(vault)
    with sf.Ledger.open(tmp_path / "l.ledger") as ledger:
        ledger.set_cap("city", sf.Budget(9.0))
    sf.NMD(marginal=("kind",)).fit(sf.Vault.open(truth(9), SCHEMA, sf.Budget(1.0), tmp_path / "l.ledger", account="b"))
    about_b = sf.NMD(marginal=("kind",)).fit(
        sf.Vault.open(truth(9), SCHEMA, sf.Budget(1.0), tmp_path / "other.ledger", account="b")
    )
    table = pa.table(about_b.to_table(records=5))
    with pytest.raises(sf.InputError, match=r"l.ledger has no release 'b/3'"):
        sf.Report(table, SCHEMA, provenance=about_b.provenance, ledger=tmp_path / "l.ledger")


def test_folders_are_not_told(city: City, tmp_path: Path) -> None:
    """The page names files, and never the folders that lead to them."""
    assert str(tmp_path) not in about(city, tmp_path)
    assert tmp_path.name not in about(city, tmp_path)
