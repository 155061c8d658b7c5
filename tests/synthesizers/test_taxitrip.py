"""TaxiTrip: the noise that was promised, one person one count, and shares that are the private ones."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import Budget, Marginal
from sfumato.models.archetypes import Archetypes
from sfumato.privacy.budget import GaussianCost, compose
from sfumato.privacy.plan import Persons
from sfumato.simulate import taxi
from sfumato.table import Table
from tests.conftest import OnEngine

SCHEMA = taxi(10).schema
DELTA = 2.5e-5
SMALL = sf.Schema(
    columns=(
        sf.Person(name="who"),
        sf.Category(name="area", values=(1, 2, 3, 4)),
        sf.Category(name="hour", values=(0, 1, 2, 3), cyclic=True),
        sf.Category(name="firm", values=(1, 2, 3)),
        sf.Number(name="fare", edges=(0, 10, 20), integer=True),
    )
)
SMALL_METHOD = sf.TaxiTrip(archetypes=3, columns=("hour", "area"), attribute="firm", trips=1_000)


def city(persons: int, mix: tuple[float, ...], firms: tuple[float, ...], seed: int) -> pa.Table:
    """Persons of three kinds, who keep to an area and an hour of their own, in these proportions."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, persons, p=mix)
    sizes = rng.integers(4, 9, persons) + 6 * kind
    who = np.repeat(np.arange(persons), sizes)
    stray = rng.random(len(who)) < 0.1
    return pa.table(
        {
            "who": who,
            "area": np.where(stray, rng.integers(1, 5, len(who)), kind[who] + 1),
            "hour": np.where(stray, rng.integers(0, 4, len(who)), kind[who]),
            "firm": rng.choice([1, 2, 3], persons, p=firms)[who],
            "fare": rng.integers(0, 20, len(who)),
        }
    )


@pytest.fixture(scope="module")
def public() -> pa.Table:
    return city(900, (0.6, 0.3, 0.1), (0.5, 0.3, 0.2), 1)


@pytest.fixture(scope="module")
def learned(public: pa.Table) -> Archetypes:
    return SMALL_METHOD.learn(public, SMALL)


def levels(method: sf.TaxiTrip, epsilon: float) -> list[float]:
    return [p.level for p in method.plan(SCHEMA, Budget(epsilon, DELTA)).priced(Budget(epsilon, DELTA))]


@pytest.mark.parametrize(
    ("settings", "epsilon", "sigmas"),
    [
        ({"noise": "classical"}, 10, (5.12, 4.67)),
        ({"split": 0.1}, 10, (4.03, 0.528)),
        ({"split": 0.1}, 1, (34.2, 3.90)),
        ({}, 1, (4.98, 4.98)),
        ({}, 10, (0.68, 0.68)),
    ],
)
def test_noise_is_that_of_the_design(settings: dict[str, object], epsilon: float, sigmas: tuple[float, float]) -> None:
    """Published deviations for δ = 2.5e-5: classical and analytic split 0.1 to 0.9, and the joint release."""
    got = levels(sf.TaxiTrip(**settings), epsilon)
    assert got == pytest.approx(sigmas, rel=0.005)


def test_the_classical_cap_makes_large_budgets_no_better() -> None:
    """Beyond 1 an ε of the classical formula buys nothing; the ledger is charged what the noise costs, far less."""
    ten, hundred = (sf.TaxiTrip(noise="classical", split=0.5).plan(SCHEMA, Budget(e, DELTA)) for e in (10, 100))
    assert [p.level for p in ten.priced(Budget(10, DELTA))] == [p.level for p in hundred.priced(Budget(100, DELTA))]
    costs = [p.cost for p in hundred.priced(Budget(100, DELTA))]
    assert all(isinstance(c, GaussianCost) for c in costs)
    assert compose(costs, DELTA) < 2


@given(st.floats(0.01, 20), st.floats(1e-9, 1e-2), st.sampled_from([None, 0.01, 0.1, 0.5, 0.97]), st.booleans())
@settings(max_examples=60)
def test_no_plan_costs_more_than_its_budget(epsilon: float, delta: float, split: float | None, classical: bool) -> None:
    """Composed exactly, from the noise itself: within (ε, δ), and a joint release uses all of it."""
    budget = Budget(epsilon, delta)
    method = sf.TaxiTrip(split=split, noise="classical" if classical else "analytic")
    priced = method.plan(SCHEMA, budget).priced(budget)
    spent = compose([GaussianCost(p.question.sensitivity / p.level) for p in priced], delta)
    assert spent <= epsilon * (1 + 1e-9)
    assert all(p.level >= p.question.least for p in priced)
    if split is None and not classical:
        assert spent == pytest.approx(epsilon, rel=1e-6)
        sigma = math.sqrt(2) / budget.mu  # one vector of both histograms, of sensitivity √2
        assert [p.level for p in priced] == pytest.approx([sigma, sigma])


def test_a_joint_release_and_two_equal_questions_are_one_thing() -> None:
    """Equal shares of μ²: the σ of a question of sensitivity √2 that takes the whole budget."""
    assert levels(sf.TaxiTrip(), 3)[0] == pytest.approx(Budget(3, DELTA).sigma(math.sqrt(2)))


@given(seed=st.integers(0, 1000), cluster=st.sampled_from(["persons", "records"]))
@settings(max_examples=8)
def test_taking_out_any_person_lowers_one_count_of_each_histogram(
    learned_both: dict[str, Archetypes], seed: int, cluster: str
) -> None:
    """Sensitivity 1 each, hence √2 together: for every person of a random table, by the rules that were learned."""
    table = city(12, (0.4, 0.3, 0.3), (0.4, 0.3, 0.3), seed)
    method = replace(SMALL_METHOD, cluster=cluster)
    plan = _plan(method, learned_both[cluster])
    for question in plan:
        assert question.sensitivity == 1

        def count(data: pa.Table, question: Persons = question) -> np.ndarray:
            return question.labelling.count(Table.open(data, SMALL), "key")

        whole = count(table)
        assert whole.sum() == 12
        for person in range(12):
            change = whole - count(table.filter(pa.compute.not_equal(table["who"], person)))
            assert sorted(change.tolist())[-2:] == [0, 1]
            assert np.abs(change).sum() == 1


@pytest.fixture(scope="module")
def learned_both(public: pa.Table, learned: Archetypes) -> dict[str, Archetypes]:
    return {"persons": learned, "records": replace(SMALL_METHOD, cluster="records").learn(public, SMALL)}


def _plan(method: sf.TaxiTrip, archetypes: Archetypes) -> list[Persons]:
    """The questions that a fit asks, seen by a vault that stops there."""
    asked: list[Persons] = []

    class StopError(Exception):
        pass

    class Door:
        schema, budget = SMALL, Budget(1, 1e-5)

        def ask(self, plan: list[Persons]) -> None:
            asked.extend(plan)
            raise StopError

    with pytest.raises(StopError):
        method.fit(Door(), archetypes)
    return asked


@pytest.mark.stat
@pytest.mark.parametrize("cluster", ["persons", "records"])
@pytest.mark.parametrize("linked", [False, True])
def test_shares_of_the_output_converge_to_the_private_ones(
    learned_both: dict[str, Archetypes], cluster: str, linked: bool
) -> None:
    """The more ε, the nearer companies and archetypes are to the private shares, and not to the public ones.

    Mean half L1 distances over 12 releases each: at ε = 20 below 0.06, and below half of that at ε = 0.05, where σ is a
    hundred persons of 300; the public shares are more than 0.3 away. All seeds are fixed.
    """
    private = city(300, (0.2, 0.3, 0.5), (0.1, 0.2, 0.7), 2)
    method = replace(SMALL_METHOD, cluster=cluster, linked=linked, least=0.0)
    archetypes = learned_both[cluster]
    true_kinds = archetypes_of(archetypes, private)
    distances: dict[float, list[float]] = {}
    for epsilon in (0.05, 20):
        for seed in range(12):
            vault = sf.Vault.open(private, SMALL, Budget(epsilon, 1e-5), ledger=":memory:", seed=seed)
            table = method.fit(vault, archetypes).to_table(15_000, seed=seed)
            firms = per_person(table)
            kinds = archetypes_of(archetypes, table) if cluster == "persons" else true_kinds
            gap = max(half_l1(firms, per_person(private)), half_l1(kinds, true_kinds))
            distances.setdefault(epsilon, []).append(gap)
    public = half_l1(archetypes.attributes.sum(axis=0), per_person(private))
    assert public > 0.3
    assert np.mean(distances[20]) < 0.06
    assert np.mean(distances[20]) < np.mean(distances[0.05]) / 2


def per_person(table: pa.Table) -> np.ndarray:
    """How many persons are with each firm."""
    each = table.group_by("who").aggregate([("firm", "min")])
    return np.bincount(each["firm_min"].to_numpy() - 1, minlength=3)


def archetypes_of(archetypes: Archetypes, table: pa.Table) -> np.ndarray:
    """How many persons are of each archetype, by the archetypes' own prediction."""
    records = sf.models.learning.Public.open(table, SMALL).records(archetypes.columns)
    starts = np.flatnonzero(np.diff(records.person, prepend=-1))
    return np.bincount(archetypes.predict_persons(records.codes, starts), minlength=len(archetypes))


def half_l1(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a / a.sum() - b / b.sum()).sum() / 2)


@pytest.mark.stat
def test_a_firm_that_nobody_has_is_dropped() -> None:
    """At 2 deviations an empty company survives with odds of 2.3 %; of 50 more than 7 do at 1 in 10,000."""
    private = taxi(8_000).to_table()
    seen = set(private["company_id"].to_pylist())
    vault = sf.Vault.open(private, SCHEMA, Budget(1, DELTA), ledger=":memory:", seed=3)
    model = sf.TaxiTrip(archetypes=3).fit(vault, private)
    weights = model.attributes[0]
    empty = [i for i in range(57) if i not in seen]
    assert len(empty) > 10
    assert (weights[empty] > 0).sum() <= 7
    assert weights.sum() > 0


@pytest.mark.parametrize("cluster", ["persons", "records"])
def test_the_same_seed_gives_the_same_output_on_every_engine(
    on_engine: OnEngine, public: pa.Table, cluster: str
) -> None:
    """Private and public table anywhere, in any order of rows: the same model and the same records."""
    private = city(60, (0.2, 0.3, 0.5), (0.1, 0.2, 0.7), 3)
    method = replace(SMALL_METHOD, cluster=cluster)

    def made(data: object, last_year: object) -> pa.Table:
        vault = sf.Vault.open(data, SMALL, Budget(1, 1e-5), ledger=":memory:", seed=4)
        return method.fit(vault, last_year).to_table(seed=5)

    shuffled = public.take(np.random.default_rng(0).permutation(public.num_rows))
    assert made(on_engine(private), public) == made(private.take(np.arange(private.num_rows)[::-1].copy()), shuffled)


def test_as_many_records_as_the_private_table_has_where_no_number_is_given(learned: Archetypes) -> None:
    """trips=None: the noisy number of persons times the archetypes' mean, within 10 % at ε = 20."""
    private = city(400, (0.2, 0.3, 0.5), (0.1, 0.2, 0.7), 5)
    vault = sf.Vault.open(private, SMALL, Budget(20, 1e-5), ledger=":memory:", seed=1)
    model = replace(SMALL_METHOD, trips=None).fit(vault, learned)
    assert model.trips == pytest.approx(private.num_rows, rel=0.1)
    assert model.to_table(seed=1).num_rows == model.trips


def test_without_an_attribute_there_is_one_question(public: pa.Table) -> None:
    """The archetypes take the whole budget."""
    method = replace(SMALL_METHOD, attribute=None)
    vault = sf.Vault.open(public, SMALL, Budget(1, 1e-5), ledger=":memory:", seed=1)
    assert method.fit(vault, public).to_table(10, seed=1)["firm"].null_count == 0
    (asked,) = method.plan(SMALL, Budget(1, 1e-5)).priced(Budget(1, 1e-5))
    assert asked.level == pytest.approx(Budget(1, 1e-5).sigma(1))


def test_the_ledger_shows_what_the_noise_costs(tmp_path: Path, public: pa.Table, learned: Archetypes) -> None:
    """Classical noise at ε = 10 is on record with the ε that its μ is worth, and leaves the rest."""
    vault = sf.Vault.open(public, SMALL, Budget(10, DELTA), ledger=tmp_path / "l.ledger", seed=1)
    replace(SMALL_METHOD, noise="classical").fit(vault, learned)
    with sf.Ledger.open(tmp_path / "l.ledger") as ledger:
        (release,) = ledger.releases()
        (account,) = ledger.accounts()
    assert [c.noise for c in release.charges] == pytest.approx([5.12, 4.67], rel=0.01)
    mu = math.hypot(*(1 / c.noise for c in release.charges))
    assert account.spent == pytest.approx(compose([GaussianCost(mu)], DELTA))
    assert account.spent < 2


def test_a_plan_that_waits_for_public_data_is_explained_and_not_asked(tmp_path: Path) -> None:
    """Its questions have their bins and noise; asking it is refused before anything is charged."""
    vault = sf.Vault.open(pa.table({n: [1] for n in ("who", "area", "hour", "firm", "fare")}), SMALL, Budget(1, 1e-5),
                          ledger=tmp_path / "l.ledger")  # fmt: skip
    plan = SMALL_METHOD.plan(SMALL, vault.budget)
    assert [q.cells(SMALL) for q in plan] == [3, 3]
    for asked in (plan, SMALL_METHOD):
        with pytest.raises(sf.InputError, match="waits for public data"):
            vault.ask(asked)
    with sf.Ledger.open(tmp_path / "l.ledger") as ledger:
        assert ledger.accounts() == []


def test_archetypes_of_other_settings_are_refused_before_anything_is_spent(
    tmp_path: Path, public: pa.Table, learned: Archetypes
) -> None:
    """Another number, other columns, another table of completion, nobody to be like, no archetypes at all."""
    vault = sf.Vault.open(public, SMALL, Budget(1, 1e-5), ledger=tmp_path / "l.ledger")
    path = tmp_path / "a.sfumato"
    learned.save(path)
    other = SMALL.model_copy(update={"max_records_per_person": 5})
    averages = replace(SMALL_METHOD, likeness=0.0).learn(public, SMALL)
    for method, given_public, match in (
        (replace(SMALL_METHOD, archetypes=4), learned, "archetypes 3, asked for is 4"),
        (replace(SMALL_METHOD, columns=("area", "hour")), learned, "columns"),
        (replace(SMALL_METHOD, attribute=None), learned, "attribute"),
        (replace(SMALL_METHOD, cluster="records"), learned, "cluster"),
        (replace(SMALL_METHOD, completion=("fare ~ area",)), learned, "completion"),
        (replace(SMALL_METHOD, archetypes=str(path), total="fare = fare"), None, "total"),
        (replace(SMALL_METHOD, archetypes=str(path)), public, "no public data beside"),
        (replace(SMALL_METHOD, archetypes=str(tmp_path / "no.sfumato")), None, "does not exist"),
        (SMALL_METHOD, averages, "without persons"),
        (SMALL_METHOD, None, "learns archetypes from public data"),
        (SMALL_METHOD, replace(learned, schema=other), "another schema"),
    ):
        with pytest.raises(sf.InputError, match=match):
            method.fit(vault, given_public)
    with sf.Ledger.open(tmp_path / "l.ledger") as ledger:
        assert ledger.accounts() == []
    assert replace(SMALL_METHOD, archetypes=str(path)).fit(vault).provenance.epsilon == 1


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"split": 0.0}, "between 0 and 1"),
        ({"split": 0.1, "attribute": None}, "no attribute"),
        ({"noise": "laplace"}, "analytic"),
        ({"trips": -1}, "from 0 on"),
        ({"least": math.nan}, "least is nan"),
        ({"likeness": 1.5}, "likeness is 1.5"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object], match: str) -> None:
    """With the value and what to give instead."""
    with pytest.raises(sf.InputError, match=match):
        sf.TaxiTrip(**wrong)


def test_gaussian_noise_needs_a_delta() -> None:
    """Whatever the noise, δ = 0 is refused in a sentence."""
    for method in (sf.TaxiTrip(), sf.TaxiTrip(noise="classical"), sf.TaxiTrip(split=0.1)):
        with pytest.raises(sf.InputError, match="delta above 0"):
            method.plan(SCHEMA, Budget(1)).priced(Budget(1))


def test_a_public_marginal_of_the_model_is_that_of_the_table(public: pa.Table, learned: Archetypes) -> None:
    """Cells of all archetypes together are the public records, one for one."""
    total = np.zeros(16, np.int64)
    np.add.at(total, learned.cells.values, learned.cells.counts)
    exact = Table.open(public, SMALL).counts([Marginal.of("hour", "area")])[0].values
    np.testing.assert_array_equal(total.reshape(4, 4), exact)
