"""Where rides begin and end: tables made of what the areas are like, how far apart they are and the time of day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.simulate.city import AIRPORT, City
from sfumato.simulate.draws import Rows, generator

Floats = npt.NDArray[np.float64]

# a row for each part of the day; columns: downtown, dense, residential, industrial, leisure, airport
LEAVE = np.array(
    [
        [0.7, 1.4, 1.0, 0.4, 1.5, 0.5],
        [0.7, 1.5, 1.8, 0.5, 0.6, 0.9],
        [1.1, 0.9, 0.9, 1.3, 0.9, 1.2],
        [1.2, 0.8, 0.7, 1.1, 1.0, 1.1],
        [0.9, 1.2, 0.8, 0.5, 1.8, 1.0],
    ]
)
ARRIVE = np.array(
    [
        [0.43, 1.5, 2.2, 0.3, 0.8, 0.5],
        [1.2, 0.7, 0.5, 1.8, 0.8, 1.4],
        [0.95, 0.9, 0.8, 1.1, 1.0, 1.2],
        [0.72, 1.2, 1.1, 0.5, 1.3, 1.0],
        [0.6, 1.4, 1.8, 0.3, 1.2, 0.5],
    ]
)
WEEKEND = np.array([0.85, 1.1, 1.05, 0.5, 1.6, 0.9])
DRIFT = np.array([-0.9, -0.1, 0.7, 0.4, 0.6, 0.0])  # log growth by character in a quite different year

WAIT = np.array([0.52, 0.44, 0.22, 0.3, 0.48, 0.0])  # share of drivers who wait where they are, by character
CRUISE = 1.3  # miles a driver looks around for the next ride, by exponential decay
RIDE = 4.8  # miles of a typical ride in town
ERRANDS = 1.8  # miles by which an area is nearer to itself than the map says
STAY_AT_AIRPORT = (0.55, 0.3)  # share of drivers who queue there after a dropoff
TO_AIRPORT = (0.05, 0.013)  # share of rides that end there
TO_OUTSIDE = 0.045
AIRPORT_TO_OUTSIDE = 0.14
OUTSIDE_MILES = 7.0


@dataclass(frozen=True, eq=False)
class Streets:
    """The city as its taxis know it; the place after the last area is everywhere outside the city."""

    miles: Floats
    """By road from place to place."""
    airports: tuple[int, int]
    busy: Floats
    """Share of pickups of each area off the airports, over the week."""
    near: Rows
    """class × last dropoff: the next pickup of a cruising driver."""
    ride: Rows
    """class × pickup: the dropoff."""

    @classmethod
    def of(cls, city: City, drift: float) -> Streets:
        """The tables of a city in a year."""
        growth = _growth(city, drift)
        leave, arrive = (_by_class(city, growth, table) for table in (LEAVE, ARRIVE))
        leave[:, city.kinds == AIRPORT] = 0
        busy = leave.mean(axis=0)
        miles = _miles(city)
        near, ride = _near(city, miles, leave), _ride(city, miles, arrive, drift)
        return cls(miles, city.airports, busy / busy.sum(), Rows.of(near), Rows.of(ride))

    @property
    def places(self) -> int:
        """Areas, and the outside."""
        return len(self.miles)


def _growth(city: City, drift: float) -> Floats:
    """By which factor the demand of each area has changed; always the same areas of a city."""
    luck = generator(city.seed, 2).standard_normal(len(city.codes))
    return np.asarray(np.exp(drift * (DRIFT[city.kinds] + 0.8 * luck)))


def _by_class(city: City, growth: Floats, table: Floats) -> Floats:
    """class × area: what the area draws or sends at that time."""
    parts = np.concatenate([table, table * WEEKEND])
    return np.asarray(city.attraction * growth * parts[:, city.kinds])


def _miles(city: City) -> Floats:
    """Miles between all places; the outside is a ring around the city."""
    areas = len(city.codes)
    out = np.full((areas + 1, areas + 1), OUTSIDE_MILES)
    out[:areas, :areas] = city.miles
    out[:areas, areas] = out[areas, :areas] = OUTSIDE_MILES + 0.3 * np.hypot(*city.middles.T)
    return out


def _near(city: City, miles: Floats, leave: Floats) -> Floats:
    """class × place × area: where the next ride begins after a ride ended there."""
    areas = len(city.codes)
    out = leave[:, None, :] * np.exp(-miles[None, :, :areas] / CRUISE)
    out /= out.sum(axis=2, keepdims=True)
    here = np.arange(areas)
    out[:, :areas] *= (1 - WAIT[city.kinds])[:, None]
    out[:, here, here] += WAIT[city.kinds]
    for airport, stay in zip(city.airports, STAY_AT_AIRPORT, strict=True):
        out[:, airport] = (1 - stay) * leave / leave.sum(axis=1, keepdims=True)
        out[:, airport, airport] = stay
    return out


def _ride(city: City, miles: Floats, arrive: Floats, drift: float) -> Floats:
    """class × place × place: where a ride ends that began there."""
    areas = len(city.codes)
    apart = miles[:, :areas].copy()
    np.fill_diagonal(apart, apart.diagonal() - ERRANDS)
    apart[list(city.airports)] = 0  # a traveller goes where he must, near or far
    town = arrive[:, None, :] * np.exp(-apart / RIDE)
    town[:, :, list(city.airports)] = 0
    town /= town.sum(axis=2, keepdims=True)
    outside = np.full((len(town), areas + 1, 1), TO_OUTSIDE)
    outside[:, list(city.airports)] = AIRPORT_TO_OUTSIDE
    pull = np.tile(ARRIVE[:, AIRPORT], 2) * (1 + 0.9 * drift)
    for airport, share in zip(city.airports, TO_AIRPORT, strict=True):
        town[:, :, airport] = (share * pull)[:, None]
    return np.concatenate([town, outside], axis=2)
