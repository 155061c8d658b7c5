"""Moving mass to the sinks along arcs of reduced cost 0, and the phases around it.

The state of a solution: a price `p` for each node, the mass `q` of each cell above its lower limit, of which `w` is
free, and the flow of each edge, positive from tail to head. A cell takes mass up to `w` where its price is 0 or more,
up to 0 where it is less, and any where the price is `top` (mass is removed there).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.metrics.aemc.sweep import distances

AXIS = 20  # bits of a place among the arcs of a node along one axis


@njit(nogil=True, cache=True)
def seed(d, p, q, w, top, tol, hubs):  # type: ignore[no-untyped-def]
    """Write how far the price of each cell is from where it takes mass; how many cells have too much."""
    T = d.dtype.type
    zero, high = T(0), T(top)
    over = 0
    for v in range(len(q)):
        price = p[v]
        left = T(high - price)
        if price >= zero:
            full = q[v] >= w[v]
            d[v] = left if full else zero
            over += (q[v] > w[v] + tol) & (price < high)
        else:
            d[v] = zero if q[v] < 0 else (T(-price) if q[v] < w[v] else left)
            over += q[v] > tol
    d[len(q) :] = T(hubs)
    return over


@njit(nogil=True, cache=True)
def furthest(d, p, q, w, top, tol, shift):  # type: ignore[no-untyped-def]
    """The largest distance of a cell with too much, in whole units."""
    T = d.dtype.type
    far = T(0)
    for v in range(len(q)):
        price = p[v]
        limit = w[v] if price >= 0 else w.dtype.type(0)
        if (q[v] > limit + tol) & (price < T(top)):
            far = max(far, d[v])
    return (far >> shift) << shift


@njit(nogil=True, cache=True)
def rise(d, p, cap, shift):  # type: ignore[no-untyped-def]
    """Raise the prices by the distances, up to `cap`; what stays in `d` is the number of arcs to a sink."""
    T = d.dtype.type
    unit = T(T(1) << T(shift))
    mask = T(unit - T(1))
    top = T(cap)
    most = T(0)
    for v in range(len(d)):
        way = T(d[v] & T(~mask))
        arcs = T(d[v] & mask)
        most = max(most, arcs)
        p[v] = T(p[v] + min(way, top))
        d[v] = arcs if way <= top else unit
    return most


@njit(nogil=True, cache=True)
def push(hop, p, q, w, flow, free, cur, net, top, tol, path):  # type: ignore[no-untyped-def]
    """A blocking flow from all cells with too much, along arcs of reduced cost 0 that come nearer to a sink."""
    cells, axes = len(q), len(net.size)
    F = flow.dtype.type
    node, edge_in, sign_in = path
    want, got, ask = np.zeros(len(node), flow.dtype), np.zeros(len(node), flow.dtype), np.zeros(len(node), flow.dtype)
    zero = F(0)
    cur[:] = 0
    for source in range(cells):
        limit = w[source] if p[source] >= 0 else zero
        if q[source] <= limit + tol or p[source] >= top:
            continue
        depth = 0
        node[0], want[0], got[0] = source, q[source] - limit, zero
        ask[0] = want[0]
        while depth >= 0:
            v = node[depth]
            found = False
            if want[depth] > 0:
                a, k = cur[v] >> AXIS, cur[v] & ((1 << AXIS) - 1)
                end = axes
                if v >= cells:
                    end = 1
                    while end < axes and v >= net.hub_base[end]:
                        end += 1
                    a = max(a, end - 1)
                y = v
                e = 0
                sign = 1
                room = zero
                while a < end and not found:
                    inner, n, h = net.inner[a], net.size[a], net.hubs[a]
                    if v < cells:
                        i = v % inner
                        j = v // inner
                        o = j // n
                        j -= o * n
                    else:
                        r = v - net.hub_base[a]
                        i = r % inner
                        j = r // inner
                        o = j // h
                        j += n - o * h
                    first = net.arc_ptr[net.node_ptr[a] + j]
                    degree = net.arc_ptr[net.node_ptr[a] + j + 1] - first
                    while k < degree:
                        u = net.arc_to[first + k]
                        if u < n:
                            y = (o * n + u) * inner + i
                        else:
                            y = net.hub_base[a] + (o * h + u - n) * inner + i
                        if hop[y] < hop[v]:
                            e = net.edge_base[a] + (o * net.edges[a] + net.arc_edge[first + k]) * inner + i
                            sign = net.arc_sign[first + k]
                            back = flow[e] * sign
                            if back < 0:
                                room = F(-back)
                                found = True
                                break
                            if p[v] - p[y] == net.arc_cost[first + k]:
                                room = want[depth]
                                found = True
                                break
                        k += 1
                    if not found:
                        a += 1
                        k = 0
                cur[v] = (a << AXIS) | k
            if found:
                amount = min(want[depth], room)
                taken = zero
                if y < cells:
                    if p[y] >= top:
                        taken = amount
                        q[y] += taken
                    else:
                        bound = w[y] if p[y] >= 0 else zero
                        if bound > q[y]:
                            if bound - q[y] <= amount:
                                taken = F(bound - q[y])
                                q[y] = bound
                            else:
                                taken = amount
                                q[y] += taken
                if taken < amount and hop[y] > 0:
                    depth += 1
                    node[depth], edge_in[depth], sign_in[depth] = y, e, sign
                    ask[depth], want[depth], got[depth] = amount, F(amount - taken), taken
                    continue
                flow[e] += F(sign * taken)
                free[e] = -1 if flow[e] == 0 else 0
                want[depth] -= taken
                got[depth] += taken
                if taken < amount:
                    cur[v] += 1
                continue
            if depth > 0:
                e, moved = edge_in[depth], got[depth]
                if want[depth] == 0:
                    moved = ask[depth]
                flow[e] += F(sign_in[depth] * moved)
                free[e] = -1 if flow[e] == 0 else 0
                full = want[depth] > 0
                depth -= 1
                want[depth] -= moved
                got[depth] += moved
                if full:
                    cur[node[depth]] += 1
            else:
                q[source] = limit if want[0] == 0 else F(q[source] - got[0])
                depth = -1


@njit(nogil=True, cache=True)
def climb(p, d, q, w, flow, free, cur, dirty, net, top, tol, shift, stats):  # type: ignore[no-untyped-def]
    """Raise prices and move mass until no cell has too much; whether no way had too many arcs to be counted."""
    depth = 1 << shift
    path = (np.zeros(depth, np.int64), np.zeros(depth, np.int64), np.zeros(depth, np.int64))
    far = 1 << (8 * d.itemsize - 2)
    while True:
        over = seed(d, p, q, w, top, tol, far)
        if over == 0:
            return True
        stats[0] += 1
        stats[1] += distances(d, p, free, net, dirty)
        cap = furthest(d, p, q, w, top, tol, shift)
        if rise(d, p, cap, shift) == depth - 1:
            return False
        push(d, p, q, w, flow, free, cur, net, top, tol, path)
