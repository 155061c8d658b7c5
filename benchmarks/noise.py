"""How long 600,000 draws of noise take, beside opendp's samplers on the same machine in the same run.

    python benchmarks/noise.py

opendp draws one exact integer at a time, so it is timed on fewer and scaled up.
"""

import statistics
import time
from collections.abc import Callable

import opendp.prelude as dp

from sfumato.privacy.noise import discrete_laplace, generator, rounded_gaussian

DRAWS = 600_000
THEIR_DRAWS = 20_000
TARGET_SECONDS = 0.1
SPREADS = [("4.98·2^16", 4.98 * 2**16), ("4290.24·2^16", 4290.24 * 2**16), ("20", 20.0)]
OURS = {"rounded Gaussian": rounded_gaussian, "discrete Laplace": discrete_laplace}


def rows() -> list[tuple[str, str, str]]:
    """What was measured, the figures, and the target, a row for each law and spread."""
    dp.enable_features("contrib")
    return [row(law, name, spread) for law in OURS for name, spread in SPREADS]


def row(law: str, name: str, spread: float) -> tuple[str, str, str]:
    rng = generator()
    ours = median_seconds(lambda: OURS[law](spread, DRAWS, rng), times=9)
    measure, zeros = opendp(law, spread), [0] * THEIR_DRAWS
    theirs = median_seconds(lambda: measure(zeros), times=3) * DRAWS / THEIR_DRAWS
    figures = (
        f"{ours * 1000:.1f} ms ({ours / DRAWS * 1e9:.0f} ns a draw); "
        f"opendp {theirs:.1f} s (scaled from {THEIR_DRAWS:,} draws), {theirs / ours:.0f}×"
    )
    return f"{DRAWS:,} draws, {law}, spread {name}", figures, f"≤ {TARGET_SECONDS * 1000:.0f} ms"


def opendp(law: str, spread: float) -> Callable[[list[int]], list[int]]:
    """opendp's sampler of the law that is nearest: its Gaussian is the discrete one, not the rounded one."""
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if law == "rounded Gaussian":
        return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=spread)
    return dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=spread)


def median_seconds(work: Callable[[], object], times: int) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    once()
    return statistics.median(once() for _ in range(times))


if __name__ == "__main__":
    for what, measured, target in rows():
        print(f"{what}: {measured}; target {target}")
