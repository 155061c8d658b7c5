"""The graph of a table of counts in which counts move: a product of the graphs of its axes, never written out.

One axis (`inner`, the last) lies within rows, the others between them: `rows` are all combinations of their bins, and
after these come rows of the hubs of one axis for all combinations of the others. A row is `width` nodes: the bins of
the inner axis and then its hubs, of which hub rows use the bins alone. So every edge between rows stands for as many
parallel arcs as the inner axis has bins, and the arrays of these are what the kernels run over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.metrics.aemc.axis import Ints, Steps


class Layout(NamedTuple):
    """Rows, the edges within each, and the edges between them; costs are whole numbers."""

    rows: int
    all_rows: int
    bins: int
    width: int
    fan_at: Ints
    """Runs of neighbouring nodes within a row joined to one node, `fan_at`: nodes fan_from to fan_to."""
    fan_from: Ints
    fan_to: Ints
    fan_edge: Ints
    fan_cost: Ints
    again: bool
    """Whether a row has to be swept more than once: its axis is no tree."""
    edge_u: Ints
    edge_v: Ints
    edge_cost: Ints
    groups: Ints
    """Where the edges of each axis begin."""
    in_start: Ints
    in_arcs: Ints
    """The arcs from each node of a row, a line each: other node, edge, direction, cost."""
    row_start: Ints
    row_arcs: Ints
    """The arcs from each row."""


def build(axes: Sequence[tuple[Steps, Ints] | None], shape: Sequence[int]) -> Layout:
    """The layout of a table of this shape: for each axis its steps and their whole costs, None where nothing moves."""
    inner = axes[-1]
    assert inner is not None
    dims = tuple(shape[:-1])
    u, v, cost, starts, total = [], [], [], [0], math.prod(dims)
    rows = total
    for place, axis in enumerate(axes[:-1]):
        if axis is None:
            continue
        steps, costs = axis
        outer, after = math.prod(dims[:place]), math.prod(dims[place + 1 :])
        o, i = np.arange(outer)[:, None, None], np.arange(after)[None, None, :]
        ends = []
        for node in (steps.u, steps.v):
            at = node[None, :, None]
            leaf = (o * steps.size + at) * after + i
            hub = total + (o * steps.hubs + at - steps.size) * after + i
            ends.append(np.where(at < steps.size, leaf, hub).reshape(-1))
        u.append(ends[0])
        v.append(ends[1])
        cost.append(np.broadcast_to(costs[None, :, None], (outer, len(costs), after)).reshape(-1))
        starts.append(starts[-1] + len(ends[0]))
        total += outer * steps.hubs * after
    eu, ev, ec = (np.concatenate(a).astype(np.int64) if a else np.zeros(0, np.int64) for a in (u, v, cost))
    steps, costs = inner
    width = steps.size + steps.hubs
    within = _arcs(steps.u, steps.v, costs, width)
    between = _arcs(eu, ev, ec, total)
    return Layout(
        rows, total, steps.size, width, *_fans(steps, costs), not steps.tree,
        eu, ev, ec, np.array(starts, np.int64), *within, *between,
    )  # fmt: skip


def _fans(steps: Steps, costs: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Runs of edges to one node from neighbouring nodes at one cost."""
    u, v = steps.u, steps.v
    if not len(u):
        return (np.zeros(0, np.int64),) * 5
    new = np.ones(len(u), bool)
    new[1:] = (v[1:] != v[:-1]) | (u[1:] != u[:-1] + 1) | (costs[1:] != costs[:-1])
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(u)))
    return v[first], u[first], u[first] + count, first, costs[first]


def _arcs(u: Ints, v: Ints, cost: Ints, nodes: int) -> tuple[Ints, Ints]:
    """Where the arcs from each node begin; and the arcs: other node, edge, direction, cost."""
    ends = np.concatenate([u, v])
    order = np.argsort(ends, kind="stable")
    edge = np.concatenate([np.arange(len(u))] * 2)[order]
    sign = np.repeat(np.array([1, -1]), len(u))[order]
    arcs = np.stack([np.concatenate([v, u])[order], edge, sign, cost[edge]], axis=1)
    return np.searchsorted(ends[order], np.arange(nodes + 1)).astype(np.int64), arcs.astype(np.int64)
