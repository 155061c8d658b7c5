"""A release stopped at any moment: what came out is in the ledger, and what is there is whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.csv
import pytest

from sfumato import Ledger, load_model
from tests.cli.conftest import Sfumato, release

RECORDS = 400_000
WANTED = ("--out", "s.csv", "--model-out", "m", "--records", RECORDS, "--ledger", "l")


def _start(*more: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sfumato", *map(str, release(*WANTED, "-q", *more))]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _wait_for(running: subprocess.Popen[bytes], happened: Callable[[], bool]) -> None:
    while running.poll() is None and not happened():
        time.sleep(0.001)


# what to wait for, and how long at most after it
MOMENTS: dict[str, tuple[Callable[[], bool], float]] = {
    "any time": (lambda: True, 1.2),
    "after the ledger": (lambda: Path("l").exists(), 0.15),
    "after the model": (lambda: Path("m").exists(), 0.10),
    "while writing": (lambda: any(Path().glob(".s.csv*.part")), 0.05),
    "after the records": (lambda: Path("s.csv").exists(), 0.02),
}


def _assert_consistent() -> None:
    """Files under their final names are whole, and charged."""
    came_out = [path for path in (Path("s.csv"), Path("m")) if path.exists()]
    if came_out:
        assert Ledger("l", create=False).accounts()[0].spent == 1.0
    if Path("m").exists():
        assert load_model("m").provenance.private
    if Path("s.csv").exists():
        assert pyarrow.csv.read_csv("s.csv").num_rows == RECORDS


@pytest.mark.parametrize("moment", MOMENTS)
def test_kill(moment: str, city: Path, sfumato: Sfumato) -> None:
    """Killed at random, a release leaves nothing that is not charged and nothing half-written; the next one works."""
    happened, longest = MOMENTS[moment]
    chance = random.Random(moment)
    for _ in range(4):
        for path in city.iterdir():
            if path.name not in ("trips.parquet", "schema.json"):
                path.unlink()
        with _start() as running:
            _wait_for(running, happened)
            time.sleep(chance.uniform(0, longest))
            running.kill()
        _assert_consistent()
    if Path("l").exists() and not Path("l").stat().st_size:  # killed while it was made: its sentence says to delete it
        Path("l").unlink()
    assert sfumato("ledger", "cap", "l", "--epsilon", 3).code == 0
    assert sfumato(*release(*WANTED, "-q")).code == 0
    assert Ledger("l", create=False).accounts()[0].releases in (1, 2)
    assert pyarrow.csv.read_csv("s.csv").num_rows == RECORDS


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop(how: signal.Signals, city: Path) -> None:
    """Asked to stop while writing, it says so in a sentence and takes what is half-written away."""
    with _start("--records", 50 * RECORDS) as running:  # so many that it is still writing when the signal comes
        _wait_for(running, lambda: any(Path().glob(".s.csv*.part")))
        os.kill(running.pid, how)
        _, said = running.communicate(timeout=30)
    ended = running.returncode
    # an interrupt inside an `eval` makes Python end by SIGINT after its own exit: to a shell that is 130 too
    assert (128 - ended if ended < 0 else ended) == 130
    assert said == b"error: stopped; nothing half-written is left\n"
    assert sorted(p.name for p in city.iterdir()) == ["l", "m", "schema.json", "trips.parquet"]
    _assert_consistent()


def test_nobody_listens(city: Path) -> None:
    """Where the reader of the output is gone before a release, nothing is spent and the exit code says so."""
    command = f"{sys.executable} -m sfumato {' '.join(map(str, release(*WANTED)))}"
    ran = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert (ran.returncode == 0) == Path("s.csv").exists()
    _assert_consistent()


def test_head(city: Path, sfumato: Sfumato) -> None:
    """`sfumato ... | head` ends without a complaint."""
    assert sfumato(*release(*WANTED, "-q")).code == 0
    command = f"{sys.executable} -m sfumato ledger show l --json | head -n 1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[\n", "")


def test_asked_to_stop_while_it_starts(city: Path) -> None:
    """Interrupted while its commands are still being imported, it says the same sentence."""
    code = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "sfumato.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

from sfumato.cli import run
sys.meta_path.insert(0, Interrupting())
run()
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (130, "error: stopped; nothing half-written is left\n")
