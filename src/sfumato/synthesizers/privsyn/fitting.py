"""Iterative proportional fitting: the table over all columns with given marginals, and no dependence beyond them.

From equal cells on, the cells are scaled to each marginal in turn (Deming and Stephan 1940); the limit is the table of
maximum entropy among those with these marginals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.columns import Floats
from sfumato.synthesizers.privsyn.consistency import Measured

ROUNDS = 60
CLOSE = 1e-5  # of the total: what may be off in a marginal when it stops


def fitted(shape: Sequence[int], tables: Sequence[Measured]) -> Floats:
    """The table of this shape with these consistent marginals.

    >>> rows, columns = Measured((0,), np.array([3.0, 1.0]), 1.0), Measured((1,), np.array([2.0, 2.0]), 1.0)
    >>> fitted((2, 2), [rows, columns]).tolist()
    [[1.5, 1.5], [0.5, 0.5]]
    """
    total = float(tables[0].values.sum())
    joint = np.full(shape, total / np.prod(shape))
    for _ in range(ROUNDS):
        off = 0.0
        for table in tables:
            rest = tuple(i for i in range(len(shape)) if i not in table.axes)
            now = joint.sum(axis=rest, keepdims=True)
            target = table.values.reshape(now.shape)
            off = max(off, float(np.abs(now - target).sum()))
            joint *= np.divide(target, now, out=np.zeros_like(now), where=now > 0)
        if off <= CLOSE * total:
            break
    return joint
