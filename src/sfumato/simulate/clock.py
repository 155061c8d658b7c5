"""The week: how busy each hour is, who drives when, and which hours are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.simulate.draws import Rows

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SHIFTS = 21  # weekday * 3 + hour // 8
SLOTS = 168  # hours of a week, from Monday midnight

VOLUME = np.array([0.86, 0.96, 1.02, 1.06, 1.2, 1.05, 0.82])
WORKDAY = np.array([15, 10, 6, 4, 5, 8, 17, 33, 48, 53, 55, 58, 61, 62, 65, 69, 72, 78, 74, 65, 50, 38, 30, 24])
WEEKEND = np.array([50, 46, 38, 24, 14, 9, 11, 16, 25, 35, 43, 49, 53, 54, 54, 54, 55, 59, 64, 62, 54, 51, 53, 54])

PATTERNS = ("day", "night", "weekend", "any")
PATTERN_SHARES = np.array([0.5, 0.2, 0.08, 0.22])
PARTS = ("night", "morning", "midday", "evening", "late")  # of a day; the classes of hours, on workdays and weekends


@dataclass(frozen=True, eq=False)
class Clock:
    """When trips happen: for each pattern of driving the weight of each shift, and the hours within a shift."""

    shifts: npt.NDArray[np.float64]
    """Pattern × shift, mean 1."""
    hours: Rows
    """A row for each pattern and shift: which of its eight hours."""

    @classmethod
    def of(cls, drift: float) -> Clock:
        """The city's week; a drifted year is quieter at night and livelier at weekends."""
        busy = _balanced(_demand(drift), _presence())
        shifts = busy.reshape(len(PATTERNS), SHIFTS, 8).sum(axis=2)
        return cls(shifts / shifts.mean(axis=1, keepdims=True), Rows.of(busy.reshape(-1, 8)))


def classes() -> npt.NDArray[np.int64]:
    """The class (0..9) of each hour of the week: part of the day, and five more on Saturday and Sunday."""
    part = np.searchsorted([6, 10, 16, 20], np.arange(24), side="right")
    return np.concatenate([part + len(PARTS) * (day >= 5) for day in range(7)])


def _demand(drift: float) -> npt.NDArray[np.float64]:
    """How many people want a ride in each hour of the week."""
    days = [WEEKEND / WEEKEND.sum() if day >= 5 else WORKDAY / WORKDAY.sum() for day in range(7)]
    quiet = np.where((np.arange(24) >= 22) | (np.arange(24) < 6), 1 - 0.6 * drift, 1.0)
    volume = VOLUME * np.where(np.arange(7) >= 4, 1 + 0.4 * drift, 1.0)
    return np.concatenate([v * d * quiet for v, d in zip(volume, days, strict=True)])


def _presence() -> npt.NDArray[np.float64]:
    """Pattern × hour of the week: how likely such a driver is on the road."""
    hour, day = np.arange(SLOTS) % 24, np.arange(SLOTS) // 24
    daily = np.where((hour >= 5) & (hour < 19), 1.0, 0.12)
    nightly = np.where((hour >= 16) | (hour < 5), 1.0, 0.1)
    party = np.where((day >= 5) | ((day == 4) & (hour >= 15)), 1.0, 0.08)
    return np.stack([daily, nightly, party, np.ones(SLOTS)])


def _balanced(demand: npt.NDArray[np.float64], presence: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Pattern × hour of the week, weighted so that all drivers together serve the demand."""
    busy = presence * demand
    for _ in range(50):
        busy /= busy.sum(axis=1, keepdims=True)
        busy *= demand / (PATTERN_SHARES @ busy)
    return busy
