"""The promise in words, against arithmetic."""

from __future__ import annotations

import math

import pytest

from sfumato.privacy.budget import Budget
from sfumato.privacy.ledger import Account
from sfumato.privacy.provenance import Provenance
from sfumato.report import words


def made(epsilon: float, delta: float = 0.0, unit: str = "taxi_id") -> Provenance:
    """How a release came about."""
    return Provenance("nmd", epsilon, delta, unit, True, "city/2")


@pytest.mark.parametrize(
    ("epsilon", "factor", "sure"), [(1, "2.72", "73 %"), (math.log(3), "3", "75 %"), (10, "22,026", "almost 100 %")]
)
def test_odds_and_certainty_follow_from_epsilon(epsilon: float, factor: str, sure: str) -> None:
    """Odds change by e^ε; who held even odds comes to e^ε / (1 + e^ε) at most."""
    first, second = words.promise(made(epsilon))
    assert f"at most {factor} " in first
    assert sure in second


def test_no_certainty_is_rounded_up_to_certain() -> None:
    """Below 100 %, whatever ε: never is anybody said to be certain, nor a factor of infinity printed."""
    for epsilon in (4, 7, 9, 20, 800):
        assert "100 %" not in words.certainty(epsilon).removeprefix("almost 100 %")
        assert "inf" not in words.odds(epsilon)


def test_delta_and_the_unit_are_told() -> None:
    """The chance of failing where there is one; a record where that is what is protected."""
    assert "may fail with a chance of about 1e-06" in words.promise(made(1, 1e-6))[0]
    assert "fail" not in words.promise(made(1))[0]
    assert words.promise(made(1, unit="record"))[0].startswith("Whether any one record was")
    assert "all records of any one taxi id were" in words.promise(made(1))[0]


def test_other_releases_of_the_account_are_told() -> None:
    """With a second release the sum stands beside the promise; with one alone nothing does."""
    account = Account("city", Budget(3.0), 3.0, 0.0, None, 2)
    assert (
        "one of 2 releases from the same data. For all of them together it is ε = 3 at δ = 0"
        in words.promise(made(1), account)[2]
    )
    assert len(words.promise(made(1), Account("city", Budget(3.0), 1.0, 2.0, None, 1))) == 2
