"""Incidents in the invented city: the columns of the temporal map challenge's first sprint.

A person is a resident with a home area and 1 to 20 events in the year, most of them at home. What happens depends on
the character of the area and has its season; some residents call about the same thing again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from sfumato.columns import Category, Person, Place, Time
from sfumato.errors import InputError
from sfumato.schema import AnyColumn, Schema
from sfumato.simulate.city import City
from sfumato.simulate.draws import Rows, check_counts, check_seed, generator
from sfumato.simulate.simulation import Columns, Simulation
from sfumato.simulate.words import call_types

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CAP = 20
MEAN = 1_455_000 / 285_784
SPREAD = 1.1  # gamma shape of the events of a resident
AREAS = 278  # what the challenge had
MOST_AREAS = 32_000
DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])

AT_HOME, NEARBY = 0.74, 0.16  # where an event of a resident happens; the rest anywhere in the city
AGAIN = 0.18  # share of events that repeat the place and type of the resident's first
NEAR = 1.2  # miles, by exponential decay

DENSITY = np.array([2.6, 1.3, 0.9, 2.5, 1.2, 9.0])  # events for each inhabitant, by character
MIX = np.array(  # of kinds (columns, as in words.TYPES) by character (rows)
    [
        # service alarm traffic disorder theft violence medical fire damage suspicion
        [0.20, 0.12, 0.16, 0.19, 0.14, 0.06, 0.05, 0.02, 0.03, 0.03],
        [0.22, 0.09, 0.12, 0.19, 0.12, 0.10, 0.06, 0.02, 0.04, 0.04],
        [0.24, 0.13, 0.13, 0.13, 0.09, 0.10, 0.07, 0.03, 0.04, 0.04],
        [0.20, 0.16, 0.24, 0.08, 0.12, 0.06, 0.03, 0.03, 0.05, 0.03],
        [0.20, 0.07, 0.21, 0.22, 0.11, 0.05, 0.05, 0.02, 0.04, 0.03],
        [0.25, 0.08, 0.36, 0.06, 0.11, 0.02, 0.06, 0.01, 0.02, 0.03],
    ]
)
SUMMER = np.array([0.03, 0.0, 0.05, 0.35, 0.1, 0.18, -0.03, -0.15, 0.12, 0.1])  # how much more in July, by kind
STEEP = 2.75  # Zipf exponent of the types within a kind
UNEVEN, UNEVEN_STEP = 0.35, 0.07  # how much areas differ in a type, in logs: most in the rare ones


def incidents(
    records: int = 1_455_000,
    persons: int | None = None,
    drift: float = 0.0,
    seed: int = 7,
    city: City | None = None,
    year: int = 2019,
) -> Simulation:
    """A year of police and emergency calls, `records` in all, at most 20 and about 5 a resident.

    `drift` (0..1) makes it another year of the same city: areas and types grow and shrink. `seed` draws other people
    in the same city; another city is `City.build(areas=278, first=0, seed=...)`.

    >>> incidents(records=500).to_table().num_rows
    500
    """
    count = check_counts(records, persons, drift, MEAN, CAP)
    if isinstance(year, bool) or not isinstance(year, int) or not 1 <= year <= 9999:
        raise InputError(f"year is {year!r}; it is a whole number from 1 to 9999")
    place = _here() if city is None else city
    if place.codes[-1] > MOST_AREAS:
        raise InputError(f"the city's codes go up to {place.codes[-1]:,}; incidents can hold {MOST_AREAS:,}")
    return Simulation(
        city=place,
        schema=_schema(place, year),
        records=int(records),
        persons=count,
        drift=float(drift),
        seed=check_seed(seed),
        dtypes={
            "sim_resident": "int64",
            "neighborhood": "int16",
            "year": "int16",
            "month": "int8",
            "day": "int8",
            "incident_type": "int16",
        },
        cap=CAP,
        spread=SPREAD,
        world=Trouble.of(place, float(drift), year),
    )


@dataclass(frozen=True, eq=False)
class Trouble:
    """Where, what and when things happen in a city in a year."""

    codes: Ints
    kinds: Ints
    year: int
    where: Rows
    nearby: Rows
    """home × area."""
    what: Rows
    """area × type."""
    when: Rows
    """(character, type) × month."""

    @classmethod
    def of(cls, city: City, drift: float, year: int) -> Trouble:
        """A city in a year; how it differs from place to place is the same for every `seed` of its people."""
        rng = generator(city.seed, 4)
        luck = np.clip(rng.standard_normal((2, len(city.codes))), -2, 2)
        rate = (city.population + 60) * DENSITY[city.kinds] * np.exp(0.9 * luck[0] + 0.6 * drift * luck[1])
        return cls(
            codes=np.array(city.codes),
            kinds=city.kinds,
            year=year,
            where=Rows.of(rate[None]),
            nearby=Rows.of(rate * np.exp(-city.miles / NEAR)),
            what=Rows.of(_types(rng, city, drift)),
            when=Rows.of(_months(rng)),
        )

    def live(self, rng: np.random.Generator, sizes: Ints, first: int) -> Columns:
        """The events of the residents from number `first` on, who have so many each."""
        who = np.repeat(np.arange(len(sizes)), sizes)
        area = self._places(rng, sizes, who)
        kind = self.what.draw(area, rng.random(len(who)))
        opening = (np.cumsum(sizes) - sizes)[who]
        again = rng.random(len(who)) < AGAIN
        area, kind = (np.where(again, values[opening], values) for values in (area, kind))
        month = self.when.draw(self.kinds[area] * self.what.width + kind, rng.random(len(who)))
        return {
            "sim_resident": 1 + first + who,
            "neighborhood": self.codes[area],
            "year": np.full(len(who), self.year),
            "month": month + 1,
            "day": 1 + (DAYS[month] * rng.random(len(who))).astype(np.int64),
            "incident_type": kind,
        }

    def _places(self, rng: np.random.Generator, sizes: Ints, who: Ints) -> Ints:
        """The area of every event: home, nearby or anywhere."""
        home = self.where.draw(0, rng.random(len(sizes)))[who]
        far, luck = rng.random(len(who)), rng.random(len(who))
        near = self.nearby.draw(home, luck)
        return np.where(far < AT_HOME, home, np.where(far < AT_HOME + NEARBY, near, self.where.draw(0, luck)))


def _types(rng: np.random.Generator, city: City, drift: float) -> Floats:
    """area × type: how often each type happens there."""
    kinds = _kinds()
    count = len(kinds)
    rank = np.arange(count) - np.searchsorted(kinds, kinds)  # types of a kind stand together, frequent ones first
    share = (1.0 + rank) ** -STEEP * rng.lognormal(0, 0.4, count)
    share /= np.bincount(kinds, share)[kinds]
    growth = np.exp(0.9 * drift * rng.standard_normal(count))
    local = np.exp((UNEVEN + UNEVEN_STEP * rank) * rng.standard_normal((len(city.codes), count)))
    return np.asarray(MIX[city.kinds][:, kinds] * share * growth * local)


def _months(rng: np.random.Generator) -> Floats:
    """(character, type) × month: the season of each type, stronger where people spend their leisure."""
    kinds = _kinds()
    peak = 6.3 + 0.6 * rng.standard_normal(len(kinds))
    swing = SUMMER[kinds] + 0.07 * rng.standard_normal(len(kinds))
    wave = swing[:, None] * np.cos((np.arange(12) - peak[:, None]) * np.pi / 6)
    outdoors = np.array([1.0, 1.0, 1.0, 0.7, 1.8, 0.8])
    return np.asarray(DAYS * np.exp(outdoors[:, None, None] * wave)).reshape(-1, 12)


def _kinds() -> Ints:
    """The kind of each type, 0..9."""
    named = call_types()[1]
    position = {kind: i for i, kind in enumerate(dict.fromkeys(named))}
    return np.array([position[kind] for kind in named])


@cache
def _here() -> City:
    """The city where nothing else is said."""
    return City.build(AREAS, water="river", first=0)


def _schema(city: City, year: int) -> Schema:
    """What the columns may hold."""
    names, kinds = call_types()
    columns: tuple[AnyColumn, ...] = (
        Person(name="sim_resident"),
        Place(
            name="neighborhood",
            values=city.codes,
            names=city.names,
            map="areas.geojson",
            key="code",
            levels={"district": city.sides},
        ),
        Time(
            name="period",
            part="year_month",
            year="year",
            month="month",
            months=tuple((year, month) for month in range(1, 13)),
            levels={"quarter": tuple(f"Q{1 + month // 3}" for month in range(12))},
        ),
        Category(
            name="incident_type",
            values=tuple(range(len(names))),
            names=names,
            levels={"kind": kinds},
        ),
    )
    return Schema(columns=columns, max_records_per_person=CAP)
