"""Edges: the agreement of flows between two columns of places."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Category, InputError, Place, Schema
from sfumato.metrics import METRICS, Edges

SCHEMA = Schema(
    columns=(
        Place(name="pickup", values=(1, 2, 3), names=("Old Town", "Port", "Hill")),
        Place(name="dropoff", values=(1, 2, 3), levels={"side": ("w", "w", "e")}),
        Category(name="hour", values=(0, 1)),
    )
)

flows = st.lists(st.tuples(st.sampled_from((1, 2, 3, 9)), st.sampled_from((1, 2, 3))), max_size=30)


def table(pairs: list[tuple[int, int]]) -> pa.Table:
    return pa.table(
        {
            "pickup": pa.array([a for a, _ in pairs], pa.int64()),
            "dropoff": pa.array([b for _, b in pairs], pa.int64()),
            "hour": pa.array([0] * len(pairs), pa.int64()),
        }
    )


def slow(truth: list[tuple[int, int]], synthetic: list[tuple[int, int]]) -> float:
    """The definition, pair by pair."""
    p, q = ([f for f in flow if f[0] in (1, 2, 3)] for flow in (truth, synthetic))
    if not (p and q):
        return float(not p and not q)
    cells = {*p, *q}
    return 1 - sum(abs(p.count(c) / len(p) - q.count(c) / len(q)) for c in cells) / 2


@given(truth=flows, synthetic=flows)
def test_the_score_is_its_definition(truth: list[tuple[int, int]], synthetic: list[tuple[int, int]]) -> None:
    """On random flows, empty ones and unknown places among them, the score is that of a slow transcription."""
    found = Edges(SCHEMA).score(table(truth), table(synthetic)).value
    assert found == pytest.approx(slow(truth, synthetic), abs=1e-12)


def test_ten_times_the_records_score_the_same() -> None:
    """Shares are compared, so repeating every record changes nothing, and a table agrees with itself."""
    few = [(1, 2), (1, 2), (3, 1)]
    assert Edges(SCHEMA).score(table(few), table(few * 10)).value == 1.0


def test_the_worst_pair_comes_first_by_its_name() -> None:
    """The pair whose shares differ most leads, under the names that the schema gives."""
    score = Edges(SCHEMA).score(table([(1, 1)] * 3 + [(2, 3)]), table([(1, 1)] * 2 + [(2, 3), (3, 3)]))
    assert score.pairs[0] == ("Old Town", "1", 0.75, 0.5)
    assert score.to_dict()["pairs"][0]["origin"] == "Old Town"
    assert score.value == 0.75


def test_a_level_may_be_compared() -> None:
    """Columns are taken at a level where one is named, and errors within a group do not count."""
    metric = Edges(SCHEMA, columns=("pickup", "dropoff@side"))
    assert metric.score(table([(1, 1)]), table([(1, 2)])).value == 1.0


def test_a_schema_without_two_places_is_refused() -> None:
    """One sentence says which columns to name."""
    schema = Schema(columns=(Place(name="area", values=(1, 2)),))
    with pytest.raises(InputError, match="two columns of places"):
        Edges(schema).score(pa.table({"area": [1]}), pa.table({"area": [1]}))


def test_every_metric_takes_the_schema_first() -> None:
    """The command line makes a metric of a schema and named settings."""
    assert all(make(SCHEMA).schema is SCHEMA for make in METRICS.values())


def test_it_scores_tables_of_any_number_type() -> None:
    """Truth and synthetic may hold the same places in other types."""
    wide = table([(1, 2), (2, 3)])
    narrow = pa.table({n: c.cast(pa.int8()) for n, c in zip(wide.column_names, wide.columns, strict=True)})
    assert np.isclose(Edges(SCHEMA).score(wide, narrow).value, 1.0)
