"""The approximate earth mover cost of a table of counts: what it takes to move, add and remove to make it the truth.

AEMC(P, Q) = 1/‖Q‖₁ · min over X of Σ X_ij·M_ij + α·Σ_j max(|Σ_i X_ij − Q_j| − Δ, 0), where X_ij ≥ 0 counts of bin i are
moved to bin j, Σ_j X_ij = P_i, M_ij is the sum of weight × semantic distance over the axes, and a bin may differ from
the truth by the tolerance Δ for free (Reynolds et al., the MGD design). It is found exactly, in the way that fits:

| axes of finite weight | how |
| --- | --- |
| none | a formula: what is beyond the tolerance |
| one, ordinal | dynamic programming over prices, chain by chain |
| one, categorical | the same over trees; a formula where there are no levels |
| otherwise | the primal-dual method, on the product of the axes' graphs |
| a matrix that is no metric | a linear program over all pairs of bins |

Costs are fractions with a common denominator (weights such as 1/3 are taken for what they mean), counts that are not
whole numbers are put on a lattice much finer than double precision needs; on these the result is exact, and
`certificate()` proves it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction

from sfumato.errors import InputError
from sfumato.metrics.aemc.axis import Axis
from sfumato.metrics.aemc.outcome import solution
from sfumato.metrics.aemc.problem import Counts, Problem, state
from sfumato.metrics.aemc.result import Aemc

_LONG = 1024  # bins of a chain beyond which its prices are too many
_LANES = 64


def aemc(
    synthetic: Counts,
    truth: Counts,
    axes: Sequence[Axis],
    tolerance: float = 0.0,
    alpha: float = 1.0,
    shape: Sequence[int] | None = None,
    jobs: int | None = None,
) -> Aemc:
    """The cost of turning synthetic counts into the true ones, and on request what it is made of.

    `synthetic` and `truth` are arrays with a dimension for each axis, or pairs (numbers of cells in row-major order,
    what they hold) with the `shape` of the table. `tolerance` is what a cell may differ by for free, `alpha` what
    adding or removing a count costs, `jobs` how many threads may work (all cores unless told).

    >>> line = [Axis.ordinal()]
    >>> found = aemc([10, 0, 0, 5, 7], [6, 3, 0, 5, 4], line)
    >>> round(found.value, 6), found.moved, found.added, found.removed
    (0.263889, 3.0, 0.0, 4.0)
    >>> flows = found.flows()
    >>> [(int(a), int(b), float(n)) for a, b, n in zip(flows.origin[:, 0], flows.destination[:, 0], flows.counts)]
    [(0, 1, 3.0)]
    """
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise InputError(f"jobs is the number of threads, 1 or more; got {jobs!r}")
    threads = jobs or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else jobs or os.cpu_count() or 1
    problem = state(synthetic, truth, axes, tolerance, alpha, shape)
    quick = _quick(problem)
    if quick is not None:
        return Aemc(quick / (problem.truth or 1.0), problem, threads)
    units, whole = solution(problem, threads)
    total = Fraction(units, problem.unit * problem.scale)
    return Aemc(float(total / Fraction(problem.truth or 1.0)), problem, threads, whole)


def _quick(problem: Problem) -> float | None:
    """The cost where a formula or a dynamic program gives it, in floating point; None elsewhere."""
    if not problem.axes:
        return problem.alpha * problem.beyond
    axis = problem.axes[0]
    if len(problem.axes) > 1 or axis.kind not in ("ordinal", "categorical") or axis.weight == 0 or problem.alpha == 0:
        return None
    from sfumato.metrics.aemc import chain, tree

    P, low, high = problem.P, problem.low, problem.high
    if axis.kind == "categorical" and not axis.levels and problem.alpha == 1 and axis.weight == 1:
        return float(tree.stars(P, low, high))
    steps = problem.steps[0]
    assert steps is not None
    step = float(steps.costs[0])
    if problem.alpha / step > _LONG:
        return None
    prices, near = chain.grid(step, problem.alpha)
    if axis.kind == "ordinal":
        return float(chain.chains(P, low, high, prices, near, _LANES))
    nodes = steps.size + steps.hubs
    return float(tree.trees(P, low, high, prices, near, steps.u, steps.v, nodes, steps.order))
