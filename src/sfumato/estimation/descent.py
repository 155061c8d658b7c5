"""Accelerated mirror descent over the distributions of a graphical model.

The noisy answers are compared with the marginals of a distribution whose cliques are those of a junction tree. With
entropy as the mirror, a step multiplies the distribution by e^(−step · gradient) and so stays a graphical model
(McKenna, Sheldon & Miklau 2019); `mbi` gives the domain, the tree and the messages that turn potentials into marginals.
The acceleration is Tseng's (2008): gradients are taken between the average of what was seen so far and the latest
model, with growing steps. The average of the marginals of graphical models on one tree is itself one: its cliques'
marginals, divided by its separators'. So marginals are all that is kept.

**When to stop.** At the truth the loss ½‖(Qμ − y)/σ‖² has the expected value rows/2. Below that the noise is fitted:
1- and 2-way errors still fall a little, 3- and 4-way errors grow. So it stops there. Everything here is
post-processing of noisy answers.

Masks and answers are data of the compiled program, so it is the same for every release of a schema; it is kept in the
user's cache folder (`SFUMATO_CACHE`, or that of the system), single precision throughout.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.columns import Floats
from sfumato.errors import InputError
from sfumato.estimation.problem import Problem, gradient
from sfumato.grid import Columns

SWING = 1.5  # a loss so many times the least so far says that the steps run away
PATIENCE = 100  # iterations without a gain of 1e-4 after which more are in vain: the answers contradict each other


@dataclass(frozen=True, eq=False)
class Fit:
    """The marginals of a junction tree's cliques, each summing to `total`; a clique's parent comes before it."""

    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    marginals: tuple[Floats, ...]
    total: float
    iterations: int
    loss: float


@dataclass(frozen=True)
class Estimator:
    """How the model is fitted: at most so many iterations, and whether it stops at the noise (loss ≤ rows/2)."""

    iterations: int = 1000
    stop: bool = True
    boldness: float = 16.0
    """How much longer than proven safe the steps are at first; shorter ones are taken where these run away. Without the
    stop there is no telling whether they do, so all are safe then."""

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InputError(f"an estimator needs at least 1 iteration, not {self.iterations}")
        if not 0 < self.boldness <= 1e6:
            raise InputError(f"boldness is {self.boldness}; give a number above 0, such as 1 for steps proven safe")

    def fit(self, problem: Problem, order: Sequence[str]) -> Fit:
        """The distribution that agrees with the answers; columns of cliques come in this order."""
        from sfumato.estimation.tree import junction_tree

        jax = _jax()
        outer = [n.columns for n in problem.nodes if n.own[0] < 0]
        tree = junction_tree({c: problem.sizes[c] for c in order if c in problem.sizes}, outer)
        start = _potentials(problem, tree.cliques)
        tables = [(t.fine, t.answers, t.weights) for t in problem.tables]
        total = problem.total
        aim = problem.rows / 2 if self.stop else -1.0
        program, boldness = _program(tree, tuple(problem.nodes)), self.boldness if self.stop else 1.0
        while True:
            rate = boldness / (problem.smoothness * total)
            with jax.default_matmul_precision("highest"):
                found, steps, value, first = program(start, tables, total, rate, aim, self.iterations)
            if boldness <= 1 or value <= min(first, 1.02 * aim):
                break
            boldness = max(boldness / 4, 1.0)
        marginals = tuple(_rescaled(np.asarray(x, np.float64), total) for x in found)
        return Fit(tree.cliques, tree.parents, marginals, total, int(steps), float(value))


def _rescaled(marginal: Floats, total: float) -> Floats:
    out: Floats = marginal * (total / marginal.sum())
    return out


def _potentials(problem: Problem, cliques: Sequence[Columns]) -> list[Any]:
    """Independent columns, each as its own noisy counts say."""
    placed: set[str] = set()
    out = []
    for clique in cliques:
        table = np.zeros([problem.sizes[c] for c in clique], np.float32)
        for i, column in enumerate(clique):
            if column not in placed:
                placed.add(column)
                shape = [-1 if j == i else 1 for j in range(len(clique))]
                table += np.log(problem.start(column)).astype(np.float32).reshape(shape)
        out.append(table)
    return out


def _program(tree: Any, nodes: tuple[Any, ...]) -> Any:
    """The compiled descent for a tree and the nodes of a problem."""
    import jax
    import jax.numpy as jnp

    outer = [n.columns for n in nodes if n.own[0] < 0]
    within = [min((i for i, c in enumerate(tree.cliques) if set(o) <= set(c)), key=tree.size) for o in outer]

    gone = [tuple(a for a, c in enumerate(tree.cliques[i]) if c not in o) for o, i in zip(outer, within, strict=True)]

    def slopes(marginals: Sequence[Any], tables: Any) -> tuple[Any, list[Any]]:
        """The loss, and its gradient for the cliques of the tree."""
        mine = [marginals[i].sum(g) for i, g in zip(within, gone, strict=True)]
        value, found = gradient(nodes, tables, mine)
        out = [jnp.zeros((), jnp.float32)] * len(marginals)
        for i, g, slope in zip(within, gone, found, strict=True):
            out[i] = out[i] + jnp.expand_dims(slope, g)
        return value, out

    def descend(start: Any, tables: Any, total: Any, rate: Any, aim: Any, most: Any) -> Any:
        z = tree.marginals(start, total)
        first = slopes(z, tables)[0]
        state = (start, z, z, jnp.float32(0), first, first, jnp.float32(0))

        def going(state: Any) -> Any:
            """Until the aim is met, the steps run away, or nothing has been gained for long."""
            _, _, _, t, value, best, gained = state
            in_vain = (value > SWING * best + 1e-6 * first) | (t - gained >= PATIENCE)
            return (t < most) & (value > aim) & ((aim < 0) | ~in_vain)

        def step(state: Any) -> Any:
            theta, z, x, t, _, best, gained = state
            share = 2 / (t + 2)
            y = [(1 - share) * a + share * b for a, b in zip(x, z, strict=True)]
            value, slope = slopes(y, tables)
            theta = [a - rate / share * g for a, g in zip(theta, slope, strict=True)]
            z = tree.marginals(theta, total)
            x = [(1 - share) * a + share * b for a, b in zip(x, z, strict=True)]
            gained = jnp.where(value < 0.9999 * best, t, gained)
            return theta, z, x, t + 1, value, jnp.minimum(best, value), gained

        _, _, x, t, value, _, _ = jax.lax.while_loop(going, step, state)
        return x, t, value, first

    return jax.jit(descend)


def _jax() -> Any:
    """JAX, with compiled programs kept on disk unless its user has said where already."""
    import jax

    config: Any = jax.config
    if config.jax_compilation_cache_dir is None and (folder := cache_folder()) is not None:
        config.update("jax_compilation_cache_dir", str(folder))
        config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of single precision, which is meant, and of the cache
        import mbi  # noqa: F401
    return jax


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where compiled programs are kept; they hold shapes and no data. None where no such folder can be made."""
    given = environment.get("SFUMATO_CACHE")
    base = Path(environment.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    folder = Path(given) if given else base / "sfumato" / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder
