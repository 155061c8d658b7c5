"""The meter: miles, seconds and money of rides that are known to begin and end somewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int64]

MISSING = -1
FLAG, PER_MILE, PER_HOUR = 3.6, 2.25, 12.0  # fare
AIRPORT_FEE = 4
HASTE = np.array([1.25, 0.8, 0.95, 0.78, 1.1, 1.3, 1.1, 1.0, 0.95, 1.05])  # speed by class of hour
MOST = {"fare": 9_000, "tips": 400, "toll": 60, "trip_seconds": 86_000, "trip_miles": 1_800}

# by position in fleet.PAYMENTS: Unknown, Cash, Credit, Mobile, Prcard, No Charge, Dispute, Prepaid, Pcard
TIPPING = np.array([0.004, 0.007, 0.935, 0.905, 0.04, 0.05, 0.0, 0.0, 0.0])  # share of rides with a tip
EXTRAS = np.array([0.04, 0.3, 0.6, 0.15, 0.04, 0.4, 0.5, 0.1, 0.1])  # share of rides with extras


@dataclass(frozen=True, eq=False)
class Rides:
    """Rides as they happened; every array has an entry for each."""

    miles: Floats
    """Between the middles of the areas."""
    hours: Ints
    """Class of the hour of the week."""
    payment: Ints
    at_airport: npt.NDArray[np.bool_]
    no_miles: Floats
    """How likely the meter reports 0 miles."""
    whole_minutes: npt.NDArray[np.bool_]


def read(rng: np.random.Generator, rides: Rides, drift: float) -> dict[str, Ints]:
    """What the meter says, in whole dollars, seconds and miles; -1 where it says nothing."""
    miles = np.maximum(0.15, rides.miles * _spread(rng, rides, 0.22))
    seconds = _seconds(rng, rides, miles)
    fare = _fare(rng, miles, seconds, drift)
    tips = _tips(rng, rides, fare)
    extras = _extras(rng, rides, fare)
    shown = np.where(rng.random(len(miles)) < rides.no_miles, 0, np.minimum(miles, MOST["trip_miles"]))
    seconds = np.where(rides.whole_minutes, seconds // 60 * 60, seconds)
    whole = {
        "fare": fare,
        "tips": tips,
        "trip_total": fare + tips + extras,
        "trip_seconds": seconds.astype(np.int64),
        "trip_miles": shown.astype(np.int64),
    }
    return _lose(rng, whole)


def _spread(rng: np.random.Generator, rides: Rides, width: float) -> Floats:
    """Lognormal factors around 1."""
    return np.asarray(np.exp(width * rng.standard_normal(len(rides.miles), dtype=np.float32)))


def _seconds(rng: np.random.Generator, rides: Rides, miles: Floats) -> Floats:
    """Time on the road: slow in town and at rush hour, fast on long ways; a meter left on now and then."""
    speed = np.minimum(12.5 + 1.3 * miles, 35) * HASTE[rides.hours] * _spread(rng, rides, 0.2)
    seconds = 40 + 3600 * miles / speed
    odd = rng.random(len(miles))
    seconds *= np.where(odd < 0.004, 1 / np.maximum(odd * 250, 0.02), 1.0)
    seconds[odd > 0.982] *= 0.02
    return np.asarray(np.floor(np.minimum(seconds, MOST["trip_seconds"])))


def _fare(rng: np.random.Generator, miles: Floats, seconds: Floats, drift: float) -> Ints:
    """Flag, distance and waiting; a few flat or mistyped amounts."""
    waiting = np.minimum(0.35 * seconds, 2_400)
    fare = (FLAG + PER_MILE * miles + PER_HOUR * waiting / 3600) * (1 + 0.25 * drift)
    odd = rng.random(len(miles))
    fare = np.where(odd < 0.035, 3.25, fare)
    fare = np.where(odd > 0.9997, fare * rng.pareto(1.2, len(miles)) * 4 + fare, fare)
    return np.asarray(np.clip(np.rint(fare), 0, MOST["fare"]).astype(np.int64))


def _tips(rng: np.random.Generator, rides: Rides, fare: Ints) -> Ints:
    """A share of the fare, or at least two, for those who pay in a way that records it."""
    gives = rng.random(len(fare)) < TIPPING[rides.payment]
    amount = 0.6 + 0.19 * fare * _spread(rng, rides, 0.3)
    return np.asarray(np.where(gives, np.clip(np.rint(amount), 1, MOST["tips"]), 0).astype(np.int64))


def _extras(rng: np.random.Generator, rides: Rides, fare: Ints) -> Ints:
    """Airport fee, further passengers, tolls."""
    luck = rng.random(len(fare))
    asks = luck < EXTRAS[rides.payment]
    extras = np.where(asks, 1 + (luck * 1e4).astype(np.int64) % 3, 0)
    extras += np.where(rides.at_airport & (luck < 1.5 * EXTRAS[rides.payment]), AIRPORT_FEE, 0)
    return extras + np.where(
        (fare > 25) & asks & (rng.random(len(fare)) < 0.14), np.minimum(fare // 2, MOST["toll"]), 0
    )


def _lose(rng: np.random.Generator, whole: dict[str, Ints]) -> dict[str, Ints]:
    """The readings with a few missing: all money at once, time, and distance."""
    lost = rng.random(len(whole["fare"]))
    money, time, distance = lost < 0.002, lost > 0.998, (lost > 0.5) & (lost < 0.503)
    gone = {"fare": money, "tips": money, "trip_total": money, "trip_seconds": time, "trip_miles": distance}
    return {name: np.where(gone[name], MISSING, values) for name, values in whole.items()}
