"""DPSyn: noisy marginals of the columns that depend on each other, and records that have them.

The method is PrivSyn (Zhang et al., USENIX Security 2021), which won places in all sprints of the challenge as DPSyn.

**Unit.** One person with all their records, added or removed.
**Bound.** `records(C)` or `weight(C)`, enforced in the engine on the counted cells; `records(2)` unless given. Where it
keeps less than the schema allows a person, one more question counts all records under the schema's own limit L, for
the size of the result alone.
**Questions**, all with Gaussian noise, their parts of μ² in brackets:
 1. every column by itself [a tenth, in equal parts]: one person moves each by at most C in L2;
 2. the dependence of every pair of columns [a tenth]: k scores, each moved by at most 4C (`privacy.scores`), together
    by 4C·√k;
 3. marginals that the answers to 1 and 2 choose [eight tenths], weighted by their cells to the power 2/3: moved by C
    together, whichever they are (`privacy.plan.Chosen`);
 4. the number of records [a twentieth of all, before the others]: moved by L.
**Composition.** Each question is Δ/σ-Gaussian DP, and they compose adaptively to μ = √Σμᵢ², which is calibrated to
(ε, δ) exactly. What is asked in 3 depends on noisy answers alone, what it costs on nothing.
**The rest is post-processing** of the noisy answers: filter, selection, combining, consistency, records, decoding. Its
random choices come from a generator seeded by a hash of the answers, so that it has no secrets of its own.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.bounds import Bound, records
from sfumato.columns import Floats
from sfumato.errors import InputError
from sfumato.marginal import Axis, Marginal
from sfumato.models.base import Model
from sfumato.models.histogram import HistogramModel
from sfumato.models.records import RecordsModel, smallest
from sfumato.privacy.budget import Budget
from sfumato.privacy.plan import Chosen, Histogram, Linear, Part, Plan, Question, Scores
from sfumato.privacy.provenance import Provenance
from sfumato.privacy.scores import Dependence
from sfumato.privacy.vault import Answers, Vault
from sfumato.schema import Schema
from sfumato.synthesizers.privsyn.combining import Axes, combined, few_cells
from sfumato.synthesizers.privsyn.consistency import Measured, consistent
from sfumato.synthesizers.privsyn.kept import Kept
from sfumato.synthesizers.privsyn.selection import greedy, weights

ONES, PAIRS, REST, TOTAL = 0.1, 0.1, 0.8, 0.05
PAIR_CELLS = 2**22  # of a marginal that is counted: 32 MiB; wider pairs are not measured
MEASURED_CELLS = 2**25  # of all selected pairs together: half a GiB while they are made to agree
JOINT_CELLS = 2**21  # of all columns together, up to which the whole table is fitted


@dataclass(frozen=True)
class DPSyn:
    """Marginals chosen by their dependence; few columns as a fitted table, more as records by gradual update.

    `marginal` names the columns to keep, each at a level (all unless given); `iterations` is the number of rounds of
    gradual update; `joint_cells` the size of a table of all columns up to which it is fitted instead; `keep` the most
    records that a model holds, which stand for more where the total is larger.

    >>> import pyarrow as pa
    >>> import sfumato as sf
    >>> schema = sf.Schema(columns=(sf.Person(name="who"), sf.Category(name="a", values=(1, 2)),
    ...                             sf.Category(name="b", values=("x", "y"))))
    >>> data = pa.table({"who": range(900), "a": [1, 2, 2] * 300, "b": ["x", "y", "y"] * 300})
    >>> vault = sf.Vault.open(data, schema, sf.Budget(100.0, 1e-6), ledger=":memory:")
    >>> sf.DPSyn(bound=sf.records(1)).fit(vault).to_table(records=60).num_columns
    2
    """

    bound: Bound | None = None
    marginal: tuple[str, ...] | None = None
    iterations: int = 30
    joint_cells: int = JOINT_CELLS
    keep: int = 5_000_000

    def __post_init__(self) -> None:
        if not 0 <= self.iterations <= 10_000:
            raise InputError(f"iterations is {self.iterations}; give a whole number from 0 to 10,000")
        if not 0 <= self.joint_cells <= 2**25:
            raise InputError(f"joint_cells is {self.joint_cells}; give a whole number from 0 to {2**25:,}")
        if not 1 <= self.keep <= 2**30:
            raise InputError(f"keep is {self.keep}; give a whole number from 1 to {2**30:,}")

    def plan(self, schema: Schema, budget: Budget) -> Plan:
        """Columns, dependence of pairs, chosen marginals, and the total where persons are cut short."""
        marginal, bound = self._columns(schema), self._bound(schema)
        ones = [Histogram(_one(a), Marginal((a,)), bound, share=ONES / len(marginal.axes)) for a in marginal.axes]
        questions: list[Question] = [*ones]
        if pairs := self._pairs(schema):
            scores = Dependence(tuple(Marginal(tuple(marginal.axes[i] for i in pair)) for pair in pairs))
            questions.append(Scores("dependence", scores, bound, share=PAIRS))
            questions.append(Chosen("marginals", marginal.columns, bound, share=REST))
        limit = schema.max_records_per_person
        if schema.person is not None and limit is not None and limit > bound.limit:
            share = sum(q.share for q in questions) * TOTAL / (1 - TOTAL)
            questions.append(Linear("total", self._fewest(schema), records(limit), share=share))
        return Plan("dpsyn", tuple(questions))

    def _columns(self, schema: Schema) -> Marginal:
        return Marginal.of(*(self.marginal or schema.names))

    def _fewest(self, schema: Schema) -> Marginal:
        """The column with the fewest bins, which is counted for the total."""
        return Marginal((min(self._columns(schema).axes, key=lambda a: schema[a.column].size(a.level)),))

    def _bound(self, schema: Schema) -> Bound:
        """The bound given, or records(2), or less where nobody has two."""
        if self.bound is not None:
            return self.bound
        if schema.person is None:
            return records(1)
        return records(min(2, schema.max_records_per_person or 2))

    def _pairs(self, schema: Schema) -> list[Axes]:
        """The pairs of columns, by number, that are not too large to count."""
        sizes = self._columns(schema).shape(schema)
        return [p for p in itertools.combinations(range(len(sizes)), 2) if sizes[p[0]] * sizes[p[1]] <= PAIR_CELLS]

    def fit(self, vault: Vault, public: Any = None) -> Model:
        """The model of what was measured; public data is of no use to it."""
        schema, marginal = vault.schema, self._columns(vault.schema)
        answers = vault.ask(self)
        ones = [answers[_one(a)] for a in marginal.axes]
        kept = [Kept.of(noisy.values, noisy.level) for noisy in ones]
        tables = [
            Measured((i,), k.merged(noisy.values), noisy.level**-2)
            for i, (k, noisy) in enumerate(zip(kept, ones, strict=True))
        ]
        tables += self._measured(answers, schema, kept)
        tables = consistent(tables)
        total = self._total(answers, schema, tables)
        rng = _generator([*(noisy.values for noisy in ones), *(t.values for t in tables), np.array([float(total)])])
        return self._model(schema, answers.provenance, kept, tables, total, rng)

    def _measured(self, answers: Answers, schema: Schema, kept: Sequence[Kept]) -> list[Measured]:
        """The marginals that pay off, with noise; bins that are lost in noise are merged before they are counted."""
        pairs = self._pairs(schema)
        if not pairs:
            return []
        axes, whole = self._columns(schema).axes, list(self._columns(schema).shape(schema))
        sizes = [k.size for k in kept]
        cells = np.array([sizes[a] * sizes[b] for a, b in pairs])
        sigma = answers.level("marginals")
        order = greedy(answers["dependence"].values, cells, sigma)
        chosen = [pairs[i] for i, upto in zip(order, np.cumsum(cells[order]), strict=True) if upto <= MEASURED_CELLS]
        cliques = combined(chosen, few_cells(sizes, whole, PAIR_CELLS))
        alone = [(i,) for i in range(len(axes)) if not any(i in clique for clique in cliques)]
        found = [*cliques, *alone]
        weight = weights(np.array([math.prod(sizes[a] for a in clique) for clique in found]))
        parts = [
            Part(Marginal(tuple(axes[a] for a in clique)), float(w), tuple(kept[a].groups for a in clique))
            for clique, w in zip(found, weight, strict=True)
        ]
        noisy = answers.chosen("marginals", parts)
        return [Measured(clique, n.values, n.level**-2) for clique, n in zip(found, noisy, strict=True)]

    def _total(self, answers: Answers, schema: Schema, tables: Sequence[Measured]) -> int:
        """How many records there are: of all, or of those that the bound keeps."""
        count = float(tables[0].values.sum())
        if "total" in answers:
            count = float(answers.linear("total", np.ones((1, self._fewest(schema).size(schema)))).values[0])
        return max(0, round(count))

    def _model(
        self,
        schema: Schema,
        provenance: Provenance,
        kept: Sequence[Kept],
        tables: Sequence[Measured],
        total: int,
        rng: np.random.Generator,
    ) -> Model:
        """A fitted table where all columns together are small, records otherwise."""
        from sfumato.synthesizers.privsyn.synthesis import records as synthesised

        marginal = self._columns(schema)
        if marginal.size(schema) <= self.joint_cells:
            return HistogramModel(schema, provenance, marginal, _table(kept, tables, total, rng))
        made = synthesised(min(total, self.keep), tables, self.iterations, rng)
        codes = np.empty((len(kept), min(total, self.keep)), smallest(marginal.shape(schema)))
        for i, k in enumerate(kept):
            codes[i] = k.expanded(made.pop(i), rng)
        return RecordsModel(schema, provenance, marginal, codes, total)


def _one(axis: Axis) -> str:
    return f"column {axis}"


def _table(kept: Sequence[Kept], tables: Sequence[Measured], total: int, rng: np.random.Generator) -> Any:
    """The fitted table in whole counts, merged bins split again."""
    from sfumato.synthesizers.privsyn.fitting import fitted
    from sfumato.synthesizers.privsyn.rounding import adding_to, whole
    from sfumato.synthesizers.privsyn.synthesis import widest

    measured = widest(tables)
    joint: Floats = fitted([k.size for k in kept], measured)
    for axis, k in enumerate(kept):
        joint = np.moveaxis(np.tensordot(joint, k.split(), axes=(axis, 0)), -1, axis)
    have = float(joint.sum())
    joint = joint * (total / have) if have > 0 else np.full(joint.shape, total / joint.size)
    return adding_to(total, whole(joint, [t.axes for t in measured], rng), rng)


def _generator(answers: Sequence[Floats]) -> np.random.Generator:
    """A generator that depends on the noisy answers and on nothing else."""
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in answers)).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
