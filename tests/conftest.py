"""What all tests share: the engines, the folder of real data, and how hypothesis runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import hypothesis
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

# Machines are shared: a slow example says nothing about the code. Derandomised, so that a red run can be repeated.
hypothesis.settings.register_profile("house", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("house")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

OnEngine = Callable[[pa.Table], Any]
"""Puts an Arrow table where an engine has it: what comes back can be opened by `Table.open`."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data, which is not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("the folder of real data is not here")
    return SHARED


def _java() -> str | None:
    """Why Spark cannot run here, if it cannot."""
    java = shutil.which("java")
    if java is None:
        return "no Java here, which Spark needs"
    found = subprocess.run([java, "-version"], capture_output=True, check=False)
    return None if found.returncode == 0 else "the Java here does not run"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session on this machine."""
    if reason := _java():
        pytest.skip(reason)
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = sql.SparkSession.builder.master("local[2]").appName("sfumato tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


ENGINES = ("csv", "parquet", "duckdb", "relation", "arrow", "pandas", "polars")


@pytest.fixture(params=[*ENGINES, pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")])])
def on_engine(request: pytest.FixtureRequest, tmp_path: Path) -> OnEngine:
    """A table on each engine in turn: every test of a table runs on all of them."""
    if request.param == "spark":
        session = request.getfixturevalue("spark")
        return lambda table: session.createDataFrame(table)
    return lambda table: _placed(table, request.param, tmp_path)


def _placed(table: pa.Table, engine: str, folder: Path) -> Any:
    if engine == "csv":
        pyarrow.csv.write_csv(table, folder / "t.csv")
        return folder / "t.csv"
    if engine == "parquet":
        pyarrow.parquet.write_table(table, folder / "t.parquet")
        return str(folder / "t.parquet")
    if engine == "duckdb":
        with duckdb.connect(folder / "t.duckdb") as con:
            con.register("given", table)
            con.execute("CREATE OR REPLACE TABLE trips AS SELECT * FROM given")
        return f"{folder / 't.duckdb'}::trips"
    if engine == "relation":
        con = duckdb.connect()
        con.register("given", table)
        return con.sql("SELECT * FROM given")
    if engine == "pandas":
        return table.to_pandas()
    if engine == "polars":
        import polars

        return polars.from_arrow(table)
    return table
