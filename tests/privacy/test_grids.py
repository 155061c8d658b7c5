"""Grid questions through the vault: limits given when asked, noise as charged, and nothing taken on trust."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import Marginal
from sfumato.bounds import UNIT
from sfumato.grid import Grid
from sfumato.privacy.budget import GaussianCost
from sfumato.privacy.plan import Gridded, Norms, Plan
from tests.grids import grid, masks
from tests.test_bounded import SCHEMA, people

BUDGET = sf.Budget(1.0, 1e-5)
NEXT_TO_NO_NOISE = sf.Budget(1e7, 0.5)
PAIR, COLUMNS = Marginal.of("area", "kind"), ("area", "kind")
SIZES = {"area": 4, "kind": 3}


def plan() -> Plan:
    return Plan(
        "test",
        (
            Norms("norms", PAIR, (1.0, 2.0, 4.0)),
            Gridded("open", PAIR, None, share=4),
            Gridded("weighted", PAIR, sf.weight(3), share=2),
            Gridded("scaled", PAIR, sf.l2(3)),
        ),
    )


def asked(budget: sf.Budget = BUDGET, table: pa.Table | None = None, **more: object):
    table = people([5, 9, 1, 14, 3], 6) if table is None else table
    return sf.Vault.open(table, SCHEMA, budget, ledger=more.pop("ledger", ":memory:"), seed=1).ask(plan())


def test_the_noise_follows_the_limit_and_the_cost_does_not(tmp_path) -> None:
    """Asked with l2(C) for C = 2 or 8 the noise is C·(planned), while the ledger has one cost for both."""
    mu = []
    for limit in (2.0, 8.0):
        ledger = sf.Ledger(tmp_path / f"{limit}.ledger")
        answers = asked(ledger=ledger)
        noisy = answers.grids({"open": grid(SIZES, COLUMNS, 1)}, {"open": limit})["open"]
        charge = next(c for c in ledger.releases("data")[0].charges if c.question == "open")
        assert (charge.bound, charge.sensitivity) == ("l2(C), C given when asked", 1.0)
        assert isinstance(charge.cost, GaussianCost)
        assert noisy.level == pytest.approx(limit / charge.cost.mu)
        assert noisy.level == pytest.approx(limit * charge.noise)
        mu.append(charge.cost.mu)
    assert mu[0] == mu[1] == pytest.approx(BUDGET.mu * np.sqrt(4 / 8))


def test_answers_are_the_bounded_ones_with_next_to_no_noise() -> None:
    """Each kind of bound gives the answers that are computed behind the door, on their lattice."""
    from sfumato.gridded import grid_answers, grid_counts
    from sfumato.table import Table

    table, one = people([5, 9, 1, 14, 3], 6), grid(SIZES, COLUMNS, 1)
    got = asked(NEXT_TO_NO_NOISE, table).grids(dict.fromkeys(("open", "weighted", "scaled"), one), {"open": 2})
    with Table.open(table, SCHEMA) as direct:
        scaled = grid_answers(direct, [(one, 2.0), (one, 3.0)])
        (counts,) = grid_counts(direct, [PAIR], sf.weight(3), "seed 1")
    for name, want in {
        "open": scaled[0] / UNIT,
        "scaled": scaled[1] / UNIT,
        "weighted": one.answer(counts.values) / UNIT**2,
    }.items():
        np.testing.assert_allclose(got[name].values, want, atol=0.1)
        unit = UNIT**2 if name == "weighted" else UNIT
        np.testing.assert_array_equal(got[name].values * unit, np.rint(got[name].values * unit))


def test_norms_count_persons() -> None:
    """Without noise the histogram of norms holds every person once."""
    noisy = asked(NEXT_TO_NO_NOISE).norms({"norms": grid(SIZES, COLUMNS, 1)})["norms"]
    assert noisy.values.tolist() == np.rint(noisy.values).tolist()
    assert noisy.values.sum() == 5


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda a, g: a["open"], "needs its grid"),
        (lambda a, g: a["norms"], "ask for it with norms"),
        (lambda a, g: a.grids({"open": g}), "needs a limit"),
        (lambda a, g: a.grids({"open": g}, {"open": 0}), "limit above 0"),
        (lambda a, g: a.grids({"open": g}, {"open": float("inf")}), "limit above 0"),
        (lambda a, g: a.grids({"norms": g}), "takes no grid here"),
        (lambda a, g: a.norms({"scaled": g}), "takes no grid here"),
        (lambda a, g: a.linear("scaled", np.eye(12)), "takes no matrix"),
        (lambda a, g: a.grids({"other": g}), "no question 'other'"),
        (lambda a, g: a.grids({"scaled": grid(SIZES, ("area",), 1)}), "not about area"),
        (lambda a, g: a.grids({"scaled": grid({"area": 5, "kind": 3}, COLUMNS, 1)}), "cells are not those"),
        (lambda a, g: [a.grids({"scaled": g}), a.grids({"scaled": g})], "has been answered"),
    ],
)
def test_what_was_not_planned_is_refused(ask, match: str) -> None:
    """A question is asked once, in its own way, about its own cells, with a limit where it has none."""
    with pytest.raises(sf.InputError, match=match):
        ask(asked(), grid(SIZES, COLUMNS, 1))


def test_a_grid_that_lies_about_its_norm_is_not_believed() -> None:
    """The vault makes its own grid from the masks: what a subclass says of its columns or answers is not heard."""

    class Liar(Grid):
        def answer(self, counts):
            return np.full(self.rows, 10**6)

        def norm(self) -> float:
            return 0.0

    liar = Liar(PAIR, masks(SIZES, COLUMNS, 1))
    got = asked(NEXT_TO_NO_NOISE).grids({"weighted": liar})["weighted"]
    assert np.abs(got.values).max() < 100


def test_masks_changed_afterwards_change_nothing() -> None:
    """A grid's arrays are copied when it is asked, so that two questions never share a mask that moves."""
    fine = masks(SIZES, COLUMNS, 1)
    one = Grid(PAIR, fine)
    rows = one.rows
    fine[COLUMNS][:] = True
    assert len(asked().grids({"scaled": Grid(PAIR, fine)})["scaled"].values) == 12 != rows


def test_single_records_take_grids_under_the_bound_of_one_record() -> None:
    """Without persons a grid asks about plain counts; bounds on persons are refused."""
    schema = sf.Schema(columns=tuple(c for c in SCHEMA.columns if c.kind != "person"))
    vault = sf.Vault.open(people([5, 9], 6), schema, NEXT_TO_NO_NOISE, ledger=":memory:", unit="record", seed=1)
    one = Grid(PAIR, {COLUMNS: np.ones((4, 3), bool)})
    got = vault.ask(Plan("t", (Gridded("q", PAIR, sf.records(1)),))).grids({"q": one})["q"]
    assert got.values.sum() == pytest.approx(len([r for r in people([5, 9], 6).to_pylist() if in_schema(r)]), abs=0.5)
    with pytest.raises(sf.InputError, match="bounds persons"):
        vault.ask(Plan("t", (Gridded("q", PAIR, sf.weight(2)),)))


def in_schema(row: dict[str, object]) -> bool:
    return row["area"] in (0, 1, 2, 3) and row["kind"] in ("a", "b", "c")
