"""The contest's third score as it was published, in pandas: the peer that `benchmarks.contest` measures against.

Written from the published procedure: counts of (pickup area, shift, a, b) on both sides, joined, then one pass over the
groups of each pair; `by_columns` does the last step for all groups at once, as one who knows pandas would today.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd

BY = ["pickup_community_area", "shift"]
COMPARED = (
    "company_id", "dropoff_community_area", "payment_type", "fare", "tips", "trip_total", "trip_seconds", "trip_miles",
)  # fmt: skip
EDGES = {
    **dict.fromkeys(("fare", "tips", "trip_total", "trip_miles"), np.r_[-np.inf, np.arange(0, 100, 10), np.inf]),
    "trip_seconds": np.r_[-np.inf, np.arange(0, 2000, 200), np.inf],
}


def score(truth: str, made: str, by_columns: bool = False) -> dict[str, float]:
    """K, G and H of two Parquet files, all 28 pairs."""
    a, b = (_binned(pd.read_parquet(path)) for path in (truth, made))
    pairs = itertools.combinations(COMPARED, 2)
    apart = _all_groups if by_columns else _each_group
    distances = pd.concat([apart(_counts(a, b, [*BY, *pair])) for pair in pairs], axis=1)
    flow = _distance(_counts(a, b, ["pickup_community_area", "dropoff_community_area"]))
    return {"k": (2 - distances.mean(axis=1).mean()) / 2, "g": (2 - flow) / 2, "h": _conjunction(a, b)}


def _binned(frame: pd.DataFrame) -> pd.DataFrame:
    cut = {c: pd.cut(frame[c], edges, right=False, labels=False).astype(np.uint8) for c, edges in EDGES.items()}
    return frame.assign(**cut)


def _counts(a: pd.DataFrame, b: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    both = [f[columns].value_counts().rename(i) for i, f in enumerate((b, a))]
    return both[0].to_frame().join(both[1].to_frame(), how="outer").fillna(0).astype(int)


def _distance(counts: pd.DataFrame) -> float:
    sums = counts.sum(axis=0)
    if sums.min() < 1:
        return 2.0
    return float((counts / sums).diff(axis=1).sum(axis=1).abs().sum())


def _each_group(counts: pd.DataFrame) -> pd.Series[Any]:
    return counts.groupby(BY).apply(_distance)


def _all_groups(counts: pd.DataFrame) -> pd.Series[Any]:
    sums = counts.groupby(BY).transform("sum")
    apart = (counts[0] / sums[0] - counts[1] / sums[1]).abs().groupby(BY).sum()
    return apart.where(sums.min(axis=1).groupby(BY).first() > 0, 2.0)


def _conjunction(a: pd.DataFrame, b: pd.DataFrame) -> float:
    def vectors(frame: pd.DataFrame) -> np.ndarray:
        one = frame.assign(n=1)
        by = [
            pd.pivot_table(one, values="n", index="taxi_id", columns=c, aggfunc="count", fill_value=0).reindex(
                columns=values, fill_value=0
            )
            for c, values in (("shift", range(21)), ("pickup_community_area", [-1, *range(1, 78)]))
        ]
        return np.hstack([v.to_numpy() for v in by])

    p, q = vectors(a), vectors(b)
    rng = np.random.RandomState(123456)
    errors = []
    for _ in range(50):
        one = p[rng.randint(0, len(p))]
        tolerance = rng.randint(5, 51, size=99)
        alike = [(np.abs(v - one) <= tolerance).all(axis=1).mean() for v in (p, q)]
        errors.append(abs(alike[0] - alike[1]))
    return 1 - float(np.mean(errors))
