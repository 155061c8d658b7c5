"""The fitted distribution: what it recovers without noise, where it stops with it, and what mbi says."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.bounds import UNIT
from sfumato.errors import InputError
from sfumato.estimation import Estimator, Fit, Measured, Problem
from sfumato.estimation.descent import cache_folder
from sfumato.estimation.problem import gradient
from sfumato.estimation.tree import junction_tree
from sfumato.grid import Columns, Grid
from sfumato.marginal import Marginal
from tests.grids import masks

SIZES = {"a": 3, "b": 4, "c": 2, "d": 3, "e": 1}
OUTER: tuple[Columns, ...] = (("a", "b", "c"), ("a", "b", "d"), ("a", "e"))


def closure(outer: Sequence[Columns] = OUTER) -> list[Columns]:
    found = {s for o in outer for k in range(1, len(o) + 1) for s in itertools.combinations(o, k)}
    return sorted(found, key=lambda s: (len(s), s))


def truth(seed: int, records: float = 10_000) -> np.ndarray:
    """Counts of all columns together, far from independent."""
    rng = np.random.default_rng(seed)
    table = rng.gamma(0.3, size=tuple(SIZES.values()))
    return table / table.sum() * records


def margin(table: np.ndarray, columns: Columns) -> np.ndarray:
    return table.sum(tuple(i for i, c in enumerate(SIZES) if c not in columns))


def measured(table: np.ndarray, sigma: float, seed: int = 0, share: float = 1.0) -> list[Measured]:
    """Every marginal asked by a grid, with noise of this deviation or with next to none."""
    rng = np.random.default_rng(seed)
    fine = masks(SIZES, tuple(SIZES), seed, share)
    out = []
    for columns in closure():
        grid = Grid(Marginal.of(*columns), {c: m for c, m in fine.items() if set(c) <= set(columns)})
        noise = rng.normal(0, sigma, grid.rows)
        out.append(Measured(grid, grid.answer(margin(table, columns)) / UNIT + noise, max(sigma, 1.0)))
    return out


def found(fit: Fit, columns: Columns) -> np.ndarray:
    i = next(i for i, c in enumerate(fit.cliques) if set(columns) <= set(c))
    gone = tuple(a for a, c in enumerate(fit.cliques[i]) if c not in columns)
    return fit.marginals[i].sum(gone)


@pytest.mark.parametrize("seed", [0, 1])
def test_without_noise_every_measured_marginal_is_recovered(seed: int) -> None:
    """Run on to the end with exact answers all marginals agree to 1e-3 of the records."""
    table = truth(seed)
    fit = Estimator(iterations=6000, stop=False).fit(Problem(measured(table, 0.0)), tuple(SIZES))
    for columns in closure():
        off = np.abs(found(fit, columns) - margin(table, columns)).sum() / table.sum()
        assert off < 1e-3, (columns, off)


def test_coarse_answers_without_noise_are_met() -> None:
    """Where many cells are asked coarsely the model still gives the answers that were given."""
    table = truth(3)
    questions = measured(table, 0.0, seed=5, share=0.3)
    fit = Estimator(iterations=6000, stop=False).fit(Problem(questions), tuple(SIZES))
    for q in questions:
        got = q.grid.answer(found(fit, q.grid.marginal.columns)) / UNIT
        assert np.abs(got - q.values).max() < 2e-3 * table.sum()


def test_it_stops_where_the_noise_explains_the_rest() -> None:
    """With noise the loss at the end is at most rows/2, and not far below; without the stop it goes on falling."""
    problem = Problem(measured(truth(1), 60.0, share=0.5))
    stopped = Estimator().fit(problem, tuple(SIZES))
    on = Estimator(iterations=800, stop=False).fit(problem, tuple(SIZES))
    assert 0.35 * problem.rows < stopped.loss <= problem.rows / 2
    assert stopped.iterations < on.iterations == 800
    assert on.loss < stopped.loss


@pytest.mark.parametrize("boldness", [1.0, 1e5])
def test_steps_that_run_away_are_taken_again_shorter(boldness: float) -> None:
    """However bold the first steps, the fit ends at the noise, and within twice the usual error."""
    table = truth(1)
    problem = Problem(measured(table, 60.0, share=0.5))
    fit = Estimator(boldness=boldness).fit(problem, tuple(SIZES))
    usual = Estimator().fit(problem, tuple(SIZES))
    assert fit.loss <= problem.rows / 2
    for columns in OUTER:
        off, as_usual = (np.abs(found(f, columns) - margin(table, columns)).sum() / 10_000 for f in (fit, usual))
        assert off < 2 * as_usual


def test_it_agrees_with_mbi() -> None:
    """On a small domain mbi's mirror descent finds the same marginals from the same noisy answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mbi

    table = truth(2)
    questions = measured(table, 30.0)
    ours = Estimator(iterations=4000, stop=False).fit(Problem(questions), tuple(SIZES))
    domain = mbi.Domain(tuple(SIZES), tuple(SIZES.values()))
    theirs = [mbi.LinearMeasurement(q.values, q.grid.marginal.columns, q.sigma) for q in questions]
    loss = mbi.marginal_loss.from_linear_measurements(theirs, domain)
    model = mbi.estimation.MirrorDescent().estimate(domain, loss, known_total=ours.total, iters=6000)
    for columns in closure():
        want = np.asarray(model.project(columns).values, float)
        assert np.abs(found(ours, columns) - want).sum() / table.sum() < 5e-3, columns


@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_marginals_of_potentials_are_those_of_the_whole_table(seed: int) -> None:
    """Messages on the tree give the sums of e^(sum of potentials), also for forests and columns of one value."""
    import jax.numpy as jnp

    tree = junction_tree(SIZES, [("a", "b"), ("b", "c"), ("d",), ("e",)])
    rng = np.random.default_rng(seed)
    potentials = [rng.normal(0, 3, [SIZES[c] for c in clique]).astype(np.float32) for clique in tree.cliques]
    whole = np.zeros(tuple(SIZES.values()))
    for clique, p in zip(tree.cliques, potentials, strict=True):
        whole = whole + p.reshape([SIZES[c] if c in clique else 1 for c in SIZES])
    whole = np.exp(whole) / np.exp(whole).sum() * 50
    for clique, got in zip(tree.cliques, tree.marginals([jnp.asarray(p) for p in potentials], 50.0), strict=True):
        np.testing.assert_allclose(got, margin(whole, clique), rtol=1e-4, atol=1e-4)


def test_loss_and_gradient_are_those_of_the_matrices() -> None:
    """½‖(Qμ − y)/σ‖² and Qᵀ(Qμ − y)/σ², question by question, for masks that leave much to coarser questions."""
    import jax.numpy as jnp

    questions = measured(truth(4), 25.0, seed=2, share=0.4)
    problem, table = Problem(questions), truth(5)
    outer = [n.columns for n in problem.nodes if n.own[0] < 0]
    tables = [(t.fine, t.answers, t.weights) for t in problem.tables]
    value, slopes = gradient(problem.nodes, tables, [jnp.asarray(margin(table, o), jnp.float32) for o in outer])
    want, loss = np.zeros(table.shape), 0.0
    for q in questions:
        columns = q.grid.marginal.columns
        off = (q.grid.answer(margin(table, columns)) / UNIT - q.values) / q.sigma
        loss += 0.5 * off @ off
        shape = [SIZES[c] if c in columns else 1 for c in SIZES]
        want = want + q.grid.adjoint(off / q.sigma).reshape(shape)
    assert float(value) == pytest.approx(loss, rel=1e-4)
    got = sum(
        np.asarray(s).reshape([SIZES[c] if c in o else 1 for c in SIZES]) for s, o in zip(slopes, outer, strict=True)
    )
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * np.abs(want).max())


def test_the_total_is_that_of_the_least_noisy_answers() -> None:
    """Each marginal that was asked cell by cell gives a total; they count by the inverse of their variance."""
    fine = {("a",): np.ones(3, bool), ("b",): np.ones(4, bool)}
    a = Measured(Grid(Marginal.of("a"), fine), np.array([10.0, 20.0, 30.0]), 1.0)
    b = Measured(Grid(Marginal.of("b"), fine), np.array([20.0, 20.0, 20.0, 40.0]), 2.0)
    weights = np.array([1 / 3, 1 / 16])
    assert Problem([a, b]).total == pytest.approx((weights @ [60, 100]) / weights.sum())


def test_settings_and_the_cache_folder(tmp_path) -> None:
    """An estimator needs an iteration; the cache lies where it is told, and nowhere where it cannot be made."""
    with pytest.raises(InputError, match="at least 1 iteration"):
        Estimator(iterations=0)
    with pytest.raises(InputError, match="boldness is -1"):
        Estimator(boldness=-1)
    assert cache_folder({"SFUMATO_CACHE": str(tmp_path / "x")}) == tmp_path / "x"
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "sfumato" / "jax"
    (tmp_path / "file").write_text("")
    assert cache_folder({"SFUMATO_CACHE": str(tmp_path / "file" / "x")}) is None
