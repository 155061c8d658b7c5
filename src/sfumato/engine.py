"""Engines: where a table lives, and who answers SQL about it.

One query language, DuckDB's; a Spark table gets the same query translated by sqlglot. Files, Arrow, pandas and
polars tables are scanned by an embedded DuckDB where they are, a DuckDB relation by its own connection, a PySpark
DataFrame by its own cluster. The data is called `source` in every query. What comes back is an Arrow table of the
answer, never of records.

Engines keep quiet: their error texts may quote a record, so they are never passed on, and nothing is spilled to
disk (DuckDB has no temporary folder here; see `sfumato.quiet.memory`).
"""

from __future__ import annotations

import glob
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.coding import Family, literal, quote
from sfumato.errors import InputError
from sfumato.frames import from_pandas, refuse_double
from sfumato.quiet import memory, quiet
from sfumato.scans import csv_scan, parquet_scan

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


BATCH = 1 << 17  # records of an answer that are handed over at a time


class Engine(Protocol):
    """Answers SQL about one table, which the SQL calls `source`."""

    @property
    def families(self) -> Mapping[str, Family]:
        """The columns of the table and what each holds."""
        ...

    @property
    def origin(self) -> str:
        """What to call the table in error texts."""
        ...

    @property
    def headed(self) -> bool:
        """Whether the names of the columns are a line of text, which may be a record where a file has no header."""
        ...

    @property
    def mixed(self) -> frozenset[str]:
        """The columns that are text in some files and something else in others: one value may be two texts there."""
        ...

    @property
    def splits(self) -> bool:
        """Whether a query may be asked in passes over parts of the persons (`part_of`), to save memory."""
        ...

    def run(self, sql: str, **tables: pa.Table) -> pa.Table:
        """The answer to a query; `tables` are small public tables it may join."""
        ...

    def stream(self, sql: str, **tables: pa.Table) -> Iterator[pa.RecordBatch]:
        """The answer to a query in batches, where it may be larger than memory; one at a time, read to its end."""
        ...

    def unreadable(self) -> int:
        """How many lines of a file are left out because they cannot be read; private."""
        ...

    def close(self) -> None:
        """Let go of the table."""
        ...


def part_of(person: str, part: int, parts: int) -> str:
    """A condition that holds for one of several disjoint parts of the persons (DuckDB)."""
    return f"HASH({person}) % {parts} = {part}"


def part_anywhere(person: str, part: int, parts: int) -> str:
    """The same by a slower hash that every engine has: its letters are compared with the ends of a range."""
    low, high = (f"{(end << 24) // parts:06x}" for end in (part, part + 1))
    letters = f"SUBSTR(MD5(CAST({person} AS VARCHAR)), 1, 6)"
    return f"{letters} >= '{low}'" + (f" AND {letters} < '{high}'" if part + 1 < parts else "")


def connect(data: Any) -> Engine:
    """The engine for a path, a glob, `file.duckdb::table`, or a table of pandas, polars, Arrow, DuckDB or Spark."""
    if isinstance(data, str | os.PathLike):
        return _from_path(os.fspath(data))
    module = type(data).__module__.partition(".")[0]
    name = type(data).__name__
    if module == "duckdb" or module == "_duckdb":
        return RelationEngine(data)
    if module == "pyspark":
        return SparkEngine(data)
    if module == "polars" and name == "LazyFrame":
        data = data.collect()
    if name == "Series":
        raise InputError(f"a {module} Series is one column; give a table, such as its to_frame()")
    if module == "pandas":
        return DuckEngine("a pandas table", table=from_pandas(data))
    if hasattr(data, "__arrow_c_stream__"):
        import pyarrow as pa

        return DuckEngine(f"a {module} table", table=data if isinstance(data, pa.Table) else pa.table(data))
    raise InputError(
        f"data of type {name} is not a table; give a path, or a table of pandas, polars, Arrow, DuckDB or PySpark"
    )


class DuckEngine:
    """An embedded DuckDB over files or an Arrow table."""

    splits = True

    def __init__(
        self,
        origin: str,
        scan: str | None = None,
        table: pa.Table | None = None,
        attach: str | None = None,
        mixed: frozenset[str] = frozenset(),
    ):
        import duckdb

        self.origin, self._scan, self.mixed = origin, scan, mixed
        self.headed = scan is not None and scan.startswith("read_csv")
        settings: dict[str, Any] = {"memory_limit": f"{memory()}MB", "temp_directory": ""}
        with quiet(origin):
            self._con = duckdb.connect(config=settings)
            self._con.execute(
                "SET TimeZone = 'UTC'; SET preserve_insertion_order = false; SET enable_progress_bar = false; "
                "SET autoinstall_known_extensions = false"
            )
        if table is not None:
            refuse_double(table.column_names, origin)
            self._register(table)
        else:
            with quiet(origin):
                if attach:
                    self._con.execute(f"ATTACH {literal(attach)} AS held (READ_ONLY)")
                self._con.execute(f"CREATE TEMP VIEW source AS SELECT * FROM {scan}")
                if attach:
                    select = f"{_by_letters(self._con.sql('SELECT * FROM source'))} FROM {scan}"
                    self._con.execute(f"CREATE OR REPLACE TEMP VIEW source AS {select}")
        self.families = self._describe()
        if "float" in self.families.values():
            # Parquet's least and greatest values leave NaN out, but DuckDB takes them to rule it out and then answers
            # wrongly (duckdb/duckdb#25521); without that step it looks at the values themselves
            self._con.execute("SET disabled_optimizers = 'statistics_propagation'")

    def _register(self, table: pa.Table) -> None:
        import duckdb

        try:
            self._con.register("source", table)
            self._con.sql("SELECT * FROM source LIMIT 0").fetchall()
        except duckdb.NotImplementedException:
            raise InputError(
                f"{self.origin} has a column of a type that cannot be read, such as float16; cast it or leave it out"
            ) from None

    def _describe(self) -> dict[str, Family]:
        with quiet(self.origin):
            return {n: _duck_family(str(t)) for n, t, *_ in self._con.execute("DESCRIBE source").fetchall()}

    def run(self, sql: str, **tables: pa.Table) -> pa.Table:
        """The answer to a query."""
        with self._asked(sql, tables) as answer:
            return answer.to_arrow_table()

    def stream(self, sql: str, **tables: pa.Table) -> Iterator[pa.RecordBatch]:
        """The answer to a query in batches."""
        with self._asked(sql, tables) as answer:
            yield from answer.to_arrow_reader(BATCH)

    @contextmanager
    def _asked(self, sql: str, tables: Mapping[str, pa.Table]) -> Iterator[Any]:
        for name, table in tables.items():
            self._con.register(name, table)
        try:
            with quiet(self.origin):
                yield self._con.sql(sql)
        finally:
            for name in tables:
                self._con.unregister(name)

    def unreadable(self) -> int:
        """Lines of a CSV file that DuckDB leaves out, found by reading it once more and keeping the errors."""
        if self._scan is None or not self._scan.startswith("read_csv"):
            return 0
        scan = self._scan.replace("ignore_errors = true", "store_rejects = true, rejects_limit = 0")
        with quiet(self.origin):
            self._con.sql(f"SELECT COUNT(*) FROM (SELECT * FROM {scan}) AS s").fetchall()
            return int(self._con.sql("SELECT COUNT(DISTINCT line) FROM reject_errors").fetchall()[0][0])

    def close(self) -> None:
        """Close the embedded database."""
        self._con.close()


class RelationEngine:
    """A DuckDB relation, asked over the connection that made it."""

    headed = False
    mixed: frozenset[str] = frozenset()
    splits = True

    def __init__(self, relation: Any):
        self.origin = "a DuckDB relation"
        if not hasattr(relation, "columns"):
            raise InputError("a DuckDB connection is not a table; give a relation, such as con.table('trips')")
        self._relation = relation
        refuse_double(relation.columns, self.origin)
        self.families = {n: _duck_family(str(t)) for n, t in zip(relation.columns, relation.types, strict=True)}
        floats = [quote(n) for n, family in self.families.items() if family == "float"]
        # see DuckEngine: this connection's optimizer is not ours to set, so NaN is found by its text
        real = [f"CASE WHEN CAST({n} AS VARCHAR) NOT LIKE '%nan' THEN {n} END AS {n}" for n in floats]
        self._select = _by_letters(relation, real)

    def run(self, sql: str, **tables: pa.Table) -> pa.Table:
        """The answer to a query."""
        with quiet(self.origin):
            return self._asked(sql, tables).to_arrow_table()

    def stream(self, sql: str, **tables: pa.Table) -> Iterator[pa.RecordBatch]:
        """The answer to a query in batches."""
        with quiet(self.origin):
            yield from self._asked(sql, tables).to_arrow_reader(BATCH)

    def _asked(self, sql: str, tables: Mapping[str, pa.Table]) -> Any:
        view = f"sfumato_{uuid.uuid4().hex}"  # a name that cannot shadow one of the caller's
        # public tables get such names too: one of the caller's that is called alike would be joined in their place
        ours = [f"{name} AS (SELECT * FROM {view}_{name})" for name in tables]
        known = ", ".join([f"source AS ({self._select} FROM {view})", *ours])
        named = f"WITH {known} SELECT * FROM ({sql})"
        # DuckDB finds Arrow tables by name in the scope that asks; evaluating in a scope of their own gives them one
        found = {f"{view}_{name}": table for name, table in tables.items()}
        scope = {"relation": self._relation, "view": view, "named": named, **found}
        return eval("relation.query(view, named)", scope)

    def unreadable(self) -> int:
        """None: these are no lines of a file."""
        return 0

    def close(self) -> None:
        """Nothing to do: the connection belongs to the caller."""


def _by_letters(relation: Any, more: Sequence[str] = ()) -> str:
    """`SELECT *` with text compared letter by letter, whatever a column's or a connection's collation says.

    By another rule a record could be found under two values of a category, and count twice.
    """
    texts = [quote(n) for n, kind in zip(relation.columns, relation.types, strict=True) if str(kind) == "VARCHAR"]
    replaced = [*(f'{n} COLLATE "binary" AS {n}' for n in texts), *more]
    return f"SELECT * REPLACE ({', '.join(replaced)})" if replaced else "SELECT *"


class SparkEngine:
    """A PySpark DataFrame, asked over its own session."""

    headed = False
    mixed: frozenset[str] = frozenset()
    splits = False  # Spark partitions and spills by its own rules

    def __init__(self, frame: Any):
        self.origin = "a Spark table"
        self._spark = frame.sparkSession
        self._view = f"sfumato_{uuid.uuid4().hex}"
        refuse_double([name.lower() for name in frame.columns], self.origin)  # Spark tells no capitals apart
        _spark_by_letters(frame).createOrReplaceTempView(self._view)
        self.families = {f.name: _spark_family(f.dataType.typeName()) for f in frame.schema.fields}

    def run(self, sql: str, **tables: pa.Table) -> pa.Table:
        """The answer to a query, translated."""
        names = {name: f"{self._view}_{name}" for name in tables} | {"source": self._view}
        for name, table in tables.items():
            self._spark.createDataFrame(table).createOrReplaceTempView(names[name])
        try:
            with quiet(self.origin):
                return self._spark.sql(to_spark(sql, names)).toArrow()
        finally:
            for name in tables:
                self._spark.catalog.dropTempView(names[name])

    def stream(self, sql: str, **tables: pa.Table) -> Iterator[pa.RecordBatch]:
        """The answer to a query in batches, fetched as one."""
        yield from self.run(sql, **tables).to_batches(BATCH)

    def unreadable(self) -> int:
        """None that can be seen from here."""
        return 0

    def close(self) -> None:
        """Drop the view; the DataFrame and the session belong to the caller."""
        self._spark.catalog.dropTempView(self._view)


def _spark_by_letters(frame: Any) -> Any:
    """The same as `_by_letters` in Spark, which refuses to compare text of unlike collations."""
    from pyspark.sql.functions import expr

    for field in frame.schema.fields:
        if getattr(field.dataType, "collation", "UTF8_BINARY") != "UTF8_BINARY":
            name = "`" + field.name.replace("`", "``") + "`"
            frame = frame.withColumn(field.name, expr(f"{name} COLLATE UTF8_BINARY"))
    return frame


def to_spark(sql: str, names: Mapping[str, str]) -> str:
    """A query in Spark's dialect, its tables renamed."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.dialects import Spark
    from sqlglot.time import format_time

    def translate(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Table) and node.name in names:
            node.set("this", exp.to_identifier(names[node.name], quoted=True))
        if isinstance(node, exp.Anonymous) and node.name.upper() == "TRY_STRPTIME":
            pattern = format_time(node.expressions[1].name, Spark.INVERSE_TIME_MAPPING, Spark.INVERSE_TIME_TRIE)
            return exp.Anonymous(
                this="TRY_TO_TIMESTAMP", expressions=[node.expressions[0], exp.Literal.string(pattern or "")]
            )
        return node

    return sqlglot.parse_one(sql, read="duckdb").transform(translate).sql(dialect="spark")


# ---------------------------------------------------------------------- what a column holds


def _duck_family(kind: str) -> Family:
    kind = kind.upper()
    if kind == "BOOLEAN":
        return "boolean"
    if kind.endswith(("INT", "INTEGER")):
        return "integer"
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        return "float"
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        return "text"
    return "time" if kind.startswith("TIMESTAMP") or kind == "DATE" else "other"


def _spark_family(kind: str) -> Family:
    if kind in ("byte", "short", "integer", "long"):
        return "integer"
    if kind in ("float", "double", "decimal"):
        return "float"
    if kind in ("string", "varchar", "char"):
        return "text"
    if kind == "boolean":
        return "boolean"
    return "time" if kind in ("timestamp", "timestamp_ntz", "date") else "other"


# ---------------------------------------------------------------------- files


def _from_path(text: str) -> Engine:
    file, _, table = text.partition("::")
    if not file or not _is_text(file):
        raise InputError(f"{text!r} is no name of a file that can be read; give one, in UTF-8")
    if table or file.endswith((".duckdb", ".ddb")):
        return _from_database(file, table)
    files = [file] if os.path.exists(file) else sorted(glob.glob(file))
    if not files:
        raise InputError(f"{file} does not exist" if not glob.has_magic(file) else f"no file matches {file}")
    if folder := next((f for f in files if os.path.isdir(f)), None):
        raise InputError(f"{folder} is a folder; give a file, or a pattern such as {os.path.join(folder, '*.parquet')}")
    if shut := next((f for f in files if not os.access(f, os.R_OK)), None):
        raise InputError(f"{shut} may not be read by you; ask its owner for the permission")
    listed = "[" + ", ".join(literal(glob.escape(f)) for f in files) + "]"  # DuckDB takes names for patterns, too
    if all(f.endswith((".parquet", ".pq")) for f in files):
        scan, mixed = parquet_scan(files, listed)
        return DuckEngine(text, scan=scan, mixed=mixed)
    if all(f.removesuffix(".gz").endswith((".csv", ".tsv", ".txt")) for f in files):
        return DuckEngine(text, scan=csv_scan(files, listed))
    raise InputError(f"{text}: only CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet) and DuckDB (.duckdb) are read")


def _is_text(name: str) -> bool:
    """Whether a file's name can be told to an engine: the system allows any bytes."""
    try:
        return "\0" not in name and bool(name.encode())
    except UnicodeEncodeError:
        return False


def _from_database(file: str, table: str) -> Engine:
    if not os.path.isfile(file):
        raise InputError(f"{file} does not exist")
    with quiet(file), _opened(file) as con:
        listed = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
        found = [name if schema == "main" else f"{schema}.{name}" for schema, name in con.execute(listed).fetchall()]
    named = f"it has {', '.join(found[:8])}{' …' if len(found) > 8 else ''}" if found else "it has none"
    if not table and len(found) != 1:
        raise InputError(f"{file}: say which table as {file}::TABLE; {named}")
    table = table or found[0]
    if table.removeprefix("main.").lower() not in [name.lower() for name in found]:
        raise InputError(f"{file}::{table}: the database has no table '{table}'; {named}")
    path = ".".join(quote(part) for part in table.split("."))
    return DuckEngine(f"{file}::{table}", scan=f"held.{path}", attach=file)


def _opened(file: str) -> duckdb.DuckDBPyConnection:
    """A connection to a DuckDB file, to look at its tables."""
    import duckdb

    try:
        return duckdb.connect(file, read_only=True)
    except duckdb.IOException as error:
        if "lock" in str(error):
            raise InputError(f"{file} is held by another program that writes to it; close that first") from None
        raise
