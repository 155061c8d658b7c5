"""Counts made whole so that their sums stay right: the error of each sum is passed on from cell to cell.

In random order each cell goes up or down to a whole number, to whichever side leaves the squared errors of the sums
that it is in the smaller. So sums of many small cells come out within a few records, where rounding each cell on its
own would lose them all, or be off by the square root of their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from sfumato.columns import Floats, Ints


def whole(values: Floats, sums: Sequence[Sequence[int]], rng: np.random.Generator) -> Ints:
    """The table in whole numbers, keeping its projections on each set of axes in `sums`, and its total."""
    at = np.zeros((len(sums) + 1, values.size), np.int32)
    for row, axes in zip(at[1:], sums, strict=True):
        places = np.arange(int(np.prod([values.shape[a] for a in axes])), dtype=np.int32)
        places = places.reshape([n if a in axes else 1 for a, n in enumerate(values.shape)])
        row[:] = np.broadcast_to(places, values.shape).reshape(-1)
    order = rng.permutation(np.flatnonzero(values.reshape(-1) > 0))
    out = np.zeros(values.size, np.int64)
    _round(values.reshape(-1), at, order, np.zeros((len(at), int(at.max(initial=0)) + 1)), out)
    return out.reshape(values.shape)


def adding_to(total: int, counts: Ints, rng: np.random.Generator) -> Ints:
    """Whole counts with a few of them changed by one, the larger ones the likelier, so that they sum to `total`."""
    out = counts.reshape(-1).copy()
    while gap := total - int(out.sum()):
        odds = out / out.sum() if out.any() else np.full(out.size, 1 / out.size)
        if gap > 0:
            out += rng.multinomial(gap, odds)
        else:
            out -= np.minimum(rng.multinomial(-gap, odds), out)
    return out.reshape(counts.shape)


def _kernel(values: Any, at: Any, order: Any, errors: Any, out: Any) -> None:
    """Round cell by cell; `at` says for each sum which of its cells a cell is in."""
    sums = at.shape[0]
    for cell in order:
        low = np.floor(values[cell])
        part = values[cell] - low
        pull = sums * (1 - 2 * part)
        for k in range(sums):
            pull += 2 * errors[k, at[k, cell]]
        up = 1 if pull < 0 else 0
        for k in range(sums):
            errors[k, at[k, cell]] += up - part
        out[cell] = np.int64(low) + up


_round = njit(cache=True, nogil=True)(_kernel)
