"""A graphical model: its records have its marginals, conditions are exact, persons are believable, files are whole."""

from __future__ import annotations

import contextlib
import itertools
import json
import zipfile
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError
from sfumato.models import GraphicalModel, graphical, load_model
from sfumato.models.people import FIRST, Sizes, Slots
from sfumato.models.values import Pools
from sfumato.privacy.provenance import Provenance
from tests.strategies import mutated

MADE = Provenance(method="adagrid", epsilon=1.0, delta=1e-6, unit="person", private=True, release="r1")
SCHEMA = sf.Schema(
    columns=(
        sf.Person(name="who"),
        sf.Category(name="a", values=(0, 1, 2)),
        sf.Category(name="b", values=(0, 1, 2, 3)),
        sf.Category(name="c", values=(0, 1)),
        sf.Number(name="x", edges=(0, 10, 20), integer=True),
    )
)
NAMES = ("a", "b", "c", "x")
SHAPE = (3, 4, 2, 2)


def joint(seed: int) -> np.ndarray:
    """A distribution of all columns in which c and x depend on b alone."""
    rng = np.random.default_rng(seed)
    ab = rng.gamma(0.7, size=(3, 4))
    c, x = rng.dirichlet([0.7, 0.7], 4), rng.dirichlet([0.7, 0.7], 4)
    whole = ab[:, :, None, None] * c[None, :, :, None] * x[None, :, None, :]
    return whole / whole.sum()


def model(seed: int = 0, total: float = 50_000.0, **more: object) -> GraphicalModel:
    whole = joint(seed) * total
    tables = (whole.sum((2, 3)), whole.sum((0, 3)), whole.sum((0, 2)))
    cliques = (("a", "b"), ("b", "c"), ("b", "x"))
    return GraphicalModel(SCHEMA, MADE, cliques, (-1, 0, 0), tables, total, **more)  # type: ignore[arg-type]


def tally(table: pa.Table) -> np.ndarray:
    """How often each cell of all columns comes."""
    out = np.zeros(SHAPE)
    x = np.asarray(table["x"]) // 10
    np.add.at(out, (np.asarray(table["a"]), np.asarray(table["b"]), np.asarray(table["c"]), x), 1)
    return out


@given(seed=st.integers(0, 1000), records=st.integers(0, 5000))
@settings(max_examples=25)
def test_rounded_cliques_are_nearly_exact(seed: int, records: int) -> None:
    """Drawn by `round`, a root's cell is off by one at most, another clique's by one for each cell of what is given."""
    made = model(seed)
    got = tally(made.to_table(records=records, seed=seed))
    want = joint(seed) * records
    assert got.sum() == records
    assert np.abs(got.sum((2, 3)) - want.sum((2, 3))).max() <= 1 + 1e-6
    assert np.abs(got.sum((0, 3)) - want.sum((0, 3))).max() <= 1 + 3 + 1e-6


@pytest.mark.stat
@pytest.mark.parametrize("mode", ["round", "random"])
def test_whole_records_have_the_models_distribution(mode: str) -> None:
    """All columns together fit the distribution: χ² of 300,000 records below its 1 − 1e-6 quantile."""
    from scipy import stats

    n, want = 300_000, joint(4)
    got = tally(model(4).to_table(records=n, seed=9, mode=mode))
    cells = want * n > 5
    statistic = ((got - want * n)[cells] ** 2 / (want * n)[cells]).sum()
    assert statistic < stats.chi2.ppf(1 - 1e-6, cells.sum())
    assert statistic > 1e-3, "records are drawn, not copied"


def test_random_draws_differ_more_than_rounded_ones() -> None:
    """`random` has the errors of independent draws where `round` has next to none."""
    n, want = 100_000, joint(1).sum((2, 3)) * 100_000
    off = {m: np.abs(tally(model(1).to_table(n, 3, m)).sum((2, 3)) - want).sum() for m in ("round", "random")}
    assert off["round"] <= 12 < 200 < off["random"]


CONDITIONS = {
    "b = 2": lambda a, b, c, x: b == 2,
    "a >= 1 and x < 10": lambda a, b, c, x: a >= 1 and x == 0,
    "a = 0 or (c = 1 and not x >= 10)": lambda a, b, c, x: a == 0 or (c == 1 and x == 0),
    "not (b in (0, 1) or c = 0)": lambda a, b, c, x: b >= 2 and c == 1,
}


@pytest.mark.parametrize("where", CONDITIONS)
def test_conditions_are_exact(where: str) -> None:
    """A model with a condition has the share of records that meets it, and their distribution, to a few records."""
    made = model(6)
    inside = np.zeros(SHAPE)
    for cell in itertools.product(*map(range, SHAPE)):
        inside[cell] = CONDITIONS[where](*cell)
    want = joint(6) * inside
    part = made.given(where)
    assert part.to_table(seed=1).num_rows == pytest.approx(want.sum() * made.total, abs=2)
    got = tally(part.to_table(records=200_000, seed=1))
    assert got[inside == 0].sum() == 0
    np.testing.assert_allclose(got / 200_000, want / want.sum(), atol=0.004)


def test_conditions_that_no_record_meets() -> None:
    """No record can be drawn where none meets the condition; the empty sample still has its columns."""
    made = model(6).given("a = 0 and a = 1")
    assert made.to_table().num_rows == 0
    assert made.to_table().column_names == list(NAMES)
    with pytest.raises(InputError, match="no record of the model meets the condition"):
        made.to_table(records=5)
    with pytest.raises(InputError, match="not kept"):
        made.save("x.sfumato")


def test_other_models_take_or_refuse_conditions() -> None:
    """A histogram empties the other cells; with a coarse level it says why it cannot."""
    from sfumato.models.histogram import HistogramModel

    schema = sf.Schema(columns=(sf.Category(name="a", values=(0, 1, 2), levels={"two": (0, 0, 1)}),))
    plain = HistogramModel(schema, MADE, sf.Marginal.of("a"), np.array([3, 4, 5]))
    assert plain.given("a <> 1").counts.tolist() == [3, 0, 5]
    with pytest.raises(InputError, match="coarse level"):
        HistogramModel(schema, MADE, sf.Marginal.of("a@two"), np.array([3, 4])).given("a = 1")


# ---------------------------------------------------------------------- persons, values


def slots(seed: int, persons: int, most: int) -> Slots:
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(1, most + 1, persons))
    return Slots(("a", "b"), (3, 4), ends, rng.integers(0, 3, (2, ends[-1])).astype(np.uint8))


@given(seed=st.integers(0, 1000), persons=st.integers(1, 40), most=st.integers(1, 9), records=st.integers(0, 900))
@settings(max_examples=40)
def test_every_record_has_a_person_and_nobody_has_too_many(seed: int, persons: int, most: int, records: int) -> None:
    """More or fewer records than public slots: all are assigned, nobody is given more than a public person had."""
    public = slots(seed, persons, most)
    rng = np.random.default_rng(seed)
    codes = {"a": rng.integers(0, 3, records), "b": rng.integers(0, 4, records)}
    person, many = public.assign(codes, records, rng)
    assert len(person) == records
    assert (person >= 0).all()
    assert (person < many).all()
    taken = np.bincount(person, minlength=many) if records else np.zeros(many, int)
    assert taken.max(initial=0) <= most
    sizes = np.diff(public.ends, prepend=0)
    assert records <= sizes.max() * many
    if many:
        assert many - 1 < records, "another person is opened only when those before have no room"


def test_records_like_the_public_ones_go_to_their_own_slots() -> None:
    """Where synthetic records lie in the same cells as the public ones, each person gets just its own cells."""
    public = slots(3, 30, 9)
    codes = {"a": public.codes[0].astype(np.int64), "b": public.codes[1].astype(np.int64)}
    person, many = public.assign(codes, int(public.ends[-1]), np.random.default_rng(1))
    assert many == 30

    def days(owner: np.ndarray) -> list[tuple[int, ...]]:
        return sorted(
            tuple(np.bincount(codes["a"][owner == p] * 4 + codes["b"][owner == p], minlength=12)) for p in range(30)
        )

    own = np.repeat(np.arange(30), np.diff(public.ends, prepend=0))
    assert days(person) == days(own)


@pytest.mark.stat
def test_sizes_of_persons_are_those_that_were_learned() -> None:
    """Shares of sizes among 20,000 synthetic persons are within 0.02 of what they should be (error rate below 1e-6)."""
    sizes = Sizes(np.array([1, 4, 10]), np.array([0.5, 0.3, 0.2]))
    person, many = sizes.assign({}, 75_000, np.random.default_rng(0))
    _, taken = np.unique(person, return_counts=True)
    shares = [np.mean(taken == s) for s in (1, 4, 10)]
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.02)
    assert many == len(taken)


def test_persons_of_all_batches_are_different(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that are drawn in several lots get persons of their own in each; numbers begin at a million."""
    monkeypatch.setattr(graphical, "DRAWN", 100)
    table = model(2, people=Sizes(np.array([7]), np.ones(1))).to_table(records=250, seed=1)
    _, taken = np.unique(np.asarray(table["who"]), return_counts=True)
    assert np.asarray(table["who"]).min() == FIRST
    assert sorted(taken) == sorted([7] * 14 + [2] + [7] * 14 + [2] + [7] * 7 + [1])


def test_values_come_from_public_ones_of_the_same_pair_of_bins() -> None:
    """A number is drawn from the public values of its bin given the neighbour's; where there are none by the schema."""
    own, near = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 0])
    pool = Pools.of("x", "b", own, near, np.array([3.0, 4.0, 9.0, 12.0, 12.0]), (2, 4))
    table = model(2, pools=(pool,)).to_table(records=20_000, seed=1)
    x, b = np.asarray(table["x"]), np.asarray(table["b"])
    assert set(x[(b == 0) & (x < 10)]) == {3, 4}
    assert set(x[(b == 1) & (x < 10)]) == {9}
    assert set(x[(b == 0) & (x >= 10)]) == {12}
    assert set(x[(b == 3)]) <= {5, 15}
    many = Pools.of("x", "b", np.zeros(9999, int), np.zeros(9999, int), np.arange(9999.0), (2, 4))
    assert len(many.values) == 256
    assert many.values.mean() == pytest.approx(4999, rel=0.01)


# ---------------------------------------------------------------------- its file


def test_a_model_comes_back_from_its_file(tmp_path) -> None:
    """Saved and loaded it gives the same records, with persons of either sort and values."""
    pool = Pools.of("x", "b", np.array([0, 1]), np.array([0, 3]), np.array([3.0, 14.0]), (2, 4))
    for i, people in enumerate([None, slots(1, 5, 4), Sizes(np.array([2, 3]), np.array([0.5, 0.5]))]):
        made = model(3, people=people, pools=(pool,))
        made.save(tmp_path / f"{i}.sfumato")
        again = load_model(tmp_path / f"{i}.sfumato")
        assert isinstance(again, GraphicalModel)
        assert again.columns == NAMES
        first = made.to_table(records=1000, seed=5)
        assert first.num_rows == again.to_table(records=1000, seed=5).num_rows == 1000
        np.testing.assert_allclose(again.project("b", "c").values, made.project("b", "c").values, rtol=1e-6)
        again.save(tmp_path / "again.sfumato")
        assert load_model(tmp_path / "again.sfumato").to_table(1000, 5).equals(again.to_table(1000, 5))


@given(data=st.data())
@settings(max_examples=60)
def test_a_file_that_was_tampered_with_is_refused_or_harmless(tmp_path_factory, data: st.DataObject) -> None:
    """Whatever its settings are changed to, loading and sampling either work or say that the file cannot be used."""
    folder = tmp_path_factory.mktemp("models")
    pool = Pools.of("x", "b", np.array([0, 1]), np.array([0, 3]), np.array([3.0, 14.0]), (2, 4))
    model(3, people=slots(1, 5, 4), pools=(pool,)).save(folder / "m.sfumato")
    with zipfile.ZipFile(folder / "m.sfumato") as file:
        members = {name: file.read(name) for name in file.namelist()}
    document = json.loads(members["model.json"])
    document["settings"] = data.draw(mutated(document["settings"]))
    members["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(folder / "n.sfumato", "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    with contextlib.suppress(InputError):
        assert load_model(folder / "n.sfumato").to_table(records=20, seed=1).num_rows == 20


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"parents": (-1, 0, 2)}, "does not fit the schema or its parent"),
        ({"cliques": (("a", "b"), ("b", "c"), ("a", "x"))}, "does not fit"),
        ({"parents": (-1, -1, 0)}, "shares a column with more than its parent"),
        ({"marginals": (np.full((3, 4), np.nan), np.ones((4, 2)), np.ones((4, 2)))}, "is not one of counts"),
        ({"marginals": (np.zeros((3, 4)), np.ones((4, 2)), np.ones((4, 2)))}, "is not one of counts"),
        ({"total": -1.0}, "records"),
        ({"pools": (Pools("x", "d", np.zeros(0, int), np.zeros(0)),)}, "not modelled"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, object], match: str) -> None:
    """Cliques, parents, marginals and what hangs on them are checked when a model is made or loaded."""
    with pytest.raises(InputError, match=match):
        replace(model(0), **change)  # type: ignore[arg-type]


def test_numbers_that_cannot_be_drawn_are_refused() -> None:
    """Records and seeds are numbers from 0 on."""
    with pytest.raises(InputError, match="number of records is -1"):
        model(0).sample(-1)
    with pytest.raises(InputError, match="seed is -1"):
        model(0).sample(1, seed=-1)
    with pytest.raises(InputError, match="by 'round' or by 'random'"):
        model(0).sample(1, mode="best")
    with pytest.raises(InputError, match="no clique"):
        model(0).project("a", "c")
