"""Pairs joined into larger marginals: columns that are all paired with each other are measured together.

Cliques of the graph of chosen pairs, largest first, are accepted when at most two of their columns are covered by
those accepted before and when they have few cells; pairs inside an accepted clique need not be measured by
themselves (PrivSyn, Algorithm 2). Cliques are grown column by column and given up as soon as they have too many
cells; a size of which there would be more than `MOST` is not reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

CELLS = 5_000  # of an accepted clique
MOST = 20_000  # cliques of one size
Axes = tuple[int, ...]


def combined(pairs: Iterable[Axes], fits: Callable[[Axes], bool]) -> list[Axes]:
    """The marginals to measure: accepted cliques, and the pairs that are in none.

    >>> combined([(0, 1), (1, 2), (0, 2), (2, 3)], lambda axes: len(axes) <= 3)
    [(0, 1, 2), (2, 3)]
    """
    edges = [tuple(sorted(pair)) for pair in pairs]
    covered: set[int] = set()
    accepted: list[Axes] = []
    for clique in _cliques(set(edges), fits):
        if len(covered & set(clique)) <= 2:
            accepted.append(clique)
            covered |= set(clique)
    return accepted + [e for e in edges if not any(set(e) <= set(clique) for clique in accepted)]


def few_cells(sizes: list[int], whole: list[int], most: int) -> Callable[[Axes], bool]:
    """Whether a clique has few cells: of its kept bins, and not too many of all its bins to be counted."""
    return lambda axes: math.prod(sizes[a] for a in axes) <= CELLS and math.prod(whole[a] for a in axes) <= most


def _cliques(edges: set[Axes], fits: Callable[[Axes], bool]) -> list[Axes]:
    """Cliques of three columns and more, the largest first."""
    after: dict[int, set[int]] = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)
    levels: list[list[Axes]] = []
    grown: list[Axes] = sorted(edges)
    while grown:
        wider: list[Axes] = []
        for clique in grown:
            common = set.intersection(*(after.get(a, set()) for a in clique))
            wider += [(*clique, b) for b in sorted(common) if fits((*clique, b))]
            if len(wider) > MOST:
                break
        if len(wider) > MOST:
            break
        levels.append(wider)
        grown = wider
    return [clique for level in reversed(levels) for clique in level]
