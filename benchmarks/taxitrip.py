"""The TaxiTrip-Synthesizer: learning, sampling, the design's row-by-row procedure beside it, and the third score.

python -m benchmarks.taxitrip [speed | scores]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import CACHE, costs, trips
from sfumato.export import write_batches

PUBLIC, MADE, SLICE = 5_000_000, 2_000_000, 20_000
DELTA = 2.5e-5
DRIFT = 0.3
LARGE, SMALL, SCORED = 2_000_000, 100_000, 300_000  # private trips, of many persons and of few; trips made of them
CELL = ["shift", "pickup_community_area", "dropoff_community_area"]
KEYS = {
    "fare": CELL,
    "tips": [*CELL, "fare"],
    "trip_total": ["fare", "tips"],
    "trip_seconds": [*CELL, "fare"],
    "trip_miles": [*CELL, "fare"],
    "payment_type": ["fare", "tips", "trip_total"],
}
Row = tuple[str, str, str]


def rows() -> list[Row]:
    """What was measured, the figures, the target."""
    return [*speed(), *scores()]


# ---------------------------------------------------------------------- time and memory


def speed() -> list[Row]:
    """Learning from 5 M trips, sampling and completing 2 M, and the design's procedure on a slice in the same run."""
    path = trips(PUBLIC)
    file = CACHE / "archetypes.sfumato"
    setup = f"import sfumato as sf\nschema = sf.Schema.load('{path.with_suffix('.json')}')"
    learn = f"sf.learn_archetypes('{path}', schema).save('{file}')"
    learned = costs({"learn": (setup, learn)}, times=1)["learn"]
    loaded = f"import sfumato as sf, pyarrow\nmodel = sf.load_model('{file}')\nmodel.to_table(10)"
    sample = f"n = sum(batch.num_rows for batch in model.sample({MADE}, seed=1)); assert n == {MADE}"
    drawn = costs({"sample": (loaded, sample)}, times=3)["sample"]
    one_by_one = _design(path)
    per_row = drawn.seconds / MADE
    return [
        (f"archetypes from {PUBLIC:,} public trips, to a file of {file.stat().st_size / 2**20:,.0f} MiB", str(learned),
         "≤ 60 s"),
        (f"{MADE:,} trips sampled and completed from archetypes of {PUBLIC:,}", str(drawn), "≤ 15 s, ≤ 3,072 MiB"),
        (f"the design's dictionaries, row by row ({SLICE:,} rows from 200,000 public ones, tables not counted)",
         f"{one_by_one * 1e6:.0f} µs a row, ours {per_row * 1e6:.2f} µs; ratio {one_by_one / per_row:.0f} ×", "≥ 50 ×"),
    ]  # fmt: skip


def _design(path: Path) -> float:
    """Seconds a row of the design's procedure: a dictionary of shares for every key, and one choice for each value."""
    public = pd.read_parquet(path).head(200_000)
    rng = np.random.default_rng(1)
    tables = {name: _dictionary(public, keys, name) for name, keys in KEYS.items()}
    near = {name: _dictionary(public, CELL, name) for name in KEYS}
    overall = {name: _shares(public[name]) for name in KEYS}
    archetype = _shares(pd.Series(list(zip(*(public[c] for c in CELL), strict=True))))
    started = time.perf_counter()
    for _ in range(SLICE):
        row = dict(zip(CELL, archetype[0][_choice(rng, archetype[1])], strict=True))
        for name, keys in KEYS.items():
            found = tables[name].get(tuple(row[k] for k in keys)) or near[name].get(tuple(row[k] for k in CELL))
            values, odds = found or overall[name]
            row[name] = values[_choice(rng, odds)]
    return (time.perf_counter() - started) / SLICE


def _choice(rng: np.random.Generator, odds: np.ndarray) -> int:
    return int(rng.choice(len(odds), p=odds))


def _dictionary(
    public: pd.DataFrame, keys: list[str], name: str
) -> dict[tuple[Any, ...], tuple[list[Any], np.ndarray]]:
    counts = public.groupby([*keys, name]).size()
    out: dict[tuple[Any, ...], tuple[list[Any], list[int]]] = {}
    for key, count in counts.items():
        values, numbers = out.setdefault(tuple(key[:-1]), ([], []))
        values.append(key[-1])
        numbers.append(count)
    return {key: (values, np.array(numbers) / sum(numbers)) for key, (values, numbers) in out.items()}


def _shares(column: pd.Series) -> tuple[list[Any], np.ndarray]:
    counts = column.value_counts()
    return list(counts.index), counts.to_numpy() / counts.sum()


# ---------------------------------------------------------------------- the third score


def scores() -> list[Row]:
    """The third sprint's score beside a drifted year, of several versions and of the public table alone.

    Of many persons, where the noise is nothing beside what a year changes; and of a few, where it is felt.
    """
    import sfumato as sf

    path = trips(LARGE)
    schema = sf.Schema.load(path.with_suffix(".json"))
    learned = {c: sf.learn_archetypes(path, schema, cluster=c) for c in ("persons", "records")}
    with tempfile.TemporaryDirectory() as folder:
        return [
            row
            for records, repeats, among in ((LARGE, 1, 3), (SMALL, 3, 6))
            for row in _scored(schema, learned, records, repeats, among, Path(folder))
        ]


def _scored(schema: Any, learned: Mapping[str, Any], records: int, repeats: int, among: int, folder: Path) -> list[Row]:
    """The mean score of each version over some releases of the same private table, and its deviation."""
    from sfumato.contest.parameters import Parameters
    from sfumato.contest.sprint3 import score_tables

    truth, made = _drifted(records), {}
    versions = _versions(among)
    for at, (method, epsilon) in enumerate(versions.values()):
        for seed in range(repeats):
            model = _released(method, epsilon, learned[method.cluster], schema, truth, seed)
            made[float(at * repeats + seed)] = str(folder / f"{at}_{seed}.parquet")
            write_batches(model.sample(SCORED, seed=seed), made[float(at * repeats + seed)])
    found = score_tables(str(truth), made, Parameters(3, schema, {}, "the simulated schema"))
    out = []
    for at, name in enumerate(versions):
        mine = [float(at * repeats + seed) for seed in range(repeats)]
        totals = [found.per_epsilon[m] for m in mine]
        spread = f" ± {statistics.stdev(totals):.1f}" if repeats > 1 else ""
        names = list(found.parts[mine[0]])
        parts = ", ".join(f"{n[0]} {1000 * statistics.mean(found.parts[m][n] for m in mine):.0f}" for n in names)
        figures = f"{statistics.mean(totals):.1f}{spread} ({parts})"
        out.append((f"third score, {records:,} private trips: {name}", figures, "ε = 10 > ε = 1 > public alone"))
    return out


def _released(method: Any, epsilon: float | None, archetypes: Any, schema: Any, truth: Path, seed: int) -> Any:
    """A model of the private table; of public data alone without an ε."""
    import sfumato as sf

    if epsilon is None:
        return replace(archetypes, likeness=method.likeness)
    vault = sf.Vault.open(truth, schema, sf.Budget(epsilon, DELTA), ledger=":memory:", seed=seed)
    return method.fit(vault, archetypes)


def _versions(among: int) -> dict[str, tuple[Any, float | None]]:
    """The first so many versions at ε = 1 and 10, and what public data alone give."""
    from sfumato import TaxiTrip

    kinds = {
        "analytic, joint": TaxiTrip(),
        "analytic, split 0.1": TaxiTrip(split=0.1),
        "classical, split 0.1": TaxiTrip(noise="classical"),
        "analytic, joint, clusters of records": TaxiTrip(cluster="records"),
        "analytic, joint, linked": TaxiTrip(linked=True),
        "analytic, joint, likeness 0 as in the design": TaxiTrip(likeness=0.0),
    }
    out: dict[str, tuple[Any, float | None]] = {"public archetypes alone": (TaxiTrip(), None)}
    for name, method in list(kinds.items())[:among]:
        out |= {f"{name}, ε = {epsilon}": (method, epsilon) for epsilon in (1, 10)}
    return out


def _drifted(records: int) -> Path:
    """Another year of the city, and other people."""
    from sfumato.simulate import taxi

    path = CACHE / f"taxi_{records}_drift_{DRIFT}.parquet"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        taxi(records=records, drift=DRIFT, seed=8).write(path)
    return path


if __name__ == "__main__":
    asked = {"speed": speed, "scores": scores}.get(sys.argv[-1], rows)
    for what, figures, target in asked():
        print(f"{what}: {figures} (target {target})", flush=True)
