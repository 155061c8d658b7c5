"""Uniform: even records, as many as a noisy count says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.bounded import bounded_counts
from sfumato.models.uniform import UniformModel
from sfumato.synthesizers import Uniform

SCHEMA = sf.Schema(
    columns=(
        sf.Person(name="who"),
        sf.Category(name="hour", values=tuple(range(8))),
        sf.Number(name="fare", edges=(0, 10, 20), integer=True),
    ),
    max_records_per_person=5,
)


def records(owners: list[int]) -> pa.Table:
    return pa.table(
        {
            "who": pa.array(owners, pa.int64()),
            "hour": pa.array([i % 8 for i in range(len(owners))], pa.int64()),
            "fare": pa.array([3] * len(owners), pa.int64()),
        }
    )


def fit(data: pa.Table, epsilon: float, seed: int | None = None) -> UniformModel:
    return Uniform().fit(sf.Vault.open(data, SCHEMA, sf.Budget(epsilon), ledger=":memory:", seed=seed))


@settings(max_examples=30)
@given(owners=st.lists(st.integers(0, 4), max_size=40), gone=st.integers(0, 4))
def test_one_person_moves_the_number_by_no_more_than_the_bound(owners: list[int], gone: int) -> None:
    """With and without a person the exact answer differs by at most the claimed sensitivity."""
    (question,) = Uniform().plan(SCHEMA, sf.Budget(1.0)).questions
    totals = [
        bounded_counts(sf.Table.open(records(kept), SCHEMA), [question.marginal], question.bound, "key")[0].total  # type: ignore[attr-defined]
        for kept in (owners, [o for o in owners if o != gone])
    ]
    assert abs(totals[0] - totals[1]) <= question.sensitivity == 5


def test_as_many_records_as_the_count_says() -> None:
    """With hardly any noise it is the number of records, at most five a person; never below zero."""
    assert fit(records([0] * 9 + [1, 1, 2]), 1e4).total == 5 + 2 + 1
    assert all(fit(records([]), 0.1, seed).total >= 0 for seed in range(8))


def test_every_bin_is_as_likely() -> None:
    """stat: bins of a large sample pass a χ² test (error rate 1e-6, and the seed is fixed)."""
    table = fit(records([1]), 1.0).to_table(80_000, seed=4)
    times = np.unique(table["hour"].to_numpy(), return_counts=True)[1]
    assert len(times) == 8
    assert ((times - 10_000) ** 2 / 10_000).sum() < 41.3  # χ²(7) at 1e-6 is 41.2…
    assert table.schema.names == ["hour", "fare"]


def test_it_is_kept_and_sampled_again(tmp_path: Path) -> None:
    """A model's file gives the same samples."""
    model = fit(records([0, 1, 2] * 4), 1e4)
    model.save(tmp_path / "m.sfumato")
    again = sf.load_model(tmp_path / "m.sfumato")
    assert again.to_table(50, seed=1).equals(model.to_table(50, seed=1))
    assert again.provenance == model.provenance
    assert model.to_table().num_rows == model.total == 12


def test_a_sample_of_nothing_has_its_columns() -> None:
    """Also where there is no record."""
    assert fit(records([1]), 1.0).to_table(0).schema.names == ["hour", "fare"]
    with pytest.raises(sf.InputError, match="number of records is -1"):
        fit(records([1]), 1.0).to_table(-1)
