"""The earth mover cost beside OR-Tools' SimpleMinCostFlow, on the same sparse graph in the same run.

    python -m benchmarks.aemc           # some ten minutes: OR-Tools takes 10 to 60 s an instance
    SFUMATO_BENCH_LARGE=1 python -m benchmarks.aemc     # OR-Tools on five million cells as well: ten minutes, 6 GB

Each instance is solved in a process of its own; ours is run three times there, after a first call that loads the
compiled kernels, and the median told. Seconds are processor time of one thread on either side, since machines are
shared. The costs of both have to be equal, to the last unit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction

from benchmarks.measure import incidents

Row = tuple[str, str, str]

CITY, LARGE = (12, 278, 174), (365, 78, 177)
RECORDS = 1_455_000
TOLERANCE = 2

_WORK = """
import json, statistics, sys, time
from benchmarks.aemc import instance, axes
name, weights, who = {name!r}, {weights!r}, {who!r}
P, Q = instance(name)
made = axes(weights)
if who == "ours":
    from sfumato.metrics import aemc
    aemc(P, Q, made, {tolerance}, jobs=1)
    times = []
    for _ in range({times}):
        start = time.process_time()
        found = aemc(P, Q, made, {tolerance}, jobs=1)
        times.append(time.process_time() - start)
    seconds, cost = statistics.median(times), found.value * float(Q.sum())
else:
    from tests.metrics.aemc import reference
    start = time.process_time(); cost = float(reference.ortools(P, Q, made, {tolerance}))
    seconds = time.process_time() - start
from benchmarks.measure import own_peak
peak = own_peak()
if who == "ours":
    found.certificate()
print(json.dumps([seconds, cost, peak]))
"""


def rows() -> Iterator[Row]:
    """What was measured, the figures, the target; one by one."""
    for name, target in (
        ("Laplace, ε 0.25", "≥ 150 ×, < 1 s"), ("Laplace, ε 1", "≥ 150 ×, < 1 s"), ("Laplace, ε 4", "≥ 150 ×, < 1 s"),
        ("Laplace, ε 10", "≥ 150 ×, < 1 s"), ("10 % sample", "≥ 40 ×, < 1 s"), ("50 % sample", "≥ 40 ×, < 1 s"),
        ("permuted cells", "≥ 30 ×, < 1 s"),
    ):  # fmt: skip
        yield compare(name, "thirds", target)
    yield compare("Laplace, ε 1", "ordinal", "≥ 1000 ×")
    yield compare("Laplace, ε 1", "tree", "≥ 60 ×")
    yield compare("10 % sample", "awkward", "–")
    yield still()
    large = bool(os.environ.get("SFUMATO_BENCH_LARGE"))
    yield compare("large, Laplace, ε 10", "thirds", "≤ 3 s", peer=large)
    yield compare("large, 10 % sample", "thirds", "≤ 4 s", peer=False)
    yield police()


def instance(name: str):  # type: ignore[no-untyped-def]
    """Synthetic and true counts of a kind, always the same."""
    import numpy as np

    rng = np.random.default_rng(1)
    Q = _truth(LARGE if name.startswith("large") else CITY)
    if "Laplace" in name:
        P = np.maximum(0, np.rint(Q + rng.laplace(0, 20 / float(name.split()[-1]), Q.shape))).astype(np.int64)
    elif "sample" in name:
        share = Fraction(int(name.removeprefix("large, ").split()[0]), 100)
        P = rng.binomial(Q, float(share)) * int(1 / share)
    else:
        P = rng.permutation(Q.reshape(-1)).reshape(Q.shape)
    return P, Q


def axes(weights: str):  # type: ignore[no-untyped-def]
    """Month, neighbourhood, type, or what a large table has in their place, with weights of a kind."""
    import math

    import numpy as np

    from sfumato.metrics import Axis

    never = math.inf
    if weights == "ordinal":
        return [Axis.ordinal(1), Axis.categorical(never), Axis.categorical(never)]
    if weights == "tree":
        fine = np.arange(278) // 6
        return [
            Axis.ordinal(never),
            Axis.categorical(1, [(fine // 8).tolist(), fine.tolist()]),
            Axis.categorical(never),
        ]
    if weights == "none":
        return [Axis.ordinal(never), Axis.categorical(never), Axis.categorical(never)]
    each = {"thirds": (1 / 3, 1 / 3, 1 / 3), "awkward": (0.37, 0.31, 0.32)}[weights]
    return [Axis.ordinal(each[0]), Axis.categorical(each[1]), Axis.categorical(each[2])]


def compare(name: str, weights: str, target: str, peer: bool = True) -> Row:
    """Ours and OR-Tools' seconds and memory, and that they agree."""
    ours = _run(name, weights, "ours")
    what = f"AEMC, {name}, {_WORDS[weights]}"
    if not peer:
        return what, f"{ours[0]:.2f} s, {ours[2]:,.0f} MiB", target
    theirs = _run(name, weights, "ortools")
    assert abs(ours[1] - theirs[1]) <= 1e-9 * theirs[1], (name, weights, ours[1], theirs[1])
    figures = (
        f"{ours[0] * 1000:,.1f} ms, {ours[2]:,.0f} MiB; OR-Tools {theirs[0]:.1f} s, {theirs[2]:,.0f} MiB; "
        f"{theirs[0] / ours[0]:,.0f} ×, memory {ours[2] / theirs[2]:.2f} ×"
    )
    return what, figures, target


_WORDS = {
    "thirds": "weights 1/3 each", "ordinal": "month alone", "tree": "three-level tree alone",
    "awkward": "weights .37, .31, .32",
}  # fmt: skip


def still() -> Row:
    """No finite attribute, beside one pass of numpy over both tables."""
    import statistics
    import time

    import numpy as np

    from sfumato.metrics import aemc

    P, Q = instance("Laplace, ε 1")
    made = axes("none")

    def seconds(work) -> float:  # type: ignore[no-untyped-def]
        times = []
        for _ in range(15):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    ours = seconds(lambda: aemc(P, Q, made, TOLERANCE))
    plain = seconds(lambda: np.maximum(np.abs(P - Q) - TOLERANCE, 0).sum() / Q.sum())
    figures = f"{ours * 1000:.1f} ms; one numpy pass {plain * 1000:.1f} ms; {ours / plain:.1f} ×"
    return "AEMC, nothing moves", figures, "≤ 3 ×"


def police() -> Row:
    """The whole score of the police example, seven marginals, from Parquet."""
    path = incidents(RECORDS)
    code = (
        "import time, sfumato as sf\nfrom sfumato.metrics import MGD\nfrom sfumato.simulate import incidents\n"
        f"schema = sf.Schema.load({str(path.with_suffix('.json'))!r})\nmetric = MGD(schema, marginals='police')\n"
        f"other = incidents(records={RECORDS}, seed=8).to_table()\n"
        "metric.score(other.slice(0, 1000), other.slice(500, 1000))\n"
        f"start = time.perf_counter(); metric.score({str(path)!r}, other)\nprint(time.perf_counter() - start)"
    )
    seconds = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    return f"MGD, police example, 7 marginals, {RECORDS:,} incidents from Parquet", f"{seconds:.2f} s", "≤ 3 s"


def _truth(shape: tuple[int, ...]):  # type: ignore[no-untyped-def]
    """Counts of simulated incidents; for a large table, each month's spread over its days and the areas thinned out."""
    import numpy as np

    import sfumato as sf

    path = incidents(RECORDS)
    schema = sf.Schema.load(path.with_suffix(".json"))
    marginal = sf.Marginal.of("period", "neighborhood", "incident_type")
    Q = sf.Table.open(path, schema).counts([marginal])[0].values
    if shape == CITY:
        return Q
    rng = np.random.default_rng(0)
    month = np.minimum(np.arange(shape[0]) * 12 // shape[0], 11)
    rate = np.zeros(shape)
    for i, m in enumerate(month):
        rate[i, :, : Q.shape[2]] = np.add.reduceat(Q[m], np.arange(0, 278, 278 / 78).astype(int)[:78], axis=0)[:, :177]
    return rng.poisson(rate * 5_000_000 / rate.sum())


def _run(name: str, weights: str, who: str) -> tuple[float, float, float]:
    code = _WORK.format(name=name, weights=weights, who=who, tolerance=TOLERANCE, times=3)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, cost, mib = json.loads(done.stdout.splitlines()[-1])
    return seconds, cost, mib


if __name__ == "__main__":
    if len(sys.argv) > 2:  # one instance: its name and its weights
        print(*compare(sys.argv[1], sys.argv[2], "–"))
        sys.exit()
    for what, figures, target in rows():
        print(f"{what}: {figures} (target {target})", flush=True)
