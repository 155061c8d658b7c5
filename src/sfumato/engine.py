"""Engines: where a table lives, and who answers SQL about it.

One query language, DuckDB's; a Spark table gets the same query translated by sqlglot. Files, Arrow, pandas and
polars tables are scanned by an embedded DuckDB where they are, a DuckDB relation by its own connection, a PySpark
DataFrame by its own cluster. The data is called `source` in every query. What comes back is an Arrow table of the
answer, never of records.

Engines keep quiet: their error texts may quote a record, so they are never passed on, and nothing is spilled to
disk (DuckDB has no temporary folder here; see `Engine.memory`).
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import itertools
import os
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.coding import Family, literal, quote
from sfumato.errors import InputError, RunError

if TYPE_CHECKING:
    import pyarrow as pa


BATCH = 1 << 17  # records of an answer that are handed over at a time


def memory() -> int:
    """Memory for an embedded DuckDB, in MB; a table that needs more is counted in several passes."""
    text = os.environ.get("SFUMATO_MEMORY_MB", "1500")
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise InputError(f"SFUMATO_MEMORY_MB is {text!r}; set it to a whole number of megabytes, such as 1500")
    return int(text)


class OutOfMemoryError(RunError):
    """A query did not fit in memory; asking it in more passes may help."""


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
        return DuckEngine("a pandas table", table=_from_pandas(data))
    if hasattr(data, "__arrow_c_stream__"):
        import pyarrow as pa

        return DuckEngine(f"a {module} table", table=data if isinstance(data, pa.Table) else pa.table(data))
    raise InputError(
        f"data of type {name} is not a table; give a path, or a table of pandas, polars, Arrow, DuckDB or PySpark"
    )


class DuckEngine:
    """An embedded DuckDB over files or an Arrow table."""

    splits = True

    def __init__(self, origin: str, scan: str | None = None, table: pa.Table | None = None, attach: str | None = None):
        import duckdb

        self.origin, self._scan = origin, scan
        self.headed = scan is not None and scan.startswith("read_csv")
        settings: dict[str, Any] = {"memory_limit": f"{memory()}MB", "temp_directory": ""}
        with _quiet(origin):
            self._con = duckdb.connect(config=settings)
            self._con.execute(
                "SET TimeZone = 'UTC'; SET preserve_insertion_order = false; SET enable_progress_bar = false; "
                "SET autoinstall_known_extensions = false"
            )
        if table is not None:
            _refuse_double(table.column_names, origin)
            self._register(table)
        else:
            with _quiet(origin):
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
        with _quiet(self.origin):
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
            with _quiet(self.origin):
                yield self._con.sql(sql)
        finally:
            for name in tables:
                self._con.unregister(name)

    def unreadable(self) -> int:
        """Lines of a CSV file that DuckDB leaves out, found by reading it once more and keeping the errors."""
        if self._scan is None or not self._scan.startswith("read_csv"):
            return 0
        scan = self._scan.replace("ignore_errors = true", "store_rejects = true, rejects_limit = 0")
        with _quiet(self.origin):
            self._con.sql(f"SELECT COUNT(*) FROM (SELECT * FROM {scan}) AS s").fetchall()
            return int(self._con.sql("SELECT COUNT(DISTINCT line) FROM reject_errors").fetchall()[0][0])

    def close(self) -> None:
        """Close the embedded database."""
        self._con.close()


class RelationEngine:
    """A DuckDB relation, asked over the connection that made it."""

    headed = False
    splits = True

    def __init__(self, relation: Any):
        self.origin = "a DuckDB relation"
        if not hasattr(relation, "columns"):
            raise InputError("a DuckDB connection is not a table; give a relation, such as con.table('trips')")
        self._relation = relation
        _refuse_double(relation.columns, self.origin)
        self.families = {n: _duck_family(str(t)) for n, t in zip(relation.columns, relation.types, strict=True)}
        floats = [quote(n) for n, family in self.families.items() if family == "float"]
        # see DuckEngine: this connection's optimizer is not ours to set, so NaN is found by its text
        real = [f"CASE WHEN CAST({n} AS VARCHAR) NOT LIKE '%nan' THEN {n} END AS {n}" for n in floats]
        self._select = _by_letters(relation, real)

    def run(self, sql: str, **tables: pa.Table) -> pa.Table:
        """The answer to a query."""
        with _quiet(self.origin):
            return self._asked(sql, tables).to_arrow_table()

    def stream(self, sql: str, **tables: pa.Table) -> Iterator[pa.RecordBatch]:
        """The answer to a query in batches."""
        with _quiet(self.origin):
            yield from self._asked(sql, tables).to_arrow_reader(BATCH)

    def _asked(self, sql: str, tables: Mapping[str, pa.Table]) -> Any:
        view = f"sfumato_{uuid.uuid4().hex}"  # a name that cannot shadow one of the caller's
        named = f"WITH source AS ({self._select} FROM {view}) SELECT * FROM ({sql})"
        # DuckDB finds public tables by name in the scope that asks; evaluating in a scope of their own gives them one
        scope = {"relation": self._relation, "view": view, "named": named, **tables}
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
    splits = False  # Spark partitions and spills by its own rules

    def __init__(self, frame: Any):
        self.origin = "a Spark table"
        self._spark = frame.sparkSession
        self._view = f"sfumato_{uuid.uuid4().hex}"
        _refuse_double(frame.columns, self.origin)
        frame.createOrReplaceTempView(self._view)
        self.families = {f.name: _spark_family(f.dataType.typeName()) for f in frame.schema.fields}

    def run(self, sql: str, **tables: pa.Table) -> pa.Table:
        """The answer to a query, translated."""
        names = {name: f"{self._view}_{name}" for name in tables} | {"source": self._view}
        for name, table in tables.items():
            self._spark.createDataFrame(table).createOrReplaceTempView(names[name])
        try:
            with _quiet(self.origin):
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


def _from_pandas(frame: Any) -> pa.Table:
    """A pandas table as Arrow; columns of mixed objects become text, and no value reaches an error message."""
    import pyarrow as pa

    names = [str(c) for c in frame.columns]
    _refuse_double(names, "a pandas table")
    return pa.table({name: _pandas_column(frame.iloc[:, i]) for i, name in enumerate(names)})


def _pandas_column(column: Any) -> pa.Array | pa.ChunkedArray:
    import pyarrow as pa

    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([_as_text(x) for x in column], pa.string())


def _as_text(x: object) -> str | None:
    """Any object as text that can be written as UTF-8; None where it is missing or has none."""
    try:
        return None if x is None or x != x else str(x).encode("utf-8", "backslashreplace").decode()
    except Exception:  # whatever an object in a private table does when it is looked at; pandas' NA is one
        return None


# ---------------------------------------------------------------------- files


def _from_path(text: str) -> Engine:
    file, _, table = text.partition("::")
    if table or file.endswith((".duckdb", ".ddb")):
        return _from_database(file, table)
    files = [file] if os.path.exists(file) else sorted(glob.glob(file))
    if not files:
        raise InputError(f"{file} does not exist" if not glob.has_magic(file) else f"no file matches {file}")
    if folder := next((f for f in files if os.path.isdir(f)), None):
        raise InputError(f"{folder} is a folder; give a file, or a pattern such as {os.path.join(folder, '*.parquet')}")
    listed = "[" + ", ".join(literal(f) for f in files) + "]"
    if all(f.endswith((".parquet", ".pq")) for f in files):
        return DuckEngine(text, scan=_parquet_scan(files, listed))
    if all(f.removesuffix(".gz").endswith((".csv", ".tsv", ".txt")) for f in files):
        return DuckEngine(text, scan=_csv_scan(files, listed))
    raise InputError(f"{text}: only CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet) and DuckDB (.duckdb) are read")


def _from_database(file: str, table: str) -> Engine:
    import duckdb

    if not os.path.isfile(file):
        raise InputError(f"{file} does not exist")
    with _quiet(file), duckdb.connect(file, read_only=True) as con:
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


def _parquet_scan(files: Sequence[str], listed: str) -> str:
    """The scan of Parquet files; each is looked at, so that one that cannot be read is found before budget is spent."""
    import duckdb

    names: list[str] = []
    with duckdb.connect() as con:
        for file in files:
            with _quiet(file):
                found = con.sql(f"SELECT * FROM read_parquet({literal(file)}, hive_partitioning = false)").columns
            if lost := sorted(set(names) - set(found)):
                raise InputError(f"{file} has no column '{lost[0]}', which {files[0]} has; give files of one kind")
            names = names or found
    in_path = {part.partition("=")[0] for file in files for part in os.path.dirname(file).split(os.sep) if "=" in part}
    # a folder such as month=3 adds a column, but never in place of one that the files have
    hive = ", hive_partitioning = false" if in_path & set(names) else ""
    return f"read_parquet({listed}{', union_by_name = true' if len(files) > 1 else ''}{hive})"


def _csv_scan(files: Sequence[str], listed: str) -> str:
    """The scan of CSV files: every column as text, the form decided by the header alone, bad lines left out."""
    encoding, delimiter, names = _header(files[0])
    for other in files[1:]:
        if _header(other) != (encoding, delimiter, names):
            raise InputError(f"{other} has another header than {files[0]}; files read together need the same columns")
    for compressed in (f for f in files if f.endswith(".gz")):
        _check_whole(compressed)
    columns = ", ".join(f"{literal(n)}: 'VARCHAR'" for n in names)
    return (
        f"read_csv({listed}, columns = {{{columns}}}, auto_detect = false, header = true, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', encoding = {literal(encoding)}, "
        "ignore_errors = true, null_padding = true, strict_mode = false, hive_partitioning = false, "
        "parallel = false)"  # several readers cannot fill up short lines and read values of several lines
    )


def _check_whole(file: str) -> None:
    """Raise unless a compressed file can be unpacked to its end: one cut short is found before budget is spent."""
    with _quiet(file), gzip.open(file, "rb") as stream:
        while stream.read(1 << 22):
            pass


def _header(file: str) -> tuple[str, str, list[str]]:
    """Encoding, delimiter and column names of a CSV file, from its first line."""
    with _quiet(file), gzip.open(file, "rb") if file.endswith(".gz") else open(file, "rb") as stream:
        start = stream.read(1 << 20)
    encoding = "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    try:
        first = start.decode("utf-16" if encoding == "utf-16" else "utf-8-sig", errors="replace")
        line = next(iter(first.splitlines()), "")
        if "\0" in line:
            raise InputError(f"{file} is not text in UTF-8; save it as UTF-8")
        if "�" in line:
            raise InputError(f"{file}, line 1: the header is not UTF-8 text; save the file as UTF-8")
        if not line.strip():
            raise InputError(f"{file} is empty; its first line must name the columns")
        delimiter = max(",;\t|", key=line.count)
        names = [n.strip() for n in next(csv.reader(io.StringIO(first), delimiter=delimiter))]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{file}, line 1: the header cannot be read; save the file as CSV in UTF-8") from None
    names = [n or f"unnamed_{i}" for i, n in enumerate(names)]
    if double := next((at for at, n in enumerate(names) if n in names[:at]), None):
        # not by its name: where the header is missing, that is a record's value
        alike = names.index(names[double]) + 1
        raise InputError(
            f"{file}, line 1: columns {alike} and {double + 1} are called alike; give each column a name of its own"
        )
    return encoding, delimiter, names


def _refuse_double(names: Sequence[str], where: str) -> None:
    if double := [a for a, b in itertools.pairwise(sorted(names)) if a == b]:
        raise InputError(f"{where}: the column '{double[0]}' stands twice; give each column a name of its own")


@contextmanager
def _quiet(origin: str) -> Iterator[None]:
    """Turn what an engine raises into a sentence without the engine's own text, which may quote a record."""
    import duckdb

    try:
        yield
    except (InputError, RunError):
        raise
    except duckdb.OutOfMemoryException:
        raise OutOfMemoryError(
            f"{origin}: counting needs more than {memory()} MB; set SFUMATO_MEMORY_MB higher"
        ) from None
    except (OSError, EOFError, zlib.error, duckdb.IOException, duckdb.InvalidInputException) as error:
        raise InputError(
            f"{origin} cannot be read ({type(error).__name__}); is it the kind of file its name says?"
        ) from None
    except Exception as error:
        raise RunError(f"{origin}: the engine could not answer ({type(error).__name__})") from None
