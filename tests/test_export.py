"""Tables are streamed into Parquet and CSV files, whole or not at all, and say how they came about."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import InputError
from sfumato.export import KINDS, about_file, check_target, write_batches

BATCHES = [
    pa.record_batch({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string()), "c": pa.array([], pa.float64())}),
    pa.record_batch({"a": [1, 2], "b": ["x", 'ü, "quoted"'], "c": [0.5, None]}),
    pa.record_batch({"a": [3], "b": ["z"], "c": [2.0]}),
]
WHOLE = pa.Table.from_batches(BATCHES)
ABOUT = {"method": "nmd", "epsilon": 1.0, "note": "Köln"}


def names(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("ending", [".parquet", ".pq"])
def test_parquet_holds_the_records_and_the_provenance(tmp_path, ending):
    """All batches arrive, in order; the metadata key `sfumato` tells how the file came about."""
    path = tmp_path / f"t{ending}"
    assert write_batches(BATCHES, path, ABOUT) == 3
    table = pq.read_table(path)
    assert table.replace_schema_metadata().equals(WHOLE)
    assert json.loads(table.schema.metadata[b"sfumato"]) == ABOUT
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_csv_is_readable_by_pandas_and_has_its_provenance_beside_it(tmp_path, ending):
    """Compressed or not, pandas reads it back; FILE.about.json tells how it came about."""
    path = tmp_path / f"t{ending}"
    assert write_batches(BATCHES, str(path), ABOUT) == 3
    pd.testing.assert_frame_equal(pd.read_csv(path), WHOLE.to_pandas(), check_dtype=False)
    assert json.loads(about_file(path).read_text(encoding="utf-8")) == ABOUT
    assert names(tmp_path) == [path.name, f"{path.name}.about.json"]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == ending.endswith("gz")


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_table_has_its_columns(tmp_path, kind):
    """No records, but a header; and no provenance where none is given."""
    path = tmp_path / f"t{kind}"
    assert write_batches(BATCHES[:1], path) == 0
    read = pd.read_parquet(path) if kind in (".parquet", ".pq") else pd.read_csv(path)
    assert list(read.columns) == ["a", "b", "c"]
    assert len(read) == 0
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_breaks_off_leaves_nothing(tmp_path, kind):
    """The old file stays, with its provenance, and no part of the new one is left."""
    path = tmp_path / f"t{kind}"

    def breaking():
        yield from BATCHES[:2]
        raise ArithmeticError("midway")

    with pytest.raises(ArithmeticError):
        write_batches(breaking(), path, {"new": True})
    assert names(tmp_path) == []
    write_batches(BATCHES, path, ABOUT)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(ArithmeticError):
        write_batches(breaking(), path, {"new": True})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_table_is_not_left_without_its_provenance(tmp_path):
    """Where the file beside a CSV cannot be written, the CSV is not written either."""
    (tmp_path / "t.csv.about.json").mkdir()
    with pytest.raises(InputError, match=r"t\.csv\.about\.json is a folder"):
        write_batches(BATCHES, tmp_path / "t.csv", ABOUT)
    assert names(tmp_path) == ["t.csv.about.json"]


@pytest.mark.parametrize("name", ["t", "t.xlsx", "t.CSV", "t.csv.zip", "csv"])
def test_an_unknown_ending_is_refused_before_any_work(tmp_path, name):
    """The sentence lists the endings there are; the stream is not even begun."""
    stream = iter(BATCHES)
    with pytest.raises(InputError) as caught:
        write_batches(stream, tmp_path / name)
    assert str(caught.value) == (
        f"{tmp_path / name}: tables are written as .parquet, .pq, .csv, .csv.gz; give the file one of these endings"
    )
    assert next(stream) is BATCHES[0]
    assert names(tmp_path) == []


def test_a_target_in_no_folder_is_refused(tmp_path):
    """Asked before any budget is spent."""
    with pytest.raises(InputError, match="does not exist; make it first"):
        check_target(tmp_path / "no" / "t.csv")


def test_no_batches_at_all_are_no_table(tmp_path):
    """Without a batch the columns are unknown; nothing is written."""
    with pytest.raises(InputError, match="no table to write"):
        write_batches([], tmp_path / "t.csv")
    assert names(tmp_path) == []
