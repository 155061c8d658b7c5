"""The commands as they are meant to be used, from an invented city to a release and what it cost."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sfumato import __version__
from sfumato.schema import Schema
from sfumato.synthesizers import METHODS
from tests.cli.conftest import SCHEMA, Sfumato, contents, release, trips

Spawn = Callable[..., "subprocess.CompletedProcess[str]"]
COMMANDS = [
    [],
    ["demo"],
    ["simulate"],
    ["simulate", "incidents"],
    ["simulate", "taxi"],
    ["schema"],
    ["schema", "draft"],
    ["schema", "show"],
    ["check"],
    ["synthesize"],
    ["sample"],
    ["ledger"],
    ["ledger", "show"],
    ["ledger", "cap"],
]


@pytest.mark.parametrize("kind", ["incidents", "taxi"])
def test_simulate_to_ledger(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sfumato: Sfumato) -> None:
    """An invented city is checked, released, sampled from and accounted for, command after command."""
    monkeypatch.chdir(tmp_path)
    made = sfumato(
        "simulate", kind, "--records", "2_000", "--out", "d.parquet",
        "--schema-out", "parameters.json", "--map-out", "areas.geojson", "--persons", "500", "--seed", 3,
    )  # fmt: skip
    assert (made.code, made.err) == (0, "")
    assert made.out == "2,000 invented records: d.parquet, parameters.json, areas.geojson\n"
    assert pq.read_table("d.parquet").num_rows == 2_000
    assert json.loads(Path("areas.geojson").read_text())["type"] == "FeatureCollection"

    shown = sfumato("schema", "show", "parameters.json")
    names = Schema.load("parameters.json").names
    assert shown.code == 0
    assert all(name in shown.out for name in names)
    checked = sfumato("check", "d.parquet", "--schema", "parameters.json")
    assert checked.out.startswith("PRIVATE")
    assert "2,000 records of 500 persons" in checked.out
    assert "Every record has a person and fits the schema." in checked.out

    done = sfumato(
        "synthesize", "d.parquet", "--schema", "parameters.json", "--method", "nmd", "--epsilon", "1",
        "--marginal", names[0], "--out", "synthetic.parquet", "--ledger", "city.ledger", "--model-out", "m.sfumato",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert pq.read_table("synthetic.parquet").column_names == [names[0]]
    more = sfumato("sample", "m.sfumato", "--records", "1,000", "--out", "more.csv")
    assert more.out == "more.csv: 1,000 records from m.sfumato\n"
    assert pyarrow.csv.read_csv("more.csv").num_rows == 1_000
    shown = sfumato("ledger", "show", "city.ledger")
    assert shown.out.startswith("Privacy statement")
    assert "Spent ε 1 of 1 at δ 0; left ε 0" in shown.out


def test_explain(city: Path, sfumato: Sfumato) -> None:
    """--explain says what would be asked and what it would cost, needs no data, and leaves nothing behind."""
    (city / "trips.parquet").unlink()
    before = contents(city)
    told = sfumato(*release("--explain", "--marginal", "area@district,hour", "--bound", "weight:2.5"))
    assert (told.code, told.err) == (0, "")
    for part in ("area@district × hour", "48", "weight(2.5)", "scale = 2.5", "ε = 1", "any one who"):
        assert part in told.out
    assert contents(city) == before


def test_explain_json(city: Path, sfumato: Sfumato) -> None:
    """--explain --json holds the same for a program."""
    assert sfumato(*release("--explain", "--json", "--marginal", "area")).json == {
        "method": "nmd",
        "epsilon": 1.0,
        "delta": 0.0,
        "unit": "who",
        "questions": [
            {
                "question": "cells", "about": "area", "cells": 4, "bound": "records(5)",
                "sensitivity": 5, "noise": "laplace", "level": 5.0,
            }
        ],
    }  # fmt: skip


@pytest.mark.parametrize("name", ["s.parquet", "s.csv", "s.csv.gz"])
def test_endings(name: str, city: Path, sfumato: Sfumato) -> None:
    """Records are written as their file's ending says, as many as asked for, with how they came about."""
    assert sfumato(*release("--out", name, "--records", "50", "--marginal", "area,fare,how")).code == 0
    if name.endswith(".parquet"):
        table = pq.read_table(name)
        about = json.loads(table.schema.metadata[b"sfumato"])
    else:
        with gzip.open(name) if name.endswith(".gz") else open(name, "rb") as file:
            table = pyarrow.csv.read_csv(file)
        about = json.loads(Path(f"{name}.about.json").read_text())
    assert table.num_rows == 50
    assert table.column_names == ["area", "fare", "how"]
    assert {about["method"], about["unit"], about["version"]} == {"nmd", "who", __version__}
    assert about["private"] is True


def test_levels_and_bound(city: Path, sfumato: Sfumato) -> None:
    """--marginal takes columns at levels and --bound another cap; the ledger holds both."""
    done = sfumato(*release("--marginal", "area@district, hour", "--bound", "records:2", "--out", "s.csv"))
    assert done.code == 0
    assert set(pyarrow.csv.read_csv("s.csv")["area"].to_pylist()) <= {"west", "east"}
    (statement,) = sfumato("ledger", "show", "trips.ledger", "--json").json
    (charge,) = statement["lines"][0]["release"]["charges"]
    assert (charge["columns"], charge["bound"], charge["noise"]) == ("area@district × hour", "records(2)", 2.0)


def test_model_alone(city: Path, sfumato: Sfumato) -> None:
    """With --model-out alone a model is kept and no records are written; sampling it costs nothing."""
    done = sfumato(*release("--model-out", "m.sfumato", "--json"))
    assert done.json["model"] == "m.sfumato"
    assert "out" not in done.json
    assert sorted(contents(city)) == ["m.sfumato", "schema.json", "trips.ledger", "trips.parquet"]
    before = (city / "trips.ledger").read_bytes()
    for seed in (1, 1, 2):
        assert sfumato("sample", "m.sfumato", "--out", f"{seed}.csv", "--records", 40, "--seed", seed).code == 0
    assert Path("1.csv").read_bytes() != Path("2.csv").read_bytes()
    assert (city / "trips.ledger").read_bytes() == before


def test_ledger_cap(city: Path, sfumato: Sfumato) -> None:
    """The first release sets the cap, a second needs a raised one, and other accounts are other people."""
    assert sfumato(*release("--out", "a.csv", "--ledger", "l")).code == 0
    refused = sfumato(*release("--out", "b.csv", "--ledger", "l"))
    assert refused.code == 2
    assert "above the cap ε = 1" in refused.err
    assert "sfumato ledger cap l --epsilon 2" in refused.err
    assert not Path("b.csv").exists()
    raised = sfumato("ledger", "cap", "l", "--epsilon", "2")
    assert raised.out == "l: the cap of 'data' is now ε = 2, δ = 0\n"
    assert sfumato(*release("--out", "b.csv", "--ledger", "l")).code == 0
    assert sfumato(*release("--out", "c.csv", "--ledger", "l", "--account", "other people")).code == 0
    accounts = {s["account"]["name"]: s["account"]["spent"] for s in sfumato("ledger", "show", "l", "--json").json}
    assert accounts == {"data": 2.0, "other people": 1.0}
    one = sfumato("ledger", "show", "l", "--account", "other people", "--json").json
    assert [s["account"]["name"] for s in one] == ["other people"]


def test_json(city: Path, sfumato: Sfumato) -> None:
    """--json prints one document and nothing else, whatever the command."""
    done = sfumato(*release("--out", "s.parquet", "--model-out", "m.sfumato", "--records", "7", "--json"))
    assert (done.json["records"], done.json["out"], done.json["model"]) == (7, "s.parquet", "m.sfumato")
    assert (done.json["method"], done.json["epsilon"], done.json["private"]) == ("nmd", 1.0, True)
    assert sfumato("sample", "m.sfumato", "--records", 3, "--out", "t.csv", "--json").json["records"] == 3
    found = sfumato("check", "trips.parquet", "--schema", "schema.json", "--json").json
    assert (found["private"], found["clean"], found["records"], found["persons"]) == (True, True, 300, 97)
    assert found["per_person"] == {"median": 3, "90 %": 3, "95 %": 4, "99 %": 4, "most": 4}
    assert sfumato("schema", "show", "schema.json", "--json").json == {
        **SCHEMA,
        "columns": {**SCHEMA["columns"], "area": {**SCHEMA["columns"]["area"]}},  # type: ignore[dict-item]
    }
    made = sfumato("simulate", "taxi", "--records", 100, "--out", "x.csv", "--schema-out", "x.json", "--json").json
    assert made == {"records": 100, "data": "x.csv", "schema": "x.json"}


def test_adaptive_grid_and_conditions(city: Path, sfumato: Sfumato) -> None:
    """adagrid makes records with persons; --where draws only those that meet a condition, from either kind of model."""
    made = sfumato(
        "synthesize", "trips.parquet", "--schema", "schema.json", "--method", "adagrid", "--epsilon", "20",
        "--delta", "1e-6", "--bound", "l2(quantile=0.9)", "--set", "threshold=4", "--set", 'copies={"area,hour": 2}',
        "--out", "s.parquet", "--model-out", "m.sfumato", "--json",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert made.json["method"] == "adagrid"
    assert pq.read_table("s.parquet").column_names == ["who", "area", "hour", "fare", "how"]
    where = "area in (1, 2) and hour >= 12 and not how = 'cash'"
    some = sfumato("sample", "m.sfumato", "--where", where, "--records", 500, "--out", "t.parquet", "--json")
    assert some.json["records"] == 500
    rows = pq.read_table("t.parquet").to_pylist()
    assert all(r["area"] in (1, 2) and r["hour"] >= 12 and r["how"] == "card" for r in rows)
    assert sfumato(*release("--model-out", "n.sfumato", "--account", "other")).code == 0
    assert sfumato("sample", "n.sfumato", "--where", "area = 3", "--records", 9, "--out", "u.parquet").code == 0
    assert set(pq.read_table("u.parquet")["area"].to_pylist()) == {3}
    refused = sfumato("sample", "m.sfumato", "--where", "town = 3", "--out", "v.parquet")
    assert (refused.code, refused.out) == (2, "")
    assert "names 'town', which the model has not; it has area, hour, fare, how" in refused.err
    assert not Path("v.parquet").exists()


def test_explain_says_what_public_data_saves(city: Path, sfumato: Sfumato) -> None:
    """With public data the plan of adagrid has grids alone; without it histograms of norms and of persons too."""
    explain = ["synthesize", "trips.parquet", "--schema", "schema.json", "--method", "adagrid", "--epsilon", "1",
               "--delta", "1e-6", "--explain", "--json"]  # fmt: skip
    alone = [q["question"] for q in sfumato(*explain).json["questions"]]
    pq.write_table(trips(200), "public.parquet")
    known = [q["question"] for q in sfumato(*explain, "--public", "public.parquet").json["questions"]]
    assert "sizes" in alone
    assert {q for q in alone if not q.startswith("norms of") and q != "sizes"} <= {*known, "area × hour × fare"}
    assert "sizes" not in known


def test_quiet(city: Path, sfumato: Sfumato) -> None:
    """--quiet prints nothing at all."""
    for command in (
        release("--out", "s.parquet", "--model-out", "m.sfumato", "--quiet"),
        ["sample", "m.sfumato", "--out", "t.csv", "-q"],
        ["check", "trips.parquet", "--schema", "schema.json", "--quiet"],
        ["simulate", "taxi", "--records", 50, "--out", "x.csv", "-q"],
        ["ledger", "cap", "trips.ledger", "--epsilon", 3, "-q"],
    ):
        ran = sfumato(*command)
        assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_seeded(city: Path, sfumato: Sfumato) -> None:
    """--seed repeats the noise, warns even when quiet, and the model it makes warns whoever samples from it."""
    for i in (1, 2):
        again = release("--out", f"{i}.parquet", "--model-out", "m", "--seed", 5, "--account", f"a{i}", "-q")
        ran = sfumato(*again)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err == (
            "warning: --seed makes the noise repeatable: this release is NOT PRIVATE; publish nothing from it\n"
        )
    assert pq.read_table("1.parquet").to_pydict() == pq.read_table("2.parquet").to_pydict()
    assert "NOT PRIVATE" in sfumato("sample", "m", "--out", "x.csv", "-q").err
    assert "NOT PRIVATE" in sfumato("ledger", "show", "trips.ledger").out


def test_sources(city: Path, sfumato: Sfumato) -> None:
    """CSV, compressed CSV, a pattern of files and a table of a database are all data."""
    table = pq.read_table("trips.parquet")
    pyarrow.csv.write_csv(table.slice(0, 100), "a.csv")
    pyarrow.csv.write_csv(table.slice(100), "b.csv")
    Path("a.csv.gz").write_bytes(gzip.compress(Path("a.csv").read_bytes()))
    with duckdb.connect("one.duckdb") as con:
        con.execute("CREATE TABLE t AS SELECT * FROM 'trips.parquet'")
    for data, records in {
        "a.csv": 100,
        "a.csv.gz": 100,
        "[ab].csv": 300,
        "one.duckdb": 300,
        "one.duckdb::t": 300,
    }.items():
        assert sfumato("check", data, "--schema", "schema.json", "--json").json["records"] == records
    assert sfumato(*release("--out", "s.csv", "--ledger", "l", data="[ab].csv")).code == 0


def test_names_that_look_like_markup(city: Path, sfumato: Sfumato) -> None:
    """Names of files, columns and values are printed as they are, not taken for markup or terminal codes."""
    odd = {**SCHEMA, "columns": {"[red]x[/y]": {"kind": "category", "values": ["[/b]", "\u001b[2Jwiped"]}}}
    Path("odd.json").write_text(json.dumps(odd))
    shown = sfumato("schema", "show", "odd.json")
    assert shown.code == 0
    assert "[red]x[/y]" in shown.out
    assert "[/b]" in shown.out
    Path("odd.csv").write_text('"[red]x[/y]"\n[/i]\n\u001b[2Jcleared\n')
    found = sfumato("check", "odd.csv", "--schema", "odd.json")
    assert found.code == 0
    assert "[/i] (1)" in found.out
    assert "cleared" in found.out
    assert "\x1b" not in shown.out + found.out
    done = sfumato(*release("--out", "[bold]s[nope].csv"))
    assert done.code == 0
    assert "[bold]s[nope].csv: " in done.out


def test_long_names_stay_whole(city: Path, sfumato: Sfumato) -> None:
    """A path longer than the screen is on one line, so that it can be copied."""
    deep = city / ("a" * 100) / ("b" * 100)
    deep.mkdir(parents=True)
    assert str(deep / "s.csv") in sfumato(*release("--out", deep / "s.csv")).out


# ---------------------------------------------------------------------- the command itself


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help(command: list[str], sfumato: Sfumato) -> None:
    """Every command says what it does and explains each of its options."""
    told = sfumato(*command, "--help")
    assert (told.code, told.err) == (0, "")
    assert "Usage: sfumato" in told.out
    assert sfumato(*command, "-h").out == told.out


def test_help_names_methods(sfumato: Sfumato) -> None:
    """The help of synthesize names every method there is."""
    told = sfumato("synthesize", "--help").out
    assert all(method in told for method in METHODS)


def test_version_and_module(spawn: Spawn) -> None:
    """`python -m sfumato` is the command, and --version says its version."""
    ran = spawn("--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"sfumato {__version__}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str, spawn: Spawn) -> None:
    """--show-completion prints a script for the shell."""
    told = spawn("--show-completion", shell, env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert told.returncode == 0
    assert f"_SFUMATO_COMPLETE=complete_{shell}" in told.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("syn", {"synthesize"}), ("s", {"synthesize", "sample", "simulate", "schema", "score", "sweep"})],
)
def test_completion(typed: str, offered: set[str], spawn: Spawn) -> None:
    """A shell that has the script is offered the commands that begin as typed."""
    words = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": f"sfumato {typed}", "COMP_CWORD": "1"}
    assert set(spawn(env=words).stdout.split()) == offered


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}])
def test_pipes_are_plain(env: dict[str, str], city: Path, spawn: Spawn) -> None:
    """Into a pipe go neither colours nor progress, with and without NO_COLOR."""
    ran = spawn(*release("--out", "s.csv"), env=env)
    failed = spawn(*release("--out", "s.xls"), env=env)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "\x1b" not in ran.stdout + failed.stdout + failed.stderr
    assert "\r" not in ran.stdout


def test_no_color_on_a_terminal(city: Path) -> None:
    """On a terminal NO_COLOR takes colours and bold away, and without it they are there."""
    coloured, plain = (_on_a_terminal("schema", "show", "nothing.json", env=env) for env in ({}, {"NO_COLOR": "1"}))
    assert "does not exist" in coloured
    assert "does not exist" in plain
    assert re.search(r"\x1b\[[0-9;]*m", coloured)
    assert not re.search(r"\x1b\[[0-9;]*m", plain)


def _on_a_terminal(*arguments: str, env: dict[str, str]) -> str:
    """What a command prints on a terminal."""
    import os
    import pty
    import sys

    leader, follower = pty.openpty()
    settings = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color", **env}
    ran = subprocess.run(
        [sys.executable, "-m", "sfumato", *arguments], stdin=follower, stdout=follower, stderr=follower, env=settings
    )
    os.close(follower)
    assert ran.returncode == 2
    said = os.read(leader, 1 << 16).decode()
    os.close(leader)
    return said


def test_any_encoding(city: Path, spawn: Spawn) -> None:
    """A terminal that knows no ε gets an escape instead; the release does not fail for it."""
    ran = spawn(*release("--out", "s.csv"), env={"PYTHONIOENCODING": "ascii"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "(\\u03b5 = 1, \\u03b4 = 0)" in ran.stdout
    assert Path("s.csv").exists()
