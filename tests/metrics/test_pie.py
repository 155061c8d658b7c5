"""The pie-chart score of tables: labels, levels, settings, laws. Rows are in tests/contest/test_scores.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sfumato import Category, InputError, Place, Schema
from sfumato.metrics import Pie
from tests.conftest import OnEngine

SCHEMA = Schema(
    columns=(
        Place(name="area", values=(1, 2, 3), names=("Old Town", "Port", "Hill"), levels={"side": ("w", "w", "e")}),
        Category(name="hour", values=(0, 1), cyclic=True),
        Category(name="kind", values=("fire", "theft", "noise")),
    )
)

counts = arrays.arrays(np.int64, (4, 6), elements=st.integers(0, 900))


def records(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "area": rng.choice([1, 2, 3, 9], n),
            "hour": rng.integers(0, 2, n),
            "kind": rng.choice(["fire", "theft", "noise", "?"], n),
        }
    )


@given(a=counts, p=counts)
def test_scores_lie_between_nothing_and_one(a: np.ndarray, p: np.ndarray) -> None:
    """Whatever the counts; equal pies score 1, and larger penalties never score more."""
    scores = Pie(SCHEMA).rows(a, p)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (Pie(SCHEMA).rows(a, a) == 1).all()
    assert (Pie(SCHEMA, misleading=0.4, bias=0.5).rows(a, p) <= scores + 1e-12).all()


def test_tables_score_as_their_counts(on_engine: OnEngine) -> None:
    """Every pie is counted where the table lives; the worst comes first, by the names that the schema gives."""
    truth, made = records(300, 0), records(200, 1)
    score = Pie(SCHEMA).score(truth, on_engine(pa.Table.from_pandas(made, preserve_index=False)))
    rows = {}
    for labels, a, p, value in score.pies:
        area, hour = {"Old Town": 1, "Port": 2, "Hill": 3}[labels[0]], int(labels[1])
        true, synthetic = (
            [((f["area"] == area) & (f["hour"] == hour) & (f["kind"] == k)).sum() for k in ("fire", "theft", "noise")]
            for f in (truth, made)
        )
        assert (a, p) == (sum(true), sum(synthetic))
        rows[labels] = value
        assert value == pytest.approx(Pie(SCHEMA).rows([true], [synthetic])[0], abs=1e-12)
    assert len(rows) == 6
    assert list(rows.values()) == sorted(rows.values())
    assert score.value == pytest.approx(np.mean(list(rows.values())))


def test_pies_of_a_coarser_level() -> None:
    """A level may tell pies apart: errors within a side do not count."""
    truth = pd.DataFrame({"area": [1, 1, 2], "hour": [0, 0, 0], "kind": ["fire"] * 3})
    assert Pie(SCHEMA, by=("area@side",)).score(truth, truth.assign(area=[2, 2, 1])).value == 1.0
    assert Pie(SCHEMA, by=("area",)).score(truth, truth.assign(area=[2, 2, 1])).value < 1.0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"threshold": 2.0}, "threshold is 2"),
        ({"bias": -1.0}, "bias is -1"),
        ({"allowed": float("nan")}, "allowed is nan"),
        ({"by": ("area", "hour", "kind")}, "none is left for the slices"),
        ({"slices": "area"}, "names a column twice"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], says: str) -> None:
    """One sentence with the value."""
    with pytest.raises(InputError, match=says):
        Pie(SCHEMA, **settings).score(records(9, 0), records(9, 0))
