"""Taxi trips in the invented city: the columns of the temporal map challenge's third sprint.

A person is a taxi-week. Each has a driver (`fleet`) who works some shifts (`clock`) and goes from ride to ride: the
next begins near the last dropoff, at a favourite stand or at the airport, and ends where people go at that hour
(`streets`); the meter adds time and money (`meter`). All taxis of a batch make their n-th ride at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from sfumato.columns import Category, Number, Person, Place
from sfumato.errors import InputError
from sfumato.schema import AnyColumn, Schema
from sfumato.simulate import meter
from sfumato.simulate.city import City
from sfumato.simulate.clock import DAYS, SHIFTS, Clock, classes
from sfumato.simulate.draws import Rows, check_counts, check_seed
from sfumato.simulate.fleet import COMPANIES, PAYMENTS, STANDS, Companies, Drivers, hire
from sfumato.simulate.simulation import Columns, Simulation
from sfumato.simulate.streets import Streets

Ints = npt.NDArray[np.int64]

CAP = 200
MEAN = 71.0
SPREAD = 2.4  # gamma shape of the trips of a taxi-week
FIRST_ID = 1_000_000
MOST_PERSONS = 9_000_000  # ids end at 9,999,999
UNKNOWN = -1
FROM_HOME = 0.5  # share of shifts that begin near the home of the driver, not at a stand

DTYPES = {
    "taxi_id": "int64",
    "shift": "uint8",
    "company_id": "int8",
    "pickup_community_area": "int8",
    "dropoff_community_area": "int8",
    "payment_type": "int8",
    "trip_day_of_week": "uint8",
    "trip_hour_of_day": "uint8",
    "fare": "int16",
    "tips": "int16",
    "trip_total": "int16",
    "trip_seconds": "int32",
    "trip_miles": "int16",
}


def taxi(
    records: int = 1_000_000, persons: int | None = None, drift: float = 0.0, seed: int = 7, city: City | None = None
) -> Simulation:
    """A year of taxi trips, `records` in all, at most 200 and about 71 a taxi.

    `drift` (0..1) makes it another year of the same city: 0.2 is alike and yet not the same. `seed` draws other
    people in the same city; another city is `City.build(seed=...)`.

    >>> taxi(records=500).to_table().num_rows
    500
    """
    mean = MEAN * (1 - 0.4 * drift) if isinstance(drift, int | float) and 0 <= drift <= 1 else MEAN
    count = check_counts(records, persons, drift, mean, CAP)
    if count > MOST_PERSONS:
        raise InputError(f"{count:,} taxis are more than the {MOST_PERSONS:,} that have an id; ask for fewer")
    place = _here() if city is None else city
    wide = {"pickup_community_area": "int16", "dropoff_community_area": "int16"} if place.codes[-1] > 127 else {}
    return Simulation(
        city=place,
        schema=_schema(place),
        records=int(records),
        persons=count,
        drift=float(drift),
        seed=check_seed(seed),
        dtypes={**DTYPES, **wide},
        cap=CAP,
        spread=SPREAD,
        world=Town.of(place, float(drift)),
    )


@dataclass(frozen=True, eq=False)
class Town:
    """Everything that taxis of a city in a year share."""

    city: City
    streets: Streets
    companies: Companies
    clock: Clock
    drift: float
    codes: Ints
    """The code of each place; unknown outside the city."""

    @classmethod
    def of(cls, city: City, drift: float) -> Town:
        """A city in a year."""
        codes = np.array([*city.codes, UNKNOWN])
        return cls(city, Streets.of(city, drift), Companies.of(city, drift), Clock.of(drift), drift, codes)

    def live(self, rng: np.random.Generator, sizes: Ints, first: int) -> Columns:
        """The trips of the taxis from number `first` on, who make so many each."""
        drivers = hire(rng, sizes, self.city, self.streets, self.companies, self.clock, self.drift)
        who = np.repeat(np.arange(len(sizes)), sizes)
        slot = _slots(rng, drivers, who, self.clock)
        pickup, dropoff = self._drive(rng, drivers, sizes, who, slot)
        company = drivers.company[who]
        at_airport = np.isin(pickup, self.streets.airports) | np.isin(dropoff, self.streets.airports)
        payment = drivers.pay.draw(2 * who + at_airport, rng.random(len(who)))
        rides = meter.Rides(
            miles=self.streets.miles[pickup, dropoff].astype(np.float32),
            hours=classes()[slot],
            payment=payment,
            at_airport=at_airport,
            no_miles=self.companies.no_miles[company],
            whole_minutes=self.companies.whole_minutes[company],
        )
        return {
            "taxi_id": FIRST_ID + first + who,
            "shift": slot // 8,
            "company_id": company,
            **self._shown(rng, pickup, dropoff, self.companies.unknown[company]),
            "payment_type": np.array(list(PAYMENTS))[payment],
            "trip_day_of_week": slot // 24,
            "trip_hour_of_day": slot % 24,
            **meter.read(rng, rides, self.drift),
        }

    def _drive(
        self, rng: np.random.Generator, drivers: Drivers, sizes: Ints, who: Ints, slot: Ints
    ) -> tuple[Ints, Ints]:
        """Pickup and dropoff of every trip, ride after ride."""
        hours = classes()[slot] * self.streets.places
        pickup = self._planned(rng, drivers, who, slot, hours)
        dropoff = np.empty_like(pickup)
        chance = rng.random((2, len(who)))
        start = np.cumsum(sizes) - sizes
        order = np.argsort(-sizes, kind="stable")
        busy = np.cumsum(np.bincount(sizes, minlength=CAP + 1)[::-1])[::-1]
        for n in range(int(sizes.max())):
            now = start[order[: busy[n + 1]]] + n
            cruise = now[pickup[now] < 0]
            pickup[cruise] = self.streets.near.draw(hours[cruise] + dropoff[cruise - 1], chance[0, cruise])
            dropoff[now] = self.streets.ride.draw(hours[now] + pickup[now], chance[1, now])
        return pickup, dropoff

    def _planned(self, rng: np.random.Generator, drivers: Drivers, who: Ints, slot: Ints, hours: Ints) -> Ints:
        """Pickups that do not depend on the last ride: at a stand, the airport, or near home first; -1 for others."""
        count = len(who)
        mode = rng.random(count)
        loyalty, airport = drivers.loyalty[who], drivers.airport[who]
        stand = drivers.stands[who, (STANDS * rng.random(count) ** 1.6).astype(np.int64)]
        out = np.where(mode < loyalty, stand, -1)
        out = np.where(mode > 1 - airport, self.streets.airports[0], out)
        shift = who * SHIFTS + slot // 8
        fresh = np.flatnonzero((np.diff(shift, prepend=-1) != 0) & (out < 0))
        out[fresh] = stand[fresh]
        fresh = fresh[rng.random(len(fresh)) < FROM_HOME]
        out[fresh] = self.streets.near.draw(hours[fresh] + drivers.home[who[fresh]], rng.random(len(fresh)))
        return out

    def _shown(
        self, rng: np.random.Generator, pickup: Ints, dropoff: Ints, unknown: npt.NDArray[np.float64]
    ) -> Columns:
        """The areas as they are reported: some are not, often both at once."""
        luck = rng.random(len(pickup)) / unknown
        return {
            "pickup_community_area": np.where(luck < 1.0, UNKNOWN, self.codes[pickup]),
            "dropoff_community_area": np.where((luck > 0.3) & (luck < 1.3), UNKNOWN, self.codes[dropoff]),
        }


def _slots(rng: np.random.Generator, drivers: Drivers, who: Ints, clock: Clock) -> Ints:
    """The hour of the week of every trip, in order of time for each taxi."""
    shift = Rows.of(drivers.shifts).draw(who, rng.random(len(who)))
    hour = clock.hours.draw(drivers.pattern[who] * SHIFTS + shift, rng.random(len(who)))
    return np.sort(who * 8 * SHIFTS + shift * 8 + hour) % (8 * SHIFTS)


@cache
def _here() -> City:
    """The city where nothing else is said."""
    return City.build()


def _schema(city: City) -> Schema:
    """What the columns may hold."""
    tens: tuple[float | None, ...] = (None, *range(0, 100, 10), None)
    long: tuple[float | None, ...] = (None, *range(0, 2000, 200), None)
    numbers = [
        Number(name=name, edges=long if name == "trip_seconds" else tens, integer=True)
        for name in ("fare", "tips", "trip_total", "trip_seconds", "trip_miles")
    ]
    columns: tuple[AnyColumn, ...] = (
        Person(name="taxi_id"),
        Category(
            name="shift",
            values=tuple(range(SHIFTS)),
            names=tuple(f"{day} {h:02d}–{h + 8:02d}" for day in DAYS for h in (0, 8, 16)),
            ordered=True,
            cyclic=True,
            levels={"day": tuple(day for day in DAYS for _ in range(3))},
        ),
        Category(name="company_id", values=tuple(range(COMPANIES))),
        _place("pickup_community_area", city),
        _place("dropoff_community_area", city),
        Category(name="payment_type", values=tuple(PAYMENTS), names=tuple(PAYMENTS.values())),
        Category(name="trip_day_of_week", values=tuple(range(7)), names=DAYS, ordered=True, cyclic=True),
        Category(name="trip_hour_of_day", values=tuple(range(24)), ordered=True, cyclic=True),
        *numbers,
    )
    return Schema(columns=columns, max_records_per_person=CAP)


def _place(name: str, city: City) -> Place:
    """The areas of the city, and the unknown one first."""
    return Place(
        name=name,
        values=(UNKNOWN, *city.codes),
        names=("Unknown", *city.names),
        map="areas.geojson",
        key="code",
        other=UNKNOWN,
        levels={"side": ("Unknown", *city.sides)},
    )
