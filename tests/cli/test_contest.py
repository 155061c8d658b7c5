"""`sfumato contest`: what it prints and writes, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import challenge
from tests.cli.conftest import Sfumato, contents
from tests.contest import official
from tests.contest.test_running import folder


@pytest.fixture
def contest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the third sprint, with a valid submission beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    parameters = folder(tmp_path / "data", 3)
    official.trips(parameters, records=300).to_csv(tmp_path / "s.csv", index=False)
    return tmp_path


SCORE = ("contest", "score", "sprint3", "--truth", "data/ground_truth.csv", "--parameters", "data/parameters.json")
CHECK = ("contest", "check", "sprint3", "--parameters", "data/parameters.json")


def test_score_prints_every_epsilon_and_writes_json(contest: Path, sfumato: Sfumato) -> None:
    """A line for each ε, the worst places where they are asked for, and all of it as JSON."""
    ran = sfumato(*SCORE, "--submission", "s.csv", "--json", "r.json", "--top", "2")
    assert ran.code == 0, ran.err
    assert "K k-marginal" in ran.out
    assert "where that is private, so is all of this" in ran.out
    report = json.loads((contest / "r.json").read_text())
    assert set(report["parts"]["10"]) == {"K k-marginal", "G flows", "H conjunction"}
    assert sfumato(*SCORE, "--submission", "s.csv", "--json", "-").json == report


def test_check_tells_the_verdict_by_its_exit_code(contest: Path, sfumato: Sfumato) -> None:
    """0 for one that the contest would take; 2 for another, with the lines."""
    ran = sfumato(*CHECK, "--submission", "s.csv")
    assert (ran.code, "valid: the contest would take it" in ran.out) == (0, True)
    frame = official.trips(challenge.sprint3())
    frame.loc[3, "shift"] = 99
    frame.to_csv("bad.csv", index=False)
    ran = sfumato(*CHECK, "--submission", "bad.csv")
    assert ran.code == 2
    assert "column 'shift': a value that is not in the schema in 1 line, such as 99 (line 5)" in ran.out
    found = sfumato(*CHECK, "--submission", "bad.csv", "--json", "-").json
    assert (found["valid"], found["faults"][0]["first"]) == (False, [5])


def test_run_makes_a_submission_and_says_what_it_comes_to(contest: Path, sfumato: Sfumato) -> None:
    """Every ε, composition in words, provenance beside the file, charges on the ledger."""
    ran = sfumato("contest", "run", "sprint3", "--data", "data", "--method", "uniform", "--out", "mine.csv")
    assert ran.code == 0, ran.err
    assert "at most ε = 11" in ran.out
    assert "as the contest takes them" in ran.out
    assert official.records_valid((contest / "mine.csv").read_text(), challenge.sprint3(), 3)
    about = json.loads((contest / "mine.csv.about.json").read_text())
    assert [r["epsilon"] for r in about["runs"]] == [1.0, 10.0]
    assert about["together"]["epsilon"] == 11.0
    assert sfumato("ledger", "show", "data/ground_truth.ledger").out.count("uniform") == 2


def test_explain_reads_and_spends_nothing(contest: Path, sfumato: Sfumato) -> None:
    """The plans of all runs, and no file."""
    before = contents(contest)
    ran = sfumato("contest", "run", "sprint3", "--data", "data", "--method", "uniform", "--explain")
    assert ran.code == 0
    assert ran.out.count("What uniform will ask") == 2
    assert contents(contest) == before


def test_a_seeded_run_is_marked(contest: Path, sfumato: Sfumato) -> None:
    """Noise that can be repeated is no protection: warned of, and written down."""
    ran = sfumato("contest", "run", "sprint3", "--data", "data", "--method", "uniform", "--out", "m.csv", "--seed", "1")
    assert "NOT PRIVATE" in ran.err
    assert "NOT PRIVATE" in (contest / "m.csv.about.json").read_text()


def test_a_reference_says_that_it_is_not_private(contest: Path, sfumato: Sfumato) -> None:
    """On the screen, on standard error, in the JSON and beside the file."""
    asked = ("contest", "reference", "sprint3", *SCORE[3:], "--share", "0.5", "--of", "persons")
    ran = sfumato(*asked, "--out", "part.csv", "--json", "r.json")
    assert ran.code == 0, ran.err
    assert "NOT PRIVATE" in ran.out
    assert "warning: NOT PRIVATE" in ran.err
    assert "NOT PRIVATE" in (contest / "part.csv.about.json").read_text()
    report = json.loads((contest / "r.json").read_text())
    assert report["warning"].startswith("NOT PRIVATE")
    assert report["private"] is False
    assert sfumato(*asked, "--quiet").err.startswith("warning: NOT PRIVATE")


REFUSED = {
    "not valid": ((*SCORE, "--submission", "data/ground_truth.csv"), "no valid submission to sprint 3"),
    "no file": ((*SCORE, "--submission", "gone.csv"), "gone.csv does not exist"),
    "another sprint": (("contest", "check", "sprint1", *CHECK[3:], "--submission", "s.csv"), "not of sprint 1"),
    "no sprint": (("contest", "check", "sprint9", *CHECK[3:], "--submission", "s.csv"), "'sprint9' is not one of"),
    "json over the truth": ((*SCORE, "--submission", "s.csv", "--json", "data/ground_truth.csv"), "also the truth"),
    "a bug it never had": (
        ("contest", "score", "sprint2", *SCORE[3:], "--submission", "s.csv", "--official-bug"),
        "--official-bug is about sprint 3",
    ),
    "no method": (
        ("contest", "run", "sprint3", "--data", "data", "--method", "magic", "--out", "m.csv"),
        "there is no method 'magic'",
    ),
    "over the data": (
        ("contest", "run", "sprint3", "--data", "data", "--method", "uniform", "--out", "data/ground_truth.csv"),
        "also the data",
    ),
    "public is private": (
        ("contest", "run", "sprint3", "--data", "data", "--method", "uniform", "--out", "m.csv", "--public",
         "data/ground_truth.csv"),
        "is the private data itself",
    ),
    "nowhere to write": (("contest", "run", "sprint3", "--data", "data", "--method", "uniform"), "--out FILE"),
    "share": (("contest", "reference", "sprint3", *SCORE[3:], "--share", "2"), "share is 2"),
    "binary": ((*SCORE, "--submission", "b.csv"), "b.csv"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused(arguments: tuple[str, ...], says: str, contest: Path, sfumato: Sfumato) -> None:
    """One sentence, exit code 2, nothing written."""
    (contest / "b.csv").write_bytes(bytes(range(256)) * 9)
    before = contents(contest)
    ran = sfumato(*arguments)
    assert ran.code == 2, ran
    said = [line for line in ran.err.splitlines() if not line.startswith("warning:")]
    assert len(said) == 1, ran.err
    assert said[0].startswith("error: ")
    assert says in said[0]
    assert contents(contest) == before


METRICS = {
    "kmarginal": ["by=pickup_community_area,shift", "columns=fare,tips"],
    "conjunction": ["columns=shift,pickup_community_area"],
    "edges": [],
    "pie": ["slices=payment_type"],
    "density": ["columns=shift,fare,tips", "sets=3"],
    "queries": ["columns=shift,fare,tips"],
    "ranges": ["columns=shift,payment_type"],
    "gini": ["wage=fare"],
    "payrank": ["wage=fare", "sex=payment_type"],
}


@pytest.mark.parametrize(("metric", "settings"), METRICS.items(), ids=METRICS)
def test_every_metric_is_scored_by_its_name(metric: str, settings: list[str], contest: Path, sfumato: Sfumato) -> None:
    """`sfumato score` prints the number and what is behind it, and gives both as JSON."""
    given = [text for pair in settings for text in ("--set", pair)]
    asked = ("score", "data/ground_truth.csv", "s.csv", "--schema", "data/parameters.json", "--metric", metric, *given)
    ran = sfumato(*asked, "--top", "2")
    assert ran.code == 0, ran.err
    assert metric in ran.out
    found = sfumato(*asked, "--json", "-").json
    assert found["metric"] == metric
    assert isinstance(found["value"], float)
