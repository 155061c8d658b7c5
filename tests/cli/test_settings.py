"""Settings given as text: read by what the setting may hold, refused in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from sfumato import InputError, records, weight
from sfumato.bounds import Bound
from sfumato.cli.settings import parse_settings


@dataclass(frozen=True)
class Method:
    """A method with settings of every kind."""

    count: int = 1
    share: float = 0.5
    fast: bool = False
    kind: Literal["a", "b"] = "a"
    columns: tuple[str, ...] | None = None
    bound: Bound | None = None
    copies: dict[str, int] | None = None


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("count=12", 12),
        ("share=0.25", 0.25),
        ("share=1", 1.0),
        ("fast=true", True),
        ("kind=b", "b"),
        ("columns=area, shift@day", ("area", "shift@day")),
        ("columns=area", ("area",)),
        ('columns=["a,b", "c"]', ("a,b", "c")),
        ("columns=null", None),
        ("bound=weight:150", weight(150)),
        ("bound=records(2)", records(2)),
        ('copies={"a": 2}', {"a": 2}),
    ],
)
def test_text_becomes_what_the_setting_holds(pair: str, value: Any) -> None:
    """Numbers, flags, choices, lists, bounds and objects are read from text."""
    assert parse_settings(Method, [pair], "method") == {pair.partition("=")[0]: value}


def test_dashes_in_names_are_underscores() -> None:
    """A name may be written as options are."""

    @dataclass(frozen=True)
    class Dashed:
        two_words: int = 0

    assert parse_settings(Dashed, ["two-words=3"], "method") == {"two_words": 3}


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (["count"], "name=value"),
        (["speed=1"], "no setting 'speed'; it has count, share"),
        (["count=1", "count=2"], "twice"),
        (["count=many"], "count=many"),
        (["share=nan"], "share=nan"),
        (["kind=c"], "'a' or 'b'"),
        (["bound=people:3"], "people"),
    ],
)
def test_what_does_not_fit_is_refused(pairs: list[str], says: str) -> None:
    """A setting that is unknown, doubled or of another kind is named in the sentence."""
    with pytest.raises(InputError, match=says):
        parse_settings(Method, pairs, "method")
