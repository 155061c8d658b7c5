"""Archetypes: learned alike from any engine and order of rows, kept in a file, and sampled as their laws say."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.stats import chi2_contingency, ks_2samp

import sfumato as sf
from sfumato.models.archetypes import Archetypes
from sfumato.models.learning import learn
from sfumato.simulate import taxi
from tests.conftest import OnEngine

CELL = ("shift", "pickup_community_area", "dropoff_community_area")
SCHEMA = taxi(10).schema


@pytest.fixture(scope="module")
def trips() -> pa.Table:
    table = taxi(12_000).to_table()
    return table.cast(pa.schema([(name, pa.int64()) for name in table.column_names]))  # Spark has no unsigned numbers


@pytest.fixture(scope="module")
def learned(trips: pa.Table) -> Archetypes:
    return learn(trips, SCHEMA, archetypes=4)


def arrays(model: Archetypes) -> dict[str, np.ndarray]:
    return model.parts()[1]


def same(one: Archetypes, two: Archetypes) -> bool:
    a, b = arrays(one), arrays(two)
    return one.parts()[0] == two.parts()[0] and all(np.array_equal(a[n], b[n], equal_nan=True) for n in {*a, *b})


@pytest.mark.parametrize("cluster", ["persons", "records"])
def test_learned_alike_from_every_engine_and_order_of_rows(trips: pa.Table, on_engine: OnEngine, cluster: str) -> None:
    """Number by number: what is learned follows from the records, not from where or how they lie."""
    small = trips.slice(0, 3_000)
    shuffled = small.take(np.random.default_rng(0).permutation(small.num_rows))
    one, two = (learn(t, SCHEMA, archetypes=3, cluster=cluster) for t in (on_engine(small), shuffled))
    assert same(one, two)
    assert one.to_table(2_000, seed=5) == two.to_table(2_000, seed=5)


@pytest.mark.parametrize("cluster", ["persons", "records"])
def test_a_file_is_enough_to_place_any_person_and_to_sample(trips: pa.Table, tmp_path: Path, cluster: str) -> None:
    """Saved and loaded: the same numbers, samples and predictions, which are those of learning."""
    made = learn(trips, SCHEMA, archetypes=4, cluster=cluster, total="trip_total = fare + tips")
    made.save(tmp_path / "a.sfumato")
    again = sf.load_model(tmp_path / "a.sfumato")
    assert isinstance(again, Archetypes)
    assert same(made, again)
    assert made.to_table(3_000, seed=1) == again.to_table(3_000, seed=1)
    again.save(tmp_path / "b.sfumato")
    assert (tmp_path / "a.sfumato").read_bytes() == (tmp_path / "b.sfumato").read_bytes()
    records = sf.models.learning.Public.open(trips, SCHEMA).records(CELL)
    starts = np.flatnonzero(np.diff(records.person, prepend=-1))
    found = again.predict_persons(records.codes, starts)
    np.testing.assert_array_equal(np.bincount(found, minlength=4), made.people.totals())
    if cluster == "records":
        labels = again.predict_cells()[tuple(records[c] for c in CELL)]
        np.testing.assert_array_equal(labels, again.mixture.label(again.embedding.points([records[c] for c in CELL])))


def test_archetypes_stand_in_the_order_of_their_size(learned: Archetypes) -> None:
    """The largest first, every person in one."""
    sizes = learned.people.totals()
    assert (np.diff(sizes) <= 0).all()
    assert sizes.sum() == len(learned.sizes) == learned.persons.sum()


def test_every_record_is_inside_the_schema_and_every_person_has_one_company(learned: Archetypes) -> None:
    """As many records as asked for, at most 200 a person, in the columns of the schema; read by it nothing is lost."""
    table = learned.to_table(30_000, seed=2)
    assert table.num_rows == 30_000
    assert set(table.column_names) == {c.name for c in SCHEMA.columns}
    assert table.schema.field("trip_seconds").type == pa.int64()
    per = table.group_by("taxi_id").aggregate([("company_id", "count_distinct"), ("taxi_id", "count")])
    assert max(per["company_id_count_distinct"].to_pylist()) == 1
    assert max(per["taxi_id_count"].to_pylist()) <= 200
    counts = sf.Table.open(table, SCHEMA).counts([sf.Marginal.of(n) for n in SCHEMA.names])
    assert {c.total for c in counts} == {30_000}


@pytest.mark.stat
def test_persons_have_as_many_records_as_the_public_ones_of_their_archetype(
    trips: pa.Table, learned: Archetypes
) -> None:
    """Kolmogorov–Smirnov on the sizes of one archetype drawn alone, for each; 1 in 10,000 each."""
    for k in range(4):
        alone = replace(learned, persons=np.eye(4)[k])
        sizes = alone.to_table(20_000, seed=k).group_by("taxi_id").aggregate([("taxi_id", "count")])["taxi_id_count"]
        public = learned.sizes[learned.kinds() == k]
        assert ks_2samp(sizes.to_numpy()[:-1], public).pvalue > 1e-4


@pytest.mark.stat
@pytest.mark.parametrize("likeness", [0.0, 0.5, 1.0])
def test_cells_follow_the_archetype_with_and_without_likeness(learned: Archetypes, likeness: float) -> None:
    """Shares of the 12 commonest pickup areas of an archetype: within 5 standard deviations, for every likeness.

    Records of a person are not independent: the deviation is that of a sample of persons, from their own shares.
    """
    k = 0
    alone = replace(learned, persons=np.eye(4)[k], likeness=likeness)
    column = SCHEMA["pickup_community_area"]
    cells, counts = learned.cells.profile(k)
    shape = learned.marginal.shape(SCHEMA)
    law = np.bincount(np.unravel_index(cells, shape)[1], weights=counts, minlength=column.size())
    law = law / law.sum()
    got = sf.Table.open(alone.to_table(60_000, seed=3), SCHEMA).counts([sf.Marginal.of("pickup_community_area")])[0]
    share = got.values / got.total
    top = np.argsort(-law)[:12]
    persons = 60_000 / learned.mean_sizes()[k]
    assert (np.abs(share - law)[top] < 5 * np.sqrt(law[top] * 1.0 / persons)).all()


def test_likeness_makes_persons_differ(learned: Archetypes) -> None:
    """Persons after a public one visit fewer areas than persons made of their archetype's average."""
    visited = {}
    for likeness in (0.0, 1.0):
        table = replace(learned, likeness=likeness).to_table(20_000, seed=4)
        per = table.group_by("taxi_id").aggregate([("pickup_community_area", "count_distinct")])
        visited[likeness] = pc.mean(per["pickup_community_area_count_distinct"]).as_py()
    assert visited[1.0] < 0.9 * visited[0.0]


def test_linked_patterns_have_the_attribute(trips: pa.Table, learned: Archetypes) -> None:
    """With the public counts of company by archetype, a linked sample's companies go with areas as public ones do."""
    links = {}
    for linked in (False, True):
        table = replace(learned, linked=linked).to_table(40_000, seed=6)
        pair = sf.Table.open(table, SCHEMA).counts([sf.Marginal.of("company_id", "pickup_community_area")])[0].values
        top = pair[np.argsort(-pair.sum(axis=1))[:4]][:, np.argsort(-pair.sum(axis=0))[:4]]
        links[linked] = chi2_contingency(top).statistic / top.sum()
    assert links[True] > links[False]


def test_a_public_table_that_lacks_an_area_a_shift_and_a_company_still_works(trips: pa.Table) -> None:
    """Bins of the schema without any public record: learned, sampled, and counted by the vault."""
    keep = pc.and_(pc.not_equal(trips["shift"], 3), pc.not_equal(trips["pickup_community_area"], 8))
    poor = trips.filter(
        pc.and_(keep, pc.not_equal(trips["company_id"], int(pc.mode(trips["company_id"])[0]["mode"].as_py())))
    )
    made = learn(poor, SCHEMA, archetypes=3)
    vault = sf.Vault.open(trips, SCHEMA, sf.Budget(5, 1e-5), ledger=":memory:", seed=1)
    for linked in (False, True):
        model = sf.TaxiTrip(archetypes=3, linked=linked).fit(vault, made) if linked else replace(made, linked=False)
        table = model.to_table(2_000, seed=1)
        assert table.num_rows == 2_000
        assert 3 not in table["shift"].to_pylist()


def test_no_records_and_few_records_can_be_asked_for(learned: Archetypes) -> None:
    """Nothing gives the columns; one gives one; the number of the model is the default."""
    assert learned.to_table(0).num_rows == 0
    assert learned.to_table(1, seed=0).num_rows == 1
    assert replace(learned, trips=777).to_table(seed=0).num_rows == 777
    for wrong in ({"records": -1}, {"seed": -1}):
        with pytest.raises(sf.InputError, match="from 0 on"):
            learned.to_table(**wrong)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"archetypes": 0}, "from 1 to"),
        ({"archetypes": 250}, "persons to learn 250"),
        ({"cluster": "areas"}, "'persons' or 'records'"),
        ({"columns": ()}, "columns is empty"),
        ({"columns": ("shift", "nowhere")}, "no column 'nowhere'"),
        ({"columns": ("shift", "company_id")}, "one of columns"),
        ({"attribute": "owner"}, "no column 'owner'"),
        ({"most": 0}, "1 or more"),
        ({"columns": ("trip_hour_of_day", *CELL, "trip_day_of_week")}, "name fewer"),
        ({"total": "payment_type = fare"}, "not a column of numbers"),
    ],
)
def test_what_cannot_be_learned_is_refused(trips: pa.Table, settings: dict[str, object], match: str) -> None:
    """In a sentence with the value and what to do."""
    with pytest.raises(sf.InputError, match=match):
        learn(trips, SCHEMA, **settings)


# ---------------------------------------------------------------------- files that lie


def changed(path: Path, settings: dict[str, object] | None = None, **new: np.ndarray) -> None:
    """The file with other settings and arrays, announced as what they are."""
    with zipfile.ZipFile(path) as file:
        inside = {name: file.read(name) for name in file.namelist()}
    document = json.loads(inside["model.json"])
    document["settings"] |= settings or {}
    for name, array in new.items():
        stream = io.BytesIO()
        np.save(stream, array)
        inside[f"{name}.npy"] = stream.getvalue()
        document["arrays"][name] = {"shape": list(array.shape), "dtype": array.dtype.str}
    inside["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in inside.items():
            file.writestr(name, data)


@pytest.mark.parametrize(
    "lie",
    [
        lambda a: {"people_values": np.zeros_like(a["people_values"])},
        lambda a: {"people_values": np.full_like(a["people_values"], 255)},
        lambda a: {"sizes": np.zeros_like(a["sizes"])},
        lambda a: {"cells_values": np.full(a["cells_values"].shape, 2**31, "u4")},
        lambda a: {"cells_steps": np.full(a["cells_steps"].shape, 3, "u1")},
        lambda a: {"lives_counts": np.zeros_like(a["lives_counts"])},
        lambda a: {"lives_steps": np.zeros_like(a["lives_steps"])},
        lambda a: {"table0_0_values": np.full(a["table0_0_values"].shape, 2**15, "u2")},
        lambda a: {"numbers_0": np.full(a["numbers_0"].shape, 0.5)},
        lambda a: {"numbers_0": a["numbers_0"][::-1].copy()},
        lambda a: {"persons": np.full(a["persons"].shape, np.nan)},
        lambda a: {"attributes": -np.ones_like(a["attributes"])},
        lambda a: {"points0": np.full_like(a["points0"], 2**30)},
        lambda a: {"bias": np.full_like(a["bias"], 2**60)},
        lambda a: {"settings": {"archetypes": 5}},
        lambda a: {"settings": {"columns": ["shift"]}},
        lambda a: {"settings": {"cluster": "areas"}},
        lambda a: {"settings": {"likeness": 7.0}},
        lambda a: {"settings": {"trips": -1}},
        lambda a: {"settings": {"total": "a = b"}},
        lambda a: {"settings": {"rows": {"people": 1, "lives": 2, "cells": 10**15}}},
    ],
)
def test_a_file_whose_numbers_cannot_be_is_refused(learned: Archetypes, tmp_path: Path, lie: object) -> None:
    """Indexes beyond their lists, counts of nothing, values outside the schema, sizes that do not fit: one sentence."""
    path = tmp_path / "a.sfumato"
    learned.save(path)
    changed(path)
    assert isinstance(sf.load_model(path), Archetypes)
    changed(path, **lie(arrays(learned)))
    with pytest.raises(sf.InputError, match=r"a\.sfumato"):
        sf.load_model(path)
