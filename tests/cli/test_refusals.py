"""Input that cannot be used: one sentence that names it, exit code 2, nothing written and nothing spent."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import SCHEMA, Ran, Sfumato, contents, release, trips

Make = Callable[[Path], object]

PUBLIC = "this reads the values of the data and writes them into the schema: use it on PUBLIC data alone"


def refused(sfumato: Sfumato, *arguments: object, says: tuple[str, ...] = ()) -> Ran:
    """Runs a command that must be refused in one sentence and leave the folder as it was."""
    before = contents(Path.cwd())
    ran = sfumato(*arguments)
    assert ran.code == 2, ran
    said = ran.err.removeprefix(f"warning: {PUBLIC}\n")
    assert said.startswith("error: ")
    assert said.count("\n") == 1, said
    assert not re.search(r"[.?!]\s+[A-Z]", said), said
    for part in says:
        assert part in ran.err
    assert contents(Path.cwd()) == before
    return ran


# ---------------------------------------------------------------------- the data


def _csv(**columns: str) -> bytes:
    header = {"who": "p1", "area": "1", "hour": "3", "fare": "9.5", "how": "card", **columns}
    return f"{','.join(header)}\n{','.join(header.values())}\n".encode()


def _write(name: str, data: bytes) -> Make:
    return lambda folder: (folder / name).write_bytes(data)


def _database(name: str, *tables: str) -> Make:
    def make(folder: Path) -> None:
        with duckdb.connect(folder / name) as con:
            for table in tables:
                con.execute(f'CREATE TABLE "{table}" AS SELECT 1 AS who, 1 AS area')

    return make


def _parquet(folder: Path) -> bytes:
    pq.write_table(trips(), folder / "whole.parquet")
    return (folder / "whole.parquet").read_bytes()


DATA: dict[str, tuple[str, Make, tuple[str, ...]]] = {
    "missing": ("gone.csv", lambda f: None, ("gone.csv does not exist",)),
    "pattern without a match": ("x/*.csv", lambda f: None, ("no file matches x/*.csv",)),
    "folder": ("d", lambda f: (f / "d").mkdir(), ("d is a folder", "d/*.parquet")),
    "folder called csv": ("d.csv", lambda f: (f / "d.csv").mkdir(), ("d.csv is a folder",)),
    "unknown ending": ("t.xlsx", _write("t.xlsx", b"PK"), ("t.xlsx", ".parquet", ".csv", ".duckdb")),
    "wrong column": ("t.csv", _write("t.csv", _csv().replace(b"area", b"zone")), ("t.csv", "'area'", "zone")),
    "no person": ("t.csv", _write("t.csv", _csv().replace(b"who", b"id")), ("t.csv", "'who'", "person id")),
    "double header": (
        "t.csv",
        _write("t.csv", _csv().replace(b"hour", b"area")),
        ("t.csv", "columns 2 and 3 are called alike"),
    ),
    "header that capitals alone tell apart": (
        "t.csv",
        _write("t.csv", _csv().replace(b"hour", b"Area")),
        ("t.csv", "columns 2 and 3 are called alike"),
    ),
    "line 1 blank": ("t.csv", _write("t.csv", b"\n" + _csv()), ("t.csv, line 1", "blank", "name the columns")),
    "no name": ("", lambda f: None, ("'' is no name",)),
    "empty file": ("t.csv", _write("t.csv", b""), ("t.csv is empty",)),
    "blank file": ("t.csv", _write("t.csv", b"\n\n"), ("t.csv is empty",)),
    "only a mark": ("t.csv", _write("t.csv", b"\xef\xbb\xbf"), ("t.csv is empty",)),
    "UTF-16 without mark": ("t.csv", _write("t.csv", _csv().decode().encode("utf-16-le")), ("t.csv", "UTF-8")),
    "UTF-32": ("t.csv", _write("t.csv", _csv().decode().encode("utf-32")), ("t.csv", "UTF-8")),
    "latin-1 header": ("t.csv", _write("t.csv", _csv(ä="x").decode().encode("latin-1")), ("t.csv, line 1", "UTF-8")),
    "zeros": ("t.csv", _write("t.csv", b"\0" * 100), ("t.csv", "UTF-8")),
    "quote without end": ("t.csv", _write("t.csv", b'"who,area\n1,2\n'), ("t.csv",)),
    "different headers": (
        "t*.csv",
        lambda f: ((f / "t1.csv").write_bytes(_csv()), (f / "t2.csv").write_bytes(_csv(more="1"))),
        ("t2.csv has another header than t1.csv",),
    ),
    "mixed kinds": (
        "t.*",
        lambda f: ((f / "t.csv").write_bytes(_csv()), (f / "t.parquet").write_bytes(b"")),
        ("t.*",),
    ),
    "text as gzip": ("t.csv.gz", _write("t.csv.gz", _csv()), ("t.csv.gz cannot be read",)),
    "truncated gzip": (
        "t.csv.gz",
        _write("t.csv.gz", gzip.compress(_csv() + os.urandom(5000).hex().encode())[:-500]),
        ("t.csv.gz cannot be read",),
    ),
    "text as parquet": ("t.parquet", _write("t.parquet", _csv()), ("t.parquet cannot be read",)),
    "empty parquet": ("t.parquet", _write("t.parquet", b""), ("t.parquet cannot be read",)),
    "truncated parquet": (
        "t.parquet",
        lambda f: (f / "t.parquet").write_bytes(_parquet(f)[:-100]),
        ("t.parquet cannot be read",),
    ),
    "text as database": ("t.duckdb", _write("t.duckdb", _csv()), ("t.duckdb cannot be read",)),
    "missing database": ("t.duckdb", lambda f: None, ("t.duckdb does not exist",)),
    "database without tables": ("t.duckdb", _database("t.duckdb"), ("t.duckdb::TABLE", "it has none")),
    "two tables": ("t.duckdb", _database("t.duckdb", "a", "b"), ("t.duckdb::TABLE", "it has a, b")),
    "wrong table": ("t.duckdb::c", _database("t.duckdb", "a", "b"), ("t.duckdb::c",)),
    "table without column": ("t.duckdb::a", _database("t.duckdb", "a"), ("t.duckdb::a", "'hour'")),
}


@pytest.mark.parametrize("case", DATA)
def test_data(case: str, city: Path, sfumato: Sfumato) -> None:
    """Data that cannot be read is refused by name, by synthesize, by check and by schema draft alike."""
    data, make, says = DATA[case]
    make(city)
    refused(sfumato, *release("--out", "s.csv", "--ledger", "l", data=data), says=says)
    refused(sfumato, "check", data, "--schema", "schema.json", says=says)
    if case not in ("wrong column", "no person", "table without column"):
        refused(sfumato, "schema", "draft", data, "--out", "drafted.json", says=says)


def test_a_name_that_is_no_text(city: Path, sfumato: Sfumato) -> None:
    """A file name of bytes that are no UTF-8 can be told to no engine."""
    name = os.fsdecode(b"\xff.csv")
    Path(name).write_bytes(_csv())
    refused(sfumato, *release("--out", "s.csv", "--ledger", "l", data=name), says=(r"\udcff.csv", "in UTF-8"))


def test_a_database_that_another_program_writes_to(city: Path, sfumato: Sfumato) -> None:
    """It says so, instead of doubting the file."""
    _database("t.duckdb", "a")(city)
    hold = "import duckdb, sys; c = duckdb.connect('t.duckdb'); print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        refused(sfumato, *release("--out", "s.csv", "--ledger", "l", data="t.duckdb::a"), says=("another program",))
        other.communicate()


def test_gzip_truncated_far_in(city: Path, sfumato: Sfumato) -> None:
    """A compressed file that ends too early is found before anything is spent, however late it ends."""
    row = _csv().split(b"\n")[1] + b"\n"
    whole = gzip.compress(_csv() + row * 200_000, 1)
    (city / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    refused(sfumato, *release("--out", "s.csv", "--ledger", "l", data="t.csv.gz"), says=("t.csv.gz",))


RELEASABLE: dict[str, bytes] = {
    "header alone": b"who,area,hour,fare,how\n",
    "header without end of line": b"who,area,hour,fare,how",
    "text in numbers": _csv(area="centre", hour="noon", fare="a lot"),
    "NaN and empty ids": b"who,area,hour,fare,how\n,1,2,3,card\nNaN,1,2,3,card\nnull,1,2,NaN,cash\n",
    "lines too short and too long": _csv() + b"p2\np3,1,2,3,card,more,and more\n",
    "open quote": _csv() + b'"p4,1,2,3,card\n',
    "byte order mark": b"\xef\xbb\xbf" + _csv(),
    "UTF-16": _csv().decode().encode("utf-16"),
    "latin-1 in a value": _csv() + "p\xe4,1,2,3,card\n".encode("latin-1"),
    "zero bytes": _csv() + b"p\0,1,2,3,card\n",
    "infinite": _csv(fare="inf", area="1e308", hour="-0"),
    "huge numbers": _csv(area="9" * 50, hour="99999999999999999999", fare="1e999"),
    "semicolons": _csv().replace(b",", b";"),
    "Windows lines": _csv().replace(b"\n", b"\r\n"),
    "one person with everything": b"who,area,hour,fare,how\n" + b"p,1,2,3,card\n" * 5_000,
}


@pytest.mark.parametrize("case", RELEASABLE)
def test_any_values_are_released(case: str, city: Path, sfumato: Sfumato) -> None:
    """What the records hold, and whether there are any, is private: a release goes through all the same."""
    (city / "t.csv").write_bytes(RELEASABLE[case])
    done = sfumato(*release("--out", "s.csv", "--model-out", "m", "--marginal", "area,how", data="t.csv"))
    assert (done.code, done.err) == (0, "")
    assert pyarrow.csv.read_csv("s.csv").column_names == ["area", "how"]
    assert sfumato("check", "t.csv", "--schema", "schema.json").code == 0


# ---------------------------------------------------------------------- the request

OPTIONS: dict[str, tuple[list[object], tuple[str, ...]]] = {
    "epsilon 0": (["--epsilon", "0"], ("psilon", "above 0", "0.0")),
    "epsilon negative": (["--epsilon", "-1"], ("psilon", "-1.0")),
    "epsilon NaN": (["--epsilon", "nan"], ("psilon", "nan")),
    "epsilon infinite": (["--epsilon", "inf"], ("psilon", "inf")),
    "epsilon text": (["--epsilon", "strong"], ("--epsilon", "number")),
    "delta 1": (["--delta", "1"], ("elta", "1.0")),
    "delta negative": (["--delta", "-1e-9"], ("elta", "-1e-09")),
    "delta NaN": (["--delta", "nan"], ("elta", "nan")),
    "records negative": (["--records", "-1"], ("--records is -1",)),
    "records text": (["--records", "many"], ("--records", "'many'")),
    "records half": (["--records", "1.5"], ("--records", "'1.5'")),
    "records without end": (["--records", "9" * 30], ("--records", "1,000,000,000,000")),
    "seed negative": (["--seed", "-1"], ("--seed is -1",)),
    "seed text": (["--seed", "x"], ("--seed",)),
    "method": (["--method", "magic"], ("'magic'", "nmd")),
    "public is private": (["--public", "trips.parquet"], ("--public trips.parquet", "private data itself")),
    "public not there": (["--public", "last.parquet"], ("last.parquet", "does not exist")),
    "setting unknown": (["--set", "speed=3"], ("'nmd'", "'speed'", "marginal, bound")),
    "setting without value": (["--set", "speed"], ("--set speed", "name=value")),
    "bound twice": (["--bound", "records:3", "--set", "bound=records:4"], ("'bound'", "twice")),
    "bound unknown": (["--bound", "people:3"], ("'people'", "records")),
    "bound without number": (["--bound", "records"], ("'records'", "records(20)")),
    "bound 0": (["--bound", "records:0"], ("records(0",)),
    "bound half a record": (["--bound", "records:1.5"], ("records(1.5)", "whole")),
    "bound NaN": (["--bound", "weight:nan"], ("weight(nan)",)),
    "bound without L1": (["--bound", "l2:3"], ("l2(3)", "records or weight")),
    "column": (["--marginal", "area,colour"], ("'colour'", "area, hour, fare, how")),
    "level": (["--marginal", "area@city"], ("'area'", "'city'", "district")),
    "level number": (["--marginal", "area@9"], ("'area'", "9")),
    "person as column": (["--marginal", "who"], ("'who'",)),
    "column twice": (["--marginal", "area,area"], ("area × area", "twice")),
    "column empty": (["--marginal", "area,,hour"], ("''",)),
    "unit": (["--unit", "household"], ("unit", "'household'")),
    "unit record": (["--unit", "record"], ("unit='record'", "'who'")),
    "account": (["--account", " padded "], ("account",)),
    "ending": (["--out", "s.xls"], ("s.xls", ".parquet", ".csv")),
    "no ending": (["--out", "s"], (".parquet",)),
    "folder as out": (["--out", "d.csv"], ("d.csv is a folder",)),
    "folder missing": (["--out", "gone/s.csv"], ("the folder gone",)),
    "model in missing folder": (["--model-out", "gone/m"], ("the folder gone",)),
    "folder as model": (["--model-out", "d.csv"], ("d.csv is a folder",)),
    "out is the data": (["--out", "trips.parquet"], ("--out trips.parquet", "the data")),
    "out is the data by another way": (["--out", "d.csv/../trips.parquet"], ("the data",)),
    "model is the schema": (["--model-out", "schema.json"], ("--model-out schema.json", "the schema")),
    "epsilon too small": (["--epsilon", "1e-300"], ("5e+300 records", "more of ε")),
    "model is the ledger": (["--model-out", "l"], ("--model-out l", "the ledger")),
    "model is what tells of out": (["--model-out", "s.csv.about.json"], ("s.csv.about.json", "--out")),
    "folder where out is told of": (["--out", "e.csv"], ("e.csv.about.json is a folder",)),
    "model is out": (["--model-out", "s.csv"], ("--model-out s.csv", "--out")),
    "ledger in missing folder": (["--ledger", "gone/l"], ("gone",)),
    "ledger is a folder": (["--ledger", "d.csv"], ("d.csv",)),
    "unknown option": (["--fast"], ("--fast", "sfumato synthesize --help")),
    "one word too many": (["more"], ("more", "sfumato synthesize --help")),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options(case: str, city: Path, sfumato: Sfumato) -> None:
    """A request that cannot be met is refused before anything is read, with the value and what to give instead."""
    (city / "d.csv").mkdir()
    (city / "e.csv.about.json").mkdir()
    options, says = OPTIONS[case]
    refused(sfumato, *release("--out", "s.csv", "--ledger", "l", *options), says=says)


def test_options_left_out(city: Path, sfumato: Sfumato) -> None:
    """What is missing is named, and where help is."""
    refused(sfumato, *release(), says=("--out", "--model-out"))
    refused(sfumato, "synthesize", says=("DATA", "sfumato synthesize --help"))
    refused(sfumato, "synthesize", "trips.parquet", "--schema", "schema.json", "--epsilon", 1, says=("--method",))
    refused(sfumato, "sample", "m", says=("--out",))
    refused(sfumato, "check", "trips.parquet", says=("--schema",))


def test_unknown_commands(city: Path, sfumato: Sfumato) -> None:
    """A command that does not exist is answered with the one that was likely meant."""
    refused(sfumato, "synthesise", says=("'synthesise'", "did you mean 'synthesize'?"))
    refused(sfumato, "ledger", "shwo", says=("'shwo'", "did you mean 'show'?", "sfumato ledger --help"))
    refused(sfumato, "xyz", says=("'xyz'", "sfumato --help"))
    for group in ([], ["ledger"], ["schema"], ["simulate"]):
        ran = sfumato(*group)
        assert (ran.code, ran.err) == (2, "")
        assert "Usage:" in ran.out


def test_too_many_cells(city: Path, sfumato: Sfumato) -> None:
    """A marginal beyond memory is refused with its size, named or not."""
    wide = {f"c{i}": {"kind": "category", "values": list(range(1000))} for i in range(3)}
    Path("wide.json").write_text(json.dumps({**SCHEMA, "columns": {"who": {"kind": "person"}, **wide}}))
    command = ["synthesize", "trips.parquet", "--schema", "wide.json", "--method", "nmd", "--epsilon", 1]
    refused(sfumato, *command, "--out", "s.csv", says=("1e+09 cells", "--marginal"))
    refused(sfumato, *command, "--out", "s.csv", "--marginal", "c0,c1,c2", says=("1,000,000,000 cells", "coarser"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_permission(city: Path, sfumato: Sfumato) -> None:
    """A folder that may not be written to is named before anything is spent."""
    (city / "locked").mkdir(mode=0o500)
    refused(sfumato, *release("--out", "locked/s.csv", "--ledger", "l"), says=("locked cannot be written to",))
    refused(sfumato, *release("--out", "s.csv", "--ledger", "locked/l"), says=("locked",))


def test_output_without_permission(city: Path, sfumato: Sfumato) -> None:
    """Where a file can never be made, that is said before anything is spent."""
    refused(sfumato, *release("--out", "/proc/s.csv", "--ledger", "l"), says=("/proc",))
    refused(sfumato, *release("--out", "s.csv", "--ledger", "/proc/l"), says=("/proc/l",))
    refused(sfumato, *release("--model-out", "/dev/null", "--ledger", "l"), says=("/dev/null",))


# ---------------------------------------------------------------------- the ledger


def _foreign(folder: Path) -> None:
    with sqlite3.connect(folder / "l") as con:
        con.execute("CREATE TABLE mine (x)")
    con.close()


LEDGERS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "empty": (_write("l", b""), ("l is empty",)),
    "text": (_write("l", b"what we spent: nothing, really\n" * 100), ("l is not a ledger",)),
    "other database": (_foreign, ("l is a database, but not a ledger of Sfumato",)),
}


@pytest.mark.parametrize("case", LEDGERS)
def test_foreign_ledgers(case: str, city: Path, sfumato: Sfumato) -> None:
    """A file that is no ledger is not touched by any command."""
    make, says = LEDGERS[case]
    make(city)
    refused(sfumato, *release("--out", "s.csv", "--ledger", "l"), says=says)
    refused(sfumato, "ledger", "show", "l", says=says)
    refused(sfumato, "ledger", "cap", "l", "--epsilon", 3, says=says)


def test_damaged_ledger(city: Path, sfumato: Sfumato) -> None:
    """A ledger cut short or changed in the middle grants nothing."""
    assert sfumato(*release("--out", "a.csv", "--ledger", "l")).code == 0
    whole = Path("l").read_bytes()
    cut, changed = whole[: len(whole) // 2], whole.replace(b'"nmd"', b'"nme"')
    assert changed != whole
    for damaged in (cut, changed):
        Path("l").write_bytes(damaged)
        refused(sfumato, *release("--out", "s.csv", "--ledger", "l"), says=("l",))
        refused(sfumato, "ledger", "show", "l", says=("l",))


def test_spent_ledger(city: Path, sfumato: Sfumato) -> None:
    """Beyond the cap nothing is read, written or spent, and the sentence says how to raise the cap."""
    assert sfumato(*release("--out", "a.csv", "--ledger", "l")).code == 0
    assert sfumato("ledger", "cap", "l", "--epsilon", 1.5).code == 0
    (city / "trips.parquet").rename(city / "others.parquet")
    for out in ("--out", "--model-out"):
        refused(
            sfumato, *release(out, "s.csv", "--ledger", "l", data="others.parquet"), says=("ε = 1.5", "ledger cap l")
        )
    refused(sfumato, "ledger", "cap", "l", "--epsilon", 0.5, says=("0.5", "already spent"))


def test_ledger_show_nothing(city: Path, sfumato: Sfumato) -> None:
    """Showing a ledger that is not there makes none; an account that is not there is answered with those that are."""
    refused(sfumato, "ledger", "show", "gone", says=("no ledger", "gone"))
    assert sfumato(*release("--out", "a.csv", "--ledger", "l")).code == 0
    refused(sfumato, "ledger", "show", "l", "--account", "other", says=("'other'", "'data'"))
    refused(sfumato, "ledger", "cap", "l", "--epsilon", "nan", says=("psilon",))
    refused(sfumato, "ledger", "cap", "new", "--epsilon", "0", says=("psilon",))


def test_nothing_is_written_over_a_ledger(city: Path, sfumato: Sfumato) -> None:
    """What was spent is forgotten by no slip of a file name, be it the ledger beside the data or another one."""
    refused(sfumato, *release("--model-out", "trips.ledger"), says=("--model-out trips.ledger", "the ledger"))
    assert sfumato(*release("--out", "s.parquet", "--ledger", "l.csv")).code == 0
    refused(sfumato, *release("--out", "l.csv"), says=("l.csv is a ledger",))
    refused(sfumato, *release("--out", "t.csv", "--model-out", "l.csv"), says=("l.csv is a ledger",))
    refused(sfumato, "schema", "draft", "s.parquet", "--out", "l.csv", says=("l.csv is a ledger",))
    invent = ["simulate", "taxi", "--records", 9, "--out"]
    refused(sfumato, *invent, "t.csv", "--map-out", "l.csv", says=("l.csv is a ledger",))
    refused(sfumato, *invent, "l.csv", says=("l.csv is a ledger",))


def test_ledger_unnamed(city: Path, sfumato: Sfumato) -> None:
    """Where the data is a pattern the ledger has to be named."""
    refused(sfumato, *release("--out", "a.csv", data="tri*.parquet"), says=("--ledger",))


# ---------------------------------------------------------------------- schemas


def _schema(**changes: object) -> bytes:
    return json.dumps({**SCHEMA, **changes}).encode()


def _column(**changes: object) -> bytes:
    columns: dict[str, Any] = {**SCHEMA["columns"]}  # type: ignore[dict-item]
    return _schema(columns={**columns, "how": {"kind": "category", "values": ["card", "cash"], **changes}})


SCHEMAS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty": (b"", ("line 1",)),
    "not JSON": (b'{"sfumato": "schema",', ("line 1", "JSON")),
    "binary": (os.urandom(100) + b"\xff\xfe", ("UTF-8",)),
    "a list": (b"[]", ("object",)),
    "deep": (b"[" * 100_000, ("s.json",)),
    "something else": (b'{"name": "x"}', ("is no schema",)),
    "other version": (_schema(version=9), ("version 9", "version 1")),
    "no version": (b'{"sfumato": "schema"}', ("version",)),
    "no columns": (b'{"sfumato": "schema", "version": 1}', ("columns",)),
    "columns as list": (_schema(columns=[1]), ("columns is an object",)),
    "empty columns": (_schema(columns={}), ("columns",)),
    "only the person": (_schema(columns={"who": {"kind": "person"}}), ("no column beside the person",)),
    "unknown key": (_schema(colour=1), ("colour",)),
    "limit of text": (_schema(max_records_per_person="five"), ("max_records_per_person", "'five'")),
    "limit of 0": (_schema(max_records_per_person=0), ("max_records_per_person",)),
    "wrong kind": (_column(kind="colour"), ("'how'", "'colour'", "category")),
    "no kind": (_column(kind=None), ("'how'", "kind")),
    "no values": (_column(values=[]), ("'how'", "values")),
    "mixed values": (_column(values=[1, "a"]), ("'how'",)),
    "value twice": (_column(values=["a", "a"]), ("'how'", "'a'")),
    "half a value": (_column(values=[1.5]), ("'how'", "1.5")),
    "unknown key of a column": (_column(color=1), ("'how'", "color")),
    "level too short": (_column(levels={"x": ["a"]}), ("'how'", "'x'")),
    "falling edges": (_column(kind="number", edges=[3, 1]), ("'how'",)),
    "two persons": (_column(kind="person"), ("'how'",)),
    "challenge without schema": (b'{"schema": 3}', ("s.json",)),
    "challenge with odd column": (b'{"schema": {"a": {"dtype": "int"}}}', ("s.json",)),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_schemas(case: str, city: Path, sfumato: Sfumato) -> None:
    """A schema that is none is refused with the place and the value, by every command that reads one."""
    given, says = SCHEMAS[case]
    (city / "s.json").write_bytes(given)
    refused(sfumato, "schema", "show", "s.json", says=("s.json", *says))
    refused(sfumato, "check", "trips.parquet", "--schema", "s.json", says=says)
    command = ["synthesize", "trips.parquet", "--schema", "s.json", "--method", "nmd", "--epsilon", 1]
    refused(sfumato, *command, "--out", "o.csv", "--ledger", "l", says=says)


def test_schema_files(city: Path, sfumato: Sfumato) -> None:
    """A schema that is missing, a folder, or for other protection than asked is refused."""
    refused(sfumato, "schema", "show", "gone.json", says=("gone.json does not exist",))
    refused(sfumato, "schema", "show", ".", says=("folder",))
    columns = {k: v for k, v in SCHEMA["columns"].items() if k != "who"}  # type: ignore[attr-defined]
    Path("nobody.json").write_bytes(_schema(columns=columns))
    command = ["synthesize", "trips.parquet", "--schema", "nobody.json", "--method", "nmd", "--epsilon", 1]
    for more in ([], ["--explain"]):
        refused(sfumato, *command, "--out", "o.csv", "--ledger", "l", *more, says=("no person id", "record"))
    without = {k: v for k, v in SCHEMA.items() if k != "max_records_per_person"}
    Path("limitless.json").write_text(json.dumps(without))
    refused(
        sfumato, "synthesize", "trips.parquet", "--schema", "limitless.json", "--method", "nmd", "--epsilon", 1,
        "--out", "o.csv", says=("max_records_per_person", "--bound records:20"),
    )  # fmt: skip


def test_drafts(city: Path, sfumato: Sfumato) -> None:
    """A draft names a person that is there, and is not written over the data."""
    refused(sfumato, "schema", "draft", "trips.parquet", "--out", "o.json", "--person", "x", says=("'x'", "who"))
    refused(sfumato, "schema", "draft", "trips.parquet", "--out", "gone/o.json", says=("the folder gone",))
    refused(sfumato, "schema", "draft", "trips.parquet", "--out", "trips.parquet", says=("the data",))
    pq.write_table(pa.table({"who": ["a", "b"]}), "one.parquet")
    refused(sfumato, "schema", "draft", "one.parquet", "--out", "o.json", "--person", "who", says=("one.parquet",))


# ---------------------------------------------------------------------- models and inventions


def _zip(**members: bytes) -> Make:
    def make(folder: Path) -> None:
        with zipfile.ZipFile(folder / "bad", "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in members.items():
                file.writestr(name.replace("_", "."), data)

    return make


class _Harm:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch harmed",)


MODELS: dict[str, Make] = {
    "missing": lambda f: None,
    "empty": _write("bad", b""),
    "text": _write("bad", b"a model, I promise\n" * 50),
    "truncated": lambda f: (f / "bad").write_bytes((f / "m").read_bytes()[:-60]),
    "pickle": _write("bad", pickle.dumps(_Harm())),
    "zip of a pickle": _zip(model_json=b"{}", data_pkl=pickle.dumps(_Harm())),
    "zip of nothing": _zip(),
    "bomb": _zip(model_json=b" " * (80 << 20)),
    "schema": lambda f: (f / "bad").write_bytes((f / "schema.json").read_bytes()),
    "folder": lambda f: (f / "bad").mkdir(),
}


@pytest.mark.parametrize("case", MODELS)
def test_models(case: str, city: Path, sfumato: Sfumato) -> None:
    """A file that is no model is refused by name, and nothing in it is run or unpacked."""
    assert sfumato(*release("--model-out", "m", "--marginal", "area")).code == 0
    MODELS[case](city)
    refused(sfumato, "sample", "bad", "--out", "o.csv", says=("bad",))
    assert not Path("harmed").exists()


def test_sampling(city: Path, sfumato: Sfumato) -> None:
    """A sample of no sensible size, or over the model itself, is refused."""
    assert sfumato(*release("--model-out", "m.csv", "--marginal", "area")).code == 0
    refused(sfumato, "sample", "m.csv", "--out", "o.csv", "--records", "-3", says=("--records is -3",))
    refused(sfumato, "sample", "m.csv", "--out", "o.csv", "--records", "lots", says=("'lots'",))
    refused(sfumato, "sample", "m.csv", "--out", "o.csv", "--seed", "-3", says=("seed",))
    refused(sfumato, "sample", "m.csv", "--out", "m.csv", says=("the model",))
    refused(sfumato, "sample", "m.csv", "--out", "o.txt", says=("o.txt",))


INVENTIONS: dict[str, tuple[list[object], tuple[str, ...]]] = {
    "no records": (["--records", 0], ("record",)),
    "negative": (["--records", -5], ("-5",)),
    "text": (["--records", "lots"], ("'lots'",)),
    "no persons": (["--records", 100, "--persons", 0], ("person",)),
    "too few persons": (["--records", 100_000, "--persons", 3], ("3",)),
    "drift": (["--records", 100, "--drift", 2], ("drift", "2")),
    "drift NaN": (["--records", 100, "--drift", "nan"], ("drift", "nan")),
    "seed": (["--records", 100, "--seed", -1], ("seed", "-1")),
    "one file twice": (["--records", 100, "--schema-out", "o.csv"], ("--schema-out o.csv", "--out")),
    "map in missing folder": (["--records", 100, "--map-out", "gone/m"], ("gone",)),
}


@pytest.mark.parametrize("kind", ["incidents", "taxi"])
@pytest.mark.parametrize("case", INVENTIONS)
def test_inventions(case: str, kind: str, city: Path, sfumato: Sfumato) -> None:
    """A city that cannot be is refused before anything is written."""
    options, says = INVENTIONS[case]
    refused(sfumato, "simulate", kind, "--out", "o.csv", *options, says=says)


def test_demo_spares_other_files(city: Path, sfumato: Sfumato) -> None:
    """The demonstration writes into no folder that holds anything else, least of all a ledger."""
    refused(sfumato, "demo", "--out", ".", "--records", 1000, says=("the folder .", "--out"))
    assert sfumato(*release("--out", "s.csv", "--ledger", "city.ledger")).code == 0
    refused(sfumato, "demo", "--out", ".", "--records", 1000, says=("the folder .",))
    refused(sfumato, "demo", "--out", "schema.json/x", says=("schema.json/x",))


def test_memory_setting(city: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting for memory that is no number is named, with what it should be."""
    for value in ("lots", "0", "-5", ""):
        monkeypatch.setenv("SFUMATO_MEMORY_MB", value)
        refused(sfumato, *release("--out", "s.csv", "--ledger", "l"), says=("SFUMATO_MEMORY_MB", repr(value)))
