"""The junction tree of a model, made by `mbi`, and the marginals that potentials on it have.

Messages go up the tree and marginals come down, each clique's exponentials being taken once: less work than general
message passing, which the solver repeats some hundred times. Every message is taken relative to its greatest term, so
nothing overflows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.grid import Columns


@dataclass(frozen=True, eq=False)
class Tree:
    """A junction tree as a list of cliques from the root on: each after its parent, the root's parent is -1."""

    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    sizes: Mapping[str, int]

    def size(self, clique: int) -> int:
        """How many cells a clique has."""
        out = 1
        for column in self.cliques[clique]:
            out *= self.sizes[column]
        return out

    @property
    def cells(self) -> int:
        """How many cells all cliques have together."""
        return sum(map(self.size, range(len(self.cliques))))

    def separator(self, clique: int) -> Columns:
        """What a clique shares with its parent, in the clique's order."""
        parent = self.parents[clique]
        return tuple(c for c in self.cliques[clique] if parent >= 0 and c in self.cliques[parent])

    def marginals(self, potentials: Sequence[Any], total: Any) -> list[Any]:
        """The marginals of the cliques for potentials on them, in JAX."""
        import jax.numpy as jnp

        beliefs = list(potentials)
        shares: list[Any] = [None] * len(beliefs)
        for i in reversed(range(len(beliefs))):
            gone = tuple(a for a, c in enumerate(self.cliques[i]) if c not in self.separator(i))
            top = beliefs[i].max(gone, keepdims=True)
            grown = jnp.exp(beliefs[i] - top)
            sums = grown.sum(gone, keepdims=True)
            shares[i] = grown / sums
            if (parent := self.parents[i]) >= 0:
                message = (top + jnp.log(sums)).squeeze(gone)
                beliefs[parent] = beliefs[parent] + self._spread(message, i, parent)
        out: list[Any] = []
        for i, share in enumerate(shares):
            parent = self.parents[i]
            if parent < 0:
                out.append(share * total)
                continue
            common = self.separator(i)
            above = out[parent].sum(tuple(a for a, c in enumerate(self.cliques[parent]) if c not in common))
            out.append(share * self._spread(above, parent, i))
        return out

    def _spread(self, table: Any, near: int, far: int) -> Any:
        """A table over what two cliques share, with an axis of length 1 for each other column of the far one."""
        shape = [self.sizes[c] if c in self.cliques[near] else 1 for c in self.cliques[far]]
        return table.reshape(shape)


def junction_tree(sizes: Mapping[str, int], cliques: Sequence[Columns]) -> Tree:
    """The tree of these cliques over columns of these sizes; columns keep the order of `sizes`."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mbi warns of single precision, which is meant, and of a cache
        from mbi import Domain
        from mbi.junction_tree import make_junction_tree
    import networkx as nx

    domain = Domain(tuple(sizes), tuple(sizes.values()))
    graph, _ = make_junction_tree(domain, list(cliques))
    found: list[Columns] = []
    parents: list[int] = []
    for part in sorted(nx.connected_components(graph), key=sorted):
        root = max(sorted(part), key=domain.size)
        above = {child: parent for parent, child in nx.bfs_edges(graph, root)}
        for clique in [root, *(child for _, child in nx.bfs_edges(graph, root))]:
            found.append(clique)
            parents.append(found.index(above[clique]) if clique in above else -1)
    return Tree(tuple(map(domain.canonical, found)), tuple(parents), dict(sizes))
