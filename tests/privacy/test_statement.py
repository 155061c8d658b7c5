"""A printed statement reads like a bank's and never flatters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sfumato.privacy.budget import Budget, GaussianCost, PureCost
from sfumato.privacy.ledger import SEEDED, Ledger, rounded_down, rounded_up
from sfumato.privacy.statement import render
from tests.privacy.test_ledger import WHOLE, spend


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db") as opened:
        yield opened


def shown(ledger: Ledger) -> str:
    with open(os.devnull, "w") as nowhere:
        console = Console(width=100, file=nowhere, record=True, color_system=None)
        console.print(render(ledger.statement("data")))
        return console.export_text()


def test_the_statement_reads_like_a_bank_s(ledger: Ledger) -> None:
    ledger.set_cap("data", Budget(3.0))
    spend(ledger, PureCost(0.5), budget=Budget(0.5))
    spend(ledger, PureCost(1.0), budget=Budget(1.0), private=False, note="trial run")
    text = shown(ledger)
    for part in ("account data", "archetypes", "histogram", "area × shift", "l2(1)", "discrete laplace", "b 10", "ε 1"):
        assert part in text
    assert "this release ε 1  ·  total ε 1.5  ·  left of cap ε 1.5" in text
    assert "Spent ε 1.5 of 3 at δ 0; left ε 1.5" in text
    assert text.count(SEEDED) == 1
    assert max(map(len, text.splitlines())) <= 100


def test_the_statement_stays_within_100_characters_whatever_it_holds(ledger: Ledger) -> None:
    spend(ledger, GaussianCost(0.0123456), method="m" * 90, note="[bold]" * 30, fingerprint="f" * 64)
    text = shown(ledger)
    assert max(map(len, text.splitlines())) <= 100
    assert "[bold]" in text


def test_an_empty_statement_says_so(ledger: Ledger) -> None:
    ledger.set_cap("data", WHOLE)
    assert "Nothing was spent yet" in shown(ledger)


@given(st.floats(1e-9, 1e9))
def test_a_sum_is_never_printed_smaller_nor_what_is_left_larger(value: float) -> None:
    assert float(rounded_down(value)) <= value * (1 + 1e-11)
    assert float(rounded_up(value)) >= value * (1 - 1e-11)
