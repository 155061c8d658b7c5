"""DPSyn: gradual update beside a direct pandas version of it, and the command end to end.

python -m benchmarks.dpsyn
"""

from __future__ import annotations

import itertools
import tempfile
import time

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.measure import costs, incidents
from sfumato.synthesizers.privsyn.gum import Target, gradually_updated

Row = tuple[str, str, str]
Codes = NDArray[np.uint8]

RECORDS, ROUNDS, INCIDENTS = 1_000_000, 100, 1_455_000
SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 7, 20, 15, 25, 9, 11, 16)
THREES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 12, 13))
SLICES, PANDAS_ROUNDS = (50_000, 100_000), 4  # what pandas is timed on


def rows() -> list[Row]:
    """What was measured, the figures, the target."""
    return [update(), command()]


def update() -> Row:
    """A hundred rounds over fifteen columns with 24 marginals, on one core; pandas on slices, scaled up."""
    truth, sets = dependent(RECORDS), marginals()
    gradually_updated(shuffled(truth[:, :99]), targets(truth[:, :99], sets), 1, np.random.default_rng(0))  # compiled
    made = shuffled(truth)
    start, cpu = time.perf_counter(), time.process_time()
    history = gradually_updated(made, targets(truth, sets), ROUNDS, np.random.default_rng(1))
    ours, seconds = time.process_time() - cpu, time.perf_counter() - start
    few, more = (pandas_seconds(truth[:, :n], sets) for n in SLICES)
    each = (more - few) / (SLICES[1] - SLICES[0])  # what a record adds, without what every round costs anyway
    theirs = (more + each * (RECORDS - SLICES[1])) * ROUNDS / PANDAS_ROUNDS
    figures = (
        f"{seconds:.1f} s, {ours:.1f} s of one core, error {history[0]:.3f} → {history[-1]:.4f}; pandas {theirs:.0f} s "
        f"of one core (scaled from {PANDAS_ROUNDS} rounds of {SLICES[0]:,} and {SLICES[1]:,} records: {few:.1f} s and "
        f"{more:.1f} s), {theirs / ours:.0f}×"
    )
    what = f"{ROUNDS} rounds of gradual update, {RECORDS:,} records × {len(SIZES)} columns, {len(sets)} marginals"
    return what, figures, "≤ 60 s"


def dependent(n: int) -> Codes:
    """Records whose columns follow a hidden kind."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 6, n)
    return np.stack([(kind * k // 6 + rng.geometric(0.4, n) - 1) % k for k in SIZES]).astype(np.uint8)


def marginals() -> list[tuple[int, ...]]:
    """Four of three columns, and twenty pairs."""
    pairs = list(itertools.combinations(range(len(SIZES)), 2))
    return [*THREES, *(pairs[int(i)] for i in np.random.default_rng(2).permutation(len(pairs))[:20])]


def shuffled(truth: Codes) -> Codes:
    rng = np.random.default_rng(3)
    return np.stack([rng.permutation(row) for row in truth])


def targets(truth: Codes, sets: list[tuple[int, ...]]) -> list[Target]:
    out = []
    for axes in sets:
        shape = tuple(SIZES[a] for a in axes)
        cells = np.ravel_multi_index([truth[a].astype(np.int64) for a in axes], shape)
        out.append(Target(axes, np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)))
    return out


# ---------------------------------------------------------------------- the direct version


def pandas_seconds(truth: Codes, sets: list[tuple[int, ...]]) -> float:
    """Seconds of one core: neither version uses more, and on a shared machine the clock says less."""
    frame = pd.DataFrame(dict(enumerate(shuffled(truth))))
    wanted = [pd.Series(t.counts.reshape(-1)) for t in targets(truth, sets)]
    rng = np.random.default_rng(4)
    start = time.process_time()
    for t in range(PANDAS_ROUNDS):
        for axes, target in zip(sets, wanted, strict=True):
            frame = pandas_update(frame, list(axes), target, 0.84 ** (t // 20), 0.5 if t % 2 == 0 else 1.0, rng)
    return time.process_time() - start


def pandas_update(
    frame: pd.DataFrame, axes: list[int], target: pd.Series, step: float, share: float, rng: np.random.Generator
) -> pd.DataFrame:
    """One marginal, one step: the same amounts, with groupby, cumcount and assignment."""
    cell = frame[axes[0]].astype(np.int64)
    for a in axes[1:]:
        cell = cell * SIZES[a] + frame[a]
    count = cell.value_counts().reindex(target.index, fill_value=0)
    gap = target - count
    get = np.minimum(gap.clip(lower=0), np.where(count > 0, step * count, step * target)).round().astype(int)
    give = (-gap).clip(lower=0)
    give = (give * min(1.0, get.sum() / max(1, give.sum()))).round().astype(int)
    mixed = cell.sample(frac=1, random_state=rng)
    place = mixed.groupby(mixed).cumcount()
    freed = mixed.index[place < mixed.map(give)]
    twice = np.minimum((share * get).round().astype(int), count)
    copied = mixed.index[place < mixed.map(twice)]
    fresh = np.repeat(target.index.to_numpy(), (get - twice).to_numpy())
    copied, fresh = copied[: len(freed)], fresh[: max(0, len(freed) - len(copied))]
    frame.loc[freed[: len(copied)]] = frame.loc[copied].to_numpy()
    rewritten = freed[len(copied) : len(copied) + len(fresh)]
    for a, values in zip(axes, np.unravel_index(fresh, [SIZES[a] for a in axes]), strict=True):
        frame.loc[rewritten, a] = values.astype(np.uint8)
    return frame


# ---------------------------------------------------------------------- the command


def command() -> Row:
    """From Parquet to written Parquet."""
    path = incidents(INCIDENTS)
    with tempfile.TemporaryDirectory() as folder:
        work = (
            f"sys.argv = ['sfumato', 'synthesize', '{path}', '--schema', '{path.with_suffix('.json')}', '--method',"
            " 'dpsyn', '--epsilon', '1', '--delta', '1e-11', '--out', folder + '/s.parquet', '--ledger',"
            " folder + '/l.ledger', '--quiet']\n"
            "from sfumato.cli import run\n"
            "try: run()\nexcept SystemExit as stop: assert not stop.code, stop.code"
        )
        setup = f"import tempfile; folder = tempfile.mkdtemp(dir='{folder}')"
        cost = costs({"dpsyn": (setup, work)}, times=3)["dpsyn"]
    return (
        f"dpsyn, {INCIDENTS:,} incidents to a written Parquet (a fitted table of 580,464 cells, ε = 1)",
        str(cost),
        "–",
    )


if __name__ == "__main__":
    for what, figures, target in rows():
        print(f"{what}: {figures} (target {target})")
