"""TaxiTrip-Synthesizer: kinds of persons from public data, and two private histograms of persons.

All that persons of a kind do is learned from a public table: archetypes (`sfumato.models.archetypes`). Private are two
questions: how many persons are of each archetype, and how many have each attribute (each company). Records are sampled
from the public laws in the private proportions. After the GooseDP team's design for the temporal map challenge's third
sprint, as its text has it; where text and published code differ, docs/methods.md says what is done here.

**Unit.** One person with all their records, added or removed.
**Bound.** A person is in exactly one bin of each histogram, or in none if they have no record that fits. For
`cluster="persons"` the bin is a function of the person's own number of records and mean coordinates; for "records" it
is the commonest of the archetypes of their records; the attribute is the commonest of theirs. What these rules compare
with (coordinates, mixture, labels of cells) was learned from the public table before, and ties are broken by the order
of the archetypes or a keyed hash of the person. So no other person's records, and no order of the rows, move a bin.
**Sensitivity.** One person changes one count of each histogram by one: L2 sensitivity 1 each, √2 for both together.
**Noise.** Normal draws rounded to whole persons, independently on every bin, the empty ones too; negative counts and
those below `least` deviations become zero afterwards.
**Composition.** Noise σ on a histogram of sensitivity 1 is (1/σ)-Gaussian DP, and both are √(1/σ₁² + 1/σ₂²)-Gaussian DP
together. This is exact: a release of both histograms as one vector, of sensitivity √2 and with one σ, is √2/σ-Gaussian
DP, so a joint release *is* two questions with equal shares of μ², and that is what is planned unless `split` says
otherwise. With `split` = s the archetypes are calibrated to (s·ε, s·δ) by themselves and the attribute to the rest, as
the design has it; by the exact formula ("analytic"), or by σ = √(2 ln(1.25/δ))/ε with ε cut at 0.999… ("classical", for
comparison, always split). Both hold by basic composition, so each σ is at least what the exact accounting of the plan
needs at these proportions of μ²; the plan keeps the larger σ (`Question.least`), and the ledger is charged what that
really costs, which is less than (ε, δ).
**After.** Sampling, completion and decoding read the noisy counts and public laws alone: post-processing.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from sfumato.columns import Floats
from sfumato.errors import InputError
from sfumato.marginal import Axis, Marginal
from sfumato.models.archetypes import Archetypes, Cluster
from sfumato.models.base import load_model
from sfumato.models.completion import steps
from sfumato.models.learning import COLUMNS, MOST, TRIPS, check_settings, learn
from sfumato.models.totals import Total
from sfumato.privacy.budget import Budget, gaussian_mu
from sfumato.privacy.plan import Awaited, ByLabel, ByMixture, ByValue, Persons, Plan
from sfumato.privacy.vault import Noisy, Vault
from sfumato.schema import Schema

SPLIT = 0.1  # the archetypes' part in the design
CLASSICAL = math.nextafter(1, 0)  # the classical formula holds below 1


@dataclass(frozen=True)
class TaxiTrip:
    """Archetypes from public records, weighted by private counts of persons.

    `archetypes` is their number, or a file that `sfumato archetypes learn` wrote; `columns` are those that records are
    drawn in, `attribute` what each person has one of (None for nothing), `completion` the table by which all other
    columns are filled (`sfumato.models.completion`), `total` a sum to keep ("trip_total = fare + tips"). `trips` is the
    number of records made, None for as many as the counts of persons say. `likeness` is the part of a person's records
    that follow one public person of the archetype and not the archetype as a whole, `linked` says whether that one has
    the attribute too. `seed` is that of the clustering, which is public.

    >>> from sfumato.simulate import taxi
    >>> budget = Budget(epsilon=10, delta=2.5e-5)
    >>> for asked in TaxiTrip(noise="classical").plan(taxi().schema, budget).priced(budget):
    ...     print(asked.question.name, round(asked.level, 2))
    archetypes 5.12
    company_id 4.67
    """

    archetypes: int | str = 10
    cluster: Cluster = "persons"
    columns: tuple[str, ...] = COLUMNS
    attribute: str | None = "company_id"
    split: float | None = None
    trips: int | None = TRIPS
    noise: Literal["analytic", "classical"] = "analytic"
    completion: tuple[str, ...] | None = None
    total: str | None = None
    most: int = MOST
    least: float = 2.0
    likeness: float = 1.0
    linked: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.noise not in ("analytic", "classical"):
            raise InputError(f"noise is 'analytic' or 'classical', not {self.noise!r}")
        if self.split is not None and not 0 < self.split < 1:
            raise InputError(f"split is {self.split}; give the archetypes' part of the budget, between 0 and 1")
        if self.split is not None and self.attribute is None:
            raise InputError("split shares the budget between archetypes and attribute, but there is no attribute")
        if self.trips is not None and not 0 <= self.trips < 2**53:
            raise InputError(f"trips is {self.trips}; give a number of records from 0 on")
        if not 0 <= self.least < math.inf:
            raise InputError(f"least is {self.least}; give the deviations of noise below which a count is dropped")
        if not 0 <= self.likeness <= 1:
            raise InputError(f"likeness is {self.likeness}; give a part of each person's records, from 0 to 1")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}; give one from 0 on")

    def plan(self, schema: Schema, budget: Budget) -> Plan:
        """Persons by archetype and persons by attribute; the archetypes are awaited unless a file has them."""
        if isinstance(self.archetypes, str):
            return self._plan(self._opened(self.archetypes, schema), schema, budget)
        self._check(schema, self.archetypes)
        return self._plan(self.archetypes, schema, budget)

    def fit(self, vault: Vault, public: Any = None) -> Archetypes:
        """The archetypes of `public` (a table, or archetypes learned before) with the vault's counts of persons."""
        found = self._learned(vault.schema, public)
        answers = vault.ask(self._plan(found, vault.schema, vault.budget))
        persons = self._cleaned(answers["archetypes"])
        attributes = np.full((len(found), 1), 1.0)
        if self.attribute:
            attributes = self._attributes(found, persons, self._cleaned(answers[self.attribute]))
        made = replace(found, provenance=answers.provenance, persons=persons, attributes=attributes, linked=self.linked)
        made = replace(made, likeness=self.likeness)
        return replace(made, trips=self._trips(made, float(persons.sum())))

    def learn(self, public: Any, schema: Schema) -> Archetypes:
        """The archetypes of a public table, with these settings."""
        if isinstance(self.archetypes, str):
            raise InputError(f"archetypes is {self.archetypes!r}; give how many there shall be")
        return learn(
            public, schema, columns=self.columns, attribute=self.attribute, archetypes=self.archetypes,
            cluster=self.cluster, completion=self.completion, total=self.total, most=self.most,
            trips=TRIPS if self.trips is None else self.trips, likeness=self.likeness, linked=self.linked,
            seed=self.seed,
        )  # fmt: skip

    def _check(self, schema: Schema, archetypes: int) -> None:
        check_settings(
            schema, self.columns, self.attribute, archetypes, self.cluster, self.most, self.total, self.completion
        )

    # ------------------------------------------------------------------ what is public

    def _learned(self, schema: Schema, public: Any) -> Archetypes:
        if isinstance(self.archetypes, str):
            if public is not None:
                raise InputError(f"the archetypes are those of {self.archetypes}; give no public data beside them")
            return self._opened(self.archetypes, schema)
        self._check(schema, self.archetypes)
        if isinstance(public, Archetypes):
            return self._fitting(
                public, schema, "the archetypes given", archetypes=self.archetypes, cluster=self.cluster
            )
        if public is None:
            raise InputError(
                "method taxitrip learns archetypes from public data; give a table that anyone may see (--public "
                "last_year.parquet), or archetypes learned before (--set archetypes=FILE)"
            )
        return self.learn(public, schema)

    def _opened(self, path: str | os.PathLike[str], schema: Schema) -> Archetypes:
        """The archetypes of a file; their number, how they were clustered and completed is theirs to say."""
        model = load_model(path)
        if not isinstance(model, Archetypes):
            raise InputError(f"{path} holds no archetypes; make it with sfumato archetypes learn")
        return self._fitting(model, schema, str(path))

    def _fitting(self, found: Archetypes, schema: Schema, where: str, **more: object) -> Archetypes:
        """The archetypes, if they are of this schema and of these settings."""
        if found.schema != schema:
            raise InputError(f"{where}: learned by another schema than this one; learn them by this schema")
        here: dict[str, object] = {
            "archetypes": len(found),
            "cluster": found.cluster,
            "columns": found.columns,
            "attribute": found.attribute,
        }
        asked = {"columns": self.columns, "attribute": self.attribute, **more}
        if self.completion is not None:
            here["completion"] = tuple(str(drawn.step) for drawn in found.completion.drawn)
            asked["completion"] = tuple(map(str, steps(schema, self.columns, self.attribute, self.completion)))
        if self.total is not None:
            here["total"], asked["total"] = found.total, Total.parse(self.total)
        if self.likeness and not len(found.lives):
            raise InputError(f"{where}: learned without persons to be like; learn them anew, or set likeness to 0")
        for name, wanted in asked.items():
            if here[name] != wanted:
                raise InputError(
                    f"{where}: learned with {name} {here[name]!r}, asked for is {wanted!r}; make them the same"
                )
        return found

    # ------------------------------------------------------------------ what is asked

    def _plan(self, found: Archetypes | int, schema: Schema, budget: Budget) -> Plan:
        kinds = Persons("archetypes", _rule(found, Marginal.of(*self.columns)))
        if self.attribute is None:
            return Plan("taxitrip", (replace(kinds, least=self._level(budget)),))
        firms = Persons(self.attribute, ByValue(Axis(self.attribute)))
        if self.split is None and self.noise == "analytic":
            return Plan("taxitrip", (kinds, firms))  # equal shares: one joint release
        part = SPLIT if self.split is None else self.split
        levels = [self._level(Budget(p * budget.epsilon, p * budget.delta)) for p in (part, 1 - part)]
        asked = zip((kinds, firms), levels, strict=True)
        return Plan("taxitrip", tuple(replace(q, share=level**-2, least=level) for q, level in asked))

    def _level(self, budget: Budget) -> float:
        """The σ of a histogram that keeps this part of the budget by itself."""
        if self.noise == "analytic":
            return 1 / gaussian_mu(budget.epsilon, budget.delta)
        if not budget.delta > 0:
            raise InputError(f"Gaussian noise needs a delta above 0, for example 1e-6, not {budget.delta}")
        return math.sqrt(2 * math.log(1.25 / budget.delta)) / min(budget.epsilon, CLASSICAL)

    # ------------------------------------------------------------------ what is made of the answers

    def _cleaned(self, noisy: Noisy) -> Floats:
        """Counts without those that noise alone may have made; all of them where nothing would be left."""
        counts = np.where(noisy.values < self.least * noisy.level, 0.0, np.maximum(noisy.values, 0.0))
        return np.asarray(counts if counts.any() else np.maximum(noisy.values, 0.0))

    def _attributes(self, found: Archetypes, persons: Floats, counts: Floats) -> Floats:
        """How many persons of each archetype have each attribute: in the private proportions, whatever the archetype,
        or as the public table links the two.
        """
        if not counts.any():
            counts = found.attributes.sum(axis=0)
        if not (self.linked and counts.any()):
            return np.tile(counts, (len(found), 1))
        return _raked(found.attributes, np.where(persons.any(), persons, found.persons), counts)

    def _trips(self, made: Archetypes, persons: float) -> int:
        if self.trips is not None:
            return self.trips
        return round(persons * float(np.dot(made.shares(), made.mean_sizes())))


def _rule(found: Archetypes | int, marginal: Marginal) -> Awaited | ByLabel | ByMixture:
    """The public rule that says of which archetype a person is."""
    if isinstance(found, int):
        return Awaited("archetype", found, marginal)
    if found.cluster == "records":
        return ByLabel("most frequent archetype of their records", marginal, found.predict_cells())
    mixture = found.mixture
    return ByMixture("archetype", marginal, found.embedding.tables, mixture.bias, mixture.shift, mixture.slope)


def _raked(start: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table nearest to a start (Kullback–Leibler) with these proportions of rows and columns.

    What the start leaves empty keeps a little, for a column of it may be empty altogether.
    """
    rows, columns = rows / max(rows.sum(), 1e-300), columns / columns.sum()
    share = start.sum(axis=1, keepdims=True) / max(start.sum(), 1.0)
    table = start + 1e-3 * start.sum() * share * columns + 1e-12
    for _ in range(200):
        table *= (rows / np.maximum(table.sum(axis=1), 1e-300))[:, None]
        table *= columns / np.maximum(table.sum(axis=0), 1e-300)
    return np.asarray(table)
