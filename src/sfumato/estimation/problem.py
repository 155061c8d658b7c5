"""What the noisy answers say, in the form the solver works on.

The squared error ½‖(Qμ − y)/σ‖² over all grid questions splits by *node*, a set of columns whose fine cells are asked
by some path of some question. At a node every such path is one row of a batch: row by row the same mask of fine cells
is compared with what was answered. A node's batch is made of its own marginal and of its parents' batches: what is not
fine there, summed over one column. So the whole loss takes a sum and a mask for each edge between nodes, not for each
path, and masks and answers are plain data: the compiled program depends on the shapes alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.bounds import UNIT
from sfumato.columns import Floats
from sfumato.grid import Columns, Grid, Mask

Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Measured:
    """A grid question, its noisy answer in records, and the deviation of the noise."""

    grid: Grid
    values: Floats
    sigma: float


@dataclass(frozen=True)
class Node:
    """A set of columns: the node and the axis its own marginal is summed from, and those its other rows come from."""

    columns: Columns
    own: tuple[int, int]  # (-1, -1) where it is part of no other node
    sources: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Table:
    """What is known at a node: 1 for each fine cell, and for each row of its batch the answers and their weight."""

    fine: Floats32
    answers: Floats32
    weights: Floats32


class Problem:
    """All noisy answers of a release."""

    def __init__(self, measured: Sequence[Measured]):
        self.measured = tuple(measured)
        fine: dict[Columns, Mask] = {}
        for m in measured:
            for path in m.grid.paths:
                fine[path.columns] = m.grid.fine[path.columns]
        self.sizes = {c: n for columns, mask in fine.items() for c, n in zip(columns, mask.shape, strict=True)}
        order = sorted(fine, key=lambda c: (-len(c), c))
        place = {columns: i for i, columns in enumerate(order)}
        self.nodes: list[Node] = []
        self.tables: list[Table] = []
        rows: list[list[tuple[int, int]]] = []  # at each node: the question and the path of each row of its batch
        continued = [{(p.parent, p.columns): i for i, p in enumerate(m.grid.paths)} for m in measured]
        asked = {m.grid.marginal.columns: q for q, m in enumerate(measured)}
        for columns in order:
            parents = [
                place[p] for p in order[: place[columns]] if set(columns) < set(p) and len(p) == len(columns) + 1
            ]
            above = [(p, _lost(self.nodes[p].columns, columns)) for p in parents]
            mine = [(asked[columns], 0)] if columns in asked else [(-1, -1)]
            sources = []
            for p, axis in above:
                more = [(q, continued[q].get((path, columns), -1)) if q >= 0 else (-1, -1) for q, path in rows[p]]
                sources.append((p, axis))
                mine += more
            smallest = min(above, key=lambda pa: math.prod(fine[order[pa[0]]].shape), default=(-1, -1))
            self.nodes.append(Node(columns, smallest, tuple(sources)))
            rows.append([row if row[1] >= 0 else (-1, -1) for row in mine])
            self.tables.append(self._table(fine[columns], rows[-1]))

    def _table(self, fine: Mask, rows: Sequence[tuple[int, int]]) -> Table:
        answers = np.zeros((len(rows), *fine.shape), np.float32)
        weights = np.zeros(len(rows), np.float32)
        for i, (q, path) in enumerate(rows):
            if q >= 0:
                scale = self.measured[q].grid.paths[path].units / UNIT
                answers[i] = self._spread[q][path] / scale
                weights[i] = (scale / self.measured[q].sigma) ** 2
        return Table(fine.astype(np.float32), answers, weights)

    @cached_property
    def _spread(self) -> list[list[Floats]]:
        return [m.grid.spread(m.values) for m in self.measured]

    @property
    def rows(self) -> int:
        """How many numbers were measured."""
        return sum(m.grid.rows for m in self.measured)

    @property
    def smoothness(self) -> float:
        """A Lipschitz constant of the gradient, in the norms that go with entropy: columns have norm at most 1."""
        return sum(1 / m.sigma**2 for m in self.measured)

    @cached_property
    def total(self) -> float:
        """How many records there are, by all marginals that were asked cell by cell, the least noisy counting most."""
        whole = [m for m in self.measured if len(m.grid.paths) == 1 or m.grid.fine[m.grid.marginal.columns].all()]
        if not whole:
            return 1.0
        weights = np.array([1 / (m.sigma**2 * m.grid.rows) for m in whole])
        return max(1.0, float(np.average([m.values.sum() for m in whole], weights=weights)))

    def start(self, column: str) -> Floats:
        """A first guess of the shares of a column: its own noisy counts where it was asked, and never zero."""
        for m in self.measured:
            if m.grid.marginal.columns == (column,):
                guess = np.maximum(m.values, m.sigma / 4)
                return np.asarray(guess / guess.sum())
        return np.full(self.sizes[column], 1 / self.sizes[column])


def _lost(parent: Columns, child: Columns) -> int:
    """The axis of the parent that the child has not."""
    return next(i for i, c in enumerate(parent) if c not in child)


def gradient(nodes: Sequence[Node], tables: Sequence[Any], marginals: Sequence[Any]) -> tuple[Any, list[Any]]:
    """½‖(Qμ − y)/σ‖² and its gradient, in JAX; `marginals` holds μ at the nodes that are part of no other, in order.

    By hand, because a node's own marginal and the rows from its parents are best kept apart on the way back.
    """
    import jax.numpy as jnp

    outer = iter(marginals)
    own: list[Any] = []
    more: list[Any] = []  # the rows from parents, None where there are none
    value = jnp.float32(0)
    slopes: list[Any] = []
    for node, (fine, answers, weights) in zip(nodes, tables, strict=True):
        parent, axis = node.own
        own.append(next(outer) if parent < 0 else _sum(own[parent], axis))
        rows = []
        for p, a in node.sources:
            coarse = 1 - tables[p][0]
            rows.append(_sum(own[p] * coarse, a)[None])
            if more[p] is not None:
                rows.append(_sum(more[p] * coarse, a + 1))
        more.append(jnp.concatenate(rows) if rows else None)
        ones = (-1, *(1,) * fine.ndim)
        off = fine * (own[-1] - answers[0])
        first = weights[0] * off
        value = value + 0.5 * (first * off).sum()
        rest = None
        if rows:
            off = fine * (more[-1] - answers[1:])
            rest = weights[1:].reshape(ones) * off
            value = value + 0.5 * (rest * off).sum()
        slopes.append([first, rest])
    for i in reversed(range(len(nodes))):
        at = 0
        for p, a in nodes[i].sources:
            coarse, size = 1 - tables[p][0], 1 if more[p] is None else 1 + len(more[p])
            slopes[p][0] = slopes[p][0] + coarse * jnp.expand_dims(slopes[i][1][at], a)
            if size > 1:
                slopes[p][1] = slopes[p][1] + coarse * jnp.expand_dims(slopes[i][1][at + 1 : at + size], a + 1)
            at += size
        parent, axis = nodes[i].own
        if parent >= 0:
            slopes[parent][0] = slopes[parent][0] + jnp.expand_dims(slopes[i][0], axis)
    return value, [slope[0] for node, slope in zip(nodes, slopes, strict=True) if node.own[0] < 0]


def _sum(table: Any, axis: int) -> Any:
    """The sum along an axis; along the first one of a large table as a product with ones, far faster on a CPU."""
    import jax.numpy as jnp

    if axis == 0 and table.size > 2**14:
        return (jnp.ones(len(table), table.dtype) @ table.reshape(len(table), -1)).reshape(table.shape[1:])
    return table.sum(axis)
