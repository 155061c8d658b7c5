"""What the earth mover cost refuses, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from sfumato import InputError
from sfumato.metrics import Axis, aemc

LINE = [Axis.ordinal()]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: aemc([1, 2], [1, 2, 3], LINE), r"synthetic has shape \(2,\), but truth has shape \(3,\)"),
        (lambda: aemc([1, 2], [1, 2], LINE * 2), "2 axes for counts of 1 dimensions"),
        (lambda: aemc([1, -2], [1, 2], LINE), r"synthetic: a count is negative \(-2\)"),
        (lambda: aemc([1, 2], [1, math.nan], LINE), "truth: a count is not a finite number"),
        (lambda: aemc([1, math.inf], [1, 2], LINE), "synthetic: a count is not a finite number"),
        (lambda: aemc(["a"], [1], LINE), "counts are numbers"),
        (lambda: aemc([[1], [1, 2]], [1], LINE), "counts are an array of numbers"),
        (lambda: aemc([1, 2], [0, 0], LINE), "the truth is empty"),
        (lambda: aemc([1, 2], [1, 2], [Axis.ordinal(0.5)]), "the finite weights of the axes sum to 0.5"),
        (lambda: aemc(np.ones((2, 2)), np.ones((2, 2)), [Axis.ordinal(0.5), Axis.cyclic(0.6)]), "sum to 1.1"),
        (lambda: aemc([1, 2], [1, 2], LINE, tolerance=-1), "the tolerance is a number from 0 on, not -1"),
        (lambda: aemc([1, 2], [1, 2], LINE, alpha=math.nan), "the cost of adding or removing a count"),
        (lambda: aemc([1, 2], [1, 2], LINE, jobs=0), "jobs is the number of threads"),
        (lambda: aemc([1, 2], [1, 2], ["ordinal"]), "axis 0 is str"),  # type: ignore[list-item]
        (lambda: aemc([], [], LINE), "they need a dimension, and a bin in each"),
        (lambda: aemc(([0], [1]), ([0], [1]), LINE), "sparse counts need the shape"),
        (lambda: aemc(([5], [1]), ([0], [1]), LINE, shape=(3,)), "synthetic: cell 5 is not in a table of 3 cells"),
        (lambda: aemc(([0, 1], [1]), ([0], [1]), LINE, shape=(3,)), "two arrays of one length"),
        (lambda: aemc([1, 2, 3], [1, 2, 3], [Axis.categorical(levels=[[0, 1]])]), "a level has 2 groups for 3 bins"),
        (lambda: aemc([1, 2, 3], [1, 2, 3], [Axis.distance(np.zeros((2, 2)))]), "the distance matrix has 2 bins"),
        (lambda: Axis.ordinal(-1), "the weight of an axis is a number from 0 to 1"),
        (lambda: Axis.ordinal(math.nan), "the weight of an axis"),
        (lambda: Axis.categorical(levels=[[0, 0, 1], [0, 1]]), "uniform depth"),
        (lambda: Axis.categorical(levels=[[0, 1], [0, 0]]), "level 2 cuts through a group of level 1"),
        (lambda: Axis.categorical(levels=["ab"]), "level 1 of a hierarchy is a list"),
        (lambda: Axis.distance([[0, 1]]), r"this one has shape \(1, 2\)"),
        (lambda: Axis.distance([[0, -1], [1, 0]]), "distances are numbers from 0 on"),
        (lambda: Axis.distance([[1, 1], [1, 0]]), "0 from a bin to itself"),
        (lambda: Axis.distance([["x"]]), "holds numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Callable[[], object], says: str) -> None:
    """One sentence with the value and the place."""
    with pytest.raises(InputError, match=says):
        call()


def test_two_empty_tables_agree() -> None:
    """Nothing to be true to, and nothing made up: 0."""
    assert aemc([0, 0], [0, 0], LINE).value == 0


def test_a_table_that_does_not_fit_is_refused_before_it_is_made() -> None:
    """Moving freely among a trillion cells is not begun."""
    axes = [Axis.ordinal(0.5), Axis.ordinal(0.5)]
    with pytest.raises(InputError, match="1,000,000,000,000 cells would have to be held"):
        aemc(([0], [1]), ([0], [1]), axes, shape=(10**6, 10**6))
