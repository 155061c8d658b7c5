"""The command line in this process, and a small city to try it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.cli import run as main


@dataclass(frozen=True)
class Ran:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Sfumato = Callable[..., Ran]

SCHEMA = {
    "sfumato": "schema",
    "version": 1,
    "max_records_per_person": 5,
    "columns": {
        "who": {"kind": "person"},
        "area": {
            "kind": "place",
            "values": [1, 2, 3, 4],
            "levels": {"district": {"west": [1, 2], "east": [3, 4]}},
        },
        "hour": {"kind": "category", "values": list(range(24)), "ordered": True, "cyclic": True},
        "fare": {"kind": "number", "edges": [0, 10, 20, 50], "missing": [None]},
        "how": {"kind": "category", "values": ["card", "cash"]},
    },
}


def trips(records: int = 300) -> pa.Table:
    """Trips of a few people."""
    i = range(records)
    return pa.table(
        {
            "who": [f"p{k % 97}" for k in i],
            "area": [1 + (k * 7) % 4 for k in i],
            "hour": [(k * 5) % 24 for k in i],
            "fare": [float((k * 13) % 45) for k in i],
            "how": ["card" if k % 3 else "cash" for k in i],
        }
    )


@pytest.fixture
def sfumato(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Sfumato:
    """Runs the command in this process, as the installed script does."""

    def run(*arguments: object) -> Ran:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        code = left.value.code
        return Ran(0 if code is None else int(code), out, err)

    return run


@pytest.fixture
def spawn() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command in a process of its own."""

    def run(*arguments: object, **settings: Any) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **settings.pop("env", {})}
        command = [sys.executable, "-m", "sfumato", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=60, **settings)

    return run


@pytest.fixture
def city(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with trips.parquet and schema.json, and the one that commands run in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    pq.write_table(trips(), tmp_path / "trips.parquet")
    return tmp_path


def release(*more: object, data: object = "trips.parquet") -> list[object]:
    """The arguments of a small release."""
    return ["synthesize", data, "--schema", "schema.json", "--method", "nmd", "--epsilon", "1", *more]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder with what it holds."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
