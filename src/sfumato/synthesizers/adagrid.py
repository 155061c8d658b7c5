"""The Adaptive Granularity Mechanism with Private-PGM: second place of the challenge's third sprint, and beyond it.

Marginals of growing size are measured in rounds. A cell whose parts were all plausible in the round before is asked
alone; the others are asked through the coarser queries of the round before (`sfumato.grid`). One distribution that
agrees with all answers is fitted (`sfumato.estimation`), and records are drawn from it. (McKenna et al., the Minutemen
team's "adaptive grid".)

**Unit.** One person with all their records, added or removed.
**Bound.** Two rules, enforced in the engine. `l2(quantile=q)`: each person's answer vector to each question, its fine
and its coarse rows alike, is scaled to Euclidean norm at most C_m. `weight(C)`: each of a person's R records counts
min(1, C/R), so the person's cells sum to at most C in every marginal.
**Sensitivity.** Under `l2`, C_m, by the scaling. Under `weight`, C: a person's cells x have ‖x‖₁ ≤ C and the columns of
the query Q have Euclidean norm at most 1 (`sfumato.grid`; the vault checks it), so ‖Qx‖₂ ≤ Σ xᵢ·‖Qᵢ‖₂ ≤ C.
**The limits C_m** are the q-quantiles of the norms of public persons' answers to the same question, where public data
is given. Otherwise they are read off a noisy histogram of the private persons' norms, in the plan as a question of its
own: each person is in one bin, so its sensitivity is 1. Either way C_m is known, and is no function of the private
table but through noisy answers, before the question it limits is asked.
**Noise.** Normal, rounded to the lattice, with σ_m = C_m/μ_m (σ_m = C/μ_m under `weight`) on every row; μ_m follows
from the plan and the budget alone.
**Composition.** Which cells are fine, and C_m, depend on earlier answers. Given these, the answer to question m is a
Gaussian mechanism of sensitivity C_m with noise C_m/μ_m, that is μ_m-Gaussian DP, whatever the earlier answers were. So
the adaptive composition of all is √(Σμ_m²)-Gaussian DP (Dong, Roth & Su 2022, theorem 4; of the histograms too), and
the plan spends exactly the μ that (ε, δ) allows: δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ). k questions of equal share under
`weight(C)` get σ = C·√k/μ: 4290.24 at ε = 1, C = 150 and 784.12 at ε = 10, C = 200, with δ = 2.5e-5 and the challenge's
66 questions. A marginal that is measured n times over is one question with n shares: noise σ/√n instead of n answers.
The names, shares and kinds of all questions are fixed before any data is read.
**Free.** The fit, its early stop, sampling, decoding, and the persons of synthetic records (matched to public persons,
or of sizes drawn from a noisy histogram of records per person, sensitivity 1, in the plan) are post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfumato.bounds import Bound, QuantileBound
from sfumato.errors import InputError
from sfumato.estimation import Estimator, Measured, Problem
from sfumato.grid import Columns, Grid, Mask
from sfumato.marginal import Marginal
from sfumato.models.graphical import GraphicalModel
from sfumato.privacy.budget import Budget
from sfumato.privacy.plan import ByRecords, Gridded, Norms, Persons, Plan, Question
from sfumato.privacy.vault import Answers, Noisy, Vault
from sfumato.schema import Schema
from sfumato.synthesizers.people import MOST, public_people, public_pools, sizes_of, starts
from sfumato.synthesizers.selection import TAXI, TAXI_COPIES, Selection, canonical, select

BASE, PER_CELL = 500, 150  # MiB, and bytes a cell, of memory while a model is fitted
LEAST = 0.5  # of a limit: a person whose only record is asked coarsely has norms below 1
NORMS, SIZES = 0.05, 0.01  # parts of the budget, where public data does not tell


@dataclass(frozen=True)
class AdaGrid:
    """Marginals of adaptive granularity, and a graphical model that agrees with them.

    `marginals` are the outermost ones; everything below them is measured too. `copies` counts a marginal several times
    over (`{"a,b": 8}`). `threshold` is how many σ make a cell plausible. `public` says that public data will be given,
    which makes limits and persons free.

    >>> from sfumato.bounds import weight
    >>> from sfumato.simulate import taxi
    >>> plan = AdaGrid(bound=weight(150), public=True).plan(taxi().schema, Budget(1, 2.5e-5))
    >>> [(p.question.name, round(p.level, 2)) for p in plan.priced(Budget(1, 2.5e-5))][-1]
    ('shift × pickup_community_area × trip_total × trip_seconds', 4290.24)
    """

    marginals: tuple[tuple[str, ...], ...] | None = None
    copies: Mapping[str, int] | None = None
    threshold: float = 5.0
    bound: Bound | QuantileBound = field(default_factory=QuantileBound)
    estimator: Estimator = field(default_factory=Estimator)
    persons: bool = True
    public: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1e6:
            raise InputError(f"threshold is {self.threshold}; give a number of deviations from 0 on")
        if any(not 1 <= n <= 1000 for n in (self.copies or {}).values()):
            raise InputError("copies are whole numbers from 1 to 1000")

    # ------------------------------------------------------------------ what is asked

    def informed(self, schema: Schema, public: Any) -> AdaGrid:
        """The settings with what public data has to say: which marginals, and that limits and persons are free."""
        if public is None:
            return replace(self, public=False)
        return replace(self, marginals=select(schema, self.marginals, public).outer, public=True)

    def plan(self, schema: Schema, budget: Budget) -> Plan:
        """A question for each marginal in or below the outermost ones, and what public data would save."""
        selection = select(schema, self.marginals)
        bound = self.bound if isinstance(self.bound, Bound) else None
        if bound is None and schema.person is None:
            bound = Bound("records", 1)  # a record alone: its answers are never longer than 1
        shares = self._shares(schema, selection)
        total = sum(shares.values())
        asked: list[Question] = []
        if self.persons and not self.public and schema.person is not None:
            asked.append(Persons("sizes", ByRecords(starts(schema)), share=SIZES * total))
        for columns, share in shares.items():
            name, marginal = " × ".join(columns), Marginal.of(*columns)
            if bound is None and not self.public:
                asked.append(Norms(f"norms of {name}", marginal, norm_edges(schema), share=NORMS * total / len(shares)))
            asked.append(Gridded(name, marginal, bound, share=share))
        memory = BASE + PER_CELL * selection.cells // 2**20
        size = f"the model has {selection.cells:,} cells; fitting it takes about {memory:,} MiB"
        return Plan("adagrid", tuple(asked), (*selection.notes, size))

    def _shares(self, schema: Schema, selection: Selection) -> dict[Columns, float]:
        """How many times each marginal counts."""
        copies = {canonical(schema, key.split(",")): n for key, n in (self.copies or {}).items()}
        if self.copies is None and set(selection.outer) == {canonical(schema, o) for o in TAXI if o[0] in schema}:
            copies = {canonical(schema, columns): n for columns, n in TAXI_COPIES.items()}
        sets = selection.closure()
        if lost := [c for c in copies if c not in sets]:
            raise InputError(f"copies names {' × '.join(lost[0])}, which is in no marginal that is measured")
        return {columns: float(copies.get(columns, 1)) for columns in sets}

    # ------------------------------------------------------------------ what is learned

    def fit(self, vault: Vault, public: Any = None) -> GraphicalModel:
        """The model of the vault's answers; `public` (a table that anyone may see) gives limits, persons and values."""
        from sfumato.public import Public

        schema = vault.schema
        known = None if public is None else Public.open(public, schema)
        settings = self.informed(schema, known)
        plan = settings.plan(schema, vault.budget)
        selection = select(schema, settings.marginals)
        answers = vault.ask(plan)
        problem = Problem(settings.measured(answers, plan, known))
        fit = self.estimator.fit(problem, schema.names)
        people = None
        if self.persons and schema.person is not None:
            people = sizes_of(answers["sizes"], schema) if known is None else public_people(known, selection.anchors)
        return GraphicalModel(
            schema, answers.provenance, fit.cliques, fit.parents, fit.marginals, fit.total, people,
            () if known is None else public_pools(known, fit.cliques),
        )  # fmt: skip

    def measured(self, answers: Answers, plan: Plan, public: Any) -> list[Measured]:
        """All questions asked, those of one size in one round."""
        asked = [q for q in plan if isinstance(q, Gridded)]
        fine: dict[Columns, Mask] = {}
        plausible: dict[Columns, Mask] = {}
        out: list[Measured] = []
        for size in sorted({len(q.marginal.columns) for q in asked}):
            these = {q.name: q for q in asked if len(q.marginal.columns) == size}
            for q in these.values():
                fine[q.marginal.columns] = _fine(q.marginal.columns, answers.schema, plausible)
            grids = {n: Grid(q.marginal, _below(fine, q.marginal.columns)) for n, q in these.items()}
            limits = self._limits(answers, grids, public) if self._open(asked) else None
            for name, noisy in answers.grids(grids, limits).items():
                grid = grids[name]
                out.append(Measured(grid, noisy.values, noisy.level))
                found = grid.spread(noisy.values)[0]
                plausible[grid.marginal.columns] = found >= self.threshold * noisy.level
        return out

    @staticmethod
    def _open(asked: list[Gridded]) -> bool:
        return any(q.bound is None for q in asked)

    def _limits(self, answers: Answers, grids: Mapping[str, Grid], public: Any) -> dict[str, float]:
        """The C of each question of a round."""
        assert isinstance(self.bound, QuantileBound)
        if public is not None:
            norms = public.norms(list(grids.values()))
            found = [float(np.quantile(n[n > 0], self.bound.quantile)) if (n > 0).any() else 1.0 for n in norms]
            return {name: max(c, LEAST) for name, c in zip(grids, found, strict=True)}
        noisy = answers.norms({f"norms of {name}": grid for name, grid in grids.items()})
        every = list(noisy.values())
        pooled = replace(every[0], values=np.sum([n.values for n in every], axis=0))
        quantile = self.bound.quantile
        return {name: noisy_quantile(n if clear(n) else pooled, quantile) for name, n in zip(grids, every, strict=True)}


def norm_edges(schema: Schema) -> tuple[float, ...]:
    """Edges of norms, a fifth apart, up to as many records as a person may have."""
    most = schema.max_records_per_person or MOST
    return tuple(LEAST * 2 ** (i / 4) for i in range(math.ceil(4 * math.log2(most / LEAST)) + 1))


def clear(noisy: Noisy) -> bool:
    """Whether a histogram's persons stand out of its noise; where they do not, those of a round are taken together."""
    return bool(noisy.level * math.sqrt(len(noisy.values)) <= 0.1 * noisy.values.sum())


def noisy_quantile(noisy: Noisy, quantile: float) -> float:
    """The least edge of a noisy histogram of norms above which no more persons are than the quantile leaves."""
    assert isinstance(noisy.question, Norms)
    edges = noisy.question.edges
    above = np.cumsum(noisy.values[::-1])[::-1][1:]
    few = np.flatnonzero(above <= (1 - quantile) * max(float(noisy.values.sum()), 0.0))
    return edges[few[0]] if len(few) else edges[-1]


def _below(fine: Mapping[Columns, Mask], columns: Columns) -> dict[Columns, Mask]:
    return {c: mask for c, mask in fine.items() if set(c) <= set(columns)}


def _fine(columns: Columns, schema: Schema, plausible: Mapping[Columns, Mask]) -> Mask:
    """The cells all of whose parts were plausible in the round before; all cells of a column alone."""
    out = np.ones([schema[c].size() for c in columns], bool)
    for axis in range(len(columns)):
        child = columns[:axis] + columns[axis + 1 :]
        if child in plausible:
            out &= np.expand_dims(plausible[child], axis)
    return out
