"""Distances to the nearest sink over a `Network`: the arcs are relaxed line by line until nothing moves.

A distance is one whole number, `UNIT` times the reduced cost plus the number of arcs, so that the smaller of two is
the cheaper way and among equals the one with fewer arcs. The reduced cost of an arc that carries flow is 0 both ways.
Rows (runs of cells along the last axis) are relaxed at once; those that nothing near has touched are skipped.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.metrics.aemc.network import DOWN, GATHER, SCATTER

SHIFT = {np.dtype(np.int32): 12, np.dtype(np.int64): 22}
"""By the type of distances: the logarithm of `UNIT`."""


@njit(nogil=True, cache=True)
def relax(near, far, price, other, free, cost):  # type: ignore[no-untyped-def]
    """Lower the distances `near` to what going on through `far` gives; whether any fell."""
    T = near.dtype.type
    fell = T(0)
    for i in range(len(near)):
        reduced = T(T(T(cost) + other[i]) - price[i]) & T(free[i])
        new = T(T(far[i] + reduced) + T(1))
        old = near[i]
        low = min(old, new)
        fell |= T(old ^ low)
        near[i] = low
    return fell != 0


@njit(nogil=True, cache=True)
def gather(d, p, free, x, y, e, count, cost):  # type: ignore[no-untyped-def]
    """Lower the distance of one node to what the best of its neighbours gives, which stand side by side."""
    T = d.dtype.type
    far, other, open_ = d[y : y + count], p[y : y + count], free[e : e + count]
    base = T(T(cost) - p[x])
    best = d[x]
    for i in range(count):
        best = min(best, T(T(far[i] + T(T(base + other[i]) & T(open_[i]))) + T(1)))
    fell = best < d[x]
    d[x] = best
    return fell


@njit(nogil=True, cache=True)
def scatter(d, p, free, x, y, e, count, cost):  # type: ignore[no-untyped-def]
    """Lower the distances of nodes side by side to what going through one neighbour gives."""
    T = d.dtype.type
    near, price, open_ = d[y : y + count], p[y : y + count], free[e : e + count]
    base, start = T(T(cost) + p[x]), T(d[x] + T(1))
    fell = T(0)
    for i in range(count):
        new = T(start + T(T(base - price[i]) & T(open_[i])))
        low = min(near[i], new)
        fell |= T(near[i] ^ low)
        near[i] = low
    return fell != 0


@njit(nogil=True, cache=True)
def along_rows(d, p, free, net, axis, dirty):  # type: ignore[no-untyped-def]
    """Bring the last axis to rest: each of its lines is a row."""
    n, h, edges = net.size[axis], net.hubs[axis], net.edges[axis]
    first, last = net.step_ptr[axis], net.step_ptr[axis + 1]
    live = np.zeros(n + h, np.bool_)
    T = d.dtype.type
    moved = False
    for row in range(dirty.shape[1]):
        if not dirty[axis, row]:
            continue
        dirty[axis, row] = False
        leaf, hub, edge = row * n, net.hub_base[axis] + row * h - n, net.edge_base[axis] + row * edges
        any_fell = False
        while True:
            live[:] = False
            fell = False
            for s in range(first, last):
                kind, x, y, e, count, cost = net.steps[s]
                x_at = leaf + x if x < n else hub + x
                y_at = leaf + y if y < n else hub + y
                e_at = edge + e
                if kind == GATHER:
                    if gather(d, p, free, x_at, y_at, e_at, count, cost):
                        live[x] = True
                        fell |= x < n
                elif kind == SCATTER:
                    if live[x] and scatter(d, p, free, x_at, y_at, e_at, count, cost):
                        live[y : y + count] = True
                        fell |= y < n
                elif kind == DOWN:
                    near = d[y_at + count]
                    for k in range(y_at + count - 1, y_at - 1, -1):
                        reduced = T(T(T(cost) + p[k + 1]) - p[k]) & T(free[e_at + k - y_at])
                        new = T(T(near + reduced) + T(1))
                        near = d[k]
                        if new < near:
                            near = new
                            d[k] = new
                            fell = True
                else:
                    near = d[y_at]
                    for k in range(y_at, y_at + count):
                        reduced = T(T(T(cost) + p[k]) - p[k + 1]) & T(free[e_at + k - y_at])
                        new = T(T(near + reduced) + T(1))
                        near = d[k + 1]
                        if new < near:
                            near = new
                            d[k + 1] = new
                            fell = True
            any_fell |= fell
            if net.settles[axis] or not fell:
                break
        if any_fell:
            moved = True
            for b in range(axis):
                dirty[b, row] = True
    return moved


@njit(nogil=True, cache=True)
def across_rows(d, p, free, net, axis, dirty):  # type: ignore[no-untyped-def]
    """Bring another axis to rest: each of its lines goes across rows, and a bundle of them is relaxed at once."""
    width = net.size[-1]
    n, h, edges = net.size[axis], net.hubs[axis], net.edges[axis]
    first, last = net.step_ptr[axis], net.step_ptr[axis + 1]
    beside = net.inner[axis] // width
    stride = net.inner[axis]
    live = np.zeros(n + h, np.bool_)
    moved = np.zeros(n + h, np.bool_)
    any_moved = False
    for bundle in range(dirty.shape[1] // n):
        o, m = bundle // beside, bundle % beside
        row = o * n * beside + m
        some = False
        for j in range(n):
            live[j] = dirty[axis, row + j * beside]
            some |= live[j]
            dirty[axis, row + j * beside] = False
        if not some:
            continue
        live[n:] = False
        moved[:] = False
        leaf = row * width
        hub = net.hub_base[axis] + (o * h - n) * stride + m * width
        edge = net.edge_base[axis] + o * edges * stride + m * width
        while True:
            fell = False
            for s in range(first, last):
                kind, x, y, e, count, cost = net.steps[s]
                for step in range(count):
                    k = count - 1 - step if kind == DOWN else step
                    if kind == GATHER:
                        near, far = x, y + k
                    elif kind == SCATTER:
                        near, far = y + k, x
                    elif kind == DOWN:
                        near, far = y + k, y + k + 1
                    else:
                        near, far = y + k + 1, y + k
                    if not live[far]:
                        continue
                    a = near * stride + (leaf if near < n else hub)
                    b = far * stride + (leaf if far < n else hub)
                    c = edge + (e + k) * stride
                    if relax(
                        d[a : a + width],
                        d[b : b + width],
                        p[a : a + width],
                        p[b : b + width],
                        free[c : c + width],
                        cost,
                    ):
                        live[near] = True
                        moved[near] = True
                        fell = True
            if net.settles[axis] or not fell:
                break
        for j in range(n):
            if moved[j]:
                any_moved = True
                for b in range(len(net.size)):
                    if b != axis:
                        dirty[b, row + j * beside] = True
    return any_moved


@njit(nogil=True, cache=True)
def distances(d, p, free, net, dirty):  # type: ignore[no-untyped-def]
    """Bring all distances to rest, from what `d` holds; the number of rounds."""
    axes = len(net.size)
    dirty[:] = True
    rounds = 0
    moved = True
    while moved:
        moved = False
        rounds += 1
        for axis in range(axes - 1, -1, -1):
            if net.step_ptr[axis] == net.step_ptr[axis + 1]:
                continue
            if axis == axes - 1:
                moved |= along_rows(d, p, free, net, axis, dirty)
            else:
                moved |= across_rows(d, p, free, net, axis, dirty)
    return rounds
