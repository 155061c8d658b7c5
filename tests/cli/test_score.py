"""`sfumato score`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
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


MGD = [*SCORE, "--metric", "mgd"]


def test_mgd_takes_its_options_and_tells_its_parts(sfumato: Sfumato, city: Path) -> None:
    """Marginals from a file, a tolerance above the file's, and JSON with marginals and their bins."""
    (city / "marginals.json").write_text(
        '{"sfumato": "marginals", "version": 1, "tolerance": 9, "marginals": ["area", "area, hour"]}'
    )
    ran = sfumato(*MGD, "--marginals", "marginals.json", "--tolerance", "2", "--jobs", "1", "--json", "out.json")
    assert (ran.code, "mgd 0.0000" in ran.out, "area × hour" in ran.out) == (0, True, True)
    found = json.loads((city / "out.json").read_text())
    assert (found["value"], found["tolerance"], len(found["marginals"])) == (0.0, 2.0, 2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*SCORE, "--metric", "beauty"], "there is no metric 'beauty'"),
        ([*SCORE, "--metric", "edges"], "two columns of places"),
        ([*SCORE, "--metric", "edges", "--set", "schema=x"], "has no setting 'schema'"),
        ([*EDGES, "--set", "columns=area,hour"], "twice"),
        ([*EDGES, "--top", "-1"], "--top is -1"),
        ([*EDGES, "--tolerance", "2"], "metric 'edges' takes no --tolerance"),
        ([*MGD, "--marginals", "crime"], "no example of that name"),
        ([*MGD, "--marginals", "absent.json"], "absent.json"),
        ([*MGD, "--marginals", "schema.json"], "is no file of marginals"),
        ([*MGD, "--marginals", "police"], "the schema has no column"),
        ([*MGD, "--tolerance", "-1"], "tolerance is a number from 0 on"),
        ([*MGD, "--tolerance", "much"], "--set tolerance=much"),
        ([*MGD, "--jobs", "0"], "jobs is the number of threads"),
        ([*MGD, "--set", "alpha=-1"], "alpha is a number from 0 on"),
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


def test_a_column_that_one_table_lacks_is_left_out_and_said(sfumato: Sfumato, city: Path) -> None:
    """A synthetic table may hold fewer columns than the schema: the others are compared."""
    pq.write_table(pq.read_table(city / "trips.parquet").drop_columns(["fare"]), city / "less.parquet")
    ran = sfumato("score", "trips.parquet", "less.parquet", "--schema", "schema.json", "--metric", "mgd")
    assert (ran.code, "fare" in ran.err, "fare" in ran.out) == (0, True, False)


def test_tables_with_nothing_in_common_are_refused(sfumato: Sfumato, city: Path) -> None:
    """One sentence where no column is in both."""
    table = pq.read_table(city / "trips.parquet")
    pq.write_table(table.select(["who", "fare"]), city / "a.parquet")
    pq.write_table(table.select(["who", "area"]), city / "b.parquet")
    ran = sfumato("score", "a.parquet", "b.parquet", "--schema", "schema.json", "--metric", "mgd")
    assert (ran.code, "in common" in ran.err, ran.err.count("\n")) == (2, True, 1)
