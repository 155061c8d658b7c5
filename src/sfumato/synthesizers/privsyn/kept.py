"""The bins of a column that stand out of the noise; the others are merged into one, or given up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.columns import Floats, Ints

CLEAR = 3.0  # standard deviations that a count must have to stand out


@dataclass(frozen=True, eq=False)
class Kept:
    """What is left of an axis: `groups` gives each bin its group or -1, `shares` splits a group into its bins again.

    >>> counts = np.array([90.0, 11.0, 8.0, 13.0, 80.0])
    >>> kept = Kept.of(counts, sigma=4.0)
    >>> kept.groups.tolist(), kept.merged(counts).tolist()
    ([0, 3, 3, 1, 2], [90.0, 13.0, 80.0, 19.0])
    """

    groups: Ints
    shares: Floats

    @classmethod
    def of(cls, counts: Floats, sigma: float) -> Kept:
        """The bins whose noisy count is at least 3σ each keep a group; the rest share one if they sum to 3σ in turn.

        Where nothing stands out, all bins share one group.
        """
        clear = counts >= CLEAR * sigma
        faint = ~clear
        groups = np.full(len(counts), -1, np.int64)
        groups[clear] = np.arange(clear.sum())
        if faint.any() and (not clear.any() or counts[faint].sum() >= CLEAR * sigma):
            groups[faint] = clear.sum()
        return cls(groups, np.maximum(counts, 0.0))

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.groups.max(initial=-1)) + 1

    def merged(self, counts: Floats) -> Floats:
        """The counts of the groups."""
        there = self.groups >= 0
        return np.asarray(np.bincount(self.groups[there], weights=counts[there], minlength=self.size), np.float64)

    def split(self) -> Floats:
        """For each group a row with the share of every bin in it; the rows sum to 1."""
        table = np.zeros((self.size, len(self.groups)))
        there = np.flatnonzero(self.groups >= 0)
        table[self.groups[there], there] = self.shares[there]
        empty = table.sum(1) == 0
        table[np.ix_(empty, there)] = (self.groups[there] == np.flatnonzero(empty)[:, None]).astype(float)
        return np.asarray(table / table.sum(1, keepdims=True))

    def expanded(self, codes: Ints, rng: np.random.Generator) -> Ints:
        """Groups as bins again, drawn by their shares."""
        steps = np.cumsum(self.split(), axis=1)
        steps[:, -1] = 1.0
        single = np.argmax(steps > 0, axis=1)  # the first bin of each group, its only one unless it is merged
        out = single[codes]
        for group in np.flatnonzero((np.bincount(self.groups[self.groups >= 0], minlength=self.size)) > 1):
            mine = np.flatnonzero(codes == group)
            out[mine] = np.searchsorted(steps[group], rng.random(len(mine)), side="right")
        return np.asarray(out, np.int64)
