"""Who has which synthetic record: persons of a believable size, and where possible with believable days.

`Slots` are public: each public person is a list of slots, one a record, each in a cell of a few columns (area × shift).
A batch of synthetic records is given to as many public persons, drawn at random, as have slots for it: first to a slot
of the record's own cell, then to one that agrees in the first column, then in the next, then to any. So every record
has a person, nobody has more records than the public person had, and all persons drawn but those of leftover slots are
full. `Sizes` knows how many persons have how many records, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.columns import Floats, Ints
from sfumato.errors import InputError

Array = npt.NDArray[Any]
FIRST = 1_000_000  # the number of the first synthetic person


class People(Protocol):
    """Gives records to persons."""

    def assign(self, codes: Mapping[str, Ints], records: int, rng: np.random.Generator) -> tuple[Ints, int]:
        """A person, numbered from 0, for each record of a batch, and how many numbers were used."""
        ...


@dataclass(frozen=True, eq=False)
class Sizes:
    """How many records a person has: sizes, and the share of persons that have each."""

    sizes: Ints
    shares: Floats

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.shares) or not len(self.sizes) or self.sizes.min() < 1:
            raise InputError("sizes of persons are 1 or more, each with a share")
        if not np.isfinite(self.shares).all() or self.shares.min() < 0 or self.shares.sum() <= 0:
            raise InputError("shares of sizes are not negative and not all zero")

    def assign(self, codes: Mapping[str, Ints], records: int, rng: np.random.Generator) -> tuple[Ints, int]:
        """Persons one after another; the records come in random order."""
        shares = self.shares / self.shares.sum()
        mean = float(self.sizes @ shares)
        sizes = np.zeros(0, np.int64)
        while sizes.sum() < records:
            sizes = np.concatenate([sizes, rng.choice(self.sizes, int(records / mean) + 16, p=shares)])
        persons = int(np.searchsorted(np.cumsum(sizes), records)) + 1 if records else 0
        return np.repeat(np.arange(persons), sizes[:persons])[:records], persons


@dataclass(frozen=True, eq=False)
class Slots:
    """Public persons one after another: `ends` of their slots, and the codes of each slot, a row a column."""

    columns: tuple[str, ...]
    shape: tuple[int, ...]
    ends: Ints
    codes: Array

    def __post_init__(self) -> None:
        sizes = np.diff(np.concatenate([[0], self.ends]))
        if not len(self.ends) or sizes.min() < 1 or self.codes.shape != (len(self.columns), self.ends[-1]):
            raise InputError("its persons and their slots do not fit together")
        if any(row.min() < 0 or row.max() >= n for row, n in zip(self.codes, self.shape, strict=True)):
            raise InputError("a slot of its persons is in no bin")

    def assign(self, codes: Mapping[str, Ints], records: int, rng: np.random.Generator) -> tuple[Ints, int]:
        """Public persons drawn at random, their slots taken as described above."""
        chosen = self._drawn(records, rng)
        starts = np.concatenate([[0], self.ends])
        sizes = starts[chosen + 1] - starts[chosen]
        owner = np.repeat(np.arange(len(chosen)), sizes)
        slot = np.arange(len(owner)) + np.repeat(starts[chosen] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        mixed = rng.permutation(len(owner))
        owner, slot = owner[mixed], slot[mixed]
        person = np.full(records, -1, np.int64)
        free = np.ones(len(owner), np.bool_)
        for keep in self._agreements():
            mine, theirs, keys = np.zeros(records, np.int64), np.zeros(len(slot), np.int64), 1
            for i in keep:
                mine = mine * self.shape[i] + codes[self.columns[i]]
                theirs = theirs * self.shape[i] + self.codes[i][slot]
                keys *= self.shape[i]
            _matcher()(mine, theirs, keys, owner, free, person)
        return person, len(chosen)

    def _agreements(self) -> list[tuple[int, ...]]:
        """Which columns a slot has to agree in, from all to none."""
        every = tuple(range(len(self.columns)))
        return [every, *((i,) for i in every if len(every) > 1), ()]

    def _drawn(self, records: int, rng: np.random.Generator) -> Ints:
        """Public persons with enough slots; each once before any comes again."""
        sizes = np.diff(np.concatenate([[0], self.ends]))
        rounds = -(-records // int(self.ends[-1]))
        order = np.concatenate([np.zeros(0, np.int64), *(rng.permutation(len(sizes)) for _ in range(rounds))])
        enough = int(np.searchsorted(np.cumsum(sizes[order]), records)) + 1 if records else 0
        return order[:enough]


@lru_cache
def _matcher() -> Any:
    """The compiled loop that gives records without a person to free slots of the same key."""
    from numba import njit

    def match(mine, theirs, keys, owner, free, person):  # type: ignore[no-untyped-def]
        ends = np.zeros(keys + 1, np.int64)
        for s in range(len(theirs)):
            if free[s]:
                ends[theirs[s] + 1] += 1
        for k in range(keys):
            ends[k + 1] += ends[k]
        at = ends[:-1].copy()
        listed = np.empty(ends[keys], np.int64)
        for s in range(len(theirs)):
            if free[s]:
                listed[at[theirs[s]]] = s
                at[theirs[s]] += 1
        at[:] = ends[:-1]
        for r in range(len(mine)):
            key = mine[r]
            if person[r] < 0 and at[key] < ends[key + 1]:
                s = listed[at[key]]
                at[key] += 1
                person[r] = owner[s]
                free[s] = False

    return njit(cache=True, nogil=True)(match)
