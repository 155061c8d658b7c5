"""An optimum in full: what every cell ends with, the prices that prove it, and what flows over which arc.

The components of a problem are solved apart, in chunks that several threads take one after another. Where they are
many and small they stand side by side as the inner axis of the layout; otherwise the largest axis does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.metrics.aemc.axis import Ints, Steps
from sfumato.metrics.aemc.general import Solved, solve
from sfumato.metrics.aemc.problem import Problem

Array = Any
Inner = tuple[Steps, Ints]
Graph = Inner | None

_CHUNK = 2**18  # cells that are solved together, if their components allow


@dataclass(frozen=True, eq=False)
class Outcome:
    """An optimum of a problem, in units; nodes are the cells, in the order of the problem's arrays, then the hubs."""

    P: Ints
    low: Ints
    high: Ints
    q: Ints
    prices: Ints
    """Of all nodes."""
    start: Ints
    """Arcs that something flows over: from, to, how much, what it costs a unit, along which axis."""
    end: Ints
    amount: Ints
    cost: Ints
    along: Ints
    check: Callable[[], str | None]
    """What is wrong with the prices, over all arcs; None where nothing is."""
    layers: int = 1
    """How often the cells stand among the nodes: counts start in the first layer and end in the last."""

    @property
    def removed(self) -> Ints:
        """What is taken away from each cell at a cost."""
        beyond: Ints = np.maximum(self.q - self.high, 0)
        return beyond

    @property
    def added(self) -> Ints:
        """What is added to each cell at a cost."""
        short: Ints = np.maximum(self.low - self.q, 0)
        return short

    @cached_property
    def given(self) -> tuple[Ints, Ints]:
        """What each node that is a cell gives to others and takes from others."""
        if self.layers == 1:
            return np.maximum(self.P - self.q, 0), np.maximum(self.q - self.P, 0)
        give, take = np.zeros((2, self.layers, len(self.P)), np.int64)
        give[0], take[-1] = self.P, self.q
        return give.reshape(-1), take.reshape(-1)

    @cached_property
    def paths(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Which cell gives how many to which other, and what each of them costs."""
        from sfumato.metrics.aemc.paths import paths

        give, take = self.given
        nodes = max(len(self.prices), len(give))
        found = paths(give, take, self.start, self.end, self.amount, self.cost, nodes)
        origin, destination = found[0] % len(self.P), found[1] % len(self.P)
        apart = origin != destination
        return origin[apart], destination[apart], found[2][apart], found[3][apart]

    @cached_property
    def moved(self) -> int:
        """How many move to another cell."""
        return int((self.given[0] if self.layers == 1 else self.paths[2]).sum())

    def fault(self, top: int) -> str | None:
        """What is wrong: counts lost or made on the way, less than nothing left, prices out of bounds."""
        give, take = self.given
        nodes = max(len(self.prices), len(give))
        net = np.zeros(nodes, np.int64)
        np.add.at(net, self.end, self.amount)
        np.subtract.at(net, self.start, self.amount)
        net[: len(give)] += give - take
        if net.any():
            return "what comes into a node and what goes out of it differ"
        if (self.q < 0).any() or (self.amount < 0).any():
            return "a cell ends with less than nothing"
        if (np.abs(self.prices[: self.layers * len(self.P)][-len(self.P) :]) > top).any():
            return "a price is larger than what adding or removing a count costs"
        return self.check()

    def total(self, top: int) -> int:
        """The cost in units."""
        changed = int(self.removed.sum()) + int(self.added.sum())
        return top * changed + _dot(self.amount, self.cost)

    def worth(self) -> int:
        """What the prices prove to be the least possible cost, in units."""
        n = len(self.P)
        first, last = self.prices[:n], self.prices[(self.layers - 1) * n : self.layers * n]
        return _dot(first, self.P) - _dot(np.maximum(last, 0), self.high) + _dot(np.maximum(-last, 0), self.low)


def outcome(problem: Problem, jobs: int) -> Outcome:
    """An optimum of the problem; `jobs` threads share its components."""
    return solution(problem, jobs)[1]()


def solution(problem: Problem, jobs: int) -> tuple[int, Callable[[], Outcome]]:
    """What an optimum costs, in units, and the optimum in full once it is asked for: it takes more memory."""
    if not problem.axes:
        found = _still(problem)
        return found.total(problem.top), lambda: found
    if any(s is None for s in problem.steps):
        from sfumato.metrics.aemc.bipartite import layered

        found = layered(problem)
        return found.total(problem.top), lambda: found
    steps = [s for s in problem.steps if s is not None]
    assert len(steps) == len(problem.axes)
    graphs = [(s, problem.costs(s)) for s in steps]
    plan = _plan(problem, steps, jobs)
    parts = _solved(problem, graphs, plan, jobs)
    total = sum(_cost(part, graph, problem.top) for part, graph in parts)

    def whole() -> Outcome:
        full = [_part(problem, plan, c, *part) for c, part in zip(plan.chunks, parts, strict=True)]
        return _joined(problem, steps, full)

    return total, whole


def _solved(problem: Problem, graphs: list[tuple[Steps, Ints]], plan: _Plan, jobs: int) -> list[tuple[Solved, Inner]]:
    """The optimum of each chunk, and the graph of its inner axis."""
    arrays = [problem.whole(a) for a in (problem.P, problem.low, problem.high)]
    small = int(arrays[0].sum()) + int(arrays[2].sum()) < 2**30
    for i, (s, _) in enumerate(graphs):
        if len(problem.axes[i].levels):  # bins of one group next to each other
            arrays = [np.take(a, s.order, axis=i + 1) for a in arrays]

    def one(chunk: slice) -> tuple[Solved, Inner]:
        P, low, high = (
            np.ascontiguousarray(a[chunk].transpose(plan.order), np.int32 if small else np.int64) for a in arrays
        )
        count = P.shape[plan.order.index(0)]
        axes: list[Graph] = [None if i == 0 else graphs[i - 1] for i in plan.order]
        none = np.zeros(0, np.int64)
        inner = axes[-1] or (Steps(count, 0, none, none, (), none, np.arange(count), True), none)
        axes[-1] = inner
        return solve(axes, P, low, high, problem.top), inner

    if len(plan.chunks) > 1 and jobs > 1:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, plan.chunks))
    return [one(chunk) for chunk in plan.chunks]


def _cost(found: Solved, inner: Inner, top: int) -> int:
    """What an optimum of a chunk costs, in units."""
    between, within = (np.abs(a).sum(axis=i, dtype=np.int64) for i, a in ((1, found.between), (0, found.within)))
    return top * found.off + _dot(between, found.layout.edge_cost) + _dot(within, inner[1])


def _still(problem: Problem) -> Outcome:
    """The optimum where nothing can move: what is beyond the tolerance is added or removed."""
    P, low, high = (problem.whole(a).reshape(-1) for a in (problem.P, problem.low, problem.high))
    prices = problem.top * (np.sign(np.maximum(P - high, 0)) - np.sign(np.maximum(low - P, 0)))
    none = np.zeros(0, np.int64)
    return Outcome(P, low, high, P, prices, none, none, none, none, none, lambda: None)


@dataclass(frozen=True)
class _Plan:
    """How chunks of components are laid out: which axis of (components, axes...) comes where."""

    order: tuple[int, ...]
    chunks: tuple[slice, ...]


def _plan(problem: Problem, steps: list[Steps], jobs: int) -> _Plan:
    count, *sizes = problem.P.shape
    cells = math.prod(sizes)
    inner = max(range(len(sizes)), key=lambda i: (sizes[i] * (4 if steps[i].hubs else 1), i)) + 1
    if count * (1 if steps[inner - 1].hubs else 8) > sizes[inner - 1]:
        inner = 0
    each = max(1, min(math.ceil(_CHUNK / cells), math.ceil(count / jobs)))
    if inner == 0:
        each = max(each, min(count, 64))
    rest = sorted(
        (i for i in range(len(sizes) + 1) if i != inner), key=lambda i: (i > 0, bool(i and steps[i - 1].hubs))
    )
    return _Plan((*rest, inner), tuple(slice(i, i + each) for i in range(0, count, each)))


@dataclass(frozen=True, eq=False)
class _Part:
    """The optimum of a chunk, with its nodes numbered over the whole problem; hubs from `first` on are its own."""

    cells: Ints
    q: Ints
    prices: Ints
    hub_prices: Ints
    arcs: tuple[Ints, Ints, Ints, Ints, Ints]
    check: Callable[[], str | None]


def _part(problem: Problem, plan: _Plan, chunk: slice, found: Solved, inner: Inner) -> _Part:
    count = len(range(*chunk.indices(len(problem.P))))
    lay = found.layout
    shape = problem.P.shape
    cells = np.arange(chunk.start * math.prod(shape[1:]), (chunk.start + count) * math.prod(shape[1:]))
    cells = cells.reshape(count, *shape[1:]).transpose(plan.order).reshape(lay.rows, lay.bins)
    # nodes of the layout: cells by their number in the problem, hubs numbered negatively, from -1 down
    node = np.full((lay.all_rows, lay.width), 0, np.int64)
    node[: lay.rows, : lay.bins] = cells
    hub = np.ones((lay.all_rows, lay.width), bool)
    hub[: lay.rows, : lay.bins] = False
    hub[lay.rows :, lay.bins :] = False
    node[hub] = -1 - np.arange(int(hub.sum()))
    places = [i for i in plan.order[:-1] if i > 0]  # which axis each group of edges between rows belongs to
    r, j = np.nonzero(found.between)
    f = found.between[r, j].astype(np.int64)
    group = np.searchsorted(lay.groups, r, side="right") - 1
    between = _directed(node[lay.edge_u[r], j], node[lay.edge_v[r], j], f, lay.edge_cost[r], _named(places, group))
    r, e = np.nonzero(found.within)
    f = found.within[r, e].astype(np.int64)
    along = np.full(len(r), plan.order[-1] - 1)
    within = _directed(node[r, inner[0].u[e]], node[r, inner[0].v[e]], f, inner[1][e], along)
    u, v, amount, cost, axis = (np.concatenate(pair) for pair in zip(between, within, strict=True))
    p = found.p

    def check() -> str | None:
        for e in range(len(lay.edge_u)):
            apart = np.abs(p[lay.edge_u[e], : lay.bins].astype(np.int64) - p[lay.edge_v[e], : lay.bins])
            if int(apart.max(initial=0)) > lay.edge_cost[e]:
                return "prices differ by more than a step between rows costs"
        apart = np.abs(p[: lay.rows, inner[0].u].astype(np.int64) - p[: lay.rows, inner[0].v])
        return "prices differ by more than a step within a row costs" if (apart > inner[1]).any() else None

    return _Part(
        cells.reshape(-1), found.q.reshape(-1).astype(np.int64), found.prices.reshape(-1).astype(np.int64),
        p[hub].astype(np.int64), (u, v, amount, cost, axis), check,
    )  # fmt: skip


def _named(places: list[int], group: Ints) -> Ints:
    """The axis of the problem for each group."""
    return np.array([i - 1 for i in places], np.int64)[group] if len(places) else np.zeros(len(group), np.int64)


def _directed(u: Ints, v: Ints, flow: Ints, cost: Ints, along: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Arcs in the direction of the flow."""
    forth = flow > 0
    return np.where(forth, u, v), np.where(forth, v, u), np.abs(flow), np.asarray(cost, np.int64), along


def _joined(problem: Problem, steps: list[Steps], parts: list[_Part]) -> Outcome:
    """All parts as one, with cells in the order of the problem's arrays."""
    count = problem.P.size
    back = np.arange(count).reshape(problem.P.shape)  # where each cell, in the order of the graphs, stands
    for i, s in enumerate(steps):
        if len(problem.axes[i].levels):
            back = np.take(back, s.order, axis=i + 1)
    back = back.reshape(-1)
    q, p = np.empty(count, np.int64), np.empty(count, np.int64)
    hubs, arcs, first = [], [], count
    for part in parts:
        at = back[part.cells]
        q[at], p[at] = part.q, part.prices
        ends = [np.where(a >= 0, back[np.maximum(a, 0)], first - 1 - a) for a in part.arcs[:2]]
        arcs.append((*ends, *part.arcs[2:]))
        hubs.append(part.hub_prices)
        first += len(part.hub_prices)
    joined = [np.concatenate(a) for a in zip(*arcs, strict=True)] if arcs else [np.zeros(0, np.int64)] * 5

    def check() -> str | None:
        return next((wrong for part in parts if (wrong := part.check()) is not None), None)

    P, low, high = (problem.whole(a).reshape(-1) for a in (problem.P, problem.low, problem.high))
    u, v, amount, cost, along = joined
    return Outcome(P, low, high, q, np.concatenate([p, *hubs]), u, v, amount, cost, along, check)


def _dot(a: Ints, b: Ints) -> int:
    """The sum of products, however large."""
    if not len(a):
        return 0
    if float(np.abs(a).max()) * float(np.abs(b).max()) * len(a) < 2**62:
        return int(np.dot(a, b))
    return int(np.dot(a.astype(object), b.astype(object)))
