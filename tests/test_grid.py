"""Grid questions: the answers of the recursive definition, without a matrix, and columns no longer than 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.bounds import UNIT
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.marginal import Marginal
from tests.grids import grid, masks, matrix

SIZES = {"a": 3, "b": 4, "c": 1, "d": 2}
some_columns = st.sampled_from([("a",), ("a", "b"), ("a", "b", "d"), ("a", "b", "c", "d")])


@given(columns=some_columns, seed=st.integers(0, 10_000), share=st.sampled_from([0.0, 0.2, 0.7, 1.0]))
@settings(max_examples=40)
def test_answers_are_those_of_the_recursive_definition(columns: tuple[str, ...], seed: int, share: float) -> None:
    """Masks and sums give what the matrix of the definition gives, row by row, but for rounding to the lattice."""
    one = grid(SIZES, columns, seed, share)
    a = matrix(columns, one.fine)
    x = np.random.default_rng(seed).integers(0, 100, one.fine[columns].shape)
    assert one.rows == len(a)
    np.testing.assert_allclose(one.answer(x) / UNIT, a @ x.reshape(-1), atol=2 * x.sum() / UNIT)


@given(columns=some_columns, seed=st.integers(0, 10_000), share=st.floats(0, 1))
@settings(max_examples=40)
def test_no_column_is_longer_than_one(columns: tuple[str, ...], seed: int, share: float) -> None:
    """The norm that is claimed is the largest of the true columns', and never above 1."""
    one = grid(SIZES, columns, seed, share)
    shape = one.fine[columns].shape
    true = [np.linalg.norm(one.answer(e.reshape(shape)) / UNIT) for e in np.eye(int(np.prod(shape)), dtype=int)]
    assert one.norm() == pytest.approx(max(true), abs=1e-12)
    assert max(true) <= 1 + 1e-15


@given(columns=some_columns, seed=st.integers(0, 10_000))
@settings(max_examples=30)
def test_the_adjoint_is_the_transposed_question(columns: tuple[str, ...], seed: int) -> None:
    """⟨Q·x, y⟩ = ⟨x, Qᵀ·y⟩ for random x and y."""
    one = grid(SIZES, columns, seed)
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-9, 9, one.fine[columns].shape), rng.normal(size=one.rows)
    assert (one.answer(x) / UNIT) @ y == pytest.approx(float((x * one.adjoint(y)).sum()), abs=1e-9)


def test_rows_that_no_cell_reaches_are_not_asked() -> None:
    """Where all cells of a marginal are fine its children are silent; a child's cell is asked only for coarse cells."""
    fine = masks(SIZES, ("a", "b"), 0, 1.0)
    assert Grid(Marginal.of("a", "b"), fine).rows == 12
    fine["a", "b"][0, 0] = False  # this cell alone is asked through a = 0 and b = 0
    assert Grid(Marginal.of("a", "b"), fine).rows == 11 + 2


def test_a_grid_whose_masks_do_not_fit_is_refused() -> None:
    """Masks have the shape and the order of the marginal's columns, and there is one of the marginal itself."""
    fine = masks(SIZES, ("a", "b"), 0)
    with pytest.raises(InputError, match="needs a mask of its own cells"):
        Grid(Marginal.of("a", "b"), {("a",): fine["a",]})
    with pytest.raises(InputError, match="does not fit"):
        Grid(Marginal.of("a", "b"), fine | {("b",): np.ones(3, bool)})
    with pytest.raises(InputError, match="does not fit"):
        Grid(Marginal.of("a", "b"), fine | {("b",): np.ones(4)})
    with pytest.raises(InputError, match="another order"):
        Grid(Marginal.of("a", "b"), fine | {("b", "a"): np.ones((4, 3), bool)})
