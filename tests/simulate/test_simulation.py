"""What holds for taxi trips and incidents alike."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sfumato.errors import InputError
from sfumato.schema import Schema
from sfumato.simulate import City, Simulation, incidents, simulation, taxi

Make = Callable[..., Simulation]
CAPS = {taxi: 200, incidents: 20}


@pytest.fixture(params=[taxi, incidents], ids=["taxi", "incidents"])
def make(request: pytest.FixtureRequest) -> Make:
    return request.param  # type: ignore[no-any-return]


def test_same_seed_same_records(make: Make) -> None:
    """Two runs agree to the last value; another seed does not."""
    first = make(5_000, seed=3).to_table()
    assert first.equals(make(5_000, seed=3).to_table())
    assert not first.equals(make(5_000, seed=4).to_table())


def test_batches_are_the_table(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batches end to end are the table, each with whole persons."""
    monkeypatch.setattr(simulation, "BATCH", 1_000)
    sim = make(5_000)
    batches = list(sim.batches())
    assert len(batches) > 3
    assert pa.Table.from_batches(batches).equals(sim.to_table())
    ends = [(b.column(0)[0].as_py(), b.column(0)[-1].as_py()) for b in batches]
    assert all(a[1] < b[0] for a, b in itertools.pairwise(ends))


def test_files_hold_the_table(make: Make, tmp_path: Path) -> None:
    """Parquet, CSV and compressed CSV read back as the same records."""
    sim = make(3_000)
    table = sim.to_table()
    for name in ("a.parquet", "a.csv", "a.csv.gz"):
        sim.write(tmp_path / name)
    assert pq.read_table(tmp_path / "a.parquet").equals(table)
    for name in ("a.csv", "a.csv.gz"):
        assert pyarrow.csv.read_csv(tmp_path / name).cast(table.schema).equals(table)


def test_other_suffix_is_refused_before_anything_is_made(make: Make, tmp_path: Path) -> None:
    """A name that does not say the format leaves no file behind."""
    with pytest.raises(InputError, match=r"\.parquet, \.pq, \.csv, \.csv\.gz"):
        make(10).write(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="does not exist"):
        make(10).write(tmp_path / "none" / "a.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("records", [1, 2, 19, 20, 200])
def test_small_sizes(make: Make, records: int) -> None:
    """A handful of records works, from one person and from many."""
    fewest = -(-records // CAPS[make])
    for persons in (None, fewest, records):
        sim = make(records, persons=persons)
        table = sim.to_table()
        assert table.num_rows == records
        assert len(table.column(0).unique()) == sim.persons


def test_the_cap_holds_when_it_binds(make: Make) -> None:
    """Nobody has more records than the cap, even when all need to have just as many."""
    cap = CAPS[make]
    for persons in (11, 10):
        ids = make(10 * cap, persons=persons).to_table().column(0)
        counts = ids.value_counts().field("counts").to_pylist()
        assert len(counts) == persons
        assert max(counts) <= cap


def test_schema_survives_its_file(make: Make, tmp_path: Path) -> None:
    """The schema is written and read back the same."""
    schema = make(10).schema
    schema.save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json").to_dict() == schema.to_dict()
    assert schema.max_records_per_person == CAPS[make]


def test_other_cities_change_the_schema(make: Make) -> None:
    """Areas, names and codes of a given city are those of schema and records."""
    city = City.build(12, seed=5, water="none", first=100)
    sim = make(2_000, city=city)
    place = next(c for c in sim.schema.attributes if c.kind == "place")
    assert set(city.codes) <= set(place.bins)
    assert place.size() - 12 == int(make is taxi)
    assert set(sim.to_table().column(place.name).unique().to_pylist()) <= set(place.bins)


@pytest.mark.parametrize(
    "bad",
    [
        {"records": 0},
        {"records": -5},
        {"records": 10.0},
        {"records": True},
        {"records": 10, "persons": 11},
        {"records": 10, "persons": 0},
        {"records": 10, "persons": 2.0},
        {"records": 10_000, "persons": 3},
        {"drift": -0.1},
        {"drift": 1.1},
        {"drift": float("nan")},
        {"drift": "much"},
        {"seed": -1},
        {"seed": 1.5},
    ],
    ids=str,
)
def test_bad_arguments_are_one_sentence(make: Make, bad: dict[str, object]) -> None:
    """What cannot be simulated is refused in one sentence."""
    with pytest.raises(InputError, match=r"^[^\n]+$"):
        make(**bad)
