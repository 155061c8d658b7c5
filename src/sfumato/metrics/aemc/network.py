"""The graph that mass moves on, without its arcs in memory: the product of one small graph for each axis.

A *line* is the set of cells that differ along one axis only. Along each line of an axis mass moves on the same small
graph, a `LineGraph`: a chain, a cycle, a tree whose inner nodes are *hubs* (they hold no mass), or the arcs of a
metric. An `Axis` of the network without arcs separates the cells: a batch of problems solved at once.

Cells are numbered in row-major order, the hubs of each axis after them, and so are the edges of each axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

GATHER, SCATTER, DOWN, UP = 0, 1, 2, 3


@dataclass(frozen=True, eq=False)
class LineGraph:
    """A graph over the bins of an axis (`size`) and its hubs; costs are whole numbers.

    `steps` are the relaxations that bring distances along a line to rest, in order: (kind, node, first other node,
    first edge, how many, cost). `settles` says that one round of them is enough.
    """

    size: int
    hubs: int = 0
    tails: Ints = None  # type: ignore[assignment]
    heads: Ints = None  # type: ignore[assignment]
    costs: Ints = None  # type: ignore[assignment]
    steps: tuple[tuple[int, int, int, int, int, int], ...] = ()
    settles: bool = True

    @property
    def edges(self) -> int:
        """How many edges a line has."""
        return len(self.tails)


def _ints(values: Any) -> Ints:
    return np.asarray(values, dtype=np.int64).reshape(-1)


def apart(size: int) -> LineGraph:
    """No arcs: the bins have nothing to do with each other."""
    return LineGraph(size, 0, _ints([]), _ints([]), _ints([]))


def chain(size: int, cost: int) -> LineGraph:
    """Bins in a row."""
    at = np.arange(size - 1)
    steps = ((DOWN, 0, 0, 0, size - 1, cost), (UP, 0, 0, 0, size - 1, cost))
    return LineGraph(size, 0, at, at + 1, np.full(size - 1, cost), steps)


def cycle(size: int, cost: int) -> LineGraph:
    """Bins on a circle, three or more."""
    at = np.arange(size)
    down, up = (DOWN, 0, 0, 0, size - 1, cost), (UP, 0, 0, 0, size - 1, cost)
    over = (GATHER, size - 1, 0, size - 1, 1, cost), (GATHER, 0, size - 1, size - 1, 1, cost)
    return LineGraph(size, 0, at, (at + 1) % size, np.full(size, cost), (down, over[0], down, up, over[1], up))


def tree(size: int, parents: Sequence[Ints], cost: int) -> LineGraph:
    """A tree of equal depth; `parents` gives, level by level from the bins to the root, the parent of each node.

    The parents of a level are in order, so that the children of a node stand side by side.
    """
    tails, heads, gather = [], [], []
    first, base = 0, size
    for level in parents:
        starts = np.searchsorted(level, np.arange(level[-1] + 2))
        tails.append(first + np.arange(len(level)))
        heads.append(base + level)
        gather += [
            (base + i, first + int(s), first + int(s), int(t - s), cost)
            for i, (s, t) in enumerate(zip(starts[:-1], starts[1:], strict=True))
        ]
        first, base = base, base + int(level[-1]) + 1
    steps = [(GATHER, *g) for g in gather] + [(SCATTER, *g) for g in reversed(gather)]
    ends = np.concatenate(tails)
    return LineGraph(size, base - size, ends, np.concatenate(heads), np.full(len(ends), cost), tuple(steps))


def metric(size: int, tails: Ints, heads: Ints, costs: Ints) -> LineGraph:
    """Any edges between the bins."""
    arcs = list(zip(range(len(tails)), tails.tolist(), heads.tolist(), costs.tolist(), strict=True))
    out = [(GATHER, t, h, e, 1, c) for e, t, h, c in arcs]
    back = [(GATHER, h, t, e, 1, c) for e, t, h, c in reversed(arcs)]
    return LineGraph(size, 0, tails, heads, costs, (*out, *back), settles=False)


class Layout(NamedTuple):
    """What the kernels read: numbers of each axis, then the arcs and steps of all line graphs, one after the other."""

    size: Ints
    inner: Ints
    hubs: Ints
    hub_base: Ints
    edges: Ints
    edge_base: Ints
    settles: Ints
    node_ptr: Ints
    """Where the nodes of an axis begin in `arc_ptr`."""
    arc_ptr: Ints
    arc_to: Ints
    arc_edge: Ints
    arc_cost: Ints
    arc_sign: Ints
    step_ptr: Ints
    steps: Ints
    """Each (kind, node, first other node, first edge, how many, cost)."""


@dataclass(frozen=True, eq=False)
class Network:
    """The product of line graphs, the last one contiguous in memory."""

    graphs: tuple[LineGraph, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many bins each axis has."""
        return tuple(g.size for g in self.graphs)

    @cached_property
    def cells(self) -> int:
        """How many cells."""
        return math.prod(self.shape)

    @cached_property
    def nodes(self) -> int:
        """Cells and hubs."""
        return self.cells + sum(self.cells // g.size * g.hubs for g in self.graphs)

    @cached_property
    def edges(self) -> int:
        """How many edges."""
        return sum(self.cells // g.size * g.edges for g in self.graphs)

    def inner(self, axis: int) -> int:
        """How many cells apart two neighbouring bins of an axis are."""
        return math.prod(self.shape[axis + 1 :])

    def blocks(self, axis: int) -> tuple[int, int, int]:
        """First hub, first edge of an axis, and the number of blocks of lines before it."""
        before = [(self.cells // g.size * g.hubs, self.cells // g.size * g.edges) for g in self.graphs[:axis]]
        return self.cells + sum(h for h, _ in before), sum(e for _, e in before), math.prod(self.shape[:axis])

    def layout(self, unit: int) -> Layout:
        """The arrays for the kernels, with costs times `unit`."""
        bases = [self.blocks(a) for a in range(len(self.graphs))]
        arcs = [_adjacency(g) for g in self.graphs]
        nodes = np.cumsum([0, *(len(a[0]) for a in arcs)])
        shifts = np.cumsum([0, *(len(a[1]) for a in arcs)])
        steps = [np.array(g.steps, dtype=np.int64).reshape(-1, 6) for g in self.graphs]
        table = np.concatenate(steps) * np.array([1, 1, 1, 1, 1, unit])
        return Layout(
            size=_ints(self.shape),
            inner=_ints([self.inner(a) for a in range(len(self.graphs))]),
            hubs=_ints([g.hubs for g in self.graphs]),
            hub_base=_ints([b[0] for b in bases]),
            edges=_ints([g.edges for g in self.graphs]),
            edge_base=_ints([b[1] for b in bases]),
            settles=_ints([g.settles for g in self.graphs]),
            node_ptr=_ints(nodes[:-1]),
            arc_ptr=_ints(np.concatenate([a[0] + s for a, s in zip(arcs, shifts[:-1], strict=True)])),
            arc_to=_ints(np.concatenate([a[1] for a in arcs])),
            arc_edge=_ints(np.concatenate([a[2] for a in arcs])),
            arc_cost=_ints(np.concatenate([a[3] for a in arcs])) * unit,
            arc_sign=_ints(np.concatenate([a[4] for a in arcs])),
            step_ptr=_ints(np.cumsum([0, *(len(s) for s in steps)])),
            steps=np.ascontiguousarray(table),
        )

    def ends(self, axis: int) -> tuple[Ints, Ints, Ints]:
        """Tail, head and cost of every edge of an axis, in order: large, for certificates and flows."""
        g, inner, (hub_base, _, outer) = self.graphs[axis], self.inner(axis), self.blocks(axis)
        inside = np.arange(inner)

        def where(ends: Ints) -> Ints:
            block = np.arange(outer)[:, None, None]
            cell = (block * g.size + ends[:, None]) * inner + inside
            hub = hub_base + (block * g.hubs + ends[:, None] - g.size) * inner + inside
            return np.where(ends[:, None] < g.size, cell, hub).reshape(-1)

        costs = np.broadcast_to(g.costs[:, None], (outer, g.edges, inner)).reshape(-1)
        return where(g.tails), where(g.heads), costs


def _adjacency(g: LineGraph) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """The arcs out of each node of a line: where they begin, to which node, on which edge, cost, and direction."""
    start = np.concatenate([g.tails, g.heads])
    order = np.argsort(start, kind="stable")
    to = np.concatenate([g.heads, g.tails])[order]
    edge = np.concatenate([np.arange(g.edges)] * 2)[order]
    sign = np.concatenate([np.ones(g.edges, np.int64), -np.ones(g.edges, np.int64)])[order]
    counts = np.bincount(start, minlength=g.size + g.hubs)
    return np.concatenate([[0], np.cumsum(counts)]), to, edge, np.concatenate([g.costs] * 2)[order], sign
