"""The range-query error of the MGD design: a slow transcription, and values known in advance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato import Category, InputError, Place, Schema
from sfumato.metrics import Ranges

SCHEMA = Schema(
    columns=(
        Place(name="area", values=tuple(range(20))),
        Category(name="month", values=tuple(range(1, 13)), cyclic=True),
    )
)


def records(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"area": rng.integers(0, 20, n), "month": rng.integers(1, 13, n)})


def test_it_is_its_definition() -> None:
    """Random tables score as record-by-record counting of the same queries."""
    truth, made = records(500, 0), records(450, 1)
    rng = np.random.RandomState(300)
    errors = []
    for _ in range(300):
        areas, months = set(rng.choice(20, 6, replace=False)), set(rng.choice(12, 4, replace=False))
        c, s = (sum(a in areas and m - 1 in months for a, m in f.itertuples(index=False)) for f in (truth, made))
        errors.append(abs(c - s) / max(c, 1))
    score = Ranges(SCHEMA).score(truth, made)
    assert score.value == pytest.approx(np.mean(errors), abs=1e-12)
    assert abs(np.subtract(*score.queries[0])) / max(score.queries[0][0], 1) == max(errors)


def test_values_known_in_advance() -> None:
    """Itself 0, nothing 1, twice as many 1; where the truth has none, each synthetic record counts one."""
    truth = pd.DataFrame({"area": np.repeat(range(20), 12), "month": list(range(1, 13)) * 20})
    scores = [Ranges(SCHEMA).score(truth, made).value for made in (truth, truth[:0], pd.concat([truth, truth]))]
    assert scores == [0.0, 1.0, 1.0]
    assert Ranges(SCHEMA).score(truth[:0], truth).value == 6 * 4


@pytest.mark.parametrize(("settings", "says"), [({"share": 0.0}, "share is 0"), ({"queries": 0}, "queries is 0")])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, float], says: str) -> None:
    """One sentence with the value."""
    with pytest.raises(InputError, match=says):
        Ranges(SCHEMA, **settings).score(records(3, 0), records(3, 0))  # type: ignore[arg-type]
