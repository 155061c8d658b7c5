"""DPSyn: what it asks and what that costs, and records that have the marginals that were measured."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

import sfumato as sf
from sfumato.models import HistogramModel, RecordsModel
from sfumato.privacy.budget import GaussianCost, gaussian_epsilon
from sfumato.privacy.plan import Chosen
from sfumato.table import Table

SURE = sf.Budget(1e8, 0.5)  # next to no noise
SIZES = {"a": 4, "b": 3, "c": 5, "d": 2, "e": 6}


def schema_of(sizes: dict[str, int], most: int | None = 5) -> sf.Schema:
    columns = [sf.Category(name=n, values=tuple(range(k))) for n, k in sizes.items()]
    return sf.Schema(columns=(sf.Person(name="who"), *columns), max_records_per_person=most)


def table_of(n: int, sizes: dict[str, int], seed: int = 1, each: int = 1) -> pa.Table:
    """Records whose columns follow a hidden kind; `each` of them belong to one person."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 6, n)
    columns = {name: (kind * k // 6 + rng.geometric(0.55, n) - 1) % k for name, k in sizes.items()}
    return pa.table({"who": np.arange(n) // each, **columns})


def fitted(table: pa.Table, schema: sf.Schema, budget: sf.Budget = SURE, **settings: object) -> sf.Model:
    vault = sf.Vault.open(table, schema, budget, ledger=":memory:", seed=1)
    return sf.DPSyn(**settings).fit(vault)


def differences(truth: pa.Table, made: pa.Table, schema: sf.Schema, ways: int = 2) -> dict[str, float]:
    """The L1 distance of every marginal of so many columns, in shares."""
    marginals = [sf.Marginal.of(*names) for names in itertools.combinations(schema.names, ways)]
    counts = zip(Table.open(truth, schema).counts(marginals), Table.open(made, schema).counts(marginals), strict=True)
    return {str(p.marginal): float(np.abs(p.values / p.total - q.values / q.total).sum()) for p, q in counts}


# ---------------------------------------------------------------------- what it costs


def test_the_plan_shares_the_budget_as_published() -> None:
    """A tenth of μ² for columns, a tenth for dependence, eight for the chosen marginals; a twentieth for the total."""
    budget = sf.Budget(1.0, 1e-9)
    plan = sf.DPSyn().plan(schema_of(SIZES), budget)
    costs = {
        p.question.name: p.cost.mu**2 / budget.mu**2 for p in plan.priced(budget) if isinstance(p.cost, GaussianCost)
    }
    assert list(costs) == [*(f"column {n}" for n in SIZES), "dependence", "marginals", "total"]
    assert costs["total"] == pytest.approx(0.05)
    assert sum(costs[f"column {n}"] for n in SIZES) == pytest.approx(0.095)
    assert costs["dependence"] == pytest.approx(0.095)
    assert costs["marginals"] == pytest.approx(0.76)
    assert sum(costs.values()) == pytest.approx(1)


def test_sensitivities_are_those_of_the_bound() -> None:
    """C for columns and chosen marginals, 4C√k for the dependence of k pairs, the schema's limit for the total."""
    questions = {q.name: q for q in sf.DPSyn(bound=sf.records(2)).plan(schema_of(SIZES), SURE)}
    assert questions["column a"].l2 == questions["marginals"].l2 == 2
    assert questions["dependence"].l2 == pytest.approx(4 * 2 * math.sqrt(10), rel=1e-4)
    assert questions["total"].l2 == 5
    assert isinstance(questions["marginals"], Chosen)


def test_the_total_is_asked_only_where_persons_are_cut_short() -> None:
    """A bound that keeps all, a schema without a limit, a table without persons: the columns' sums say it."""
    for schema, bound in [(schema_of(SIZES), sf.records(5)), (schema_of(SIZES, None), None)]:
        assert "total" not in {q.name for q in sf.DPSyn(bound=bound).plan(schema, SURE)}
    nobody = sf.Schema(columns=schema_of(SIZES).columns[1:])
    plan = sf.DPSyn().plan(nobody, SURE)
    assert {q.capped for q in plan} == {"records(1)"}


def test_the_golden_budget_and_that_ours_is_tighter() -> None:
    """465 questions at ε = 10, δ = 3.45e-11: σ = 16.3867 by zero-concentrated DP, as published; exactly it is less."""
    epsilon, delta, questions = 10.0, 3.45e-11, 465
    root = math.sqrt(math.log(1 / delta))
    rho = (math.sqrt(epsilon + root**2) - root) ** 2
    published = math.sqrt(questions / (2 * rho))
    assert published == pytest.approx(16.3867, abs=1e-4)
    ours = sf.Budget(epsilon, delta).sigma(1, questions)
    assert ours < published
    assert gaussian_epsilon(math.sqrt(questions) / published, delta) < epsilon
    reference = pld.from_gaussian_mechanism(ours / math.sqrt(questions), value_discretization_interval=1e-3)
    assert reference.get_epsilon_for_delta(delta) == pytest.approx(epsilon, rel=2e-3)


def test_the_ledger_is_charged_the_whole_budget(tmp_path) -> None:
    """Whatever is chosen on the way, one release stands in the ledger with the planned questions and all of ε."""
    path = tmp_path / "l.ledger"
    budget = sf.Budget(1.0, 1e-6)
    vault = sf.Vault.open(table_of(2_000, SIZES), schema_of(SIZES), budget, ledger=path)
    sf.DPSyn().fit(vault)
    (release,) = sf.Ledger(path).releases("data")
    assert [c.question for c in release.charges] == [q.name for q in sf.DPSyn().plan(schema_of(SIZES), budget)]
    assert sf.Ledger(path).accounts()[0].spent == pytest.approx(1.0, rel=1e-3)


# ---------------------------------------------------------------------- what it makes


@pytest.mark.parametrize(("joint_cells", "kind"), [(2**20, HistogramModel), (0, RecordsModel)])
def test_without_noise_the_selected_marginals_come_back(joint_cells: int, kind: type) -> None:
    """All pairs are selected, and every one is met to 1 % of the records; the total is the truth's."""
    table, schema = table_of(6_000, SIZES), schema_of(SIZES, 1)
    model = fitted(table, schema, joint_cells=joint_cells, iterations=40)
    assert isinstance(model, kind)
    assert abs(model.total - 6_000) <= 3
    found = differences(table, model.to_table(seed=1), schema)
    assert max(found.values()) < 0.01


def test_more_budget_is_more_faithful() -> None:
    """The mean distance of pairs falls from ε = 0.1 over 1 to 100."""
    table, schema = table_of(20_000, SIZES, each=2), schema_of(SIZES, 2)
    found = [
        np.mean(list(differences(table, fitted(table, schema, sf.Budget(e, 1e-6)).to_table(seed=1), schema).values()))
        for e in (0.1, 1.0, 100.0)
    ]
    assert found[0] > 1.5 * found[1] > 2 * found[2]
    assert found[2] < 0.05


@pytest.mark.parametrize("joint_cells", [2**20, 0])
def test_persons_cut_short_are_scaled_back_to_the_total(joint_cells: int) -> None:
    """Five records a person of which two are counted: the model still stands for all records."""
    table, schema = table_of(10_000, SIZES, each=5), schema_of(SIZES, 5)
    model = fitted(table, schema, sf.Budget(20.0, 1e-6), bound=sf.records(2), joint_cells=joint_cells)
    assert model.total == pytest.approx(10_000, rel=0.02)


@pytest.mark.parametrize("joint_cells", [2**20, 0])
def test_constant_copied_and_independent_columns(joint_cells: int) -> None:
    """A constant stays one, a copy agrees with its original, and an independent column depends on nothing."""
    rng = np.random.default_rng(3)
    a, d = rng.integers(0, 4, 5_000), rng.integers(0, 2, 5_000)
    table = pa.table({"who": np.arange(5_000), "a": a, "b": np.ones(5_000, int), "c": a, "d": d, "e": a % 3})
    schema = schema_of(SIZES, 1)
    got = fitted(table, schema, sf.Budget(200.0, 1e-6), joint_cells=joint_cells).to_table(seed=1).to_pandas()
    assert (got.b == 1).mean() > 0.999
    assert (got.a == got.c).mean() > 0.98
    assert (got.e == got.a % 3).mean() > 0.98
    assert np.abs(got.groupby("d").a.value_counts(normalize=True).unstack().diff().iloc[1]).max() < 0.1


@pytest.mark.parametrize("joint_cells", [2**20, 0])
def test_one_column_an_empty_table_and_a_tiny_budget(joint_cells: int) -> None:
    """One column asks for itself alone; no records and noise that drowns all give a table with the columns."""
    one = schema_of({"a": 4}, 1)
    assert [q.name for q in sf.DPSyn().plan(one, SURE)] == ["column a"]
    table = table_of(900, {"a": 4})
    assert max(differences(table, fitted(table, one, joint_cells=joint_cells).to_table(), one, 1).values()) < 0.01
    schema = schema_of(SIZES)
    for data, budget in [(table_of(0, SIZES), sf.Budget(1.0, 1e-6)), (table_of(50, SIZES), sf.Budget(0.01, 1e-6))]:
        made = fitted(data, schema, budget, joint_cells=joint_cells, keep=1_000)
        assert made.to_table(records=min(10, made.total)).column_names == list(SIZES)


def test_rare_values_are_merged_and_come_back() -> None:
    """Values lost in noise one by one are drawn by their noisy counts: none is lost altogether, none dominates."""
    rng = np.random.default_rng(1)
    a = np.where(rng.random(30_000) < 0.2, rng.integers(4, 200, 30_000), rng.integers(0, 4, 30_000))
    sizes = {"a": 200, "b": 3, "c": 4}
    table = pa.table({"who": np.arange(30_000), "a": a, "b": a % 3, "c": rng.integers(0, 4, 30_000)})
    for joint_cells in (0, 2**20):
        made = fitted(table, schema_of(sizes, 1), sf.Budget(0.2, 1e-6), joint_cells=joint_cells).to_table(
            30_000, seed=1
        )
        codes = made["a"].to_numpy()
        assert (codes >= 4).mean() == pytest.approx(0.2, abs=0.03)
        assert len(np.unique(codes[codes >= 4])) > 60


def test_levels_are_kept() -> None:
    """A column named at a level comes out at that level."""
    schema = sf.Schema(
        columns=(
            sf.Person(name="who"),
            sf.Category(name="a", values=(1, 2, 3, 4), levels={"half": ("w", "w", "e", "e")}),
            sf.Category(name="b", values=(0, 1)),
        )
    )
    table = pa.table({"who": range(400), "a": [1, 2, 3, 4] * 100, "b": [0, 0, 1, 1] * 100})
    made = fitted(table, schema, marginal=("a@half", "b")).to_table(seed=1).to_pandas()
    assert made.groupby(["a", "b"]).size().to_dict() == {("e", 1): 200, ("w", 0): 200}


def test_single_records_can_be_protected() -> None:
    """Without a person id every question is about records, each its own person."""
    schema = sf.Schema(columns=schema_of(SIZES).columns[1:])
    table = table_of(3_000, SIZES).drop_columns("who")
    vault = sf.Vault.open(table, schema, SURE, ledger=":memory:", unit="record", seed=1)
    model = sf.DPSyn().fit(vault)
    assert max(differences(table, model.to_table(seed=1), schema).values()) < 0.02


def test_equal_answers_make_equal_models() -> None:
    """The model is a function of the noisy answers: under a seeded vault it can be repeated."""
    table, schema = table_of(2_000, SIZES), schema_of(SIZES)
    one, two = (fitted(table, schema, sf.Budget(2.0, 1e-6), joint_cells=0) for _ in range(2))
    assert one.to_table(seed=1).equals(two.to_table(seed=1))


def test_saved_and_loaded(tmp_path) -> None:
    """Both kinds of model come back from their files."""
    for joint_cells in (0, 2**20):
        model = fitted(table_of(500, SIZES), schema_of(SIZES), joint_cells=joint_cells)
        model.save(tmp_path / "m.sfumato")
        assert sf.load_model(tmp_path / "m.sfumato").to_table(seed=1).equals(model.to_table(seed=1))


def test_a_model_keeps_no_more_records_than_it_may() -> None:
    """`keep` caps what is held; the total is what was measured."""
    model = fitted(table_of(3_000, SIZES), schema_of(SIZES, 1), joint_cells=0, keep=700)
    assert isinstance(model, RecordsModel)
    assert model.codes.shape[1] == 700
    assert model.total == pytest.approx(3_000, abs=3)


@pytest.mark.parametrize("wrong", [{"iterations": -1}, {"joint_cells": 2**26}, {"keep": 0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    """A sentence with the setting's name."""
    with pytest.raises(sf.InputError, match=next(iter(wrong))):
        sf.DPSyn(**wrong)


def test_a_bound_that_does_not_hold_when_bins_are_merged_is_refused() -> None:
    """l2 caps a histogram's norm and not its sum."""
    with pytest.raises(sf.InputError, match="l2"):
        fitted(table_of(10, SIZES), schema_of(SIZES), sf.Budget(1.0, 1e-6), bound=sf.l2(3))


WIDE = """
import numpy as np, pyarrow as pa, sfumato as sf
rng = np.random.default_rng(1)
n, sizes = 3_000, {f"c{i}": (200 if i == 0 else 2 + i % 9) for i in range(35)}
kind = rng.integers(0, 6, n)
data = pa.table({"who": np.arange(n), **{c: (kind + rng.integers(0, 3, n)) % k for c, k in sizes.items()}})
columns = [sf.Category(name=c, values=tuple(range(k))) for c, k in sizes.items()]
schema = sf.Schema(columns=(sf.Person(name="who"), *columns), max_records_per_person=1)
vault = sf.Vault.open(data, schema, sf.Budget(5.0, 1e-6), ledger=":memory:", seed=1)
print(sf.DPSyn(iterations=5).fit(vault).to_table().num_columns)
own = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # getrusage has the parent's too
print(int(own.split()[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="a process's own peak is told by Linux alone")
def test_thirty_five_columns_and_one_of_two_hundred_values_fit_in_memory() -> None:
    """All 595 pairs are scored, a few at a time: the whole run stays below 1 GiB, as the docs say."""
    done = subprocess.run([sys.executable, "-c", WIDE], capture_output=True, text=True, check=True)
    columns, mib = map(int, done.stdout.split())
    assert columns == 35
    assert mib < 1024
