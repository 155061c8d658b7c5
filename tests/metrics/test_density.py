"""The 2018 density score: a slow transcription, how numbers are cut, its bug."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato import Category, InputError, Number, Schema
from sfumato.metrics import Density

SCHEMA = Schema(
    columns=(
        Category(name="city", values=("a", "b", "c")),
        Category(name="sex", values=(1, 2)),
        Number(name="wage", edges=(0, 500, 1000), missing=(None,)),
        Number(name="age", edges=(None, 20, 40, None)),
        Category(name="last", values=(0, 1)),
    )
)


def records(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "city": rng.choice(["a", "b", "c", "?"], n),
            "sex": rng.integers(1, 3, n),
            "wage": rng.choice([0.0, 9.9, 10.1, 500, 999, 1000, 1001, -1, np.nan], n),
            "age": rng.choice([3, 20, 39, 40, 99], n),
            "last": rng.integers(0, 2, n),
        }
    )


def slow(truth: pd.DataFrame, made: pd.DataFrame, sets: int, seed: int) -> float:
    """The definition in pandas: buckets, then shares of every combination."""

    def cut(frame: pd.DataFrame) -> pd.DataFrame:
        width = 1.0001 * 1000 / 100
        wage = frame["wage"]
        bucket = np.where(
            wage.isna(), "blank", np.where((wage < 0) | (wage > 1000), "out", (wage // width).astype(str))
        )
        age = pd.cut(frame["age"], [-np.inf, 20, 40, np.inf], right=False).astype(str)
        return frame.assign(wage=bucket, age=age)

    a, b = cut(truth), cut(made)
    rng = np.random.RandomState(seed)
    scores = []
    for _ in range(sets):
        columns = list(rng.choice(SCHEMA.names, 3, replace=False))
        p, q = (f[columns].value_counts(normalize=True) for f in (a, b))
        scores.append(1 - p.sub(q, fill_value=0).abs().sum() / 2)
    return float(np.mean(scores))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_its_definition(seed: int) -> None:
    """Random tables, with blanks and values outside the schema, score as a slow transcription."""
    truth, made = records(200, seed), records(150, 10 + seed)
    found = Density(SCHEMA, sets=40, seed=seed).score(truth, made)
    assert found.value == pytest.approx(slow(truth, made, 40, seed), abs=1e-12)
    assert len(found.sets) == 40


def test_alike_and_nothing_in_common() -> None:
    """A table agrees with itself, and scores nothing against one without a combination in common."""
    truth = records(50, 4)
    assert Density(SCHEMA).score(truth, truth).value == 1.0
    assert Density(SCHEMA, k=5, sets=3).score(
        truth[truth["sex"] == 1], truth[truth["sex"] == 2]
    ).value == pytest.approx(0)


def test_the_last_column_is_left_out_where_the_bug_is_wanted() -> None:
    """The published generator never drew it; ours does, unless told."""
    drawn = [{c for s in Density(SCHEMA, official_bug=bug).drawn().sets for c in s} for bug in (False, True)]
    assert drawn == [set(SCHEMA.names), set(SCHEMA.names) - {"last"}]


@pytest.mark.parametrize(
    ("settings", "says"), [({"k": 6}, "k is 6"), ({"sets": 0}, "sets is 0"), ({"buckets": 0}, "buckets is 0")]
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], says: str) -> None:
    """One sentence with the value."""
    with pytest.raises(InputError, match=says):
        Density(SCHEMA, **settings).score(records(3, 0), records(3, 0))
