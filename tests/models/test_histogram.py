"""A model that is a table of counts: its records are its cells, in random order, and its totals are exact."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

import sfumato as sf
from sfumato.errors import InputError
from sfumato.models import histogram
from sfumato.models.histogram import BATCH, HistogramModel
from sfumato.privacy.provenance import Provenance
from tests.strategies import marginals, schemas

MADE = Provenance(method="nmd", epsilon=1.0, delta=0.0, unit="person", private=True, release="r1")
SCHEMA = sf.Schema(
    columns=(sf.Category(name="a", values=(10, 20)), sf.Category(name="b", values=("x", "y", "z"))),
)
AB = sf.Marginal.of("a", "b")


def model(values, marginal=AB, schema=SCHEMA):
    return HistogramModel(schema, MADE, marginal, np.asarray(values))


def tally(table):
    """How often each pair of values comes."""
    found = table.group_by(["a", "b"]).aggregate([([], "count_all")]).to_pylist()
    counts = np.zeros((2, 3), int)
    for row in found:
        counts[(10, 20).index(row["a"]), "xyz".index(row["b"])] = row["count_all"]
    return counts


@given(hnp.arrays(np.int64, (2, 3), elements=st.integers(0, 50)), st.integers(0, 2**32))
def test_every_cell_comes_as_often_as_its_count_says(counts, seed):
    """Without a number of records the sample is the counts, exactly."""
    made = model(counts)
    table = made.to_table(seed=seed)
    assert table.column_names == ["a", "b"]
    assert (tally(table) == counts).all()
    assert made.total == counts.sum() == table.num_rows
    assert (made.to_counts().values == counts).all()


@given(hnp.arrays(np.int64, (2, 3), elements=st.integers(0, 50)), st.integers(1, 20))
def test_streamed_in_batches_the_counts_are_still_exact(counts, size):
    """However small the batches are, all together hold each record once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histogram, "BATCH", size)
        batches = list(model(counts).sample(seed=0))
    assert batches[0].num_rows == 0
    assert len(batches) - 1 == -(-counts.sum() // size)
    assert (tally(pa.Table.from_batches(batches)) == counts).all()


def test_a_large_sample_comes_in_batches_of_bounded_size():
    """Three million records stream in several batches; none is much larger than the others."""
    sizes = [b.num_rows for b in model([[10**6, 0, 10**6], [0, 10**6, 0]]).sample(seed=1)][1:]
    assert sum(sizes) == 3 * 10**6
    assert len(sizes) == -(-3 * 10**6 // BATCH)
    assert max(sizes) < 1.02 * BATCH


def test_counts_beyond_a_thousand_million_records_can_be_sampled():
    """The first batch of ten thousand million records is there at once, in the right shares."""
    batches = model([[5 * 10**9, 0, 0], [0, 0, 5 * 10**9]]).sample(seed=1)
    first, second = itertools.islice(batches, 2)
    assert first.num_rows == 0
    assert abs(tally(pa.Table.from_batches([second]))[0, 0] / second.num_rows - 0.5) < 0.01


@pytest.mark.stat
def test_the_order_of_records_is_random():
    """Position and batch tell nothing: chi-square of each record's place over 3,000 samples, false alarm 1e-6."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histogram, "BATCH", 2)
        made = model([[1, 1, 0], [1, 0, 2]])
        places = np.zeros((4, 5))
        for seed in range(3000):
            for place, row in enumerate(made.to_table(seed=seed).to_pylist()):
                places[{(10, "x"): 0, (10, "y"): 1, (20, "x"): 2, (20, "z"): 3}[row["a"], row["b"]], place] += 1
    assert places.sum() == 15_000
    for row, copies in zip(places, (1, 1, 1, 2), strict=True):
        assert stats.chisquare(row, np.full(5, 3000 * copies / 5)).pvalue > 1e-6


@pytest.mark.stat
def test_asked_for_a_number_of_records_it_draws_them_at_the_counts_shares():
    """Chi-square over the cells, false alarm 1e-6; empty cells never come; the number is exact."""
    counts = np.array([[5, 0, 1], [0, 30, 64]])
    got = tally(model(counts).to_table(records=50_000, seed=3))
    assert got.sum() == 50_000
    assert (got[counts == 0] == 0).all()
    some = counts > 0
    assert stats.chisquare(got[some], 500 * counts[some]).pvalue > 1e-6


def test_the_seed_decides_the_sample():
    """Equal seeds give equal tables, exact or drawn; other seeds and no seed give others."""
    made = model([[30, 20, 10], [5, 5, 5]])
    for records in (None, 100):
        assert made.to_table(records, seed=7).equals(made.to_table(records, seed=7))
        assert not made.to_table(records, seed=7).equals(made.to_table(records, seed=8))
        assert not made.to_table(records).equals(made.to_table(records))


def test_no_records_are_an_empty_table_with_columns():
    """n = 0, and counts that are all zero: the columns and their types are there."""
    empty = model(np.zeros((2, 3), int))
    for table in (model([[1, 2, 3], [0, 0, 0]]).to_table(records=0), empty.to_table(), empty.to_table(records=0)):
        assert table.num_rows == 0
        assert [str(f.type) for f in table.schema] == ["int64", "string"]


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: model(np.ones((2, 3), int)).sample(-1), "the number of records is -1; give one from 0 on"),
        (lambda: model(np.ones((2, 3), int)).sample(seed=-3), "the seed is -3; give one from 0 on"),
        (
            lambda: model(np.zeros((2, 3), int)).sample(1),
            "every count of this model is zero, so no records can be drawn from it",
        ),
        (
            lambda: model(np.full((2, 3), 2**62)).sample(1),
            "the counts of this model add up to 2.77e+19 records, too many to draw from",
        ),
        (lambda: model(np.ones((3, 2), int)), "the counts have shape (3, 2), which is not that of a × b"),
        (lambda: model(np.full((2, 3), -1)), "the counts of a model are whole numbers from zero on"),
        (lambda: model(np.ones((2, 3))), "the counts of a model are whole numbers from zero on"),
    ],
)
def test_what_cannot_be_sampled_is_said_at_once(ask, text):
    """Bad arguments raise when asked, not when the first batch is taken."""
    with pytest.raises(InputError) as caught:
        ask()
    assert str(caught.value) == text


def test_a_total_beyond_64_bits_is_still_right():
    """Noise at a tiny ε makes enormous counts; their sum does not wrap round."""
    assert model(np.full((2, 3), 2**63 - 1)).total == 6 * (2**63 - 1)
    assert repr(model([[1, 2, 3], [4, 5, 6]])) == "HistogramModel(a × b, 21 records)"


@given(st.data())
def test_any_schema_and_marginal_can_be_sampled(data):
    """Every kind of column, at every level: as many records as there are counts, in the marginal's columns."""
    schema = data.draw(schemas(most=3))
    marginal = data.draw(marginals(schema))
    counts = data.draw(hnp.arrays(np.int64, marginal.shape(schema), elements=st.integers(0, 3), fill=st.just(1)))
    table = model(counts, marginal, schema).to_table(seed=1)
    assert table.num_rows == counts.sum()
    want = [
        name
        for column, level in model(counts, marginal, schema).marginal.bound_axes(schema)
        for name in (column.sources if level == column.depth and len(column.sources) == 2 else (column.name,))
    ]
    assert table.column_names == want
