"""Values by key: every draw is a row of its key, in proportion, and coarser keys catch what finer ones miss."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato.models.choices import Choices

SIZES = (3, 4, 5)
rows = st.lists(st.tuples(*(st.integers(0, s - 1) for s in SIZES), st.integers(0, 9), st.integers(1, 4)), max_size=40)


def made(given_rows: list[tuple[int, ...]]) -> Choices:
    table = np.array(given_rows, np.int64).reshape(-1, 5).T
    return Choices.of(SIZES, list(table[:3]), table[3], table[4])


def slow_draws(given_rows: list[tuple[int, ...]], key: tuple[int, ...], depths: tuple[int, ...]) -> Counter[int]:
    """What may be drawn for a key, each as often as its counts say: an independent reading of the rows."""
    for depth in depths:
        if found := [r for r in given_rows if r[:depth] == key[:depth]]:
            return sum((Counter({r[3]: r[4]}) for r in found), Counter())
    return Counter({-1: 1})


@given(given_rows=rows, depths=st.sampled_from([(3, 2, 1, 0), (3,), (2, 0), (0,), (3, 1)]))
@settings(max_examples=60)
def test_every_value_of_a_key_has_its_share_of_the_luck(
    given_rows: list[tuple[int, ...]], depths: tuple[int, ...]
) -> None:
    """Luck at even steps through a key's rows gives each value exactly as often as it was counted."""
    choices = made(given_rows)
    keys = [k for k in np.ndindex(SIZES) if sum(k) % 3 == 0]
    for key in keys:
        expected = slow_draws(given_rows, key, depths)
        total = sum(expected.values())
        luck = (np.arange(total) + 0.5) / total
        got = choices.draw([np.full(total, k) for k in key], luck, depths)
        assert Counter(got.tolist()) == expected


@given(given_rows=rows)
@settings(max_examples=30)
def test_choices_come_back_from_their_arrays(given_rows: list[tuple[int, ...]]) -> None:
    """Keys, values and counts as they were, from the smallest types that hold them."""
    choices = made(given_rows)
    arrays = choices.to_arrays("t")
    assert {n: a.shape for n, a in arrays.items()} == Choices.shapes("t", len(choices))
    again = Choices.of_arrays("t", SIZES, 10, arrays)
    for one, two in zip(
        (choices.keys, choices.values, choices.counts), (again.keys, again.values, again.counts), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "lie",
    [
        {"t_steps": np.array([60], "u1")},
        {"t_steps": np.array([2**63], "u8")},
        {"t_values": np.array([10], "u1")},
        {"t_counts": np.array([0], "u1")},
        {"t_counts": np.array([2**60], "u8")},
        {"t_values": np.array([1.5])},
    ],
)
def test_arrays_that_cannot_be_are_refused(lie: dict[str, np.ndarray]) -> None:
    """A key beyond its parts, a value beyond its list, a count of nothing or of more than there are, a fraction."""
    arrays = {"t_steps": np.array([59], "u1"), "t_values": np.array([9], "u1"), "t_counts": np.array([1], "u1")}
    assert len(Choices.of_arrays("t", SIZES, 10, arrays)) == 1
    with pytest.raises(ValueError, match="t "):
        Choices.of_arrays("t", SIZES, 10, arrays | lie)


@pytest.mark.stat
def test_draws_follow_the_counts() -> None:
    """100,000 draws with random luck, chi-squared at a rate of 1 in 10,000."""
    counts = np.array([1, 5, 10, 100, 1000])
    choices = Choices.of((1,), [np.zeros(5, np.int64)], np.arange(5), counts)
    got = choices.draw([np.zeros(100_000, np.int64)], np.random.default_rng(1).random(100_000), (1,))
    expected = counts / counts.sum() * 100_000
    assert chisquare(np.bincount(got, minlength=5), expected).pvalue > 1e-4
