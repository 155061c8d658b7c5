"""The drivers: each has a company, hours, a home, a few favourite stands, a love for airports and habits of payment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.simulate.city import AIRPORT, City
from sfumato.simulate.clock import PATTERN_SHARES, SHIFTS, Clock
from sfumato.simulate.draws import Rows, generator
from sfumato.simulate.streets import Streets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COMPANIES = 57
STANDS = 3
PAYMENTS = {
    -1: "Unknown",
    0: "Cash",
    1: "Credit Card",
    2: "Mobile",
    3: "Prcard",
    5: "No Charge",
    6: "Dispute",
    7: "Prepaid",
    8: "Pcard",
}
PAY_SHARES = np.array([0.05, 0.42, 0.385, 0.085, 0.057, 0.0015, 0.0006, 0.0005, 0.0004])
PAY_DRIFT = np.array([0.2, -1.3, 0.5, 2.0, 0.5, 0.0, 0.0, 0.3, 0.0])  # log change in a quite different year
PAY_AIRPORT = np.array([0.3, 0.75, 1.9, 0.25, 0.15, 1.0, 2.0, 0.5, 1.0])
PAY_SPREAD = np.array([0.8, 0.45, 0.45, 0.9, 1.4, 0.3, 0.3, 0.3, 0.3])  # how much drivers differ, in logs


@dataclass(frozen=True, eq=False)
class Companies:
    """What a company's meters are like; every array has an entry for each company."""

    share: Rows
    unknown: Floats
    """Share of rides whose areas the company leaves out."""
    no_miles: Floats
    """Share of rides for which it reports 0 miles."""
    whole_minutes: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, city: City, drift: float) -> Companies:
        """The companies of a city: few large, many with a car or two; a drifted year has other sizes."""
        rng = generator(city.seed, 3)
        size = np.exp(-np.arange(COMPANIES) / 4.2) * rng.lognormal(0, 0.3, COMPANIES) + 3e-4
        luck = rng.standard_normal(COMPANIES)
        return cls(
            share=Rows.of((rng.permutation(size) * np.exp(1.5 * drift * luck))[None]),
            unknown=rng.beta(1.5, 24, COMPANIES),
            no_miles=rng.beta(1.0, 9, COMPANIES),
            whole_minutes=rng.random(COMPANIES) < 0.45,
        )


@dataclass(frozen=True, eq=False)
class Drivers:
    """Some taxi-weeks; every array has an entry or a row for each."""

    company: Ints
    pattern: Ints
    shifts: Floats
    """How much each of the 21 shifts is worked."""
    home: Ints
    stands: Ints
    loyalty: Floats
    """Share of rides taken at a favourite stand."""
    airport: Floats
    """Share of rides for which the driver goes to the far airport."""
    pay: Rows
    """Two rows for each: off and at the airports."""


def hire(
    rng: np.random.Generator,
    trips: Ints,
    city: City,
    streets: Streets,
    companies: Companies,
    clock: Clock,
    drift: float,
) -> Drivers:
    """Drivers for so many trips each; who drives more works on more shifts."""
    count = len(trips)
    pattern = np.searchsorted(np.cumsum(PATTERN_SHARES)[:-1], rng.random(count), side="right")
    home = Rows.of((city.population * (city.kinds != AIRPORT))[None]).draw(0, rng.random(count))
    rows = np.broadcast_to(0, (count, STANDS))
    return Drivers(
        company=companies.share.draw(0, rng.random(count)),
        pattern=pattern,
        shifts=_worked(rng, clock.shifts[pattern], trips),
        home=home,
        stands=Rows.of(streets.busy[None] ** 1.15).draw(rows, rng.random((count, STANDS))),
        loyalty=rng.beta(1.8, 3.0, count),
        airport=np.minimum(rng.beta(0.5, 5.0 / (1 + drift), count), 0.6),
        pay=_pay(rng, count, drift),
    )


def _worked(rng: np.random.Generator, shifts: Floats, trips: Ints) -> Floats:
    """Driver × shift: uneven, with days off; at least one shift is worked."""
    luck = rng.standard_gamma(2.5, shifts.shape)
    on = rng.random((len(trips), 7)) < np.clip(0.5 + trips / 200, 0, 0.97)[:, None]
    on[np.arange(len(trips)), rng.integers(0, 7, len(trips))] = True
    return np.asarray(shifts * luck * np.repeat(on, SHIFTS // 7, axis=1))


def _pay(rng: np.random.Generator, count: int, drift: float) -> Rows:
    """Two distributions of payment types for each driver."""
    taste = np.exp(PAY_SPREAD * rng.standard_normal((count, len(PAY_SHARES))) + drift * PAY_DRIFT)
    town = PAY_SHARES * taste
    return Rows.of(np.stack([town, town * PAY_AIRPORT], axis=1))
