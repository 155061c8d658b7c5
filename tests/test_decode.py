"""From codes back to values: what is decoded lies in its bin, is told apart from every other, and is shared as told."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.coding import decoder
from tests.strategies import binned, numbers


def decode(column, codes, seed=0, level=None):
    """The table that codes of a column become."""
    arrays = decoder(column, column.level(level))(np.asarray(codes, np.int64), np.random.default_rng(seed))
    return pa.table(arrays)


def encoded(column, table):
    """How many records of the table fall into each bin."""
    marginal = sf.Marginal((sf.Axis(column.name),))
    with sf.Table.open(table, sf.Schema(columns=(column,))) as opened:
        return opened.counts([marginal])[0].values.tolist()


@given(binned(), st.integers(0, 2**32))
@settings(max_examples=70)
@example(sf.Number(name="x", edges=(None, None)), 0)
@example(sf.Number(name="x", edges=(None, 0, None), integer=True, missing=(0.0, -1.0)), 0)
@example(sf.Number(name="x", edges=(None, 0, None), closed="right", missing=(0.0,)), 0)
@example(sf.Number(name="x", edges=(-2, 0, 2), missing=(-1, None)), 0)
@example(sf.Number(name="x", edges=(0, 1e300), decode="uniform"), 0)
@example(sf.Number(name="x", edges=(-(2.0**53), 2.0**53), integer=True, decode="uniform"), 0)
@example(sf.Category(name="c", values=("", "Ümläut", "'\"", "a  b")), 0)
def test_what_is_decoded_is_encoded_to_the_same_bin(column, seed):
    """For every kind of column and every setting: decode, read the table with the same schema, get the same counts."""
    codes = np.repeat(np.arange(column.size()), np.arange(column.size()) % 5 + 1)
    assert encoded(column, decode(column, codes, seed)) == np.bincount(codes).tolist()


@given(numbers(), st.integers(0, 2**32))
@settings(max_examples=200)
@example(sf.Number(name="x", edges=(1.0, 1.0000000000000002, 2.0), closed="right"), 0)
@example(sf.Number(name="x", edges=(1.0000000000000002, 1.0000000000000004, 2.0)), 0)
@example(sf.Number(name="x", edges=(1.0000000000000002, 1.0000000000000004, 2.0), decode="uniform"), 0)
def test_a_decoded_number_lies_between_the_edges_of_its_bin(column, seed):
    """Read directly: on the right side of both edges, whole where it must be, and never a marker by accident."""
    codes = np.tile(np.arange(column.size()), 20)
    values = decode(column, codes, seed)["x"]
    assert values.type == (pa.int64() if column.integer else pa.float64())
    spans = list(itertools.pairwise(column.edges))
    for code, x in zip(codes, values.to_pylist(), strict=True):
        if column.missing and code == 0:
            assert x == column.missing[0]
            continue
        low, high = spans[code - bool(column.missing)]
        assert x not in column.missing
        if column.closed == "left":
            assert (low is None or low <= x) and (high is None or x < high)  # noqa: PT018
        else:
            assert (low is None or low < x) and (high is None or x <= high)  # noqa: PT018


CHALLENGE = (None, *range(0, 91, 10), None)


def test_the_challenges_numbers_decode_to_their_midpoints():
    """Whole numbers in bins of ten: −1 for those below zero, 5, 15, …, 85, and 90 for all from 90 on."""
    fare = sf.Number(name="fare", edges=CHALLENGE, integer=True)
    assert decode(fare, range(11))["fare"].to_pylist() == [-1, *range(5, 86, 10), 90]


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ({"edges": (0, 10, 25)}, [5, 17.5]),
        ({"edges": (0, 10, 25), "integer": True}, [5, 17]),
        ({"edges": (0, 1, 2), "integer": True}, [0, 1]),
        ({"edges": (0, 1, 2), "integer": True, "closed": "right"}, [1, 2]),
        ({"edges": (0, 10, 20), "integer": True, "closed": "right"}, [6, 16]),
        ({"edges": (0.5, 2.5), "integer": True}, [2]),
        ({"edges": (None, 0, 10, None), "closed": "right"}, [0, 5, 15]),
        ({"edges": (None, 0, 10, None)}, [-5, 5, 10]),
        ({"edges": (None, 0, 10, None), "integer": True, "closed": "right"}, [0, 6, 11]),
        ({"edges": (None, 7, None)}, [6, 7]),
        ({"edges": (None, None), "integer": True}, [0]),
        ({"edges": (0, 10), "missing": (-1,)}, [-1, 5]),
        ({"edges": (0, 10), "missing": (None, -1)}, [None, 5]),
        ({"edges": (0, 10), "missing": (5,), "integer": True}, [5, 4]),
    ],
)
def test_a_bin_decodes_to_its_middle(settings, values):
    """The middle of the bin; of an open one its edge, or the nearest sensible number beyond; markers are avoided."""
    column = sf.Number(name="x", **settings)
    assert decode(column, range(column.size()))["x"].to_pylist() == values


@pytest.mark.stat
def test_uniform_decoding_gives_each_whole_number_of_a_bin_alike():
    """Chi-square over the whole numbers of three bins, false alarm 1e-6; the marker inside the second never comes."""
    column = sf.Number(name="x", edges=(0, 10, 15, 18), integer=True, decode="uniform", missing=(12.0,))
    for code, values in {1: range(10), 2: (10, 11, 13, 14), 3: range(15, 18)}.items():
        got = decode(column, np.full(20_000, code), seed=code)["x"].to_numpy()
        assert set(got) == set(values)
        assert stats.chisquare(np.unique(got, return_counts=True)[1]).pvalue > 1e-6


@pytest.mark.stat
def test_uniform_decoding_of_real_numbers_is_uniform_between_the_edges():
    """Kolmogorov–Smirnov in each bin, either side closed, false alarm 1e-6."""
    for closed in ("left", "right"):
        column = sf.Number(name="x", edges=(-1, 0, 2.5), decode="uniform", closed=closed)
        for code, (low, high) in enumerate([(-1, 0), (0, 2.5)]):
            got = decode(column, np.full(20_000, code), seed=code)["x"].to_numpy()
            assert stats.kstest(got, stats.uniform(low, high - low).cdf).pvalue > 1e-6


@pytest.mark.stat
def test_supplied_distributions_are_followed():
    """Chi-square of each bin's values against their shares, false alarm 1e-6; values of share zero never come."""
    bins = (
        sf.Shares(values=(1, 4, 9), weights=(1, 2, 7)),
        sf.Shares(values=(10, 15)),
        sf.Shares(values=(20, 21, 22, 29), weights=(0, 3, 1, 0)),
    )
    column = sf.Number(name="x", edges=(0, 10, 20, 30), integer=True, decode=bins)
    for code, share in enumerate(bins):
        got = decode(column, np.full(20_000, code), seed=code)["x"].to_numpy()
        weights = np.array(share.weights or [1.0] * len(share.values))
        seen = np.array([(got == v).sum() for v in share.values])
        assert seen.sum() == 20_000
        assert (seen[weights == 0] == 0).all()
        some = weights > 0
        assert stats.chisquare(seen[some], 20_000 * weights[some] / weights.sum()).pvalue > 1e-6


def test_decoding_is_the_same_under_the_same_seed():
    """The generator alone decides; another seed gives other numbers."""
    column = sf.Number(name="x", edges=(0, 10), decode="uniform")
    one, two, other = (decode(column, [0] * 9, seed) for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


def test_a_coarser_level_decodes_to_the_names_of_its_groups():
    """A group stands for all its bins; level 0 is `all`."""
    area = sf.Category(name="a", values=(1, 2, 3), levels={"half": ("x", "x", "y")})
    assert decode(area, [1, 0], level="half")["a"].to_pylist() == ["y", "x"]
    assert decode(area, [0], level=0)["a"].to_pylist() == ["all"]
    assert decode(area, [2, 0])["a"].to_pylist() == [3, 1]


def test_times_decode_to_their_labels_or_to_year_and_month():
    """Parts are written as codes or names, a year and month read from two columns as these two."""
    week = sf.Time(name="w", part="weekday_part", source="when")
    assert decode(week, [0, 20]).to_pydict() == {"w": [0, 20]}
    months = ((2019, 12), (2020, 1))
    assert decode(sf.Time(name="p", part="year_month", months=months), [1]).to_pydict() == {"p": ["2020-01"]}
    two = sf.Time(name="p", part="year_month", months=months, year="Y", month="M")
    assert decode(two, [1, 0]).to_pydict() == {"Y": [2020, 2019], "M": [1, 12]}


def test_no_codes_decode_to_empty_columns_of_the_right_type():
    """An empty sample has the columns and the types of a full one."""
    for column, kind in [
        (sf.Category(name="c", values=("a",)), pa.string()),
        (sf.Category(name="c", values=(1,)), pa.int64()),
        (sf.Number(name="c", edges=(0, 1)), pa.float64()),
        (sf.Number(name="c", edges=(0, 1), integer=True, missing=(None,)), pa.int64()),
        (sf.Time(name="c", part="hour"), pa.int64()),
    ]:
        assert decode(column, []).schema == pa.schema({"c": kind})
