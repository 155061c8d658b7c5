"""Measuring: a piece of work in a process of its own, its seconds and its peak memory."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parent / ".cache"

_WRAP = """
import json, sys, time
{setup}
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
from benchmarks.measure import own_peak
print(json.dumps([seconds, own_peak()]))
"""


@dataclass(frozen=True)
class Cost:
    """Median seconds and the largest peak of memory, in MiB."""

    seconds: float
    mib: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s, {self.mib:,.0f} MiB"


def own_peak() -> float:
    """The largest memory that this process ever had, in MiB."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux; this figure is at least that of the process that started this one
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def costs(works: dict[str, tuple[str, str]], times: int = 5) -> dict[str, Cost]:
    """The cost of each (setup, work), run in turns so that a busy moment hits all alike; only the work is timed."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(times):
        for name, (setup, work) in works.items():
            code = _WRAP.format(setup=setup, work=work)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            found[name].append(tuple(json.loads(done.stdout.splitlines()[-1])))
    return {name: Cost(statistics.median(s for s, _ in f), max(m for _, m in f)) for name, f in found.items()}


def trips(records: int) -> Path:
    """A file of simulated taxi trips, with its schema beside it; made once."""
    return _made("taxi", records)


def incidents(records: int) -> Path:
    """A file of simulated incidents, with its schema beside it; made once."""
    return _made("incidents", records)


def _made(kind: str, records: int) -> Path:
    import sfumato.simulate

    path = CACHE / f"{kind}_{records}.parquet"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        simulation = getattr(sfumato.simulate, kind)(records=records)
        simulation.schema.save(path.with_suffix(".json"))
        simulation.write(path)
    return path
