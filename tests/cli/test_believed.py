"""A budget so small that noise alone is left: a model that believes in more records than anybody wants."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pytest

from sfumato import Ledger, load_model
from tests.cli.conftest import Sfumato, release

TINY = ("--epsilon", "1e-8", "--bound", "records:5", "--out", "s.csv", "--ledger", "l")


def _believed(path: str) -> int:
    return load_model(path).believed


@pytest.fixture
def drowned(city: Path, sfumato: Sfumato) -> str:
    """What is said of a release in which noise alone is left."""
    ran = sfumato(*release(*TINY))
    assert ran.code == 1
    return ran.err.splitlines()[-1]


def test_kept_unasked(drowned: str, city: Path, sfumato: Sfumato) -> None:
    """No records are written, the model that was paid for is kept beside them, and the sentence says how to go on."""
    assert not Path("s.csv").exists()
    assert Ledger("l", create=False).accounts()[0].spent == 1e-8
    assert drowned.startswith(f"error: the model believes in {_believed('s.csv.sfumato'):,} records")
    assert drowned.endswith("sfumato sample s.csv.sfumato --records N --out s.csv")
    assert sfumato("sample", "s.csv.sfumato", "--records", 50, "--out", "s.csv").code == 0
    assert pyarrow.csv.read_csv("s.csv").num_rows == 50


def test_nothing_is_overwritten(drowned: str, city: Path, sfumato: Sfumato) -> None:
    """The next such release keeps its model under another name."""
    first = Path("s.csv.sfumato").read_bytes()
    ran = sfumato(*release(*TINY, "--ledger", "another"))
    assert (ran.code, "it is kept in s.csv.1.sfumato" in ran.err) == (1, True)
    assert Path("s.csv.sfumato").read_bytes() == first
    assert _believed("s.csv.1.sfumato") > 10**9


def test_kept_as_asked(city: Path, sfumato: Sfumato) -> None:
    """With --model-out the model is there, and no second one."""
    ran = sfumato(*release(*TINY, "--model-out", "m"))
    assert (ran.code, "it is kept in m," in ran.err) == (1, True)
    assert sorted(p.name for p in city.iterdir()) == ["l", "m", "schema.json", "trips.parquet"]


def test_as_many_as_asked_for(city: Path, sfumato: Sfumato) -> None:
    """With --records so many are written, whatever the model believes."""
    assert sfumato(*release(*TINY, "--records", 20)).code == 0
    assert pyarrow.csv.read_csv("s.csv").num_rows == 20


def test_sample(drowned: str, city: Path, sfumato: Sfumato) -> None:
    """Sampling from such a model without a number is refused in a sentence, and nothing is written."""
    ran = sfumato("sample", "s.csv.sfumato", "--out", "s.csv")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "say how many you want with --records" in ran.err
    assert not Path("s.csv").exists()
