"""Binary searches over many keys at once, compiled: what drawing from `Choices` comes down to."""

from __future__ import annotations

import numba
import numpy as np

from sfumato.columns import Floats, Ints


@numba.njit(cache=True)
def find(keys: Ints, head: Ints, ratio: int, wanted: Ints) -> Ints:
    """The position of each wanted key among sorted keys, -1 where it is not there.

    `head` says where the keys with each beginning (key // ratio) start.
    """
    out = np.empty(len(wanted), np.int64)
    for i in range(len(wanted)):
        key = wanted[i]
        low, high = head[key // ratio], head[key // ratio + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        out[i] = low if low < end and keys[low] == key else -1
    return out


@numba.njit(cache=True)
def pick(running: Ints, values: Ints, starts: Ints, at: Ints, luck: Floats) -> Ints:
    """A value from the rows of each group, in proportion to their counts, whose running total is given."""
    out = np.empty(len(at), np.int64)
    for i in range(len(at)):
        low, high = starts[at[i]], starts[at[i] + 1]
        base, top = running[low], running[high]
        target = min(base + np.int64(luck[i] * (top - base)), top - 1)
        while high - low > 1:
            middle = (low + high) // 2
            if running[middle] <= target:
                low = middle
            else:
                high = middle
        out[i] = values[low]
    return out
