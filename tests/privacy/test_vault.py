"""The vault: charged before it answers, bounded, noisy everywhere, and never more than the plan."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import Axis, Marginal
from sfumato.bounds import UNIT, Bound
from sfumato.persons import ByLabel, ByRecords, ByValue
from sfumato.privacy import noise, plan
from sfumato.privacy.budget import Budget, GaussianCost, PureCost, compose
from sfumato.privacy.explain import promise
from sfumato.privacy.plan import Chosen, Histogram, Linear, Part, Persons, Plan, Priced, Question, Scores
from sfumato.privacy.scores import Dependence
from sfumato.privacy.vault import Answers
from sfumato.table import Table
from tests.conftest import OnEngine
from tests.test_bounded import SCHEMA, people, tables, without

AREA = Marginal.of("area")
PAIR = Marginal.of("area", "kind")
BUDGET = sf.Budget(1.0, 1e-5)
DEPENDENCE = Dependence((PAIR, Marginal.of("area", "fare")))


def every_question() -> Plan:
    return Plan(
        "test",
        (
            Histogram("gauss", PAIR, sf.l2(3), share=2),
            Histogram("laplace", AREA, sf.weight(2), noise="laplace"),
            Persons("sizes", ByRecords((1, 5)), noise="laplace"),
            Persons("homes", ByValue(Axis("area"))),
            Linear("sums", PAIR, sf.records(2)),
            Linear("scaled", PAIR, sf.l2(2)),
            Scores("dependence", DEPENDENCE, sf.records(3)),
            Chosen("finest", ("area", "kind"), sf.weight(2)),
        ),
    )


def opened(data: object, seed: int | None = 1, budget: sf.Budget = BUDGET, **more: object) -> sf.Vault:
    return sf.Vault.open(data, SCHEMA, budget, ledger=more.pop("ledger", ":memory:"), seed=seed, **more)


def test_a_least_noise_is_kept_and_charged_for_what_it_costs() -> None:
    """Where a share buys less noise the least stands, at its own cost; a smaller least changes nothing."""
    for law, cost in (("gaussian", GaussianCost(1 / 50)), ("laplace", PureCost(1 / 50))):
        asked = Plan(
            "test", tuple(Persons(f"q{least}", ByRecords((1,)), noise=law, least=least) for least in (0, 1e-3, 50))
        )
        free, small, large = asked.priced(BUDGET)
        assert (free.level, free.cost) == (small.level, small.cost)
        assert (large.level, large.cost) == (50, cost)
        assert compose([free.cost, small.cost, large.cost], BUDGET.delta) < BUDGET.epsilon
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(sf.InputError, match="least noise"):
            Persons("q", ByRecords((1,)), least=wrong)


def test_every_kind_of_question_is_answered_on_every_engine(on_engine: OnEngine) -> None:
    """The same seeded answers bit for bit, whatever the engine and the order of the rows."""
    table = people([5, 9, 1, 14, 3], 6)
    reference = answers_of(opened(table.take(np.arange(table.num_rows)[::-1].copy())))
    for name, values in answers_of(opened(on_engine(table))).items():
        np.testing.assert_array_equal(values, reference[name], err_msg=name)


def answers_of(vault: sf.Vault) -> dict[str, np.ndarray]:
    answers = vault.ask(every_question())
    matrix = np.eye(12)[:5]
    plain = {n: answers[n].values for n in ("gauss", "laplace", "sizes", "homes", "dependence")}
    linear = {n: answers.linear(n, matrix).values for n in ("sums", "scaled")}
    chosen = answers.chosen("finest", [Part(PAIR, 2.0), Part(AREA, 1.0)])
    return plain | linear | {f"finest {i}": noisy.values for i, noisy in enumerate(chosen)}


def test_noise_is_around_the_bounded_counts() -> None:
    """With a budget that buys next to no noise the answers are the exact bounded ones."""
    table = people([5, 9, 1, 14, 3], 6)
    got = answers_of(opened(table, budget=sf.Budget(1e7, 0.5)))
    with Table.open(table, SCHEMA) as direct:
        from sfumato.bounded import bounded_counts

        (pair,) = bounded_counts(direct, [PAIR], sf.l2(3), "seed 1")
    np.testing.assert_allclose(got["gauss"], pair.values / UNIT, atol=0.1)
    assert got["sizes"].tolist() == [2, 3]
    assert got["homes"].sum() == pytest.approx(5, abs=0.1)


def test_answers_lie_on_the_lattice() -> None:
    """Every answer is a whole number of lattice units, so that no low-order bit depends on the data."""
    got = answers_of(opened(people([5, 9, 1], 6)))
    for name, unit in {
        "gauss": UNIT,
        "laplace": UNIT,
        "sizes": 1,
        "homes": 1,
        "sums": UNIT,
        "scaled": UNIT,
        "finest 0": UNIT,
    }.items():
        np.testing.assert_array_equal(got[name] * unit, np.rint(got[name] * unit), err_msg=name)


@pytest.mark.stat
def test_empty_cells_get_the_same_noise_as_full_ones() -> None:
    """On 20,000 empty cells the noise has the planned spread (σ within 4 %, an error rate below 1e-4)."""
    schema = sf.Schema(columns=(sf.Person(name="who"), sf.Category(name="x", values=tuple(range(20_000)))))
    vault = sf.Vault.open(pa.table({"who": [1], "x": [0]}), schema, BUDGET, ledger=":memory:", seed=5)
    noisy = vault.ask(Plan("t", (Histogram("x", Marginal.of("x"), sf.records(1)),)))["x"]
    assert noisy.level == pytest.approx(BUDGET.sigma(1))
    assert noisy.values.std() == pytest.approx(noisy.level, rel=0.04)
    assert (noisy.values[1:] != 0).mean() > 0.8


@given(table=tables)
@settings(max_examples=15)
def test_dependence_moves_by_no_more_than_its_proof_says(table: pa.Table) -> None:
    """Taking out any person of a random table moves each exact score by at most the claimed sensitivity."""
    bound = sf.records(3)

    def scores(t: pa.Table) -> np.ndarray:
        from sfumato.bounded import bounded_counts

        with Table.open(t, SCHEMA) as direct:
            return DEPENDENCE.values(bounded_counts(direct, list(DEPENDENCE.pairs), bound, "key"))

    whole = scores(table)
    for person in set(table["who"].to_pylist()):
        assert np.abs(whole - scores(without(table, person))).max() <= DEPENDENCE.sensitivity(bound)


def test_dependence_of_copies_and_of_independent_columns() -> None:
    """Independent columns score 0; a column and its copy score 2n(1 − Σp²)."""
    one = Dependence((Marginal.of("a", "b"),))
    independent = sf.Counts(one.pairs[0], np.outer([1, 2], [3, 6]))
    copies = sf.Counts(one.pairs[0], np.diag([10, 30]))
    assert one.values([independent])[0] == pytest.approx(0)
    assert one.values([copies])[0] == pytest.approx(2 * 40 * (1 - (0.25**2 + 0.75**2)))
    assert one.values([sf.Counts(one.pairs[0], np.zeros((2, 2)))])[0] == 0


# ---------------------------------------------------------------------- marginals chosen on the way


@given(table=tables, bound=st.sampled_from([sf.records(3), sf.weight(2)]), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_chosen_parts_move_by_no_more_than_the_bound_together(table: pa.Table, bound: sf.Bound, seed: int) -> None:
    """Scaled by √weight, bins merged at random, the parts of any person have a Euclidean norm within the bound."""
    from sfumato.bounded import bounded_counts

    rng = np.random.default_rng(seed)
    groups = (rng.integers(-1, 3, 4), rng.integers(-1, 2, 3))
    parts = [Part(PAIR, rng.uniform(0.1, 3), groups), Part(PAIR, 1.0), Part(AREA, rng.uniform(0.1, 3))]
    question = Chosen("q", ("area", "kind"), bound)
    weights = question.weighed(parts, SCHEMA)
    assert sum(weights) == pytest.approx(1)
    assert sum(weights) < 1

    def merged(t: pa.Table) -> list[np.ndarray]:
        with Table.open(t, SCHEMA) as direct:
            found = bounded_counts(direct, [p.marginal for p in parts], bound, "key")
        return [p.merged(c.values).ravel() / bound.unit for p, c in zip(parts, found, strict=True)]

    whole = merged(table)
    for person in set(table["who"].to_pylist()):
        moved = [np.linalg.norm(a - b) for a, b in zip(whole, merged(without(table, person)), strict=True)]
        assert max(moved) <= question.l2 * (1 + 1e-12), "each part by itself"
        assert np.sqrt(np.dot(weights, np.square(moved))) <= question.l2 * (1 + 1e-12), "all together"


def test_merged_counts_are_sums_over_groups() -> None:
    """Bins of one group are added up, those of group -1 are left out."""
    part = Part(PAIR, 1.0, (np.array([0, 1, 1, -1]), np.array([1, 0, 1])))
    counts = np.arange(12).reshape(4, 3)
    assert part.merged(counts).tolist() == [[1, 2], [4 + 7, 3 + 5 + 6 + 8]]


@pytest.mark.stat
def test_noise_of_chosen_parts_is_that_of_their_weights() -> None:
    """Parts with weights 1 and 3 of a plan that has nothing else get σ·2 and σ·√(4/3) (within 4 %, errors < 1e-4)."""
    schema = sf.Schema(columns=(sf.Person(name="who"), sf.Category(name="x", values=tuple(range(20_000)))))
    vault = sf.Vault.open(pa.table({"who": [1], "x": [0]}), schema, BUDGET, ledger=":memory:", seed=5)
    answers = vault.ask(Plan("t", (Chosen("q", ("x",), sf.records(2)),)))
    one, three = answers.chosen("q", [Part(Marginal.of("x"), 0.25), Part(Marginal.of("x"), 0.75)])
    for noisy, factor in ((one, 2), (three, np.sqrt(4 / 3))):
        assert noisy.level == pytest.approx(BUDGET.sigma(2) * factor)
        assert noisy.values.std() == pytest.approx(noisy.level, rel=0.04)
    assert abs(np.corrcoef(one.values, three.values)[0, 1]) < 0.03


def test_chosen_marginals_are_refused_where_they_were_not_planned() -> None:
    """Other columns, weights that are none, groups that do not fit, a second choice: a sentence each."""
    answers = opened(people([3, 4], 1)).ask(every_question())
    bad = {
        "at least one": [],
        "none of those that were planned": [Part(Marginal.of("fare"), 1.0)],
        "weight is 0": [Part(AREA, 0.0)],
        "less than": [Part(AREA, 1e-12), Part(PAIR, 1.0)],
        "groups have lengths": [Part(AREA, 1.0, (np.zeros(3, int),))],
        "whole numbers from -1": [Part(AREA, 1.0, (np.full(4, -2),))],
    }
    for words, parts in bad.items():
        with pytest.raises(sf.InputError, match=words):
            answers.chosen("finest", parts)
    with pytest.raises(sf.InputError, match=r"chosen\('finest', parts\)"):
        _ = answers["finest"]
    with pytest.raises(sf.InputError, match="takes no marginals"):
        answers.chosen("gauss", [Part(AREA, 1.0)])
    answers.chosen("finest", [Part(AREA, 1.0)])
    with pytest.raises(sf.InputError, match="has been answered"):
        answers.chosen("finest", [Part(AREA, 1.0)])


def test_many_scores_are_counted_in_several_scans() -> None:
    """More marginals than one scan takes are answered in order, the same as one by one."""
    pairs = tuple(Marginal.of(*axes) for axes in [("area", "kind"), ("kind", "fare"), ("fare", "area")] * 9)
    sure = sf.Budget(1e9, 0.5)
    many, one = (
        opened(people([5, 9, 14], 6), budget=sure).ask(Plan("t", (Scores("q", Dependence(p), sf.records(3)),)))["q"]
        for p in (pairs, pairs[:3])
    )
    np.testing.assert_allclose(many.values, np.tile(one.values, 9), atol=0.1)


# ---------------------------------------------------------------------- charging


def test_the_plan_is_charged_before_a_record_is_read(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the time the engine gets its first query the ledger holds every question of the plan."""
    from sfumato.engine import DuckEngine

    path = tmp_path / "l.ledger"
    vault = opened(people([3, 4], 1), ledger=path)
    seen: list[int] = []
    ask = DuckEngine.run

    def watched(self: DuckEngine, sql: str, **tables_: pa.Table) -> pa.Table:
        seen.append(len(sf.Ledger(path).releases("data")[-1].charges))
        return ask(self, sql, **tables_)

    monkeypatch.setattr(DuckEngine, "run", watched)
    answers_of(vault)
    assert seen
    assert set(seen) == {len(every_question().questions)}


def test_the_ledger_holds_what_was_spent_and_no_more(tmp_path) -> None:
    """The charges compose to the budget; σ and scale are those of the plan."""
    path = tmp_path / "l.ledger"
    opened(people([3, 4], 1), ledger=path).ask(every_question())
    (release,) = sf.Ledger(path).releases("data")
    spent = compose([c.cost for c in release.charges], BUDGET.delta)
    assert spent <= BUDGET.epsilon
    assert spent == pytest.approx(BUDGET.epsilon, rel=1e-3)
    for charge in release.charges:
        rate = charge.cost.mu if isinstance(charge.cost, GaussianCost) else charge.cost.epsilon
        assert charge.noise == pytest.approx(charge.sensitivity / rate)
    assert release.private is False


def test_a_refused_plan_spends_and_reads_nothing(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the cap the vault refuses before the engine is asked."""
    from sfumato.engine import DuckEngine

    path = tmp_path / "l.ledger"
    vault = opened(people([3, 4], 1), ledger=path)
    answers_of(vault)
    before = path.read_bytes()
    monkeypatch.setattr(DuckEngine, "run", lambda *a, **k: pytest.fail("data was read"))
    with pytest.raises(sf.BudgetError, match="cap"):
        vault.ask(every_question())
    assert path.read_bytes() == before


def test_the_golden_noise_of_the_adaptive_grid(tmp_path) -> None:
    """66 Gaussian questions under weight(150) at ε = 1, δ = 2.5e-5 get σ = 4290.24 each, on record in the ledger."""
    path = tmp_path / "l.ledger"
    plan = Plan("grid", tuple(Histogram(f"q{i}", AREA, sf.weight(150)) for i in range(66)))
    opened(people([3], 1), budget=sf.Budget(1.0, 2.5e-5), ledger=path).ask(plan)
    (release,) = sf.Ledger(path).releases("data")
    assert [round(c.noise, 2) for c in release.charges] == [4290.24] * 66


def test_a_question_has_one_answer() -> None:
    """Asked again it gives the same noise, so nothing can be averaged away."""
    answers = opened(people([3, 4], 1), seed=None).ask(every_question())
    assert answers["gauss"] is answers["gauss"]
    answers.linear("sums", np.eye(12))
    with pytest.raises(sf.InputError, match="has been answered"):
        answers.linear("sums", np.eye(12))


def test_unseeded_releases_differ_and_are_private() -> None:
    """Without a seed no two releases are alike, and only those carry the promise."""
    table = people([3, 4], 1)
    first, second = (opened(table, seed=None).ask(every_question()) for _ in range(2))
    assert (first["gauss"].values != second["gauss"].values).any()
    assert first.provenance.private
    assert "warning" not in first.provenance.to_dict()
    seeded = opened(table, seed=3).ask(every_question()).provenance
    assert not seeded.private
    assert "NOT PRIVATE" in seeded.to_dict()["warning"]


# ---------------------------------------------------------------------- what is refused


def test_a_matrix_with_longer_columns_than_planned_is_refused() -> None:
    """The norm is checked before the engine is asked, and the answer is not given."""
    answers = opened(people([3, 4], 1)).ask(every_question())
    with pytest.raises(sf.InputError, match="norm"):
        answers.linear("sums", np.eye(12) * 1.001)
    with pytest.raises(sf.InputError, match="linear\\('sums', matrix\\)"):
        _ = answers["sums"]
    with pytest.raises(sf.InputError, match="takes no matrix"):
        answers.linear("gauss", np.eye(12))
    with pytest.raises(sf.InputError, match="no question 'else'"):
        _ = answers["else"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Histogram("q", PAIR, sf.l2(3), noise="laplace"), "does not bound a person in L1"),
        (Histogram("q", Marginal.of("nowhere"), sf.l2(3)), "no column 'nowhere'"),
        (Histogram("q", Marginal.of("area@district"), sf.l2(3)), "no level 'district'"),
        (Scores("q", DEPENDENCE, sf.l2(3)), "dependence"),
        (Chosen("q", ("area",), sf.l2(3)), "when bins are merged"),
        (Chosen("q", ("area",), sf.records(3), noise="laplace"), "Gaussian"),
        (Chosen("q", ("nowhere",), sf.records(3)), "no column 'nowhere'"),
        (Linear("q", PAIR, sf.records(1), norm=float("nan")), "norm"),
    ],
)
def test_questions_that_cannot_be_bounded_are_refused(tmp_path, question: Question, words: str) -> None:
    """The sentence says why, and nothing is spent."""
    path = tmp_path / "l.ledger"
    vault = opened(people([3], 1), ledger=path)
    with pytest.raises(sf.InputError, match=words):
        vault.ask(Plan("t", (question,)))
    assert sf.Ledger(path).accounts() == []


def test_a_plan_that_prices_itself_is_not_believed(tmp_path) -> None:
    """The vault makes its own plan of the questions: noise and cost follow from the budget."""

    class Cheap(Plan):
        def check(self, schema: sf.Schema) -> None:
            """All is well."""

        def priced(self, budget: Budget) -> tuple[Priced, ...]:
            return tuple(Priced(p.question, PureCost(1e-9), 1e-6) for p in super().priced(budget))

    path = tmp_path / "l.ledger"
    question = Histogram("q", AREA, sf.records(3), noise="laplace")
    answer = opened(people([3], 1), ledger=path).ask(Cheap("t", (question,)))["q"]
    assert answer.level == pytest.approx(3.0)
    (release,) = sf.Ledger(path).releases("data")
    assert [charge.noise for charge in release.charges] == [answer.level]
    assert compose([charge.cost for charge in release.charges], 0.0) == pytest.approx(1.0)
    with pytest.raises(sf.InputError, match="does not bound a person in L1"):
        opened(people([3], 1)).ask(Cheap("t", (Histogram("q", AREA, sf.l2(3), noise="laplace"),)))


def test_gaussian_noise_needs_a_delta() -> None:
    """With δ = 0 a Gaussian question is refused with a sentence that says so."""
    with pytest.raises(sf.InputError, match="delta"):
        opened(people([3], 1), budget=sf.Budget(1.0)).ask(Plan("t", (Histogram("q", PAIR, sf.l2(3)),)))


def test_plans_need_names_and_questions() -> None:
    """An empty plan and two questions of one name are refused."""
    with pytest.raises(sf.InputError, match="asks nothing"):
        Plan("t", ())
    with pytest.raises(sf.InputError, match="one name"):
        Plan("t", (Histogram("q", PAIR, sf.l2(3)), Histogram("q", AREA, sf.l2(3))))
    with pytest.raises(sf.InputError, match="share"):
        Histogram("q", PAIR, sf.l2(3), share=0)


def test_shares_are_relative() -> None:
    """Shares 1 and 3 split ε, or μ², one to three."""
    pure = Plan(
        "t",
        (Histogram("a", AREA, sf.records(1), noise="laplace"), Persons("b", ByRecords((1,)), noise="laplace", share=3)),
    )
    assert [p.cost for p in pure.priced(sf.Budget(1.0))] == [PureCost(0.25), PureCost(0.75)]
    gauss = Plan("t", (Histogram("a", AREA, sf.l2(1)), Histogram("b", AREA, sf.l2(1), share=3)))
    a, b = (p.cost for p in gauss.priced(BUDGET))
    assert isinstance(a, GaussianCost)
    assert isinstance(b, GaussianCost)
    assert b.mu**2 == pytest.approx(3 * a.mu**2)


# ---------------------------------------------------------------------- once, whatever one tries


def test_many_threads_get_one_answer() -> None:
    """Threads that ask at the same moment share one draw of noise, and one matrix is answered."""
    answers = opened(people([3, 4], 1), seed=None).ask(every_question())
    gate = threading.Barrier(8)

    def ask(i: int) -> tuple[int, bool]:
        gate.wait()
        noisy = id(answers["gauss"])
        gate.wait()
        try:
            answers.linear("sums", np.eye(12)[:, ::-1] if i % 2 else np.eye(12))
        except sf.InputError:
            return noisy, False
        return noisy, True

    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(ask, range(8)))
    assert len({noisy for noisy, _ in got}) == 1
    assert sum(answered for _, answered in got) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_gets_no_answers() -> None:
    """A forked process would carry the noise along: asked for another question it would give the same noise."""
    vault = opened(people([3, 4], 1), seed=None)
    answers = vault.ask(every_question())
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - in another process
        said = b""
        for ask in (lambda: answers["gauss"], lambda: vault.ask(every_question())):
            try:
                ask()
                said += b"answered "
            except sf.InputError as error:
                said += b"refused " if b"process" in str(error).encode() else b"otherwise "
        os.write(write, said)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"refused refused "
    assert answers["gauss"].values.size


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_neither_vault_nor_answers_can_be_copied(how: Callable[[object], object]) -> None:
    """A copy could be asked what the original was asked already."""
    vault = opened(people([3, 4], 1), seed=None)
    for thing in (vault, vault.ask(every_question())):
        with pytest.raises(sf.InputError, match="cannot be copied or pickled"):
            how(thing)


def test_what_a_vault_promises_cannot_be_changed() -> None:
    """Neither the mark of seeded noise nor schema, budget or unit: they are those it was opened with."""
    vault = opened(people([3, 4], 1), seed=1)
    for name, value in {"private": True, "budget": sf.Budget(99), "schema": NOBODY, "unit": "record"}.items():
        with pytest.raises(AttributeError, match="fixed"):
            setattr(vault, name, value)
    assert not vault.private


def test_answers_are_made_by_a_charge_alone() -> None:
    """Whoever puts answers together by hand, at a noise of their own choice, is refused."""
    vault = opened(people([3, 4], 1))
    cheap = {"q": Priced(Histogram("q", AREA, sf.records(3)), PureCost(1e9), 1e-9)}
    with pytest.raises(sf.InputError, match="charges the ledger"):
        Answers(vault, vault.schema, cheap, vault.ask(every_question()).provenance, None)


# ---------------------------------------------------------------------- refused before anything is spent


class Spy:
    """A labelling from elsewhere: it would be handed the private table."""

    def bins(self, schema: sf.Schema) -> int:
        return 1

    def columns(self, schema: sf.Schema) -> tuple[str, ...]:
        return ()

    def count(self, table: Table, key: str) -> np.ndarray:
        raise AssertionError("the private table was handed out")


@dataclass(frozen=True)
class Cheap(Histogram):
    """A histogram that says it is less sensitive than it is."""

    @property
    def l2(self) -> float:
        return 1e-6


class Loose(Bound):
    """A bound that says it caps a person at less than it does."""

    @property
    def l2(self) -> float:
        return 1e-6


LABELS = np.zeros((3, 3), np.int64)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Persons("q", Spy()), "Spy is none of Sfumato's own"),
        (Cheap("q", AREA, sf.l2(3)), "Cheap is none of Sfumato's own"),
        (Histogram("q", AREA, Loose("l2", 3)), "Loose is none of Sfumato's own"),
        (Persons("q", ByValue(Axis("nowhere"))), "no column 'nowhere'"),
        (Persons("q", ByValue(Axis("area", "nowhere"))), "no level 'nowhere'"),
        (Persons("q", ByLabel("labels", PAIR, LABELS)), "labels have shape"),
        (Persons("q", ByLabel("labels", PAIR, np.full((4, 3), -1))), "no bin"),
        (Linear("q", PAIR, sf.weight(2**20)), "more than .* which is the most there is"),
    ],
)
def test_what_could_not_be_answered_is_refused_before_it_is_charged(tmp_path, question: Question, words: str) -> None:
    """Labellings that do not fit, parts without a proof, noise that cannot be drawn: one sentence, nothing spent."""
    path = tmp_path / "l.ledger"
    vault = opened(people([3], 1), ledger=path)
    with pytest.raises(sf.InputError, match=words):
        vault.ask(Plan("t", (question,)))
    assert sf.Ledger(path).accounts() == []


def test_the_largest_noise_is_that_of_the_sampler() -> None:
    """What a plan lets through can be drawn."""
    assert plan.LARGEST == noise.LARGEST


def test_a_seed_that_is_none_makes_no_ledger(tmp_path) -> None:
    """A negative seed is refused before the ledger's file is made."""
    with pytest.raises(sf.InputError, match="seed"):
        opened(people([3], 1), seed=-1, ledger=tmp_path / "l.ledger")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- opening


NOBODY = sf.Schema(columns=(sf.Category(name="area", values=(0, 1)),))


def test_without_a_person_id_only_single_records_can_be_protected() -> None:
    """It has to be said, and then plain counts of records with a sensitivity of one are answered."""
    table = pa.table({"area": [0, 1, 1]})
    with pytest.raises(sf.InputError, match="no person id"):
        sf.Vault.open(table, NOBODY, sf.Budget(1.0), ledger=":memory:")
    vault = sf.Vault.open(table, NOBODY, sf.Budget(1e6), ledger=":memory:", unit="record", seed=1)
    assert vault.ask(sf.NMD())["cells"].values.tolist() == [1, 2]
    with pytest.raises(sf.InputError, match="records\\(1\\)"):
        vault.ask(sf.NMD(bound=sf.records(2)))
    with pytest.raises(sf.InputError, match="protect less"):
        opened(people([1], 1), unit="record")


def test_a_ledger_is_asked_for() -> None:
    """A table in memory has no place beside it for a ledger, so one must be named."""
    with pytest.raises(sf.InputError, match="ledger"):
        sf.Vault.open(people([1], 1), SCHEMA, BUDGET)


def test_the_ledger_lies_beside_the_data(tmp_path) -> None:
    """For a file it is the file's name with the ending .ledger."""
    pa.parquet.write_table(people([3], 1), tmp_path / "trips.parquet")
    sf.Vault.open(tmp_path / "trips.parquet", SCHEMA, BUDGET).ask(every_question())
    assert (tmp_path / "trips.ledger").is_file()


@pytest.mark.parametrize(
    ("epsilon", "told"),
    [(1, "2.72 "), (1.2, "3.33 "), (0.5, "1.65 "), (0.001, "e^0.001 "), (9, "8,103.09 "), (1e23, "e^1e+23 ")],
)
def test_the_promise_is_told_with_no_smaller_factor_than_it_has(epsilon: float, told: str) -> None:
    """The factor is e^ε rounded up; where that would be hard to read it stands as a power."""
    assert f"by a factor of at most {told}" in promise(Budget(epsilon), "taxi")


def test_explain_prints_the_plan_and_spends_nothing(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    """Questions, bounds, noise, cost and the promise in words, before anything is read."""
    path = tmp_path / "l.ledger"
    opened(people([3], 1), ledger=path).explain(every_question())
    printed = capsys.readouterr().out
    for part in ("gauss", "l2(3)", "σ", "scale", "μ", "odds", "2.72"):
        assert part in printed
    assert sf.Ledger(path).accounts() == []


def test_the_fingerprint_does_not_depend_on_records() -> None:
    """Tables with the same columns have one fingerprint; another schema has another."""
    from sfumato.privacy.vault import fingerprint

    families = {"who": "text", "area": "integer"}
    assert fingerprint(SCHEMA, families) == fingerprint(SCHEMA, dict(families))
    assert fingerprint(SCHEMA, families) != fingerprint(NOBODY, families)
    assert len(fingerprint(SCHEMA, families)) == 16
