"""The cheapest way to move, add and remove counts: primal and dual raised together over the layout of a table.

**The program.** Cell v holds P_v and ends with q_v = P_v + what comes − what goes. An arc costs its length a count;
ending above `high` or below `low` costs `top` a count. **The dual** is a price p_v, from −top to top, that differs by
no more than the arc's cost across any arc. Both are optimal together when counts move only along arcs whose prices
differ by exactly the cost, and q = high where 0 < p < top, q ≥ high where p = top, q = low where −top < p < 0, q ≤ low
where p = −top, and low ≤ q ≤ high where p = 0.

**A pass** takes all excess away: counts above what the price of their cell allows. While there is some, distances to
the nearest cell with room are computed in reduced costs; a price that rises makes room too, so every cell has room at
the price 0, or `top` at the latest. Prices rise by the distances, as far as the farthest cell with excess needs; then
counts are pushed along arcs of no reduced cost, first where the way is short. Raised prices never make a shortage, so a
second pass over the same program with all signs turned, which takes shortages away, ends in an optimum.

**Distances** are kept as the price at which the count finds room, times 2^shift, plus the number of arcs on the way:
prices drop out of the comparison, which becomes D[x] = min(D[x], D[y] + cost·2^shift + 1) over rows of numbers side by
side. An arc whose flow can be taken back costs −cost. Rows that did not change since an edge was relaxed are passed
over. Arcs on the way are counted so that counts take short ways and never go in circles; a way of as much cost and
fewer arcs is not worth another sweep.

The method is the primal-dual one of Ford and Fulkerson with Dinic's layers; all numbers are whole, so it is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sfumato.metrics.aemc.layout import Layout

Array = Any

DONE, TOO_FAR = 0, 1
LOW = 2**32 - 1  # a node is its row and, in the lower half of the number, its place in the row


@njit(cache=True, nogil=True, inline="always")
def _relax(near: Array, far: Array, flow: Array, sign: int, cost: int, shift: int) -> bool:
    """Shorten distances in `far` over arcs to `near`; `sign` is 1 where the flow is counted from far to near."""
    kind = near.dtype.type
    there, back = kind(cost + 1), kind(1 - cost)
    changed = kind(0)
    if sign > 0:
        for j in range(flow.size):
            step = back if flow[j] < 0 else there
            best = kind(near[j] + step)
            here = far[j]
            less = best if best < here else here
            changed |= kind(less ^ here)
            far[j] = less
    else:
        for j in range(flow.size):
            step = back if flow[j] > 0 else there
            best = kind(near[j] + step)
            here = far[j]
            less = best if best < here else here
            changed |= kind(less ^ here)
            far[j] = less
    return bool(changed >> shift != 0)


@njit(cache=True, nogil=True, inline="always")
def _gather(far: int, near: Array, flow: Array, cost: int) -> Any:
    """The distance of a node that arcs lead from to all of `near`; the flow is counted towards the node."""
    kind = near.dtype.type
    there, back = kind(cost + 1), kind(1 - cost)
    least = kind(far)
    for i in range(near.size):
        step = back if flow[i] > 0 else there
        best = kind(near[i] + step)
        least = best if best < least else least
    return least


@njit(cache=True, nogil=True, inline="always")
def _scatter(near: int, far: Array, flow: Array, cost: int) -> Any:
    """Shorten the distances of all nodes in `far`, from which arcs lead to one; the bits that changed."""
    kind = far.dtype.type
    there, back = kind(cost + 1), kind(1 - cost)
    changed = kind(0)
    for i in range(far.size):
        step = back if flow[i] < 0 else there
        best = kind(near + step)
        here = far[i]
        less = best if best < here else here
        changed |= kind(less ^ here)
        far[i] = less
    return changed


@njit(cache=True, nogil=True, inline="always")
def _sweep_row(lay: Layout, D: Array, G: Array, shift: int) -> bool:
    """Shorten distances within one row until nothing changes; whether anything did."""
    kind = D.dtype.type
    bins, fans = lay.bins, lay.fan_at.size
    ever = False
    while True:
        changed = kind(0)
        for f in range(fans):  # from the fans' nodes to where they meet
            a, b, e, at = lay.fan_from[f], lay.fan_to[f], lay.fan_edge[f], lay.fan_at[f]
            least = kind(_gather(D[at], D[a:b], G[e : e + b - a], lay.fan_cost[f] << shift))
            if at < bins:
                changed |= kind(least ^ D[at])
            D[at] = least
        for f in range(fans - 1, -1, -1):  # and back
            a, b, e, at = lay.fan_from[f], lay.fan_to[f], lay.fan_edge[f], lay.fan_at[f]
            changed |= kind(_scatter(D[at], D[a:b], G[e : e + b - a], lay.fan_cost[f] << shift))
        some = changed >> shift != 0
        ever = ever or some
        if not some or not lay.again:
            return ever


@njit(cache=True, nogil=True)
def sweep(lay: Layout, D: Array, F: Array, G: Array, shift: int, stamps: Array) -> None:
    """Shorten distances over all arcs until nothing changes."""
    bins = lay.bins
    changed, swept, forth, back = stamps  # when a row changed; when it, and edges in both directions, were relaxed
    changed[:], swept[:], forth[:], back[:] = 1, 0, 0, 0
    tick = 2
    while True:
        before = tick
        for r in range(lay.rows):
            if changed[r] > swept[r]:
                moved = _sweep_row(lay, D[r], G[r], shift)
                tick += 1
                swept[r] = tick
                if moved:
                    changed[r] = tick
        for g in range(lay.groups.size - 1):
            for e in range(lay.groups[g], lay.groups[g + 1]):
                u, v = lay.edge_u[e], lay.edge_v[e]
                if changed[u] > forth[e]:
                    tick += 1
                    forth[e] = tick
                    if _relax(D[u, :bins], D[v, :bins], F[e], -1, lay.edge_cost[e] << shift, shift):
                        changed[v] = tick
            for e in range(lay.groups[g + 1] - 1, lay.groups[g] - 1, -1):
                u, v = lay.edge_u[e], lay.edge_v[e]
                if changed[v] > back[e]:
                    tick += 1
                    back[e] = tick
                    if _relax(D[v, :bins], D[u, :bins], F[e], 1, lay.edge_cost[e] << shift, shift):
                        changed[u] = tick
        if tick == before:
            return


@njit(cache=True, nogil=True)
def extend(lay: Layout, p: Array, D: Array, F: Array, G: Array, shift: int, stamps: Array, far: int) -> None:
    """Give hubs prices that differ by no more than the costs, where those of the cells do; no flow yet."""
    kind = D.dtype.type
    D[:] = kind(far)
    for r in range(lay.rows):
        for j in range(lay.bins):
            D[r, j] = kind(p[r, j] << shift)
    sweep(lay, D, F, G, shift, stamps)
    for r in range(lay.all_rows):
        for j in range(lay.width):
            if r >= lay.rows or j >= lay.bins:
                p[r, j] = kind(D[r, j] >> shift)


@njit(cache=True, nogil=True)
def _seed(
    lay: Layout, p: Array, q: Array, low: Array, high: Array, D: Array, top: int, shift: int, far: int, active: Array
) -> int:
    """Set each cell's distance to the price at which it has room; list the cells with excess, and count them."""
    kind = D.dtype.type
    most, last, zero = kind(top), kind(top << shift), kind(0)
    found = 0
    D[lay.rows :] = kind(far)
    for r in range(lay.rows):
        pr, qr, lr, hr, dr = p[r, : lay.bins], q[r], low[r], high[r], D[r]
        some = kind(0)
        for j in range(pr.size):
            price, holds, least, most_free = pr[j], qr[j], lr[j], hr[j]
            limit = least if price < zero else most_free
            later = zero if (price < zero) & (holds < most_free) else last
            dr[j] = kind(price << shift) if (holds < limit) | (price >= most) else later
            some |= kind((holds > limit) & (price < most))
        for j in range(lay.bins, lay.width):
            dr[j] = kind(far)
        if some != 0:
            for j in range(lay.bins):
                if pr[j] < top and qr[j] > (lr[j] if pr[j] < 0 else hr[j]):
                    active[found] = (r << 32) | j
                    found += 1
    return found


@njit(cache=True, nogil=True)
def _raise(p: Array, D: Array, cap: int, shift: int) -> int:
    """Raise prices by the distances, `cap` at most; the largest number of arcs on a way."""
    kind = p.dtype.type
    flat_p, flat_d = p.reshape(-1), D.reshape(-1)
    cap_, mask = kind(cap), kind((1 << shift) - 1)
    most = kind(0)
    for i in range(flat_p.size):
        to = kind(flat_d[i] >> shift)
        limit = kind(flat_p[i] + cap_)
        flat_p[i] = to if to < limit else limit
        arcs = kind(flat_d[i] & mask)
        most = arcs if arcs > most else most
    return int(most)


@njit(cache=True, nogil=True)
def _push(
    lay: Layout, p: Array, q: Array, low: Array, high: Array, D: Array, F: Array, G: Array,
    top: int, shift: int, active: Array, found: int, current: Array, path: Array,
) -> None:  # fmt: skip
    """Push excess along arcs of no reduced cost to cells with room, depth first, each arc towards fewer arcs.

    What a node of the path may pass on stands in `may`, what it has passed on in `sent`: the flow over an arc is
    written once, when the path goes back over it.
    """
    mask = (1 << shift) - 1
    current[:] = 0
    nodes, taken, may, sent = path
    for a in range(found):
        root = active[a]
        r, j = root >> 32, root & LOW
        if p[r, j] >= top:
            continue
        excess = q[r, j] - (low[r, j] if p[r, j] < 0 else high[r, j])
        if excess <= 0:
            continue
        depth = 0
        nodes[0], may[0], sent[0] = root, excess, 0
        while True:
            node = nodes[depth]
            r, j = node >> 32, node & LOW
            if sent[depth] < may[depth]:
                if D[r, j] & mask == 0:
                    price = p[r, j]
                    takes = may[depth]
                    if price < top:
                        takes = min(takes, (low[r, j] if price < 0 else high[r, j]) - q[r, j])
                    if takes > 0:
                        q[r, j] += takes
                        sent[depth] = takes
                elif _advance(lay, D, F, G, current, nodes, taken, may, sent, depth, shift):
                    depth += 1
                    continue
            if depth == 0:
                q[r, j] -= sent[0]
                break
            moved, full = sent[depth], sent[depth] == may[depth]
            depth -= 1
            r, j = nodes[depth] >> 32, nodes[depth] & LOW
            if moved:
                sent[depth] += moved
                i = taken[depth]
                if i >= 0:
                    G[r, lay.in_arcs[i, 1]] += lay.in_arcs[i, 2] * moved
                else:
                    F[lay.row_arcs[-1 - i, 1], j] += lay.row_arcs[-1 - i, 2] * moved
            if not full:
                current[r, j] += 1  # whatever is beyond this arc can take no more


@njit(cache=True, nogil=True, inline="always")
def _advance(
    lay: Layout, D: Array, F: Array, G: Array, current: Array, nodes: Array, taken: Array, may: Array, sent: Array,
    depth: int, shift: int,
) -> bool:  # fmt: skip
    """Go on by the next arc that is open, from the node at the end of the path; False where there is none.

    Prices in the distances differ by an arc's cost at most. So where distances differ by more, it is in the number of
    arcs alone, and the arc is on a shortest way: its end has risen as far as its start, and it costs nothing.
    """
    bins = lay.bins
    node = nodes[depth]
    r, j = node >> 32, node & LOW
    here = np.int64(D[r, j])
    first, second = lay.in_start[j], lay.row_start[r]
    inside = lay.in_start[j + 1] - first if r < lay.rows else 0
    total = inside + (lay.row_start[r + 1] - second if j < bins else 0)
    for at in range(current[r, j], total):
        if at < inside:
            i = first + at
            r2, j2, cost = r, lay.in_arcs[i, 0], lay.in_arcs[i, 3]
            flow = G[r, lay.in_arcs[i, 1]] * lay.in_arcs[i, 2]
        else:
            i = second + at - inside
            r2, j2, cost = lay.row_arcs[i, 0], j, lay.row_arcs[i, 3]
            flow = F[lay.row_arcs[i, 1], j] * lay.row_arcs[i, 2]
        if here - D[r2, j2] > (cost if flow >= 0 else -cost) << shift:
            current[r, j] = at
            taken[depth] = i if at < inside else -1 - i
            left = may[depth] - sent[depth]
            nodes[depth + 1], sent[depth + 1] = (r2 << 32) | j2, 0
            may[depth + 1] = min(left, -flow) if flow < 0 else left
            return True
    current[r, j] = total
    return False


@njit(cache=True, nogil=True)
def take_excess(
    lay: Layout, p: Array, q: Array, low: Array, high: Array, F: Array, G: Array, D: Array,
    top: int, shift: int, far: int, stamps: Array, active: Array, current: Array, path: Array,
) -> tuple[int, int]:  # fmt: skip
    """Take all excess away; how it ended, and in how many rounds."""
    rounds = 0
    while True:
        found = _seed(lay, p, q, low, high, D, top, shift, far, active)
        if found == 0:
            return DONE, rounds
        rounds += 1
        sweep(lay, D, F, G, shift, stamps)
        cap = 0
        for a in range(found):
            r, j = active[a] >> 32, active[a] & LOW
            cap = max(cap, (D[r, j] >> shift) - p[r, j])
        if _raise(p, D, cap, shift) >= (1 << shift) - 1:
            return TOO_FAR, rounds
        _push(lay, p, q, low, high, D, F, G, top, shift, active, found, current, path)
