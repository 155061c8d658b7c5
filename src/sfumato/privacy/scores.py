"""Scores: public functions of private counts, each with the proof of how far one person can move it.

A score lives here, behind the door, because it sees exact counts. A synthesizer names one in its plan and gets it
with noise.

**Dependence** of a pair (a, b): f(M) = ‖M − r·cᵀ/n‖₁ in records, where M is the pair's table of counts, r and c its
row and column sums, n its total (the InDif of PrivSyn, Zhang et al. 2021); 0 when M is empty. Adding mass t to one
cell (i, j) moves f by at most 4t: M itself moves by t, and the derivative of r·cᵀ/n is (e_i·cᵀ + r·e_jᵀ)/n − r·cᵀ/n²,
of L1 norm at most 1 + 1 + 1. A person under `records(C)` or `weight(C)` adds at most C in all, one cell after the
other, so f moves by at most 4C. Rounding f to the lattice moves each score by at most half a unit on either side, one
unit in all; floating-point error is smaller than half a unit below 2^30 records, so two units are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.bounds import UNIT, Bound
from sfumato.columns import Floats
from sfumato.errors import InputError
from sfumato.marginal import Counts, Marginal


class Score(Protocol):
    """A vector of numbers computed from bounded counts, with a proven sensitivity."""

    @property
    def marginals(self) -> tuple[Marginal, ...]:
        """The counts it needs."""
        ...

    def sensitivity(self, bound: Bound) -> float:
        """The most that one person changes any single score."""
        ...

    def values(self, counts: Sequence[Counts]) -> Floats:
        """The exact scores of these counts, in records, one for each: no score depends on another's counts."""
        ...


@dataclass(frozen=True)
class Dependence:
    """How far pairs of columns are from independence, in records."""

    pairs: tuple[Marginal, ...]

    def __post_init__(self) -> None:
        if bad := [p for p in self.pairs if len(p.axes) != 2]:
            raise InputError(f"dependence is a score of two columns, not of {bad[0]}")

    def __str__(self) -> str:
        return f"dependence of {len(self.pairs)} pairs"

    @property
    def marginals(self) -> tuple[Marginal, ...]:
        """The pairs."""
        return self.pairs

    def sensitivity(self, bound: Bound) -> float:
        """4C, and the rounding."""
        if not math.isfinite(bound.l1):
            raise InputError(f"the bound {bound} does not cap the sum of a person's counts, which dependence needs")
        return 4 * bound.l1 + 2 / UNIT

    def values(self, counts: Sequence[Counts]) -> Floats:
        """The L1 distance between each table and the product of its sums."""
        return np.array([self._gap(c.values.astype(float)) for c in counts])

    @staticmethod
    def _gap(m: Floats) -> float:
        n = m.sum()
        return float(np.abs(m - np.outer(m.sum(1), m.sum(0)) / n).sum()) if n > 0 else 0.0
