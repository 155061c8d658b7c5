"""NMD-Privatizer: the Laplace histogram of neighbourhood × month × type, first of the challenge's baselines.

One marginal is counted, every cell gets Laplace noise, negative counts become zero.

**Unit.** One person with all their records, added or removed.
**Bound.** `records(C)`: at most C records of each person are counted, chosen at random, enforced in the engine on the
counted cells. C is the schema's `max_records_per_person` (20 in the challenge's first sprint) unless given.
**Sensitivity.** A person's part of the table has non-negative whole numbers that sum to at most C, so adding or
removing the person changes the counts by at most C in L1.
**Noise.** The discrete Laplace law of scale C/ε, independently on *every* cell, the empty ones too: for tables t, t'
that differ by a person, P(t + Z = y) / P(t' + Z = y) ≤ exp(‖t − t'‖₁·ε/C) ≤ e^ε.
**Composition.** One question takes the whole ε; δ is not used. Negatives to zero, sampling and decoding are
post-processing.

Zeroing negatives adds about scale/2 to each empty cell, which swamps sparse tables at small ε: the published design
does so, and so does this one. That is what the other synthesizers are for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.bounds import Bound
from sfumato.errors import InputError
from sfumato.marginal import MAX_CELLS, Marginal
from sfumato.models.histogram import HistogramModel
from sfumato.privacy.budget import Budget
from sfumato.privacy.plan import Histogram, Plan
from sfumato.privacy.vault import Vault
from sfumato.schema import Schema
from sfumato.synthesizers.base import own_limit


@dataclass(frozen=True)
class NMD:
    """The Laplace histogram of one marginal: all columns of the schema, or those named in `marginal`.

    >>> from sfumato.bounds import records
    >>> NMD(marginal=("pickup", "shift@day"), bound=records(200))  # doctest: +ELLIPSIS
    NMD(marginal=('pickup', 'shift@day'), bound=Bound(rule='records', limit=200))
    """

    marginal: tuple[str, ...] | None = None
    bound: Bound | None = None

    def plan(self, schema: Schema, budget: Budget) -> Plan:
        """One histogram with Laplace noise, for the whole ε."""
        marginal = Marginal.of(*(self.marginal or schema.names))
        if marginal.size(schema) > MAX_CELLS and self.marginal is None:
            raise InputError(
                f"all {len(schema.names)} columns together have {marginal.size(schema):.3g} cells, too many for a "
                "histogram; name the columns that matter (--marginal area,month,type or NMD(marginal=…))"
            )
        question = Histogram("cells", marginal, self.bound or own_limit(schema), noise="laplace")
        return Plan("nmd", (question,))

    def fit(self, vault: Vault, public: Any = None) -> HistogramModel:
        """The model of noisy counts, negatives set to zero; public data is of no use to it."""
        answers = vault.ask(self)
        noisy = answers["cells"]
        assert isinstance(noisy.question, Histogram)
        counts = np.maximum(np.rint(noisy.values), 0).astype(np.int64)
        return HistogramModel(vault.schema, answers.provenance, noisy.question.marginal, counts)
