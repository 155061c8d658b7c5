"""From bins to numbers by what public records hold: a value of the bin, given the bin of a neighbouring column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.columns import Floats, Ints
from sfumato.errors import InputError

POOL = 256  # values kept for a pair of bins, evenly over their order


@dataclass(frozen=True, eq=False)
class Pools:
    """Public values of a number, by pair of bins (its own, the neighbour's); `ends` says where each pair ends."""

    column: str
    neighbour: str
    ends: Ints
    values: Floats

    def __post_init__(self) -> None:
        if (np.diff(self.ends, prepend=0) < 0).any() or len(self.values) != (self.ends[-1] if len(self.ends) else 0):
            raise InputError("its public values do not fit together")
        if not np.isfinite(self.values).all():
            raise InputError("one of its public values is no number")

    @classmethod
    def of(cls, column: str, neighbour: str, own: Ints, near: Ints, values: Floats, shape: tuple[int, int]) -> Pools:
        """The pools of public records, given their codes and values."""
        seen = (own >= 0) & (near >= 0) & np.isfinite(values)
        pair, found = (own * shape[1] + near)[seen], values[seen]
        order = np.lexsort((found, pair))
        pair, found = pair[order], found[order]
        counts = np.bincount(pair, minlength=shape[0] * shape[1])
        kept = np.minimum(counts, POOL)
        starts = np.cumsum(counts) - counts
        place = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
        size, most = np.repeat(counts, kept), np.repeat(kept, kept)
        return cls(
            column, neighbour, np.cumsum(kept), found[np.repeat(starts, kept) + (2 * place + 1) * size // (2 * most)]
        )

    def draw(self, own: Ints, near: Ints, bins: int, rng: np.random.Generator) -> tuple[Floats, np.ndarray]:
        """A value for each record, and which records got one: pairs of bins that no public record has give none."""
        pair = own * bins + near
        starts = np.concatenate([[0], self.ends[:-1]])
        size = (self.ends - starts)[pair]
        if not len(self.values):
            return np.zeros(len(own)), np.zeros(len(own), bool)
        at = starts[pair] + (rng.random(len(own)) * size).astype(np.int64)
        return self.values[np.minimum(at, len(self.values) - 1)], size > 0
