"""Random grids, and a slow reading of them as matrices, built by the recursive definition."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.grid import Columns, Grid, Mask
from sfumato.marginal import Marginal


def masks(sizes: Mapping[str, int], columns: Columns, seed: int, share: float = 0.4) -> dict[Columns, Mask]:
    """Random fine cells for every subset of columns; all cells of single columns."""
    rng = np.random.default_rng(seed)
    out: dict[Columns, Mask] = {}
    for k in range(1, len(columns) + 1):
        for subset in itertools.combinations(columns, k):
            shape = [sizes[c] for c in subset]
            out[subset] = np.ones(shape, bool) if k == 1 else rng.random(shape) < share
    return out


def grid(sizes: Mapping[str, int], columns: Columns, seed: int, share: float = 0.4) -> Grid:
    return Grid(Marginal.of(*columns), masks(sizes, columns, seed, share))


def matrix(columns: Columns, fine: Mapping[Columns, Mask]) -> np.ndarray:
    """A row a question: unit rows of fine cells, then the children's matrices on the rest, by 1/√children."""
    mask = fine[columns].reshape(-1)
    rows = [np.eye(mask.size)[mask]]
    children = [columns[:i] + columns[i + 1 :] for i in range(len(columns))]
    children = [c for c in children if c in fine]
    for child in children:
        rows.append(matrix(child, fine) @ summing(columns, child, fine[columns].shape) * ~mask / np.sqrt(len(children)))
    stacked = np.concatenate(rows)
    return stacked[np.abs(stacked).sum(1) > 0]


def summing(columns: Columns, child: Columns, shape: Sequence[int]) -> np.ndarray:
    """The matrix that sums a flattened table over the columns that the child has not."""
    gone = tuple(i for i, c in enumerate(columns) if c not in child)
    cells = int(np.prod(shape))
    return np.stack([e.reshape(shape).sum(gone).reshape(-1) for e in np.eye(cells)], axis=1)
