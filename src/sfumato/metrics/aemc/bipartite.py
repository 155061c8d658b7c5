"""Moving along an axis whose matrix is no metric: every pair of bins has an arc of its own, taken once.

A detour may be cheaper than the direct way there, and must not be taken. So the cells stand in layers: in the first,
counts move along the axes that are metrics; then they pass along one axis without a metric after the other, from each
layer to the next, by one arc. It is a linear program over these arcs, solved by SciPy's HiGHS; its corners are whole
numbers, so the flow is rounded to them and its cost is exact. The prices are checked against every arc.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import InputError, RunError
from sfumato.metrics.aemc.axis import Ints, rational
from sfumato.metrics.aemc.outcome import Outcome
from sfumato.metrics.aemc.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_ARCS = 5_000_000


def layered(problem: Problem) -> Outcome:
    """An optimum of a problem with axes that have no metric."""
    from scipy.optimize import linprog

    P, low, high = (problem.whole(a).reshape(-1) for a in (problem.P, problem.low, problem.high))
    n, layers = len(P), 1 + sum(s is None for s in problem.steps)
    start, end, cost, along = _arcs(problem)
    top, last = problem.top, np.arange(n) + (layers - 1) * n
    nodes = max(int(start.max(initial=0)), int(end.max(initial=0)), layers * n - 1) + 1
    # columns: the arcs, what the last layer's cells keep for free, what is removed and what is added there
    signs = _incidence(start, end, last, nodes)
    supply = np.zeros(nodes)
    supply[:n] = -P
    c = np.concatenate([cost, np.zeros(n), np.full(n, top), np.full(n, top)]).astype(float)
    bounds = np.zeros((len(c), 2))
    bounds[:, 1] = np.inf
    keeps = slice(len(cost), len(cost) + n)
    bounds[keeps, 0], bounds[keeps, 1] = low, high
    found = linprog(c, A_eq=signs, b_eq=supply, bounds=bounds, method="highs-ds")
    if found.status != 0:
        raise RunError(f"the linear program of an axis without a metric was not solved: {found.message}")
    x = np.rint(found.x).astype(np.int64)
    q = x[keeps] + x[len(cost) + n : len(cost) + 2 * n] - x[len(cost) + 2 * n :]
    prices = np.rint(-found.eqlin.marginals).astype(np.int64)
    some = np.flatnonzero(x[: len(cost)])
    wrong = _check(prices, start, end, cost)
    return Outcome(
        P, low, high, q, prices, start[some], end[some], x[some], cost[some], along[some], lambda: wrong, layers
    )


def _arcs(problem: Problem) -> tuple[Ints, Ints, Ints, Ints]:
    """From, to, cost and axis of every arc: hubs of metric axes are numbered after the layers of cells."""
    shape = problem.P.shape
    n, numbers = problem.P.size, np.arange(problem.P.size).reshape(shape)
    without = [i for i, s in enumerate(problem.steps) if s is None]
    hubs, layer = n * (1 + len(without)), 0
    many = sum(n * shape[i + 1] for i in without)
    if many > MOST_ARCS:
        raise InputError(
            f"a distance matrix that is no metric needs an arc for each pair of bins, {many:,} here, more than the "
            f"{MOST_ARCS:,} that fit; mend the triangle inequality, or take coarser levels"
        )
    out = []
    for i, steps in enumerate(problem.steps):
        cells = np.moveaxis(numbers, i + 1, -1).reshape(-1, shape[i + 1])
        if steps is None:
            matrix = problem.axes[i].matrix
            assert matrix is not None
            a, b = np.nonzero(np.isfinite(matrix))
            lengths, which = np.unique(matrix[a, b], return_inverse=True)
            weight = rational(problem.axes[i].weight)
            whole = [round(weight * rational(float(x)) * problem.unit) for x in lengths]
            cost = np.array(whole, np.int64)[which.reshape(-1)]
            out.append((cells[:, a] + layer * n, cells[:, b] + (layer + 1) * n, cost, i))
            layer += 1
        else:
            at = np.concatenate(
                [cells[:, steps.order], hubs + np.arange(len(cells) * steps.hubs).reshape(len(cells), -1)], 1
            )
            hubs += len(cells) * steps.hubs
            cost = problem.costs(steps)
            out += [(at[:, steps.u], at[:, steps.v], cost, i), (at[:, steps.v], at[:, steps.u], cost, i)]
    parts = [
        (u.reshape(-1), v.reshape(-1), np.broadcast_to(c, u.shape).reshape(-1), np.full(u.size, i))
        for u, v, c, i in out
    ]
    start, end, cost, along = (np.concatenate(a).astype(np.int64) for a in zip(*parts, strict=True))
    return start, end, cost, along


def _incidence(start: Ints, end: Ints, last: Ints, nodes: int) -> csr_array:
    """What each column adds to what comes into a node, less what goes out."""
    from scipy.sparse import csr_array

    m, n = len(start), len(last)
    columns = np.arange(m + 3 * n)
    rows = np.concatenate([start, last, last, last, end])
    entries = np.concatenate([-np.ones(m + 2 * n), np.ones(n), np.ones(m)])
    return csr_array((entries, (rows, np.concatenate([columns, columns[:m]]))), shape=(nodes, m + 3 * n))


def _check(prices: Ints, start: Ints, end: Ints, cost: Ints) -> str | None:
    """What is wrong with the prices; None where nothing is."""
    return "prices differ by more than an arc costs" if (prices[start] - prices[end] > cost).any() else None
