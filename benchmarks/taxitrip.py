"""The TaxiTrip-Synthesizer: learning, sampling, the design's row-by-row procedure beside it, and the third score.

python -m benchmarks.taxitrip [speed | scores]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import CACHE, costs, trips

PUBLIC, MADE, SLICE = 5_000_000, 2_000_000, 20_000
DELTA = 2.5e-5
DRIFT = 0.3
LARGE, SMALL = 2_000_000, 100_000  # trips of the private tables that are scored
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


def scores(repeats: int = 3) -> list[Row]:
    """The third sprint's score beside a drifted year, of several versions and of the public table alone."""
    import sfumato as sf

    path = trips(LARGE)
    schema = sf.Schema.load(path.with_suffix(".json"))
    out = []
    learned = {c: sf.learn_archetypes(path, schema, cluster=c) for c in ("persons", "records")}
    for records in (LARGE, SMALL):
        truth = _drifted(records)
        score = _Scorer(schema, truth)
        target = "ε = 10 above ε = 1, both above public"
        for name, (method, epsilon) in _versions(sf).items():
            archetypes = learned[method.cluster]
            if epsilon is None:
                made = [replace(archetypes, likeness=method.likeness)]
            else:
                budget = sf.Budget(epsilon, DELTA)
                vaults = (sf.Vault.open(truth, schema, budget, ledger=":memory:", seed=s) for s in range(repeats))
                made = [method.fit(vault, archetypes) for vault in vaults]
            found = [score(model.to_table(LARGE, seed=s)) for s, model in enumerate(made)]
            out.append((f"third score, {records:,} private trips: {name}", _told(found), target))
    return out


def _versions(sf: Any) -> dict[str, tuple[Any, float | None]]:
    plain = sf.TaxiTrip()
    kinds = {
        "analytic, joint": plain,
        "analytic, split 0.1": replace(plain, split=0.1),
        "classical, split 0.1": replace(plain, noise="classical"),
        "analytic, archetypes of records": replace(plain, cluster="records"),
        "analytic, linked": replace(plain, linked=True),
        "analytic, as the design samples (likeness 0)": replace(plain, likeness=0.0),
    }
    out: dict[str, tuple[Any, float | None]] = {}
    for name, method in kinds.items():
        for epsilon in (1, 10):
            out[f"{name}, ε = {epsilon}"] = (method, epsilon)
    out["public archetypes alone"] = (plain, None)
    out["public archetypes alone, likeness 0"] = (replace(plain, likeness=0.0), None)
    return out


class _Scorer:
    """The score of a table: its parts and the whole."""

    def __init__(self, schema: Any, truth: Path):
        from sfumato.contest.parameters import Parameters

        self.parameters = Parameters(3, schema, {}, "the simulated schema")
        self.truth = truth

    def __call__(self, made: Any) -> Mapping[str, float]:
        from sfumato.contest.sprint3 import score_tables

        found = score_tables(str(self.truth), {1.0: made}, self.parameters)
        return {"score": found.value, **{name[0]: 1000 * part for name, part in found.parts[1.0].items()}}


def _told(found: list[Mapping[str, float]]) -> str:
    mean = {name: statistics.mean(f[name] for f in found) for name in found[0]}
    spread = statistics.stdev(f["score"] for f in found) if len(found) > 1 else 0.0
    parts = ", ".join(f"{name} {value:.1f}" for name, value in mean.items() if name != "score")
    return f"{mean['score']:.1f} ± {spread:.1f} ({parts})"


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
