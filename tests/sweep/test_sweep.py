"""The sweep: what it runs, what it writes, that it goes on where it stopped, and what it costs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.metrics import MGD, Edges
from sfumato.privacy.budget import GaussianCost, gaussian_epsilon
from sfumato.sweep import Run, Sweep
from sfumato.sweep.results import COLUMNS, Folder, markdown
from tests.synthesizers.test_dpsyn import table_of

SCHEMA = sf.Schema(
    columns=(
        sf.Person(name="who"),
        sf.Place(name="a", values=(0, 1, 2, 3)),
        sf.Place(name="b", values=(0, 1, 2)),
    ),
    max_records_per_person=1,
)
TABLE = table_of(600, {"a": 4, "b": 3})


def sweep(**more: object) -> Sweep:
    settings: dict[str, object] = {
        "schema": SCHEMA,
        "truth": TABLE,
        "methods": {"nmd": sf.NMD(), "dpsyn": sf.DPSyn()},
        "epsilons": (10.0, 1.0),
        "metrics": {"edges": Edges(SCHEMA)},
        "delta": 1e-6,
        "seeds": 1,
        "public_truth": True,
    }
    return Sweep(**(settings | more))


def test_every_method_at_every_epsilon_as_often_as_asked(tmp_path: Path) -> None:
    """A tidy row for each run and metric, the same in Parquet and CSV; tables of records that can be read."""
    results = sweep(seeds=2, metrics={"edges": Edges(SCHEMA), "back": Edges(SCHEMA, ("b", "a"))}, epsilons=(1.0,))
    results = results.go(tmp_path / "s")
    assert [(r.method, r.epsilon, r.seed) for r in results] == [(m, 1.0, s) for s in (0, 1) for m in ("nmd", "dpsyn")]
    table = pq.read_table(tmp_path / "s" / "results.parquet")
    assert table.column_names == list(COLUMNS)
    assert table.num_rows == 8
    with (tmp_path / "s" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(r["score"]) for r in rows] == table["score"].to_pylist()
    assert set(table["truth"].to_pylist()) == {"public"}
    for result in results:
        made = pq.read_table(
            tmp_path / "s" / "synthetic" / f"{Run(result.method, result.epsilon, result.seed).name}.parquet"
        )
        assert made.num_rows == result.records
        assert Edges(SCHEMA).score(TABLE, made).value == pytest.approx(result.scores["edges"])
    assert "<svg" in (tmp_path / "s" / "results.svg").read_text()
    assert (tmp_path / "s" / "results.png").read_bytes()[:4] == b"\x89PNG"
    assert "PRIVATE" not in (tmp_path / "s" / "results.md").read_text()


@dataclass(frozen=True)
class Failing:
    """A method that counts how often it is run, and fails from a given run on."""

    until: int

    ran = 0

    def plan(self, schema: sf.Schema, budget: sf.Budget) -> sf.Plan:
        return sf.NMD().plan(schema, budget)

    def fit(self, vault: sf.Vault, public: object = None) -> sf.Model:
        type(self).ran += 1
        if type(self).ran > self.until:
            raise sf.RunError("the power went")
        return sf.NMD().fit(vault)


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """What was made before a failure is not made again, nor after the end; the result is that of an unbroken run."""
    Failing.ran = 0
    with pytest.raises(sf.RunError, match="power"):
        sweep(methods={"m": Failing(1)}).go(tmp_path / "s")
    folder = Folder(tmp_path / "s", True)
    assert len(sweep(methods={"m": Failing(1)}).open(folder)) == 1
    again = sweep(methods={"nmd": sf.NMD()}).go(tmp_path / "t")
    Failing.ran = -1
    # the fields are those of the broken sweep, so that it is the same one
    results = sweep(methods={"m": Failing(1)}).go(tmp_path / "s")
    assert Failing.ran == 0
    assert [r.scores for r in results] == [r.scores for r in again]
    sweep(methods={"m": Failing(1)}).go(tmp_path / "s")
    assert Failing.ran == 0


def test_more_may_be_added_and_nothing_changed(tmp_path: Path) -> None:
    """Another seed, ε or metric is added to what is there; other settings, schema or δ need another folder."""
    first = sweep(seeds=1, epsilons=(1.0,)).go(tmp_path / "s")
    more = sweep(metrics={"edges": Edges(SCHEMA), "back": Edges(SCHEMA, ("b", "a"))}).go(tmp_path / "s")
    assert len(more) == 4
    assert [r.seconds for r in more[:2]] == [r.seconds for r in first]
    assert set(more[0].scores) == {"edges", "back"}
    for change, word in [
        ({"methods": {"dpsyn": sf.DPSyn(iterations=3)}}, "dpsyn"),
        ({"delta": 1e-5}, "delta"),
        ({"schema": SCHEMA.select(["a", "b"]).model_copy(update={"max_records_per_person": 2})}, "schema"),
    ]:
        with pytest.raises(sf.InputError, match=f"{word}.*new folder"):
            sweep(**change).go(tmp_path / "s")
    swapped = sweep(metrics={"edges": Edges(SCHEMA, ("b", "a"))}).go(tmp_path / "s")
    assert [r.scores["edges"] for r in swapped] == [r.scores["back"] for r in more], "scored again, not run again"
    assert [r.seconds for r in swapped] == [r.seconds for r in more]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("kept")
    with pytest.raises(sf.InputError, match="not a sweep's"):
        sweep().go(tmp_path / "other")


def test_private_runs_cost_what_all_of_them_cost_together(tmp_path: Path) -> None:
    """The price is the composition of every run; the account gets it as its cap, and the runs spend it."""
    path = tmp_path / "l.ledger"
    private = sweep(public_truth=False, ledger=path, methods={"dpsyn": sf.DPSyn()}, seeds=2, epsilons=(1.0,))
    waiting = private.open(Folder(tmp_path / "s", False))
    price = private.price(waiting)
    mus = [c.mu for run in waiting for c in private.costs(run) if isinstance(c, GaussianCost)]
    assert price.epsilon == pytest.approx(gaussian_epsilon(sum(m * m for m in mus) ** 0.5, 1e-6), rel=1e-6)
    assert 1 < price.epsilon < 2
    assert not path.exists()
    private.reserve(waiting)
    private.go(tmp_path / "s")
    (account,) = sf.Ledger(path).accounts()
    assert account.spent == pytest.approx(price.epsilon, rel=1e-3)
    assert account.releases == 2
    assert all(r.private for r in sf.Ledger(path).releases("data"))
    for file in ("results.md", "results.svg"):
        assert "PRIVATE" in (tmp_path / "s" / file).read_text()
    assert set(pq.read_table(tmp_path / "s" / "results.parquet")["truth"].to_pylist()) == {"private"}
    private.go(tmp_path / "s")
    assert sf.Ledger(path).accounts()[0].releases == 2, "what is there is not paid for again"
    with pytest.raises(sf.InputError, match="above its cap"):
        sweep(public_truth=False, ledger=path).reserve(sweep().runs())
    with pytest.raises(sf.InputError, match="another public truth"):
        sweep(seeds=1).go(tmp_path / "s")


def test_a_seeded_sweep_can_be_repeated(tmp_path: Path) -> None:
    """On public truth the noise is seeded: two sweeps have the same scores, and other seeds have others."""
    one, two = (sweep(methods={"nmd": sf.NMD()}, seeds=2, epsilons=(1.0,)).go(tmp_path / name) for name in "ab")
    assert [r.scores for r in one] == [r.scores for r in two]
    assert one[0].scores != one[1].scores


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": {}}, "at least one method"),
        ({"epsilons": ()}, "at least one epsilon"),
        ({"metrics": {}}, "at least one metric"),
        ({"seeds": 0}, "seeds is 0"),
        ({"epsilons": (1.0, 1.0)}, "one twice"),
        ({"epsilons": (1.0, 1.0000001)}, "one twice"),
    ],
)
def test_a_sweep_of_nothing_is_refused(change: dict[str, object], words: str) -> None:
    """One sentence that names what is wrong."""
    with pytest.raises(sf.InputError, match=words):
        sweep(**change)


def test_a_folder_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    """A run's file that is none, a sweep of another version: what to do about it."""
    small = {"seeds": 1, "epsilons": (1.0,), "methods": {"nmd": sf.NMD()}}
    sweep(**small).go(tmp_path / "s")
    (tmp_path / "s" / "runs" / "nmd-1-0.json").write_text('{"a": 1}')
    with pytest.raises(sf.InputError, match="not what a sweep writes"):
        sweep(**small).go(tmp_path / "s")
    (tmp_path / "s" / "sweep.json").write_text("{}")
    with pytest.raises(sf.InputError, match="no sweep of this version"):
        sweep(**small).go(tmp_path / "s")


def test_scores_that_are_no_numbers_are_shown_as_missing() -> None:
    """A dash in Markdown; mean and deviation of the others."""
    row = {"method": "m", "epsilon": 1.0, "metric": "x"}
    text = markdown([{**row, "score": None}, {**row, "score": 1.0}, {**row, "score": 3.0}], "public")
    assert "| m | 2.0000 ± 1.4142 |" in text
    assert "| m | – |" in markdown([{**row, "score": None}], "public")


def test_the_picture_shows_every_metric_and_method_with_its_spread() -> None:
    """A panel for each metric, means and bars from least to greatest; scores far apart stand on a log scale."""
    from sfumato.sweep.picture import chart

    row = {"method": "m", "epsilon": 1.0, "seed": 0}
    rows = [{**row, "metric": "near", "score": s} for s in (0.0, 0.5)]
    rows += [{**row, "metric": "far", "score": s} for s in (0.1, 50.0)]
    panels = chart([*rows, {**row, "metric": "far", "score": None}], "")["concat"]
    assert [p["layer"][0]["title"] if "title" in p["layer"][0] else p["title"] for p in panels] == ["near", "far"]
    kinds = [[layer["encoding"]["y"]["scale"].get("type") for layer in p["layer"]] for p in panels]
    assert kinds == [[None, None], ["log", "log"]]
    assert [layer["encoding"]["y"]["aggregate"] for layer in panels[0]["layer"]] == ["mean", "min"]
    assert chart(rows, "PRIVATE: …")["title"]["text"] == "PRIVATE: …"


@dataclass(frozen=True)
class Picky:
    """A metric that cannot score most tables."""

    schema: sf.Schema
    least: int

    def score(self, truth: object, synthetic: str) -> object:
        if pq.read_table(synthetic).num_rows < self.least:
            raise sf.InputError("too few records")
        return Edges(self.schema).score(truth, synthetic)


def test_a_metric_that_does_not_fit_leaves_a_gap_and_a_note(tmp_path: Path) -> None:
    """The other scores are there; the note comes once; where nothing fits, it is an error and the records stay."""
    notes: list[str] = []
    settings = {"methods": {"nmd": sf.NMD()}, "epsilons": (1.0, 10.0)}
    results = sweep(**settings, metrics={"edges": Edges(SCHEMA), "picky": Picky(SCHEMA, 10**6)}).go(
        tmp_path / "s", noted=notes.append
    )
    assert [set(r.scores) for r in results] == [{"edges"}, {"edges"}]
    assert notes == ["picky does not score nmd: too few records"]
    with pytest.raises(sf.InputError, match="too few records; the synthetic records stay"):
        sweep(**settings, metrics={"picky": Picky(SCHEMA, 10**6)}).go(tmp_path / "t")
    again = sweep(**settings, metrics={"picky": Picky(SCHEMA, 1)}).go(tmp_path / "t")
    assert all("picky" in r.scores for r in again)


def test_a_method_that_makes_fewer_columns_is_scored_by_those(tmp_path: Path) -> None:
    """The score is that of the columns it makes, and a note says which it does not."""
    notes: list[str] = []
    few = SCHEMA.names[0]
    settings = {"methods": {"nmd": sf.NMD(marginal=(few,))}, "epsilons": (1.0,)}
    (result,) = sweep(**settings, metrics={"mgd": MGD(SCHEMA)}).go(tmp_path / "s", noted=notes.append)
    synthetic = next((tmp_path / "s" / "synthetic").glob("nmd*"))
    own = MGD(SCHEMA.select([few])).score(sweep(**settings, metrics={"mgd": MGD(SCHEMA)}).truth, str(synthetic))
    assert result.scores == {"mgd": pytest.approx(own.value)}
    assert len(notes) == 1
    assert all(name in notes[0] for name in SCHEMA.names[1:])
