"""The model that is a set of records: sampled, saved and loaded; what does not fit is refused."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.models import load_model
from sfumato.models import records as records_module
from sfumato.privacy.provenance import Provenance

SCHEMA = sf.Schema(
    columns=(
        sf.Person(name="who"),
        sf.Category(name="area", values=(5, 6, 7, 8), levels={"half": ("w", "w", "e", "e")}),
        sf.Category(name="kind", values=("a", "b", "c")),
    )
)
MADE = Provenance(method="dpsyn", epsilon=1.0, delta=1e-6, unit="who", private=True, release="data/1")
CODES = np.array([[0, 0, 1, 3], [0, 0, 2, 1]], np.uint8)


def model(total: int = 4, codes: np.ndarray = CODES) -> sf.RecordsModel:
    return sf.RecordsModel(SCHEMA, MADE, sf.Marginal.of("area", "kind"), codes, total)


def rows(made: sf.RecordsModel, **how: int) -> Counter[tuple[object, ...]]:
    return Counter(tuple(r.values()) for r in made.to_table(**how).to_pylist())


def test_every_record_comes_once() -> None:
    """A sample without a number is the records themselves, decoded, in another order each time."""
    assert rows(model()) == {(5, "a"): 2, (6, "c"): 1, (8, "b"): 1}


@pytest.mark.parametrize("wanted", [0, 1, 3, 4, 9, 40])
def test_more_or_fewer_come_evenly(wanted: int) -> None:
    """Each record comes as often as any other, but for one."""
    apart = model(codes=np.array([[0, 1, 2, 3], [0, 1, 2, 0]], np.uint8))
    got = rows(apart, records=wanted)
    assert sum(got.values()) == wanted
    if wanted >= 4:
        assert set(got.values()) <= {wanted // 4, wanted // 4 + 1}


def test_a_model_can_stand_for_more_records_than_it_holds() -> None:
    """Its total says how many a sample has."""
    assert sum(rows(model(total=10)).values()) == 10
    assert "10 records" in repr(model(total=10))


def test_samples_stream_and_repeat_under_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are of bounded size, the first one empty; a seed gives the same records."""
    monkeypatch.setattr(records_module, "BATCH", 3)
    sizes = [b.num_rows for b in model(total=11).sample(seed=1)]
    assert sizes[0] == 0
    assert max(sizes) <= 3
    assert sum(sizes) == 11
    assert model().to_table(20, seed=2).equals(model().to_table(20, seed=2))


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    """Codes, axes with their levels, total and provenance; the file holds arrays and JSON alone."""
    coarse = sf.RecordsModel(SCHEMA, MADE, sf.Marginal.of("area@half", "kind"), np.minimum(CODES, 1), 7)
    coarse.save(tmp_path / "m.sfumato")
    back = load_model(tmp_path / "m.sfumato")
    assert isinstance(back, sf.RecordsModel)
    np.testing.assert_array_equal(back.codes, coarse.codes)
    assert (back.marginal, back.total, back.provenance) == (coarse.marginal, 7, MADE)
    with zipfile.ZipFile(tmp_path / "m.sfumato") as file:
        assert sorted(file.namelist()) == ["column0.npy", "column1.npy", "model.json"]


@pytest.mark.parametrize(
    ("codes", "total", "words"),
    [
        (np.array([[4], [0]]), 1, "codes of 'area' are not all from 0 to 3"),
        (np.array([[-1], [0]]), 1, "codes of 'area'"),
        (np.array([[0]]), 1, "a row for each column"),
        (np.array([[0.5], [0]]), 1, "whole numbers"),
        (np.zeros((2, 0), int), 1, "none to draw from"),
        (CODES, -1, "from 0 to"),
    ],
)
def test_what_is_no_model_is_refused(codes: np.ndarray, total: int, words: str) -> None:
    """One sentence that says what is wrong."""
    with pytest.raises(sf.InputError, match=words):
        model(total, codes)


def test_an_empty_model_gives_an_empty_table() -> None:
    """It has its columns and no records; asked for some it says that there are none."""
    empty = model(0, np.zeros((2, 0), np.uint8))
    assert empty.to_table().column_names == ["area", "kind"]
    assert empty.to_table().num_rows == 0
    with pytest.raises(sf.InputError, match="no records"):
        empty.sample(1)
    for wrong in ({"records": -1}, {"seed": -1}):
        with pytest.raises(sf.InputError, match="from 0 on"):
            empty.sample(**wrong)


@pytest.mark.parametrize(
    "change",
    [{"kept": 10**15}, {"kept": -1}, {"kept": True}, {"kept": 3}, {"total": "many"}, {"total": 2**60}, {"axes": []}],
)
def test_a_file_that_was_changed_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    """Settings that do not fit the arrays: one sentence, and nothing large is unpacked."""
    path = tmp_path / "m.sfumato"
    model().save(path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    document = json.loads(members["model.json"])
    document["settings"] |= change
    members["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    with pytest.raises(sf.InputError, match=r"m\.sfumato is"):
        load_model(path)
