"""Tables written to files as they stream past: Parquet or CSV, whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError
from sfumato.files import MAX_JSON, check_writable, parse_json, read_bytes, write_text, written_whole

if TYPE_CHECKING:
    import pyarrow as pa

_PARQUET = (".parquet", ".pq")
KINDS = (*_PARQUET, ".csv", ".csv.gz")


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise unless a table can be written at this path: asked before any budget is spent."""
    if not os.fspath(path).endswith(KINDS):
        raise InputError(f"{path}: tables are written as {', '.join(KINDS)}; give the file one of these endings")
    check_writable(path)
    if has_about_file(path):
        check_writable(about_file(path))


def write_batches(
    batches: Iterable[pa.RecordBatch], path: str | os.PathLike[str], about: Mapping[str, Any] | None = None
) -> int:
    """The number of records written; `about` goes into a Parquet file's metadata, or beside a CSV file."""
    check_target(path)
    written = 0
    stream = iter(batches)
    first = next(stream, None)
    if first is None:
        raise InputError(f"{path}: there is no table to write, not even an empty one")
    with written_whole(path) as beside:
        with _writer(beside, os.fspath(path), first.schema, about) as write:
            for batch in itertools.chain([first], stream):
                write(batch)
                written += batch.num_rows
        if about is not None and has_about_file(path):
            write_text(about_file(path), json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    return written


def about_file(path: str | os.PathLike[str]) -> Path:
    """Where the provenance of a CSV file is kept, which has no room for it inside."""
    return Path(f"{os.fspath(path)}.about.json")


def has_about_file(path: str | os.PathLike[str]) -> bool:
    """Whether it is a CSV file, compressed or not."""
    return os.fspath(path).endswith((".csv", ".csv.gz"))


def read_about(data: Any) -> dict[str, Any] | None:
    """The provenance that `write_batches` put into a file or beside it, or that an Arrow table carries; None without.

    Of several files that a pattern names, all must say the same.
    """
    if not isinstance(data, str | os.PathLike):
        metadata = getattr(getattr(data, "schema", None), "metadata", None)
        return _about((metadata or {}).get(b"sfumato"))
    text = os.fspath(data)
    files = [text] if os.path.isfile(text) else sorted(glob.glob(text))
    found = [_about_file(file) for file in files]
    return found[0] if found and all(each == found[0] for each in found) else None


def _about_file(file: str) -> dict[str, Any] | None:
    import pyarrow
    import pyarrow.parquet

    if not file.endswith(_PARQUET):
        beside = about_file(file)
        return _about(read_bytes(beside, MAX_JSON)) if beside.is_file() else None
    try:
        metadata = pyarrow.parquet.read_schema(file).metadata
    except (OSError, pyarrow.ArrowException):
        return None  # whoever reads the table says what is wrong with it
    return _about((metadata or {}).get(b"sfumato"))


def _about(raw: bytes | None) -> dict[str, Any] | None:
    try:
        found = None if raw is None else parse_json(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@contextlib.contextmanager
def _writer(beside: Path, name: str, schema: pa.Schema, about: Mapping[str, Any] | None) -> Iterator[Any]:
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    if name.endswith(_PARQUET):
        if about is not None:
            schema = schema.with_metadata({b"sfumato": json.dumps(about, ensure_ascii=False).encode()})
        with pyarrow.parquet.ParquetWriter(beside, schema, compression="zstd") as parquet:
            yield lambda batch: parquet.write_batch(batch.replace_schema_metadata(schema.metadata))
        return
    compression = "gzip" if name.endswith(".gz") else None
    with (
        pyarrow.output_stream(str(beside), compression=compression) as file,
        pyarrow.csv.CSVWriter(file, schema) as writer,
    ):
        yield writer.write_batch
