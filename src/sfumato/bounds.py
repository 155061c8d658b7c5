"""What one person may contribute: the rules. `sfumato.bounded` enforces them in the engine.

Neighbouring tables differ by all records of one person (add or remove). A person's part of a question is a vector
with a number for each cell; a bound caps that vector, so that leaving the person out changes the answer by no more:

- `records(C)` keeps at most C records of a person, chosen at random: at most C in L1 and in L2.
- `weight(C)` gives each of a person's R records the weight min(1, C/R): at most C in L1 and in L2.
- `l2(C)` scales a person's vector to Euclidean norm at most C: at most C in L2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, overload

from sfumato.errors import InputError

UNIT = 2**16
"""Lattice units in a record where contributions are fractions of one."""


@dataclass(frozen=True)
class Bound:
    """A rule that caps what one person adds to the cells of a question."""

    rule: Literal["records", "weight", "l2"]
    limit: float

    def __post_init__(self) -> None:
        if self.rule not in ("records", "weight", "l2"):
            raise InputError(f"the bound {self.rule!r} is unknown; take records, weight or l2")
        if not (math.isfinite(self.limit) and 0 < self.limit <= 2**20):
            raise InputError(f"the bound {self.rule}({self.limit}) needs a limit above 0 and up to {2**20:,}")
        if self.rule == "records" and self.limit != int(self.limit):
            raise InputError(f"the bound records({self.limit}) needs a whole number")

    def __str__(self) -> str:
        return f"{self.rule}({self.limit:g})"

    @classmethod
    def parse(cls, text: str) -> Bound:
        """The bound written as `records(20)` or `records:20`.

        >>> Bound.parse("weight(150)") == Bound.parse("weight:150") == weight(150)
        True
        """
        rule, _, limit = text.replace("(", ":").rstrip(")").partition(":")
        try:
            return cls(rule.strip(), float(limit))  # type: ignore[arg-type]
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{text!r} is no bound; write records(20), weight(150) or l2(25)") from None

    @property
    def unit(self) -> int:
        """How many steps of the lattice make one record."""
        return 1 if self.rule == "records" else UNIT

    @property
    def l2(self) -> float:
        """The most that one person changes the counts, in Euclidean norm."""
        return self.limit

    @property
    def l1(self) -> float:
        """The most that one person changes the counts, in the sum of absolute values."""
        return self.limit if self.rule != "l2" else math.inf


@dataclass(frozen=True)
class QuantileBound:
    """The rule `l2`, with a limit for each question: this quantile of how long persons' answers are."""

    quantile: float = 0.99

    def __post_init__(self) -> None:
        if not 0 < self.quantile <= 1:
            raise InputError(f"the bound l2(quantile={self.quantile}) needs a quantile above 0 and up to 1")

    def __str__(self) -> str:
        return f"l2(quantile={self.quantile:g})"

    @classmethod
    def parse(cls, text: str) -> QuantileBound:
        """The bound written as `l2(quantile=0.99)`.

        >>> QuantileBound.parse("l2:quantile=0.9")
        QuantileBound(quantile=0.9)
        """
        rule, _, quantile = text.replace("(", ":").rstrip(")").partition(":")
        name, _, number = quantile.partition("=")
        try:
            if (rule.strip(), name.strip()) == ("l2", "quantile"):
                return cls(float(number))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
        raise InputError(f"{text!r} is no bound; write l2(quantile=0.99)")


def records(limit: int) -> Bound:
    """The bound that keeps at most `limit` records of each person, chosen at random."""
    return Bound("records", limit)


def weight(limit: float) -> Bound:
    """The bound that gives each of a person's R records the weight min(1, limit/R)."""
    return Bound("weight", limit)


@overload
def l2(limit: float) -> Bound: ...


@overload
def l2(*, quantile: float) -> QuantileBound: ...


def l2(limit: float | None = None, *, quantile: float | None = None) -> Bound | QuantileBound:
    """The bound that scales each person's part of a question to Euclidean norm at most `limit`.

    With `quantile` in its place each question has its own limit: the norm that so many persons stay below.

    >>> print(l2(25), l2(quantile=0.99))
    l2(25) l2(quantile=0.99)
    """
    if (limit is None) == (quantile is None):
        raise InputError("l2 takes a limit or a quantile: l2(25), l2(quantile=0.99)")
    return QuantileBound(quantile) if quantile is not None else Bound("l2", limit)  # type: ignore[arg-type]
