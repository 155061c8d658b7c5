"""What the approximate earth mover cost is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.errors import RunError
from sfumato.metrics.aemc.axis import Floats, Ints
from sfumato.metrics.aemc.outcome import Outcome, outcome
from sfumato.metrics.aemc.problem import Problem

Array = Any


@dataclass(frozen=True)
class Flows:
    """Which counts move where: a line for each pair of bins; `bins` of the table are a column an axis."""

    origin: Ints
    destination: Ints
    counts: Floats
    cost: Floats
    """What moving one count costs, from 0 up."""

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True)
class Certificate:
    """Proof that a cost is the least possible: a way to have it, and prices that no way can undercut."""

    primal: float
    """What moving, adding and removing counts as `flows` and `cells` say costs."""
    dual: float
    """What prices that differ by no more than the costs prove to be the least."""
    value: float
    """What was said to be the cost."""


@dataclass(frozen=True, eq=False)
class Aemc:
    """The cost, and on request what it is made of; everything but `value` is worked out when it is first asked for.

    `moved`, `added` and `removed` are counts; `by_axis` and `cells` are parts of `value`.
    """

    value: float
    problem: Problem
    jobs: int = 1
    begun: Callable[[], Outcome] | None = None

    @cached_property
    def _moves(self) -> Outcome:
        return self.begun() if self.begun is not None else outcome(self.problem, self.jobs)

    @property
    def moved(self) -> float:
        """How many counts move to another cell."""
        return self._moves.moved / self.problem.scale

    @property
    def added(self) -> float:
        """How many counts have to be added, at the cost α each."""
        return int(self._moves.added.sum()) / self.problem.scale

    @property
    def removed(self) -> float:
        """How many counts have to be removed, at the cost α each."""
        return int(self._moves.removed.sum()) / self.problem.scale

    @property
    def by_axis(self) -> tuple[float, ...]:
        """What moving along each axis adds to the value; the rest of it is adding and removing."""
        out = [0.0] * len(self.problem.shape)
        paid = self._moves.amount.astype(float) * self._moves.cost
        sums = np.bincount(self._moves.along, weights=paid, minlength=len(self.problem.axes))
        for place, cost in zip(self.problem.places, sums, strict=True):
            out[place] = self._share(cost)
        return tuple(out)

    @cached_property
    def cells(self) -> Floats:
        """What each cell adds to the value, in the shape of the table: a move is shared by both its ends."""
        numbers, costs = self.cell_costs
        out = np.zeros(int(np.prod(self.problem.shape)))
        out[numbers] = costs
        return out.reshape(self.problem.shape)

    @cached_property
    def cell_costs(self) -> tuple[Ints, Floats]:
        """The same without the cells that add nothing: their numbers, row-major, and what they add."""
        found = self._moves
        paid = (found.added + found.removed) * float(self.problem.top)
        origin, destination, counts, cost = self._moves.paths
        half = counts.astype(float) * cost / 2
        np.add.at(paid, origin, half)
        np.add.at(paid, destination, half)
        some = np.flatnonzero(paid)
        return self.problem.numbers.reshape(-1)[some], np.asarray(self._share(paid[some]))

    def flows(self) -> Flows:
        """Which counts move where, and at what cost."""
        origin, destination, counts, cost = self._moves.paths
        numbers = self.problem.numbers.reshape(-1)
        bins = [np.stack(np.unravel_index(numbers[a], self.problem.shape), axis=1) for a in (origin, destination)]
        return Flows(bins[0], bins[1], counts / self.problem.scale, cost / self.problem.unit)

    def certificate(self) -> Certificate:
        """The proof that the value is the least possible; a `RunError` where it fails."""
        found, problem = self._moves, self.problem
        if (wrong := found.fault(problem.top)) is not None:
            raise RunError(f"the earth mover cost is not proved: {wrong}")
        primal, dual = found.total(problem.top), found.worth()
        if primal != dual:
            raise RunError(f"the earth mover cost is not proved: it costs {primal} units, and {dual} are proved")
        proof = Certificate(float(self._share(primal)), float(self._share(dual)), self.value)
        near = 1e-9 * max(1.0, abs(proof.primal))
        if abs(proof.primal - self.value) > near or abs(proof.dual - self.value) > near:
            raise RunError(f"the earth mover cost is not proved: {proof}")
        return proof

    def _share(self, cost: Any) -> Any:
        return cost / (self.problem.unit * self.problem.scale) / (self.problem.truth or 1.0)
