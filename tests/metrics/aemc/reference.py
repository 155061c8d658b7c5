"""The earth mover cost by other means: the definition as a dense linear program, and OR-Tools on the sparse graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.metrics import Axis


def semantic(axis: Axis, i: int, j: int, size: int) -> float:
    """The distance of two bins by the words of the definition."""
    if i == j:
        return 0.0
    if axis.kind == "distance":
        assert axis.matrix is not None
        return float(axis.matrix[i, j])
    if axis.kind == "ordinal":
        return abs(i - j) / (size - 1)
    if axis.kind == "cyclic":
        return min(abs(i - j), size - abs(i - j)) / (size // 2)
    t = len(axis.levels) + 1
    lowest = max([0, *(s + 1 for s, level in enumerate(axis.levels) if level[i] == level[j])])
    return (t - lowest) / t


def matrix(axes: Sequence[Axis], shape: Sequence[int]) -> np.ndarray:
    """M: the cost of moving one count from any bin to any other."""
    bins = list(np.ndindex(*shape))
    out = np.zeros((len(bins), len(bins)))
    for place, (axis, k) in enumerate(zip(axes, shape, strict=True)):
        table = np.array([[semantic(axis, i, j, k) for j in range(k)] for i in range(k)])
        at = np.array([b[place] for b in bins])
        if math.isinf(axis.weight):
            out[at[:, None] != at[None, :]] = math.inf
        elif axis.weight:
            out += axis.weight * table[at[:, None], at[None, :]]
    return out


def dense(P: np.ndarray, Q: np.ndarray, M: np.ndarray, tolerance: float, alpha: float) -> float:
    """The bracket of the definition, as a linear program over every X_ij of finite cost."""
    from scipy.optimize import linprog

    P, Q = P.reshape(-1).astype(float), Q.reshape(-1).astype(float)
    n = len(P)
    i, j = np.nonzero(np.isfinite(M))
    m = len(i)
    leaves, more, less = np.zeros((n, m + n)), np.zeros((n, m + n)), np.zeros((n, m + n))
    leaves[i, np.arange(m)] = 1
    more[j, np.arange(m)], less[j, np.arange(m)] = 1, -1
    more[np.arange(n), m + np.arange(n)] = less[np.arange(n), m + np.arange(n)] = -1
    found = linprog(
        np.concatenate([M[i, j], np.full(n, alpha)]),
        A_ub=np.vstack([more, less]), b_ub=np.concatenate([Q + tolerance, tolerance - Q]), A_eq=leaves, b_eq=P,
    )  # fmt: skip
    assert found.status == 0
    return float(found.fun)


def ortools(P: np.ndarray, Q: np.ndarray, axes: Sequence[Axis], tolerance: int) -> Fraction:
    """The bracket by SimpleMinCostFlow, for axes that are metrics, whole counts and α = 1."""
    from ortools.graph.python import min_cost_flow

    shape, n = P.shape, P.size
    steps = [axis.steps(k) if math.isfinite(axis.weight) else None for axis, k in zip(axes, shape, strict=True)]
    common = math.lcm(*(c.denominator for s in steps if s is not None for c in s.costs))
    tails: list[Any] = []
    heads: list[Any] = []
    costs: list[Any] = []
    number, nodes = np.arange(n).reshape(shape), n
    for place, s in enumerate(steps):
        if s is None:  # nothing moves along it
            continue
        rows = np.moveaxis(number, place, -1).reshape(-1, shape[place])[:, s.order]
        at = np.concatenate([rows, nodes + np.arange(len(rows) * s.hubs).reshape(len(rows), s.hubs)], axis=1)
        nodes += len(rows) * s.hubs
        cost = np.broadcast_to(np.array([int(c * common) for c in s.costs])[s.which], at[:, s.u].shape)
        tails += [at[:, s.u], at[:, s.v]]
        heads += [at[:, s.v], at[:, s.u]]
        costs += [cost, cost]
    sink, cells = nodes, np.arange(n)
    low, high = np.maximum(Q.reshape(-1) - tolerance, 0), Q.reshape(-1) + tolerance
    many = int(P.sum() + low.sum()) + 1
    flow = min_cost_flow.SimpleMinCostFlow()

    def arcs(tail: Any, head: Any, capacity: Any, cost: Any) -> None:
        arrays = [np.asarray(np.broadcast_to(a, np.shape(tail)), np.int64).reshape(-1) for a in (tail, head)]
        more = [np.asarray(np.broadcast_to(a, np.shape(tail)), np.int64).reshape(-1) for a in (capacity, cost)]
        flow.add_arcs_with_capacity_and_unit_cost(*arrays, *more)

    for tail, head, cost in zip(tails, heads, costs, strict=True):
        arcs(tail, head, many, cost)
    # a cell passes on `low` for a saving of B each (what is not, has to be added), then up to `high` for nothing
    arcs(cells, np.full(n, sink), low, np.full(n, -common))
    arcs(cells, np.full(n, sink), high - low, 0)
    arcs(cells, np.full(n, sink), many, common)
    supply = np.append(P.reshape(-1), np.zeros(nodes - n, np.int64))
    flow.set_nodes_supplies(np.arange(nodes + 1), np.append(supply, -supply.sum()))
    assert flow.solve() == flow.OPTIMAL
    return Fraction(flow.optimal_cost() + common * int(low.sum()), common)
