"""Conditions on records: what they may say, the bins they stand for, and how they are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError
from sfumato.models.where import boxes

SCHEMA = sf.Schema(
    columns=(
        sf.Person(name="who"),
        sf.Place(name="area", values=(7, 8, 9), names=("Loop", "Lake", "Hill")),
        sf.Category(name="kind", values=("low", "mid", "high"), ordered=True),
        sf.Number(name="fare", edges=(0, 10, 20, None), missing=(None,), integer=True),
        sf.Number(name="tip", edges=(None, 1.5, 3), missing=(-1,), closed="right", outside="drop"),
    )
)


def chosen(text: str) -> set[tuple[int, ...]]:
    """The codes of all cells that a condition holds for; no cell is in two boxes."""
    sizes = [c.size() for c in SCHEMA.attributes]
    out: list[tuple[int, ...]] = []
    for box in boxes(text, SCHEMA):
        masks = [box.get(c.name, np.ones(n, bool)) for c, n in zip(SCHEMA.attributes, sizes, strict=True)]
        out += itertools.product(*(np.flatnonzero(m).tolist() for m in masks))
    assert len(out) == len(set(out)), "boxes are disjoint"
    return set(out)


def bins(text: str, column: str) -> list[int]:
    """The bins of one column that a condition on it names."""
    at = SCHEMA.names.index(column)
    return sorted({cell[at] for cell in chosen(text)})


@pytest.mark.parametrize(
    ("text", "column", "want"),
    [
        ("area = 8", "area", [1]),
        ("area <> 8", "area", [0, 2]),
        ("area = 'Lake'", "area", [1]),
        ("8 < area", "area", [2]),
        ("area >= 8", "area", [1, 2]),
        ("area BETWEEN 7 AND 8", "area", [0, 1]),
        ("area IN (7, 9)", "area", [0, 2]),
        ("NOT area IN (7, 9)", "area", [1]),
        ("kind >= 'mid'", "kind", [1, 2]),
        ("fare < 10", "fare", [1]),
        ("fare <= 9", "fare", [1]),
        ("fare > 9", "fare", [2, 3]),
        ("fare IS NULL", "fare", [0]),
        ("fare IS NOT NULL", "fare", [1, 2, 3]),
        ("tip <= 1.5", "tip", [0, 1]),
        ("tip = -1", "tip", [0]),
        ("tip > 1.5", "tip", [2]),
    ],
)
def test_a_comparison_names_bins(text: str, column: str, want: list[int]) -> None:
    """Every comparison holds for the bins all of whose values meet it."""
    assert bins(text, column) == want


atoms = st.sampled_from(["area = 7", "area >= 8", "kind = 'mid'", "kind <> 'low'", "fare < 20", "fare IS NULL"])
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=5,
)


@given(conditions)
def test_and_or_not_are_those_of_logic(text: str) -> None:
    """The cells of any condition are those for which Python's own logic says so, each once."""
    want = set()
    for area, kind, fare, tip in itertools.product(range(3), range(3), range(4), range(3)):
        world = {
            "area = 7": area == 0,
            "area >= 8": area >= 1,
            "kind = 'mid'": kind == 1,
            "kind <> 'low'": kind != 0,
            "fare < 20": fare in (1, 2),
            "fare IS NULL": fare == 0,
        }
        expression = text
        for atom, holds in world.items():
            expression = expression.replace(atom, str(holds))
        if eval(expression):
            want.add((area, kind, fare, tip))
    assert chosen(text) == want


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "letters long"),
        ("area = ", "cannot be read"),
        ("area = 8; drop table x", "cannot be read|not understood"),
        ("area = 10", "none of its values"),
        ("area = 'Sea'", "none of its values"),
        ("town = 8", "names 'town', which the model has not; it has area, kind"),
        ("who = 8", "which the model has not"),
        ("fare < 15", r"cuts through the bin \[10, 20\) of 'fare' at 15; take one of the edges: 10, 20"),
        ("fare = 5", "cuts through"),
        ("fare = 'x'", "holds numbers"),
        ("kind > 3", "its values are such as 'low'"),
        ("area > 'x'", "its values are such as 7"),
        ("area = kind", "a number or a 'text' is needed"),
        ("area + 1 = 8", "a column is needed"),
        ("abs(area) = 8", "a column is needed"),
        ("area IN (SELECT 1)", "not understood"),
        ("area LIKE '8'", "not understood"),
        ("1", "not understood"),
        ("select 1", "not understood"),
        ("(" * 60 + "area = 8" + ")" * 60, "flatter|cannot be read"),
        (" or ".join(f"(area = 7 and fare < {10 * (1 + i % 2)})" for i in range(300)), "flatter|cases|cannot be read"),
    ],
)
def test_what_cannot_be_said_is_refused_in_a_sentence(text: str, match: str) -> None:
    """Anything but comparisons, IN, BETWEEN, IS NULL, AND, OR, NOT, on known columns at their edges, is refused."""
    with pytest.raises(InputError, match=match):
        boxes(text, SCHEMA)
