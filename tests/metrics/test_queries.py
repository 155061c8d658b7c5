"""The 2018 range queries: a slow reading of the same questions, order and engine, laws."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato import Category, InputError, Number, Schema
from sfumato.metrics import Queries
from tests.conftest import OnEngine

SCHEMA = Schema(
    columns=(
        Category(name="city", values=("a", "b", "c", "d")),
        Category(name="sex", values=(1, 2)),
        Number(name="wage", edges=(0, 500, 1000), missing=(-1,)),
        Number(name="age", edges=(None, 20, 40, None)),
    )
)


def records(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "city": rng.choice(["a", "b", "c", "d", "?"], n),
            "sex": rng.integers(1, 3, n),
            "wage": rng.choice([-1.0, *range(0, 1000, 7)], n),
            "age": rng.integers(0, 90, n).astype(float),
        }
    )


def fits(text: str, record: dict[str, object]) -> bool:
    """Whether a record meets a question as it is written."""
    for part in text.split(", "):
        name, rest = part.split(" ", 1)
        x = record[name]
        if rest == "missing":
            if x != -1:
                return False
        elif rest.startswith("in "):
            accepted = rest[3:].split("/")
            if str(x) not in accepted and not (x == "?" and "(outside)" in accepted):
                return False
        else:
            low, high = map(float, rest.split(" to "))
            if (x == -1 and name == "wage") or not low <= float(str(x)) <= high:
                return False
    return True


@pytest.mark.parametrize("share", [0.1, 0.33])
def test_shares_are_those_of_a_slow_reading(share: float) -> None:
    """Each question, read record by record, gives the shares that are told; the score is the formula over them."""
    truth, made = records(300, 0), records(200, 1)
    # bounds are written in six digits: records on the very edge of one are rare, and these seeds have none
    score = Queries(SCHEMA, share=share, questions=60).score(truth, made)
    apart = []
    for text, f, q in score.questions:
        if " more" in text:
            continue
        slow = [np.mean([fits(text, r) for r in frame.to_dict("records")]) for frame in (truth, made)]
        assert (f, q) == pytest.approx(slow, abs=1e-12), text
    for _, f, q in score.questions:
        apart.append((math.log(max(q, 1e-6)) - math.log(f)) ** 2)
        assert f >= 1 / 300
    assert score.value == pytest.approx(max(0.0, 1 + math.sqrt(np.mean(apart)) / math.log(1e-3)), abs=1e-12)
    assert len(score.questions) == 60


def test_the_questions_do_not_depend_on_order_or_engine(on_engine: OnEngine) -> None:
    """Seed and records decide which questions are asked."""
    truth = records(200, 2)
    expected = Queries(SCHEMA, questions=40).score(truth, records(100, 3))
    there = on_engine(pa.Table.from_pandas(truth.sample(frac=1, random_state=1), preserve_index=False))
    assert Queries(SCHEMA, questions=40).score(there, records(100, 3)) == expected
    assert Queries(SCHEMA, questions=40, seed=1).score(truth, records(100, 3)) != expected


def test_itself_and_nothing() -> None:
    """A table answers its own questions; an empty one is a factor of a million off and scores zero."""
    truth = records(200, 4)
    assert Queries(SCHEMA).score(truth, truth).value == 1.0
    assert Queries(SCHEMA).score(truth, truth[:0]).value == 0.0


def test_an_empty_truth_is_refused() -> None:
    """There is nothing to ask about."""
    with pytest.raises(InputError, match="no records to ask about"):
        Queries(SCHEMA).score(records(3, 0)[:0], records(3, 0))


@pytest.mark.parametrize(("settings", "says"), [({"share": 2.0}, "share is 2"), ({"questions": 0}, "questions is 0")])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, float], says: str) -> None:
    """One sentence with the value."""
    with pytest.raises(InputError, match=says):
        Queries(SCHEMA, **settings).score(records(3, 0), records(3, 0))  # type: ignore[arg-type]
