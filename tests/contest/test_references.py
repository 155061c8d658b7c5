"""References: parts of the truth, marked NOT PRIVATE wherever they go, and out of reach of what releases."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import InputError, Marginal, Schema, Table
from sfumato.contest import references
from sfumato.simulate import taxi
from sfumato.synthesizers import METHODS
from tests import challenge
from tests.conftest import OnEngine

PARAMETERS = challenge.sprint3()
SCHEMA = Schema.from_dict(PARAMETERS)


@pytest.fixture(scope="module")
def city() -> pa.Table:
    return taxi(records=60_000).to_table()


def test_a_part_is_as_large_as_asked_for_and_nested(city: pa.Table) -> None:
    """stat: shares of records and of persons are within 5 σ (error rate below 1e-5, and the seed is fixed)."""
    everyone = len(set(city["taxi_id"].to_pylist()))
    for share in (0.1, 0.5):
        sigma = np.sqrt(share * (1 - share) / everyone)
        kept = references.subsample(city, SCHEMA, share, "persons")
        persons = kept.engine.run(f"SELECT COUNT(DISTINCT taxi_id) AS n FROM source AS s WHERE {kept.condition}")
        assert persons["n"][0].as_py() / everyone == pytest.approx(share, abs=5 * sigma)
        records = references.subsample(city, SCHEMA, share).counts([Marginal.of("shift")])[0].total
        assert records / 60_000 == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 60_000))


def test_persons_are_taken_whole(city: pa.Table) -> None:
    """A part of the persons has all records of each."""
    kept = references.subsample(city, SCHEMA, 0.3, "persons")
    mine = kept.engine.run(f"SELECT taxi_id, COUNT(*) AS n FROM source AS s WHERE {kept.condition} GROUP BY taxi_id")
    all_trips = dict(zip(*np.unique(city["taxi_id"].to_numpy(), return_counts=True), strict=True))
    assert all(all_trips[who] == n for who, n in zip(mine["taxi_id"].to_pylist(), mine["n"].to_pylist(), strict=True))
    assert 0 < mine.num_rows < len(all_trips)


def test_the_part_is_the_same_on_every_engine(on_engine: OnEngine, city: pa.Table) -> None:
    """Seed and content decide, not where the table is or in what order."""
    few = city.slice(0, 3000).cast(pa.schema([(n, pa.int64()) for n in city.column_names]))
    expected = references.subsample(few, SCHEMA, 0.4, seed=5).counts([Marginal.of("shift")])[0]
    there = on_engine(few.take(np.random.default_rng(1).permutation(3000)))
    found = references.subsample(there, SCHEMA, 0.4, seed=5).counts([Marginal.of("shift")])[0]
    assert found.values.tolist() == expected.values.tolist()
    other = references.subsample(few, SCHEMA, 0.4, seed=6).counts([Marginal.of("shift")])[0]
    assert other.values.tolist() != expected.values.tolist()


def test_more_of_the_truth_scores_higher(city: pa.Table) -> None:
    """1 %, 10 %, 50 % and all of it come in that order, and all of it is full marks."""
    scores = [references.score(city, PARAMETERS, 3, share).value for share in (0.01, 0.1, 0.5, 1.0)]
    assert scores == sorted(scores)
    assert scores[-1] == 1000.0


def test_half_of_the_people_score_well_in_the_second_sprint() -> None:
    """The rule on differing totals is left out, which no part of the truth could meet."""
    parameters = challenge.sprint2()
    truth = challenge.people(parameters["schema"], 0, 4000)
    assert references.score(truth, parameters, 2, 0.5).value > 700


@pytest.mark.parametrize("name", ["part.csv", "part.parquet"])
def test_a_file_of_real_records_says_so(name: str, city: pa.Table, tmp_path: Path) -> None:
    """The warning stands in a Parquet file's metadata, and beside a CSV file."""
    part = references.subsample(city, SCHEMA, 0.01)
    written = references.write(part, tmp_path / name, references.about(0.01, "records", 0))
    if name.endswith(".csv"):
        about = json.loads((tmp_path / f"{name}.about.json").read_text())
    else:
        about = json.loads(pq.read_schema(tmp_path / name).metadata[b"sfumato"])
    assert about["warning"].startswith("NOT PRIVATE: real records")
    assert about["private"] is False
    assert Table.open(tmp_path / name, SCHEMA).counts([Marginal.of("shift")])[0].total == written > 0


def test_a_file_without_the_warning_is_not_written(city: pa.Table, tmp_path: Path) -> None:
    """Nobody can leave it out."""
    with pytest.raises(InputError, match="says so"):
        references.write(references.subsample(city, SCHEMA, 0.01), tmp_path / "x.csv", {})
    assert not list(tmp_path.iterdir())


def test_no_method_copies_records() -> None:
    """A subsample stands in no list of methods, so no release can be made with it."""
    assert not any("sample" in name or "reference" in name for name in METHODS)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float, city: pa.Table) -> None:
    """It is above 0, up to 1."""
    with pytest.raises(InputError, match="share is"):
        references.subsample(city, SCHEMA, share)
