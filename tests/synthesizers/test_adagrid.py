"""AdaGrid: its questions and their noise, any schema, with and without public data, from a table to records."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtr

import sfumato as sf
from sfumato.estimation import Estimator
from sfumato.models import GraphicalModel
from sfumato.models.people import Sizes, Slots
from sfumato.privacy.budget import compose
from sfumato.privacy.plan import Gridded, Norms, Persons
from sfumato.privacy.vault import Noisy
from sfumato.public import Public
from sfumato.simulate import taxi
from sfumato.synthesizers.adagrid import noisy_quantile, norm_edges
from sfumato.synthesizers.selection import TAXI, select

DELTA = 2.5e-5
QUICK = Estimator(iterations=60)


@pytest.mark.parametrize(("epsilon", "limit", "sigma"), [(1, 150, 4290.24), (10, 200, 784.12)])
def test_the_66_questions_have_the_exact_noise(epsilon: float, limit: float, sigma: float) -> None:
    """10 + 23 + 20 + 6 marginals, pickup × dropoff eight times: σ = C·√66/μ, known in advance; σ/√8 for the eight."""
    budget = sf.Budget(epsilon, DELTA)
    plan = sf.AdaGrid(bound=sf.weight(limit), public=True).plan(taxi(records=10).schema, budget)
    assert Counter(len(q.marginal.columns) for q in plan) == {1: 10, 2: 23, 3: 20, 4: 6}
    assert sum(q.share for q in plan) == 66
    levels = {p.question.name: p.level for p in plan.priced(budget)}
    folded = levels.pop("pickup_community_area × dropoff_community_area")
    assert folded == pytest.approx(sigma / np.sqrt(8), abs=0.01)
    assert set(np.round(list(levels.values()), 2)) == {sigma}


def test_the_ledger_holds_the_noise_of_every_question(tmp_path) -> None:
    """Asking the plan writes 59 questions with σ = 4290.24 into the ledger, and their composition is ε = 1."""
    data = taxi(records=200)
    data.write(tmp_path / "t.parquet")
    ledger = sf.Ledger(tmp_path / "l")
    vault = sf.Vault.open(tmp_path / "t.parquet", data.schema, sf.Budget(1, DELTA), ledger)
    vault.ask(sf.AdaGrid(bound=sf.weight(150), public=True))
    (release,) = ledger.releases("data")
    assert len(release.charges) == 59
    assert Counter(round(c.noise, 2) for c in release.charges) == {4290.24: 58, round(4290.24 / np.sqrt(8), 2): 1}
    assert {(c.bound, c.sensitivity) for c in release.charges} == {("weight(150)", 150.0)}
    assert compose([c.cost for c in release.charges], DELTA) == pytest.approx(1, rel=1e-9)


def test_the_whole_plan_spends_the_budget_and_no_more() -> None:
    """With limits and persons in the plan too, the sum of squares of all μ is that of the budget."""
    budget = sf.Budget(1, DELTA)
    plan = sf.AdaGrid().plan(taxi(records=10).schema, budget)
    kinds = Counter(type(q) for q in plan)
    assert kinds == {Gridded: 59, Norms: 59, Persons: 1}
    mu = np.sqrt(sum(p.cost.mu**2 for p in plan.priced(budget)))
    assert ndtr(mu / 2 - 1 / mu) - np.e * ndtr(-mu / 2 - 1 / mu) == pytest.approx(DELTA, rel=1e-6)
    spent = sum(p.cost.mu**2 for p in plan.priced(budget) if not isinstance(p.question, Gridded))
    assert spent / mu**2 == pytest.approx(0.06 / 1.06, rel=1e-6)


def small(records: int = 4000, seed: int = 3) -> tuple[sf.Schema, pa.Table]:
    """Trips with areas, shifts and fares that depend on each other, an empty area and a column of one value."""
    rng = np.random.default_rng(seed)
    area = rng.choice([1, 2, 3], records, p=[0.6, 0.3, 0.1])
    shift = (area + rng.choice([0, 1], records, p=[0.8, 0.2])) % 4
    fare = 10.0 * area + rng.choice([1, 5, 22], records, p=[0.5, 0.4, 0.1])
    schema = sf.Schema(
        columns=(
            sf.Person(name="who"),
            sf.Place(name="area", values=(1, 2, 3, 4)),
            sf.Category(name="shift", values=(0, 1, 2, 3), cyclic=True),
            sf.Number(name="fare", edges=(0, 20, 30, 40, None), integer=True),
            sf.Category(name="only", values=("x",)),
        ),
        max_records_per_person=40,
    )
    who = rng.integers(0, records // 10, records)
    table = pa.table({"who": who, "area": area, "shift": shift, "fare": fare, "only": ["x"] * records})
    return schema, table


def far(model: GraphicalModel, table: pa.Table, schema: sf.Schema, *columns: str) -> float:
    """The L1 distance (0..2) between the model's shares and the table's."""
    from sfumato.table import Table

    with Table.open(table, schema) as opened:
        (counts,) = opened.counts([sf.Marginal.of(*columns)])
    got = model.project(*columns).values
    return float(np.abs(got / got.sum() - counts.values / counts.values.sum()).sum())


def fitted(schema: sf.Schema, table: pa.Table, method: sf.AdaGrid, epsilon: float = 1000.0, **more: object):
    unit = "person" if schema.person else "record"
    vault = sf.Vault.open(table, schema, sf.Budget(epsilon, 1e-6), ledger=":memory:", unit=unit, seed=1)
    return method.fit(vault, more.get("public"))


@pytest.mark.parametrize("bound", [sf.weight(40), sf.l2(quantile=0.99), sf.l2(40), sf.records(40)], ids=str)
@pytest.mark.parametrize("known", [False, True], ids=["alone", "with public data"])
def test_with_a_large_budget_the_model_is_the_data(bound: sf.Bound, known: bool) -> None:
    """Every bound, with and without public data: marginals within 2 %, records of the schema, persons in the cap."""
    schema, table = small()
    public = small(seed=4)[1] if known else None
    made = fitted(schema, table, sf.AdaGrid(bound=bound), public=public)
    assert far(made, table, schema, "area", "shift", "fare") < 0.02
    sample = made.to_table(records=3000, seed=2)
    assert sample.column_names == ["who", "area", "shift", "fare", "only"]
    assert set(sample["area"].to_pylist()) <= {1, 2, 3, 4}
    assert isinstance(made.people, Slots if known else Sizes)
    taken = np.unique(np.asarray(sample["who"]), return_counts=True)[1]
    assert taken.max() <= 40
    assert np.median(taken) == pytest.approx(10, abs=2)
    if known:
        assert np.isin(np.asarray(sample["fare"]), np.asarray(public["fare"])).mean() > 0.98


def test_an_empty_area_and_a_column_of_one_value_stay_so() -> None:
    """The area that nobody visits has next to no records; the column of one value holds it."""
    schema, table = small()
    made = fitted(schema, table, sf.AdaGrid())
    assert made.project("area").values[3] < 0.005 * made.total
    assert made.project("only").values.shape == (1,)


def test_little_budget_still_gives_a_model() -> None:
    """At ε = 0.01, where noise is all there is, it ends with records of the schema."""
    schema, table = small(300)
    made = fitted(schema, table, sf.AdaGrid(estimator=QUICK), epsilon=0.01)
    assert made.to_table(records=50, seed=1).num_rows == 50


def test_an_empty_table_is_released_like_any_other() -> None:
    """Without a single record there are answers, a model, and no error."""
    schema, table = small()
    for method in (sf.AdaGrid(estimator=QUICK), sf.AdaGrid(bound=sf.weight(5), estimator=QUICK)):
        made = fitted(schema, table.slice(0, 0), method, epsilon=1.0)
        assert made.to_table(records=10, seed=1).num_rows == 10


def test_public_data_without_records_says_nothing() -> None:
    """An empty public table gives a limit of one record, no persons, and the schema's own values."""
    schema, table = small()
    made = fitted(schema, table, sf.AdaGrid(estimator=QUICK), public=table.slice(0, 0))
    assert made.people is None
    assert made.to_table(records=10, seed=1).column_names == ["area", "shift", "fare", "only"]


def test_single_records_can_be_protected() -> None:
    """A schema without persons: each record is its own, no bound is needed, no ids are made."""
    schema, table = small()
    alone = schema.model_copy(update={"columns": schema.columns[1:], "max_records_per_person": None})
    made = fitted(alone, table, sf.AdaGrid())
    assert far(made, table, alone, "area", "fare") < 0.02
    assert "who" not in made.to_table(records=5, seed=1).column_names


def test_three_columns_and_one() -> None:
    """Schemas with few columns, with neither place nor time, or with nothing but a place."""
    schema, table = small()
    three = schema.select(["fare", "only", "shift"])
    assert far(fitted(three, table, sf.AdaGrid()), table, three, "shift", "fare") < 0.02
    plain = sf.Schema(
        columns=(sf.Person(name="who"), *(sf.Category(name=n, values=(0, 1, 2, 3)) for n in ("shift", "area", "only")))
    )
    assert select(plain, None).outer == (("shift", "area"), ("shift", "only"), ("area", "only"))
    assert far(fitted(plain, table.drop_columns(["only"]).append_column("only", table["shift"]), sf.AdaGrid()),
               table, plain.select(["shift", "area"]), "shift", "area") < 0.02  # fmt: skip
    one = schema.select(["area"])
    assert far(fitted(one, table, sf.AdaGrid()), table, one, "area") < 0.02


# ---------------------------------------------------------------------- what is measured


def test_marginals_suit_the_schema() -> None:
    """The taxi schema has the challenge's seven; another has every column with its place and time."""
    schema = taxi(records=10).schema
    chosen = select(schema, None)
    assert {frozenset(o) for o in chosen.outer} == {frozenset(o) for o in TAXI}
    assert chosen.notes == ("not modelled: trip_day_of_week, trip_hour_of_day",)
    assert select(small()[0], None).outer == (("area", "shift", "fare"), ("area", "shift", "only"))


def test_public_data_pair_columns_that_depend_on_each_other() -> None:
    """Two columns that are copies are measured together with place and time; an independent one is not."""
    rng = np.random.default_rng(0)
    schema, table = small()
    extra = [sf.Category(name=n, values=(0, 1)) for n in ("coin", "copy")]
    wide = schema.model_copy(update={"columns": (*schema.columns, *extra)})
    coin = rng.integers(0, 2, table.num_rows)
    public = Public.open(table.append_column("coin", pa.array(coin)).append_column("copy", pa.array(coin)), wide)
    assert ("area", "shift", "coin", "copy") in select(wide, None, public).outer
    assert ("area", "shift", "fare") in select(wide, None, public).outer
    assert ("area", "shift", "coin", "copy") not in select(wide, None).outer


def test_what_is_too_large_is_made_smaller_and_said() -> None:
    """A column of 100,000 values is measured in pairs; a model beyond memory is refused where it was asked for."""
    huge = sf.Schema(
        columns=(
            sf.Person(name="who"),
            sf.Place(name="area", values=tuple(range(30))),
            sf.Category(name="hour", values=tuple(range(24)), cyclic=True),
            sf.Category(name="shop", values=tuple(range(100_000))),
        )
    )
    chosen = select(huge, None)
    assert all(len(o) < 3 for o in chosen.outer)
    assert any("too many; measured in pairs" in note for note in chosen.notes)
    plan = sf.AdaGrid().plan(huge, sf.Budget(1, 1e-6))
    assert plan.notes[:-1] == chosen.notes
    assert plan.notes[-1].startswith(f"the model has {chosen.cells:,} cells; fitting it takes about")
    with pytest.raises(sf.InputError, match="more than 16,777,216; take fewer or smaller"):
        sf.AdaGrid(marginals=(("area", "hour", "shop"),)).plan(huge, sf.Budget(1, 1e-6))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"marginals": (("area", "town"),)}, "no column 'town'"),
        ({"marginals": (("area", "area"),)}, "names no column, or one twice"),
        ({"marginals": ()}, "marginals is empty"),
        ({"marginals": (("area",),), "copies": {"area,shift": 3}}, "in no marginal that is measured"),
        ({"copies": {"area": 0}}, "copies are whole numbers"),
        ({"threshold": -1.0}, "threshold"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], match: str) -> None:
    """One sentence for each, before anything is read."""
    with pytest.raises(sf.InputError, match=match):
        sf.AdaGrid(**settings).plan(small()[0], sf.Budget(1, 1e-6))  # type: ignore[arg-type]


def test_copies_share_the_budget() -> None:
    """A marginal that counts eight times has noise √8 times smaller than its neighbours."""
    budget = sf.Budget(1, 1e-6)
    method = sf.AdaGrid(marginals=(("area", "shift"),), copies={"shift,area": 8}, bound=sf.weight(5), public=True)
    levels = {p.question.name: p.level for p in method.plan(small()[0], budget).priced(budget)}
    assert levels["area"] / levels["area × shift"] == pytest.approx(np.sqrt(8))


@pytest.mark.stat
def test_a_noisy_histogram_gives_a_quantile_that_is_near() -> None:
    """With 20,000 persons and σ = 50 a bin the limit is near the true 99 % quantile (200 draws; errors below 1e-6)."""
    rng = np.random.default_rng(0)
    norms = rng.gamma(20, 1.0, 20_000)
    asked = Norms("n", sf.Marginal.of("area"), norm_edges(small()[0]))
    counts = np.bincount(np.searchsorted(asked.edges, norms), minlength=len(asked.edges) + 1)
    true = np.quantile(norms, 0.99)
    for _ in range(200):
        found = noisy_quantile(Noisy(asked, counts + rng.normal(0, 50, len(counts)), 50.0), 0.99)
        assert 0.75 * true < found < 1.5 * true


def test_the_seed_repeats_a_release_and_settings_travel() -> None:
    """Equal seeds give equal models; the settings are plain data that can be replaced."""
    schema, table = small(500)
    method = replace(sf.AdaGrid(), estimator=QUICK)
    a, b = (fitted(schema, table, method, epsilon=1.0) for _ in range(2))
    for x, y in zip(a.marginals, b.marginals, strict=True):
        np.testing.assert_array_equal(x, y)
