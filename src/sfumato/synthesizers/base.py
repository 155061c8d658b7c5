"""What a synthesizer is: a frozen set of settings that names its questions, and fits a model from their answers."""

from __future__ import annotations

from typing import Any, Protocol

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
