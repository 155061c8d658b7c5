"""Uniform: the contest's baseline, records drawn evenly from the schema; only how many there are is learned.

One number is asked for, how many records there are.

**Unit.** One person with all their records, added or removed.
**Bound.** `records(C)`: at most C records of each person are counted, chosen at random, enforced in the engine. C is
the schema's `max_records_per_person` unless given.
**Sensitivity.** A person moves the number by at most C.
**Noise.** The discrete Laplace law of scale C/ε on that number.
**Composition.** One question takes the whole ε; δ is not used. Drawing records evenly from the bins of a public schema
is post-processing.

What any method worth its noise has to beat. (The contest's own wrote 100 or 20,000 records and no numbers, without a
look at the data.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.bounds import Bound
from sfumato.marginal import Axis, Marginal
from sfumato.models.uniform import UniformModel
from sfumato.privacy.budget import Budget
from sfumato.privacy.plan import Histogram, Plan
from sfumato.privacy.vault import Vault
from sfumato.schema import Schema
from sfumato.synthesizers.base import own_limit


@dataclass(frozen=True)
class Uniform:
    """Records drawn evenly from the bins of every column, as many as a noisy count says.

    >>> from sfumato.bounds import records
    >>> Uniform(bound=records(200))
    Uniform(bound=Bound(rule='records', limit=200))
    """

    bound: Bound | None = None

    def plan(self, schema: Schema, budget: Budget) -> Plan:
        """One number with Laplace noise, for the whole ε."""
        everything = Marginal.of(Axis(schema.names[0], 0))
        return Plan("uniform", (Histogram("records", everything, self.bound or own_limit(schema), noise="laplace"),))

    def fit(self, vault: Vault, public: Any = None) -> UniformModel:
        """The model of the noisy number of records, not below zero; public data is of no use to it."""
        answers = vault.ask(self)
        return UniformModel(vault.schema, answers.provenance, max(0, round(float(answers["records"].values.sum()))))
