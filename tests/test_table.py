"""Counting on every engine, against a slow reading of the schema's rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from sfumato import Category, InputError, Marginal, Number, Period, Person, Schema, Table, Time, bounds
from sfumato.bounded import bounded_counts
from sfumato.columns import Place
from tests import slow
from tests.conftest import OnEngine

SCHEMA = Schema(
    columns=(
        Person(name="who"),
        Place(name="area", values=(-1, 1, 2, 3, 7), other=-1, levels={"side": ("?", "w", "w", "e", "e")}),
        Category(name="kind", values=("plain", "with space", "quo'te", 'dou"ble', "ümlaut")),
        Number(name="fare", edges=(0, 10, 20.5, None), missing=(-1, None), integer=False),
        Number(name="miles", edges=(-5, 0, 5), closed="right", outside="drop"),
    ),
    max_records_per_person=20,
)


def records(n: int, seed: int) -> pa.Table:
    """Records of which some fall outside every column of the schema."""
    rng = np.random.default_rng(seed)
    kinds = np.array(["plain", "with space", "quo'te", 'dou"ble', "ümlaut", "unknown", None], dtype=object)
    fares = np.array([-1.0, 0, 9.999, 10, 20.5, 21, 1e9, -3, np.nan])
    return pa.table(
        {
            "who": pa.array([None if x == 0 else int(x) for x in rng.integers(0, 12, n)], pa.int64()),
            "area": pa.array([None if x == 9 else int(x) for x in rng.choice([-1, 1, 2, 3, 7, 8, 9], n)], pa.int16()),
            "kind": pa.array(rng.choice(kinds, n), pa.string()),
            "fare": pa.array(rng.choice(fares, n), pa.float64(), mask=rng.random(n) < 0.1),
            "miles": pa.array(rng.choice([-6, -5, -4, 0, 0.5, 5, 5.5], n), pa.float64()),
        }
    )


MARGINALS = [
    Marginal.of("area"),
    Marginal.of("kind"),
    Marginal.of("fare", "miles"),
    Marginal.of("area@side", "kind", "fare"),
    Marginal.of("kind", "area@0"),
]


def slow_counts(table: pa.Table, marginal: Marginal) -> np.ndarray:
    out = np.zeros(marginal.shape(SCHEMA), np.int64)
    for row in table.to_pylist():
        codes = [slow.code(c, row[c.name], level) for c, level in marginal.bound_axes(SCHEMA)]
        if None not in codes:
            out[tuple(codes)] += 1
    return out


def test_counts_are_those_of_a_slow_reading_on_every_engine(on_engine: OnEngine) -> None:
    """All marginals at once equal record-by-record counting, with nulls, NaN and values outside the schema."""
    table = records(400, 1)
    with Table.open(on_engine(table), SCHEMA) as opened:
        for counts, marginal in zip(opened.counts(MARGINALS), MARGINALS, strict=True):
            np.testing.assert_array_equal(counts.values, slow_counts(table, marginal), err_msg=str(marginal))


def test_sparse_counts_are_the_counts_that_are_not_zero(on_engine: OnEngine) -> None:
    """On every engine the cells of a sparse answer come in order, hold no zero, and are those of the dense one."""
    table = Table.open(on_engine(records(400, seed=3)), SCHEMA)
    for sparse, dense in zip(table.cells(MARGINALS), table.counts(MARGINALS), strict=True):
        assert (np.diff(sparse.numbers) > 0).all()
        assert (sparse.values > 0).all()
        np.testing.assert_array_equal(sparse.dense(SCHEMA).values, dense.values)


def test_a_marginal_too_large_for_memory_has_sparse_counts() -> None:
    """Five columns of a thousand bins each are counted cell by cell, and refused as a dense table."""
    names = [f"c{i}" for i in range(5)]
    schema = Schema(columns=tuple(Category(name=n, values=tuple(range(1000))) for n in names))
    table = Table.open(pa.table({n: [0, 999, 999] for n in names}), schema)
    (found,) = table.cells([Marginal.of(*names)])
    assert (found.numbers.tolist(), found.values.tolist(), found.total) == ([0, 10**15 - 1], [1, 2], 3)
    with pytest.raises(InputError, match="more than the"):
        table.counts([Marginal.of(*names)])


def test_a_marginal_whose_cells_have_no_number_is_refused() -> None:
    """Seven columns of a thousand bins are more cells than 64 bits can number: one sentence says so."""
    names = [f"c{i}" for i in range(7)]
    schema = Schema(columns=tuple(Category(name=n, values=tuple(range(1000))) for n in names))
    with pytest.raises(InputError, match="too many to number"):
        Table.open(pa.table({n: [0] for n in names}), schema).cells([Marginal.of(*names)])


def test_weighted_counts_sum_a_column(on_engine: OnEngine) -> None:
    """A weight column is summed in each cell; negative and missing weights count nothing."""
    table = pa.table({"area": [1, 1, 2, 2, 3], "w": [1.5, 2.0, -4.0, None, 0.25]})
    schema = SCHEMA.select(["area"])
    with Table.open(on_engine(table.append_column("who", pa.array([1, 2, 3, 4, 5]))), schema) as opened:
        (counts,) = opened.counts([Marginal.of("area")], weight="w")
    np.testing.assert_allclose(counts.values, [0, 3.5, 0, 0.25, 0])


TIMES = Schema(
    columns=(
        Person(name="who"),
        Time(name="month", part="month", source="at"),
        Time(name="weekday", part="weekday", source="at"),
        Time(name="hour", part="hour", source="at"),
        Time(name="shift", part="weekday_part", source="at", hours=(0, 6, 18)),
        Time(name="ym", part="year_month", source="at", months=((2019, 12), (2020, 2))),
        Time(
            name="season",
            part="period",
            source="at",
            periods=(
                Period(start=datetime(2020, 2, 1), end=datetime(2020, 2, 15), name="early"),
                Period(start=datetime(2019, 12, 1), end=datetime(2020, 1, 1), name="december"),
                Period(start=datetime(2020, 2, 15), end=datetime(2020, 3, 1), name="late"),
            ),
        ),
    )
)


def test_times_are_taken_apart_alike_on_every_engine(on_engine: OnEngine) -> None:
    """Month, weekday, hour, part of the week, year and month, and periods, against Python's datetime."""
    rng = np.random.default_rng(3)
    stamps = [datetime(2019, 11, 20) + timedelta(minutes=int(m)) for m in rng.integers(0, 120 * 24 * 60, 300)]
    stamps += [datetime(2020, 2, 1), datetime(2020, 2, 15), datetime(1969, 12, 29, 23, 59, 59), datetime(2020, 3, 1)]
    table = pa.table({"who": np.arange(len(stamps)), "at": pa.array([*stamps], pa.timestamp("us"))})
    with Table.open(on_engine(table), TIMES) as opened:
        got = {
            c: counts.values
            for c, counts in zip(TIMES.names, opened.counts([Marginal.of(c) for c in TIMES.names]), strict=True)
        }

    def tally(size: int, codes: list[int | None]) -> list[int]:
        return [sum(c == i for c in codes) for i in range(size)]

    parts = [sum(s.hour >= h for h in (6, 18)) for s in stamps]
    assert got["month"].tolist() == tally(12, [s.month - 1 for s in stamps])
    assert got["weekday"].tolist() == tally(7, [s.weekday() for s in stamps])
    assert got["hour"].tolist() == tally(24, [s.hour for s in stamps])
    assert got["shift"].tolist() == tally(21, [s.weekday() * 3 + p for s, p in zip(stamps, parts, strict=True)])
    assert got["ym"].tolist() == tally(2, [{(2019, 12): 0, (2020, 2): 1}.get((s.year, s.month)) for s in stamps])
    assert got["season"].tolist() == [
        sum(datetime(2020, 2, 1) <= s < datetime(2020, 2, 15) for s in stamps),
        sum((s.year, s.month) == (2019, 12) for s in stamps),
        sum(datetime(2020, 2, 15) <= s < datetime(2020, 3, 1) for s in stamps),
    ]


def test_timestamps_as_text_in_the_portals_own_format(on_engine: OnEngine) -> None:
    """A strptime pattern reads text such as 03/01/2022 12:15:00 AM; what does not fit is left out."""
    schema = Schema(
        columns=(Person(name="who"), Time(name="hour", part="hour", source="at", format="%m/%d/%Y %I:%M:%S %p"))
    )
    table = pa.table({"who": [1, 2, 3, 4], "at": ["03/01/2022 12:15:00 AM", "12/31/2021 11:59:59 PM", "noon", ""]})
    with Table.open(on_engine(table), schema) as opened:
        (counts,) = opened.counts([Marginal.of("hour")])
    assert {hour: int(n) for hour, n in enumerate(counts.values) if n} == {0: 1, 23: 1}


def test_a_derived_column_may_come_ready_made(on_engine: OnEngine) -> None:
    """A synthetic table, which holds the bins and not the timestamp, is read with the same schema."""
    table = pa.table({"month": [1, 12, 12, 13, None], "ym": ["2019-12", "2020-02", "x", None, "2020-02"]})
    schema = Schema(columns=(TIMES["month"], TIMES["ym"]))
    with Table.open(on_engine(table), schema) as opened:
        month, ym = opened.counts([Marginal.of("month"), Marginal.of("ym")])
    assert (month.values[0], month.values[11], month.total) == (1, 2, 3)
    assert ym.values.tolist() == [1, 2]


def test_year_and_month_in_two_columns(on_engine: OnEngine) -> None:
    """The first sprint's periods are read from a column of years and one of months."""
    period = Time(name="period", part="year_month", year="year", month="month", months=((2019, 1), (2019, 12)))
    table = pa.table({"year": [2019, 2019, 2018, 2019, None], "month": [1, 12, 12, 13, 1]})
    with Table.open(on_engine(table), Schema(columns=(period,))) as opened:
        (counts,) = opened.counts([Marginal.of("period")])
    assert counts.values.tolist() == [1, 1]


@pytest.mark.parametrize(
    "values", [tuple(range(0, 400, 3)), (5, 4, 3, 2, 1), tuple(range(50)) + tuple(range(100, 150))]
)
def test_whole_numbers_are_found_however_they_lie(on_engine: OnEngine, values: tuple[int, ...]) -> None:
    """Scattered codes (joined), codes in falling order and runs with gaps (trees) all find their place."""
    schema = Schema(columns=(Category(name="x", values=values),))
    table = pa.table({"x": np.arange(-5, 405)})
    with Table.open(on_engine(table), schema) as opened:
        (counts,) = opened.counts([Marginal.of("x")])
    assert counts.values.tolist() == [1] * len(values)


def test_numbers_that_are_not_whole_are_no_codes(on_engine: OnEngine) -> None:
    """1.0 is the code 1, 1.5 and NaN are none."""
    schema = Schema(columns=(Category(name="x", values=(1, 2)),))
    table = pa.table({"x": pa.array([1.0, 1.5, 2.0, float("nan"), 1e300, None])})
    with Table.open(on_engine(table), schema) as opened:
        (counts,) = opened.counts([Marginal.of("x")])
    assert counts.values.tolist() == [1, 1]


def test_a_missing_column_is_named() -> None:
    """The sentence says which column is missing, for what, and which there are."""
    with pytest.raises(
        InputError,
        match=r"a pyarrow table has no column 'at' \(for 'month' of the schema\); its columns are x",
    ):
        Table.open(pa.table({"x": [1]}), TIMES)


def test_too_many_cells_are_refused_before_counting() -> None:
    """A marginal too large for memory is a clear error."""
    big = Schema(columns=tuple(Category(name=f"c{i}", values=tuple(range(1000))) for i in range(3)))
    table = Table.open(pa.table({f"c{i}": [1] for i in range(3)}), big)
    with pytest.raises(InputError, match="1,000,000,000 cells"):
        table.counts([Marginal.of("c0", "c1", "c2")])


def test_nan_in_a_parquet_file_is_seen_although_its_statistics_hide_it(on_engine: OnEngine) -> None:
    """Arrow's statistics leave NaN out; engines that trust them would count it as a large number."""
    x = np.tile([-1.0, 3, 7, np.nan], 50)
    schema = Schema(columns=(Number(name="x", edges=(-5, 5, None), missing=(None,)),))
    with Table.open(on_engine(pa.table({"x": x})), schema) as opened:
        (counts,) = opened.counts([Marginal.of("x")])
    assert counts.values.tolist() == [50, 100, 50]


def test_nan_behind_a_relation_over_parquet_is_seen_too(tmp_path: Path) -> None:
    """The caller's own connection, whose optimizer is not ours to set, gives the same counts."""
    pq.write_table(pa.table({"x": np.tile([-1.0, 3, 7, np.nan], 50)}), tmp_path / "x.parquet")
    schema = Schema(columns=(Number(name="x", edges=(-5, 5, None), missing=(None,)),))
    with Table.open(duckdb.connect().read_parquet(str(tmp_path / "x.parquet")), schema) as opened:
        (counts,) = opened.counts([Marginal.of("x")])
    assert counts.values.tolist() == [50, 100, 50]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_no_timestamp_or_date_raises(unit: str) -> None:
    """Moments beyond the reach of a finer unit fall into no bin; they stop no query."""
    schema = Schema(
        columns=(Time(name="day", source="at", part="weekday"), Time(name="hour", source="at", part="hour"))
    )
    far = [0, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1]
    days, hours = Table.open(pa.table({"at": pa.array(far, pa.timestamp(unit))}), schema).counts(
        [Marginal.of("day"), Marginal.of("hour")]
    )
    assert days.values[3] >= 1
    assert hours.values[0] >= 1
    dates = pa.table({"at": pa.array([0, 2**31 - 3, 120_000_000], pa.date32())})
    (found,) = Table.open(dates, schema).counts([Marginal.of("day")])
    assert found.values.sum() >= 1


def test_no_year_raises() -> None:
    """Years and months of any size, the least number of 64 bits among them, fall into no bin or into theirs."""
    schema = Schema(columns=(Time(name="when", part="year_month", year="y", month="m", months=((2024, 1),)),))
    edge = [2024, -(2**63), 2**63 - 1, 0, None]
    (found,) = Table.open(pa.table({"y": edge, "m": [1] * len(edge)}), schema).counts([Marginal.of("when")])
    assert found.values.tolist() == [1]
    (found,) = Table.open(pa.table({"y": [2024] * len(edge), "m": [1, *edge[1:]]}), schema).counts(
        [Marginal.of("when")]
    )
    assert found.values.tolist() == [1]


def test_a_condition_keeps_its_records_on_every_engine(on_engine: OnEngine) -> None:
    """`where` counts the records for which all conditions hold, plainly and with persons capped, and streams them."""
    data = records(300, 3)
    area = "TRY_CAST(s.area AS BIGINT)"  # text in a CSV file
    table = Table.open(on_engine(data), SCHEMA).where(f"{area} > 0").where(f"{area} < 3")
    kept = data.filter(pc.and_(pc.greater(data["area"], 0), pc.less(data["area"], 3)))
    marginal = Marginal.of("area", "kind")
    expected = slow_counts(kept, marginal)
    assert table.counts([marginal])[0].values.tolist() == expected.tolist()
    again = Table.open(table, SCHEMA.select(["area"]))
    assert again.counts([Marginal.of("area")])[0].total == kept.num_rows
    everyone = [w for w in kept["who"].to_pylist() if w is not None]
    (capped,) = bounded_counts(again, [Marginal.of("area")], bounds.records(2), "key")
    assert capped.total == sum(min(2, everyone.count(w)) for w in set(everyone))
    assert sum(batch.num_rows for batch in table.engine.stream("SELECT area FROM source AS s")) == 300
