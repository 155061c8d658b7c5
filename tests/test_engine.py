"""Engines: files and tables as people have them, odd and broken ones too."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Category, InputError, Marginal, Person, Schema, Table
from sfumato.bounded import bounded_counts
from sfumato.bounds import records
from sfumato.engine import connect, part_anywhere
from tests.conftest import OnEngine

SCHEMA = Schema(
    columns=(Person(name="who"), Category(name="area", values=(1, 2, 3)), Category(name="kind", values=("a", "b")))
)
ROWS: dict[str, list[Any]] = {"who": ["p", "q", "q"], "area": [1, 2, 2], "kind": ["a", "b", "b"]}
HEADER = b"who,area,kind\n"


def counted(data: object, schema: Schema = SCHEMA) -> list[list[int]]:
    with Table.open(data, schema) as table:
        return [c.values.tolist() for c in table.counts([Marginal.of("area"), Marginal.of("kind")])]


# ---------------------------------------------------------------------- CSV


@pytest.mark.parametrize(
    ("body", "areas"),
    [
        (b'"p\n1",1,a\nq,2,b\n', [1, 1, 0]),  # a value of two lines
        (b"p,1,a\r\nq,2,b\r\n", [1, 1, 0]),
        (b"p,1\nq\nr,2,b\n", [1, 1, 0]),  # short lines are filled up with nothing
        (b'p,1,a\n"open to the end,2,b\n', [1, 0, 0]),
        (b"", [0, 0, 0]),
    ],
)
def test_lines_of_a_csv_file_as_they_come(tmp_path: Path, body: bytes, areas: list[int]) -> None:
    """Quoted line breaks, short lines and an open quote stop nothing: what can be read is counted."""
    (tmp_path / "t.csv").write_bytes(HEADER + body)
    assert counted(tmp_path / "t.csv")[0] == areas


def test_a_value_of_two_lines_anywhere_in_a_large_file(tmp_path: Path) -> None:
    """Also where several readers would share the file, each record is found whole."""
    lines = [
        f'"street {i}\ncity",{i % 3 + 1},a' if i % 1000 == 7 else f"p{i}{'x' * 150},{i % 3 + 1},b"
        for i in range(99_999)
    ]
    (tmp_path / "t.csv").write_bytes(HEADER + "\n".join(lines).encode())
    assert counted(tmp_path / "t.csv") == [[33_333] * 3, [100, 99_899]]


@pytest.mark.parametrize(("first", "said"), [(b"anna k,17,b", "names none"), (b"anna k,anna k,b", "columns 1 and 2")])
def test_a_file_without_a_header_does_not_tell_its_first_record(tmp_path: Path, first: bytes, said: str) -> None:
    """What stands in the first line is a person's record then, and in no sentence."""
    (tmp_path / "t.csv").write_bytes(first + b"\np,1,a\n")
    with pytest.raises(InputError, match=said) as caught:
        counted(tmp_path / "t.csv")
    sentence = str(caught.value).replace(str(tmp_path), "")  # whose own name may have these digits
    assert "anna" not in sentence
    assert "17" not in sentence


# ---------------------------------------------------------------------- Parquet


def test_each_file_of_a_pattern_is_looked_at_before_anything_is_asked(tmp_path: Path) -> None:
    """One cut short or without a column is named when the table is opened, not after the budget is spent."""
    pq.write_table(pa.table(ROWS), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"b\.parquet cannot be read"):
        Table.open(f"{tmp_path}/*.parquet", SCHEMA)
    pq.write_table(pa.table(ROWS).drop_columns(["area"]), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet has no column 'area', which .*a\.parquet has"):
        Table.open(f"{tmp_path}/*.parquet", SCHEMA)


def test_files_of_a_pattern_may_hold_columns_in_other_types_and_orders(tmp_path: Path) -> None:
    """A number here and a text there are read as text: no value stops the query."""
    pq.write_table(pa.table(ROWS), tmp_path / "a.parquet")
    pq.write_table(pa.table({"kind": ["a"], "area": ["two"], "who": ["r"]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"kind": ["a"], "area": [2**40], "who": ["r"]}), tmp_path / "c.parquet")
    assert counted(f"{tmp_path}/*.parquet") == [[1, 2, 0], [3, 2]]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_name_of_a_folder_takes_no_column_s_place(tmp_path: Path, kind: str) -> None:
    """A folder called area=3 does not put all its records into area 3."""
    folder = tmp_path / "area=3"
    folder.mkdir()
    if kind == "csv":
        (folder / "t.csv").write_bytes(HEADER + b"p,1,a\n")
    else:
        pq.write_table(pa.table(ROWS).slice(0, 1), folder / "t.parquet")
    assert counted(folder / f"t.{kind}")[0] == [1, 0, 0]


def test_the_name_of_a_folder_gives_a_column_that_the_files_lack(tmp_path: Path) -> None:
    """As Spark and others write partitions."""
    for area in (1, 3):
        (tmp_path / f"area={area}").mkdir()
        pq.write_table(pa.table(ROWS).drop_columns(["area"]), tmp_path / f"area={area}" / "t.parquet")
    assert counted(f"{tmp_path}/*/t.parquet")[0] == [3, 0, 3]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["t[1]", "t*", "t?", "a{b}", "o'k\"", "[!x]"])
def test_a_file_that_is_called_like_a_pattern_is_itself(tmp_path: Path, kind: str, name: str) -> None:
    """Where a file has brackets or stars in its name, no other file that these might stand for is read."""
    for at, found in ((f"{name}.{kind}", 1), (f"t1.{kind}", 2), (f"y.{kind}", 3)):
        if kind == "csv":
            (tmp_path / at).write_bytes(HEADER + b"p,%d,a\n" % found)
        else:
            pq.write_table(pa.table({"who": ["p"], "area": [found], "kind": ["a"]}), tmp_path / at)
    assert counted(tmp_path / f"{name}.{kind}")[0] == [1, 0, 0]
    assert counted(f"{tmp_path}/*.{kind}")[0] == [1, 1, 1]


# ---------------------------------------------------------------------- databases


@pytest.mark.parametrize("how", ["a column's", "the connection's", "a file's"])
def test_a_collation_makes_no_record_count_twice(tmp_path: Path, how: str) -> None:
    """Under NOCASE the text 'A' equals 'a' and 'A' of a schema; letter by letter it is one of them."""
    both = Schema(columns=(*SCHEMA.columns[:2], Category(name="kind", values=("a", "A"))))
    con = duckdb.connect(tmp_path / "t.duckdb")
    if how == "the connection's":
        con.execute("SET default_collation = 'NOCASE'")
    collate = "" if how == "the connection's" else "COLLATE NOCASE"
    con.execute(f"CREATE TABLE t(who VARCHAR, area INTEGER, kind VARCHAR {collate})")
    con.execute("INSERT INTO t VALUES ('p', 1, 'a'), ('P', 2, 'A'), ('p', 2, 'A')")
    if how == "a file's":
        con.close()
        data: object = tmp_path / "t.duckdb"
    else:
        data = con.sql("SELECT * FROM t")
    assert counted(data, both) == [[1, 2, 0], [1, 2]]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_collation_in_spark_makes_no_record_count_twice(spark: Any) -> None:
    """Text of a column that takes 'A' for 'a' is compared letter by letter, ids and values alike."""
    both = Schema(columns=(*SCHEMA.columns[:2], Category(name="kind", values=("a", "A"))))
    rows = "VALUES ('p', 1, 'a'), ('P', 2, 'A'), ('p', 2, 'A') AS t(who, area, kind)"
    ruled = spark.sql(f"SELECT who COLLATE UTF8_LCASE AS who, area, kind COLLATE UTF8_LCASE AS kind FROM {rows}")
    assert counted(ruled, both) == [[1, 2, 0], [1, 2]]
    with Table.open(ruled, both) as table:
        (kinds,) = bounded_counts(table, [Marginal.of("kind")], records(1), "key")
    assert kinds.total == 2


# ---------------------------------------------------------------------- tables in memory


class Secretive:
    """An object that cannot be looked at."""

    def __str__(self) -> str:
        raise ValueError("the secret itself")

    __repr__ = __str__


ODD: dict[str, list[Any]] = {
    "missing": [pd.NA, 2, "2"],
    "too large": [2**70, 2, 2],
    "half a letter": ["\ud800", 2, 2],
    "not to be looked at": [Secretive(), 2, 2],
    "lists": [[1, 2], 2, 2],
}


@pytest.mark.parametrize("values", ODD.values(), ids=ODD.keys())
def test_columns_of_mixed_objects_are_read_as_far_as_they_go(values: list[Any]) -> None:
    """Whatever stands in a pandas table stops nothing and shows up in no error."""
    assert counted(pd.DataFrame(ROWS | {"area": pd.Series(values, dtype=object)}))[0] == [0, 2, 0]
    who = pd.Series([*values[:1], "q", "q"], dtype=object)
    assert counted(pd.DataFrame(ROWS | {"who": who}))[0] == [1, 2, 0]


OBJECTS: dict[str, tuple[list[Any], list[str | int]]] = {
    "numbers": ([1.0, 2.0, -0.0, 2.5], ["1", "2", "0", "2.5"]),
    "numbers of many kinds": ([1, np.float32(2), Decimal("1.0"), np.int64(2), Decimal("9e999999")], ["1", "2"]),
    "large numbers": ([2.0**60, 2**60, 2**53 + 1, float("inf")], [2**53 + 1]),
    "text and bytes": (["a", b"a", "1", b"\xff"], ["a", "1"]),
    "truths": ([True, np.True_, False, None], ["true", "false"]),
    "missing": ([None, np.nan, pd.NA, pd.NaT, Decimal("nan"), "nan"], ["nan", "None"]),
}


@pytest.mark.parametrize("odd", ["x", 1, 1.5, True, None, b"x", dt.date(2020, 1, 2), 2**70])
@pytest.mark.parametrize("case", OBJECTS)
def test_a_record_of_another_type_does_not_change_how_the_others_are_read(case: str, odd: object) -> None:
    """Objects in a pandas column are read one by one: a record more adds itself and alters no other count."""
    given, values = OBJECTS[case]
    schema = Schema(columns=(Person(name="who"), Category(name="kind", values=tuple(values))))

    def kinds(objects: list[Any]) -> list[int]:
        frame = pd.DataFrame({"who": pd.Series(["p"] * len(objects)), "kind": pd.Series(objects, dtype=object)})
        return Table.open(frame, schema).counts([Marginal.of("kind")])[0].values.tolist()

    assert kinds([*given, odd]) == [a + b for a, b in zip(kinds(given), kinds([odd]), strict=True)]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: pd.Series([1]), "one column"),
        (lambda: pl.Series([1]), "one column"),
        (duckdb.connect, "connection is not a table"),
        (lambda: pa.table(ROWS | {"h": np.zeros(3, np.float16)}), "type that cannot be read"),
        (lambda: {"who": [1]}, "dict is not a table"),
        (lambda: None, "not a table"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(make: Callable[[], object], said: str) -> None:
    """It says what was given and what to give."""
    with pytest.raises(InputError, match=said):
        counted(make())


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_parts_by_letters_hold_each_person_once_on_every_engine(on_engine: OnEngine, parts: int) -> None:
    """The parts of the persons are disjoint, none is lost, and every engine cuts them alike."""
    people = [f"p{i}" for i in range(200)]
    engine = connect(on_engine(pa.table({"who": people})))
    found = [
        engine.run(f"SELECT who FROM source AS s WHERE {part_anywhere('who', i, parts)}").column("who").to_pylist()
        for i in range(parts)
    ]
    assert sorted(who for part in found for who in part) == sorted(people)
    first = [who for who in people if int(hashlib.md5(who.encode()).hexdigest()[:6], 16) < (1 << 24) // parts]
    assert sorted(found[0]) == sorted(first)


def test_a_person_id_that_is_text_in_some_files_alone_is_refused(tmp_path: Path) -> None:
    """As text 7 and 7.0 are two persons, and one who is in both files would count twice; other columns may differ."""
    for name, who in (("a", ["7"]), ("b", [7.0])):
        pq.write_table(pa.table({"who": who, "area": [1], "kind": ["a"]}), tmp_path / f"{name}.parquet")
    with (
        pytest.raises(InputError, match="'who' is text in some files"),
        Table.open(f"{tmp_path}/*.parquet", SCHEMA) as t,
    ):
        bounded_counts(t, [Marginal.of("area")], records(1), "key")
    for name, area in (("a", ["1"]), ("b", [1])):
        pq.write_table(pa.table({"who": [7], "area": area, "kind": ["a"]}), tmp_path / f"{name}.parquet")
    with Table.open(f"{tmp_path}/*.parquet", SCHEMA) as table:
        (counts,) = bounded_counts(table, [Marginal.of("area")], records(1), "key")
    assert counts.values.tolist() == [1, 0, 0]
