"""Gini and pay gap of 2018: values known in advance, a slow transcription, groups that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato import Category, InputError, Number, Place, Schema
from sfumato.metrics import Gini, PayRank
from sfumato.metrics.inequality import gini
from tests.conftest import OnEngine

SCHEMA = Schema(
    columns=(
        Place(name="city", values=("a", "b", "c", "d", "e")),
        Category(name="sex", values=(1, 2)),
        Number(name="wage", edges=(0, None), missing=(-9,)),
    )
)


def records(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "city": rng.choice(["a", "b", "c", "d", "e", "?"], n),
            "sex": rng.integers(1, 3, n),
            "wage": rng.choice([0.0, 10, 10, 20.5, 300, 999_998, 1_000_000, -9, np.nan], n),
        }
    )


def slow_gini(wages: list[float]) -> float:
    """The published sum, wage by wage."""
    w = sorted(wages)
    total = sum(w)
    return 1 - 2 * sum(sum(w[: k + 1]) for k in range(len(w))) / (len(w) * total) if total else 0.0


def wages(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    frame = frame[(frame["wage"] < 999_998) & (frame["wage"] != -9) & (frame["city"] != "?")]
    return {str(c): f for c, f in frame.groupby("city")}


@pytest.mark.parametrize("seed", range(3))
def test_gini_is_its_definition(seed: int) -> None:
    """Random wages, with ties, limits, markers and cities outside the schema."""
    truth, made = records(300, seed), records(200, 9 + seed)
    made = made[made["city"] != "b"]
    a, b = ({c: slow_gini(list(f["wage"])) for c, f in wages(frame).items()} for frame in (truth, made))
    points = [(1 - abs(a[c] - b[c])) ** 2 if c in b else 0.0 for c in a]
    score = Gini(SCHEMA, below=999_998).score(truth, made)
    assert score.value == pytest.approx(5e5 * np.sqrt(np.mean(points)), abs=1e-6)
    assert score.groups[0][::2] == ("b", None)


@pytest.mark.parametrize("seed", range(3))
def test_pay_rank_is_its_definition(seed: int) -> None:
    """Ranks by the gap of mean wages, the widest first."""
    truth, made = records(300, seed), records(200, 9 + seed)
    made = made[made["city"] != "b"]

    def ranks(frame: pd.DataFrame) -> dict[str, int]:
        gaps = {}
        for city, f in wages(frame).items():
            means = [f[f["sex"] == s]["wage"].mean() if (f["sex"] == s).any() else 0.0 for s in (1, 2)]
            gaps[city] = means[0] - means[1]
        return {c: i for i, c in enumerate(sorted(gaps, key=lambda c: -gaps[c]))}

    a, b = ranks(truth), ranks(made)
    points = [max(0.0, 1 - abs(a[c] - b[c]) / (len(a) - 1)) ** 2 if c in b else 0.0 for c in a]
    score = PayRank(SCHEMA, below=999_998).score(truth, made)
    assert score.value == pytest.approx(5e5 * np.sqrt(np.mean(points)), abs=1e-6)


def test_gini_of_a_few_wages() -> None:
    """By hand: equal wages of n people give -1/n without the usual correction; nothing at all gives 0."""
    assert gini(np.array([7.0]), np.array([4])) == pytest.approx(-0.25)
    assert gini(np.array([0.0, 100.0]), np.array([3, 1])) == pytest.approx(1 - 2 * 100 / 400)
    assert gini(np.array([0.0]), np.array([5])) == 0.0


def test_ranks_turned_round_score_as_by_hand() -> None:
    """Two cities that swap places: each is one rank off of one, so nothing is left."""
    truth = pd.DataFrame({"city": ["a", "a", "b", "b"], "sex": [1, 2, 1, 2], "wage": [30.0, 10, 10, 10]})
    swapped = truth.assign(city=["b", "b", "a", "a"])
    assert PayRank(SCHEMA).score(truth, swapped).value == 0.0
    assert PayRank(SCHEMA, sexes=("2", "1")).score(truth, swapped).value == 0.0
    assert PayRank(SCHEMA).score(truth, truth[:0]).value == 0.0


def test_every_engine_scores_the_same(on_engine: OnEngine) -> None:
    """Wherever the tables live."""
    truth, made = records(200, 5), records(200, 6)
    expected = Gini(SCHEMA).score(truth, made).value, PayRank(SCHEMA).score(truth, made).value
    there = on_engine(pa.Table.from_pandas(made, preserve_index=False))
    assert (Gini(SCHEMA).score(truth, there).value, PayRank(SCHEMA).score(truth, there).value) == pytest.approx(
        expected
    )


@pytest.mark.parametrize(
    ("metric", "settings", "says"),
    [
        (Gini, {"wage": "sex"}, "holds no numbers"),
        (Gini, {"below": float("inf")}, "below is inf"),
        (PayRank, {"sex": "wage"}, "pay gap is between|no category"),
        (PayRank, {"sexes": ("1", "3")}, "pay gap is between"),
    ],
)
def test_settings_that_make_no_sense_are_refused(metric: Any, settings: dict[str, Any], says: str) -> None:
    """One sentence says what is needed."""
    with pytest.raises(InputError, match=says):
        metric(SCHEMA, **settings).score(records(9, 0), records(9, 0))


def test_a_truth_without_wages_is_refused() -> None:
    """There is nothing to compare."""
    with pytest.raises(InputError, match="no wages in any group"):
        Gini(SCHEMA).score(records(9, 0)[:0], records(9, 0))
