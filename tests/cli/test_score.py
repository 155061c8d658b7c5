"""`sfumato score`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Sfumato, contents

SCORE = ["score", "trips.parquet", "trips.parquet", "--schema", "schema.json"]
EDGES = [*SCORE, "--metric", "edges", "--set", "columns=area,hour"]


def test_a_score_says_what_it_is_and_whose_it_is(sfumato: Sfumato, city: Path) -> None:
    """A table against itself scores 1, and the page says that it is as private as the truth."""
    ran = sfumato(*EDGES)
    assert (ran.code, "1.0000" in ran.out, "private" in ran.out) == (0, True, True)


def test_a_score_as_json_is_printed_or_written(sfumato: Sfumato, city: Path) -> None:
    """`--json -` prints what `--json FILE` writes, and nothing else."""
    printed = sfumato(*EDGES, "--json", "-").json
    assert sfumato(*EDGES, "--json", "score.json").code == 0
    assert printed == json.loads((city / "score.json").read_text()) == {"metric": "edges", "value": 1.0, "pairs": []}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*SCORE, "--metric", "beauty"], "there is no metric 'beauty'"),
        ([*SCORE, "--metric", "edges"], "two columns of places"),
        ([*SCORE, "--metric", "edges", "--set", "schema=x"], "has no setting 'schema'"),
        ([*EDGES, "--set", "columns=area,hour"], "twice"),
        ([*EDGES, "--top", "-1"], "--top is -1"),
        ([*EDGES, "--json", "trips.parquet"], "--json trips.parquet is also"),
        ([*EDGES, "--json", "nowhere/score.json"], "does not exist"),
        ([SCORE[0], "absent.csv", *SCORE[2:], "--metric", "edges", "--set", "columns=area,hour"], "absent.csv"),
    ],
)
def test_what_cannot_be_scored_is_refused(sfumato: Sfumato, city: Path, arguments: list[str], says: str) -> None:
    """One sentence, exit code 2, and no file made or changed."""
    before = contents(city)
    ran = sfumato(*arguments)
    assert (ran.code, says in ran.err, ran.err.count("\n")) == (2, True, 1)
    assert contents(city) == before
