"""What a synthesizer is: a frozen set of settings that names its questions, and fits a model from their answers."""

from __future__ import annotations

from typing import Any, Protocol

from sfumato.bounds import Bound, records
from sfumato.errors import InputError
from sfumato.models.base import Model
from sfumato.privacy.budget import Budget
from sfumato.privacy.plan import Plan
from sfumato.privacy.vault import Vault
from sfumato.schema import Schema


class Synthesizer(Protocol):
    """A method that learns from a vault."""

    def plan(self, schema: Schema, budget: Budget) -> Plan:
        """Every noisy question it may ask, and its share; no data is touched."""
        ...

    def fit(self, vault: Vault, public: Any = None) -> Model:
        """The model it learned; `public` is a table that anyone may see (`sfumato.public.Public.open`), or None."""
        ...


def own_limit(schema: Schema) -> Bound:
    """The schema's own limit on a person's records; one where every record is its own person."""
    if schema.person is None:
        return records(1)
    if schema.max_records_per_person is None:
        raise InputError(
            "the schema does not say how many records one person may have; add max_records_per_person to it, "
            "or give a bound (--bound records:20, or bound=sf.records(20) in Python)"
        )
    return records(schema.max_records_per_person)
