"""What flows over arcs, taken apart into who goes where: paths from cells that give to cells that take.

Each path ends an arc, a giver or a taker, so there are no more of them than these; circles, which cost nothing in an
optimum, are taken out on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sfumato.metrics.aemc.axis import Ints

Array = Any


def paths(
    give: Ints, take: Ints, start: Ints, end: Ints, amount: Ints, cost: Ints, nodes: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """From, to, how many, and what one of them costs; `give` and `take` say what each cell gives and takes."""
    order = np.argsort(start, kind="stable")
    first = np.searchsorted(start[order], np.arange(nodes + 1))
    most = len(start) + int(np.count_nonzero(give)) + int(np.count_nonzero(take))
    out = np.empty((4, most), np.int64)
    found = _walk(give.copy(), take.copy(), first, end[order], amount[order].copy(), cost[order], nodes, out)
    return out[0, :found], out[1, :found], out[2, :found], out[3, :found]


@njit(cache=True, nogil=True)
def _walk(give: Array, take: Array, first: Array, end: Array, left: Array, cost: Array, nodes: int, out: Array) -> int:
    """Walk from each giver along arcs with something left on them to the first taker."""
    at = first[:-1].copy()  # the first arc of each node that may have something left
    seen = np.full(nodes, -1, np.int64)  # how far along the path a node stands
    path_arc, path_node = np.empty(nodes + 1, np.int64), np.empty(nodes + 1, np.int64)
    cells, found = give.size, 0
    for source in range(cells):
        while give[source] > 0:
            depth, node = 0, source
            path_node[0], seen[node] = node, 0
            while not (depth > 0 and node < cells and take[node] > 0):
                while at[node] < first[node + 1] and left[at[node]] == 0:
                    at[node] += 1
                if at[node] == first[node + 1]:
                    break
                path_arc[depth] = at[node]
                node = end[at[node]]
                depth += 1
                if seen[node] >= 0:  # a circle: take it out and go on from where it began
                    begin = seen[node]
                    least = left[path_arc[begin]]
                    for d in range(begin, depth):
                        least = min(least, left[path_arc[d]])
                    for d in range(begin, depth):
                        left[path_arc[d]] -= least
                        seen[path_node[d]] = -1
                    depth = begin
                seen[node] = depth
                path_node[depth] = node
            for d in range(depth + 1):
                seen[path_node[d]] = -1
            if not (depth > 0 and node < cells and take[node] > 0):
                return -1  # what is given is never taken: the flow is not one
            moved = min(give[source], take[node])
            price = 0
            for d in range(depth):
                moved = min(moved, left[path_arc[d]])
                price += cost[path_arc[d]]
            for d in range(depth):
                left[path_arc[d]] -= moved
            give[source] -= moved
            take[node] -= moved
            out[0, found], out[1, found], out[2, found], out[3, found] = source, node, moved, price
            found += 1
    return found
