from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from sfumato.columns import Category, Number
from sfumato.errors import InputError
from sfumato.simulate import City, Simulation, taxi

Columns = Mapping[str, npt.NDArray[np.int64]]
PICKUP, DROPOFF = "pickup_community_area", "dropoff_community_area"
NUMBERS = {"fare": 10_000, "tips": 1_000, "trip_total": 9_975, "trip_seconds": 100_000, "trip_miles": 2_000}


def columns(sim: Simulation) -> Columns:
    table = sim.to_table()
    return {name: table.column(name).to_numpy().astype(np.int64) for name in table.column_names}


@pytest.fixture(scope="module")
def sim() -> Simulation:
    return taxi(150_000)


@pytest.fixture(scope="module")
def trips(sim: Simulation) -> Columns:
    return columns(sim)


def apart(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> float:
    """Half the L1 distance between the shares of the values."""
    low, high = min(a.min(), b.min()), max(a.max(), b.max()) + 1
    p, q = (np.bincount(x - low, minlength=high - low) / len(x) for x in (a, b))
    return float(np.abs(p - q).sum() / 2)


def test_columns_are_those_of_the_challenge(sim: Simulation) -> None:
    """Names, order and types are those of the third sprint."""
    types = {f.name: str(f.type) for f in sim.to_table().schema}
    assert list(types)[:6] == ["taxi_id", "shift", "company_id", PICKUP, DROPOFF, "payment_type"]
    assert list(types)[6:] == ["trip_day_of_week", "trip_hour_of_day", *NUMBERS]
    assert types["taxi_id"] == "int64"
    assert types["trip_seconds"] == "int32"
    assert {types[n] for n in ("fare", "tips", "trip_total", "trip_miles")} == {"int16"}


def test_sizes_of_taxi_weeks(trips: Columns) -> None:
    """At most 200 trips a taxi, about 71 in the mean, unequal; ids run on from 1,000,000."""
    ids, counts = np.unique(trips["taxi_id"], return_counts=True)
    assert counts.max() <= 200
    assert counts.mean() == pytest.approx(71, rel=0.01)
    assert 30 < counts.std() < 60
    assert ids.tolist() == list(range(1_000_000, 1_000_000 + len(ids)))


def test_every_value_is_in_the_schema(sim: Simulation, trips: Columns) -> None:
    """No category holds a value that the schema does not list; numbers keep the challenge's limits."""
    for column in sim.schema.attributes:
        if isinstance(column, Category):
            assert set(np.unique(trips[column.name]).tolist()) <= set(column.bins), column.name
    assert {c.name for c in sim.schema.attributes if isinstance(c, Number)} == set(NUMBERS)
    for name, most in NUMBERS.items():
        assert trips[name].min() == -1
        assert trips[name].max() <= most


def test_sizes_of_the_schema(sim: Simulation) -> None:
    """The domain is that of the challenge: 21 shifts in 7 days, 57 companies, 78 areas, 9 payment types."""
    sizes = {c.name: c.size() for c in sim.schema.attributes}
    assert list(sizes.values())[:7] == [21, 57, 78, 78, 9, 7, 24]
    assert sizes["fare"] == sizes["trip_seconds"] == 11
    assert sim.schema["shift"].size("day") == 7
    assert sim.schema[PICKUP].labels("side")[0] == "Unknown"
    assert sim.schema[PICKUP].size("side") == 10
    shift = sim.schema["shift"]
    assert shift.is_ordered
    assert shift.is_cyclic


def test_sums(trips: Columns) -> None:
    """Money is known all at once, and the total holds fare and tips and never less."""
    known = trips["fare"] >= 0
    assert np.array_equal(known, trips["trip_total"] >= 0)
    assert np.array_equal(known, trips["tips"] >= 0)
    extras = (trips["trip_total"] - trips["fare"] - trips["tips"])[known]
    assert extras.min() == 0
    assert 0.5 < extras.mean() < 3


def test_shift_is_day_and_part_of_day(trips: Columns) -> None:
    """The shift is weekday × 3 + hour // 8, and a taxi's trips stand in order of time."""
    assert np.array_equal(trips["shift"], trips["trip_day_of_week"] * 3 + trips["trip_hour_of_day"] // 8)
    time = trips["taxi_id"] * 168 + trips["trip_day_of_week"] * 24 + trips["trip_hour_of_day"]
    assert (np.diff(time) >= 0).all()


def test_company_is_fixed_for_a_taxi(trips: Columns) -> None:
    """A taxi has one company; few companies have most taxis."""
    pairs = np.unique(np.stack([trips["taxi_id"], trips["company_id"]]), axis=1)
    assert pairs.shape[1] == len(np.unique(trips["taxi_id"]))
    share = np.sort(np.bincount(pairs[1]))[::-1] / pairs.shape[1]
    assert share[:5].sum() > 0.6


def test_fare_follows_miles_and_tips_follow_payment(trips: Columns) -> None:
    """Long rides cost more; cards tip and cash hardly."""
    long, short = trips["trip_miles"] >= 10, trips["trip_miles"] == 2
    assert np.median(trips["fare"][long]) > 2.5 * np.median(trips["fare"][short])
    assert np.median(trips["trip_seconds"][long]) > 2 * np.median(trips["trip_seconds"][short])
    tips = {code: trips["tips"][trips["payment_type"] == code].mean() for code in (0, 1)}
    assert tips[0] < 0.1 < 2 < tips[1]


def test_rides_form_a_chain(trips: Columns) -> None:
    """The next ride begins where the last ended far more often than places meet by chance."""
    same = (trips["taxi_id"][1:] == trips["taxi_id"][:-1]) & (trips[PICKUP][1:] > 0) & (trips[DROPOFF][:-1] > 0)
    met = (trips[PICKUP][1:] == trips[DROPOFF][:-1])[same].mean()
    p, q = (np.bincount(trips[c][trips[c] > 0], minlength=78) for c in (PICKUP, DROPOFF))
    assert met > 1.8 * (p @ q) / (p.sum() * q.sum())


def test_demand_is_concentrated_and_some_areas_are_unknown(trips: Columns) -> None:
    """Ten areas hold most pickups; a few percent of the areas are unknown."""
    counts = np.sort(np.bincount(trips[PICKUP][trips[PICKUP] > 0]))[::-1]
    assert 0.7 < counts[:10].sum() / counts.sum() < 0.9
    for column in (PICKUP, DROPOFF):
        assert 0.02 < (trips[column] == -1).mean() < 0.15


def test_drift_is_another_year_of_the_same_city(sim: Simulation, trips: Columns) -> None:
    """Drift 0.2 moves the shares clearly, yet not far; other people at drift 0 move them less; 1 moves them more."""
    years = [columns(taxi(150_000, drift=d, seed=8)) for d in (0.0, 0.2, 1.0)]
    for name in (PICKUP, DROPOFF, "company_id", "payment_type"):
        none, some, much = (apart(trips[name], year[name]) for year in years)
        assert none < 0.07, name
        assert 1.5 * none < some < 0.2, name
        assert much > 1.5 * some, name
    assert years[1]["fare"].mean() > 1.02 * years[0]["fare"].mean()
    assert taxi(150_000, drift=0.2).persons > sim.persons


def test_wide_codes_get_a_wide_type() -> None:
    """A city with codes beyond 127 is held in 16 bits."""
    sim = taxi(500, city=City.build(20, first=1_000))
    assert str(sim.to_table().schema.field(PICKUP).type) == "int16"


def test_more_taxis_than_ids_are_refused() -> None:
    """Ids have seven digits."""
    with pytest.raises(InputError, match="9,000,000"):
        taxi(10_000_000, persons=9_500_000)
