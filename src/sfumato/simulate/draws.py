"""Draws: many categorical draws at once, and how many records each person has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Rows:
    """Categorical distributions, one a row, ready for draws of millions from any mixture of rows.

    >>> coins = Rows.of(np.array([[1.0, 1.0], [0.0, 3.0]]))
    >>> coins.draw(np.array([0, 0, 1]), np.array([0.2, 0.7, 0.1])).tolist()
    [0, 1, 1]
    """

    ladder: npt.NDArray[np.float64]
    """Cumulative shares of all rows end to end, each row lifted by its number: one sorted array."""
    width: int

    @classmethod
    def of(cls, weights: Floats) -> Rows:
        """Distributions proportional to the rows of a matrix."""
        steps = np.cumsum(weights, axis=-1, dtype=np.float64).reshape(-1, weights.shape[-1])
        steps /= steps[:, -1:]
        return cls((steps + np.arange(len(steps))[:, None]).ravel(), weights.shape[-1])

    def draw(self, rows: Ints | int, uniform: Floats) -> npt.NDArray[np.int64]:
        """One code for each uniform number (0..1), from the distribution in its row."""
        found = np.searchsorted(self.ladder, rows + uniform.astype(np.float64), side="right")
        codes: npt.NDArray[np.int64] = np.minimum(found - np.asarray(rows) * self.width, self.width - 1)
        return codes


def sizes(rng: np.random.Generator, persons: int, records: int, cap: int, shape: float) -> npt.NDArray[np.int64]:
    """How many records each person has: 1..cap, gamma-shaped (smaller `shape`, longer tail), `records` in all.

    >>> sizes(np.random.default_rng(0), persons=4, records=30, cap=10, shape=2.0).sum()
    np.int64(30)
    """
    raw = rng.gamma(shape, size=persons)
    low, high = -20.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        too_few = np.clip(raw * np.exp(middle), 1, cap).sum() < records
        low, high = (middle, high) if too_few else (low, middle)
    return _settle(rng, np.clip(np.rint(raw * np.exp(high)), 1, cap).astype(np.int64), records, cap)


def _settle(rng: np.random.Generator, out: npt.NDArray[np.int64], records: int, cap: int) -> npt.NDArray[np.int64]:
    """The sizes with single records given or taken at random, until they sum to `records`."""
    while gap := records - int(out.sum()):
        room = np.flatnonzero(out < cap if gap > 0 else out > 1)
        out[rng.choice(room, min(abs(gap), len(room)), replace=False)] += np.sign(gap)
    return out


def check_counts(records: int, persons: int | None, drift: float, mean: float, cap: int) -> int:
    """How many persons there are; bad arguments are an `InputError`."""
    if isinstance(records, bool) or not isinstance(records, int | np.integer) or records < 1:
        raise InputError(f"records is {records!r}; ask for a whole number of at least 1")
    if not isinstance(drift, int | float) or not 0 <= drift <= 1:
        raise InputError(f"drift is {drift!r}; it lies between 0 (the same year) and 1 (quite another)")
    if persons is None:
        return max(1, round(records / mean), -(-records // cap))
    if isinstance(persons, bool) or not isinstance(persons, int | np.integer) or persons < 1:
        raise InputError(f"persons is {persons!r}; ask for a whole number of at least 1")
    if persons > records:
        raise InputError(f"{persons:,} persons cannot share {records:,} records; each needs at least one")
    if persons * cap < records:
        least = -(-records // cap)
        raise InputError(
            f"{persons:,} persons of at most {cap} records cannot hold {records:,}; ask for {least:,} persons or more"
        )
    return int(persons)


def check_seed(seed: int) -> int:
    """The seed, if it can be one."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed is {seed!r}; it is a whole number from 0 up")
    return int(seed)


def generator(*seed: int) -> np.random.Generator:
    """A generator for one purpose: the same numbers give the same draws, others independent ones."""
    return np.random.default_rng(np.random.SeedSequence(seed))
