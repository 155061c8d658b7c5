"""What a private table holds appears nowhere but in the table: whatever happens, no value is printed or written."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import SCHEMA, Sfumato, release

Spawn = Callable[..., "subprocess.CompletedProcess[str]"]

MARK = "Zxq7Kw"  # in every secret value
COLUMNS = tuple(SCHEMA["columns"])  # type: ignore[arg-type]


def _table(records: int = 400) -> pa.Table:
    """Secrets everywhere: as ids, as unknown values, as text where numbers belong."""
    some = {name: ["1" if k % 2 else f"{name}-{MARK}-{k}" for k in range(records)] for name in COLUMNS}
    return pa.table({**some, "who": [f"who-{MARK}-{k % 50}" for k in range(records)], f"x{MARK}"[:1]: [MARK] * records})


def _csv(folder: Path) -> str:
    rows = zip(*_table().to_pydict().values(), strict=True)
    lines = [",".join(_table().column_names), *map(",".join, rows)]
    broken = [f'"{MARK} with no end', f"{MARK},too,short", f"{MARK}," * 30, f"\x00{MARK}\xff"]
    (folder / "t.csv").write_text("\n".join([*lines, *broken]), encoding="latin-1")
    return "t.csv"


def _parquet(folder: Path) -> str:
    pq.write_table(_table(), folder / "t.parquet")
    return "t.parquet"


def _damaged(folder: Path) -> str:
    """A Parquet file whose footer is whole and whose pages are not."""
    pq.write_table(_table(), folder / "t.parquet", compression="none", use_dictionary=False)
    data = bytearray((folder / "t.parquet").read_bytes())
    for at in range(4, len(data) - 4_000, 97):
        data[at] ^= 0xFF
    (folder / "t.parquet").write_bytes(data)
    assert MARK.encode() in data
    return "t.parquet"


def _view(folder: Path) -> str:
    """A database whose view fails on a value, which its error text quotes."""
    pq.write_table(_table(), folder / "held.parquet")
    with duckdb.connect(folder / "t.duckdb") as con:
        con.execute("CREATE TABLE held AS SELECT * FROM 'held.parquet'")
        con.execute("CREATE VIEW t AS SELECT * REPLACE (CAST(area AS INTEGER) AS area) FROM held")
        with pytest.raises(duckdb.ConversionException, match=MARK):
            con.execute("SELECT SUM(area) FROM t").fetchall()
    (folder / "held.parquet").unlink()
    return "t.duckdb::t"


def _many(folder: Path) -> str:
    """More persons than fit into a little memory."""
    n = 300_000
    many = pa.table({name: [f"{MARK}{k}" if name == "who" else "1" for k in range(n)] for name in COLUMNS})
    pq.write_table(many, folder / "t.parquet")
    return "t.parquet"


def _told(folder: Path, private: str, ran: subprocess.CompletedProcess[str]) -> bytes:
    """All that a run printed and left behind, unpacked."""
    said = [ran.stdout.encode(), ran.stderr.encode()]
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in (private.partition("::")[0], "schema.json"):
            said += [path.name.encode(), path.read_bytes(), *_unpacked(path)]
    return b"\n".join(said)


def _unpacked(path: Path) -> list[bytes]:
    if path.suffix == ".gz":
        return [gzip.decompress(path.read_bytes())]
    if path.suffix == ".parquet":
        return [repr(pq.read_table(path).to_pydict()).encode()]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            return [file.read(name) for name in file.namelist()]
    return []


@pytest.mark.parametrize(
    ("make", "memory", "code"),
    [
        (_csv, "1500", 0),
        (_parquet, "1500", 0),
        (_damaged, "1500", None),
        (_view, "1500", 1),
        (_many, "20", None),
        (_many, "1", 1),
    ],
    ids=["csv", "parquet", "damaged parquet", "failing view", "20 MB", "1 MB"],
)
def test_release(make: Callable[[Path], str], memory: str, code: int | None, city: Path, spawn: Spawn) -> None:
    """Neither a release nor one that fails in the engine shows or writes a value, not even in a temporary file."""
    (city / "trips.parquet").unlink()
    data = make(city)
    (city / "tmp").mkdir()
    env = {"TMPDIR": str(city / "tmp"), "SFUMATO_MEMORY_MB": memory}
    wanted = release("--ledger", "l", "--out", "s.csv.gz", "--model-out", "m", "--marginal", "area,how", data=data)
    ran = spawn(*wanted, env=env)
    assert ran.returncode in ((0, 1, 2) if code is None else (code,)), ran
    assert MARK.encode() not in _told(city, data, ran)
    assert not list((city / "tmp").iterdir())
    if ran.returncode:
        assert ran.stderr.startswith("error: ")
        assert ran.stderr.count("\n") == 1
        assert sorted(p.name for p in city.iterdir() if p.name not in ("l", "tmp")) == sorted(
            ["schema.json", data.partition("::")[0]]
        )


def test_failed_release_stays_charged(city: Path, sfumato: Sfumato) -> None:
    """Where the engine fails after the charge, the sentence says that the budget is gone, and the ledger has it."""
    data = _view(city)
    ran = sfumato(*release("--ledger", "l", "--out", "s.csv", data=data))
    assert ran.code == 1
    assert "was charged" in ran.err
    (statement,) = sfumato("ledger", "show", "l", "--json").json
    assert statement["account"]["spent"] == 1.0


def test_parquet_output(city: Path, spawn: Spawn) -> None:
    """A Parquet file of synthetic records holds no private value, in its pages or its metadata."""
    data = _parquet(city)
    ran = spawn(*release("--ledger", "l", "--out", "s.parquet", "--marginal", "area,how,fare", data=data))
    assert ran.returncode == 0
    assert MARK.encode() not in _told(city, data, ran)


@pytest.mark.parametrize("make", [_csv, _parquet])
def test_check_shows_and_says_private(make: Callable[[Path], str], city: Path, sfumato: Sfumato) -> None:
    """`check` is the owner's: it shows the values that do not fit, and says first that this is private."""
    data = make(city)
    ran = sfumato("check", data, "--schema", "schema.json")
    assert ran.code == 0
    assert ran.out.startswith("PRIVATE")
    assert f"area-{MARK}" in ran.out
    assert f"how-{MARK}" in ran.out
    told = sfumato("check", data, "--schema", "schema.json", "--json")
    assert json.loads(told.out)["private"] is True


def test_unforeseen_errors_keep_quiet(city: Path, spawn: Spawn) -> None:
    """An error that nobody foresaw is told by its kind alone, as its text may hold anything."""
    code = (
        "import sys, sfumato.cli as c, sfumato.table as t\n"
        "def fail(*a, **k): raise ValueError('the value " + MARK + " is bad')\n"
        "t.Table.open = fail\n"
        "sys.argv = ['sfumato', 'check', 'trips.parquet', '--schema', 'schema.json']\n"
        "c.run()\n"
    )
    env = {k: v for k, v in os.environ.items() if k != "SFUMATO_DEBUG"}
    import sys

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "error: an unforeseen ValueError stopped the run; SFUMATO_DEBUG=1 shows where\n"
