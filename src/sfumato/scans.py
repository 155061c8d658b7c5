"""Files as DuckDB scans them: looked at before budget is spent, so that one that cannot be read is found in time."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
from collections.abc import Sequence

from sfumato.coding import literal
from sfumato.errors import InputError
from sfumato.quiet import quiet


def parquet_scan(files: Sequence[str], listed: str) -> tuple[str, frozenset[str]]:
    """The scan of Parquet files, and the columns that are text in some of them and something else in others.

    Each file is looked at, so that one that cannot be read is found before budget is spent.
    """
    import duckdb

    names: list[str] = []
    texts: set[tuple[str, bool]] = set()
    with duckdb.connect() as con:
        for file in files:
            with quiet(file):
                read = con.sql(f"SELECT * FROM read_parquet({literal(glob.escape(file))}, hive_partitioning = false)")
                found = read.columns
                texts |= {(name, str(kind) == "VARCHAR") for name, kind in zip(found, read.types, strict=True)}
            if lost := sorted(set(names) - set(found)):
                raise InputError(f"{file} has no column '{lost[0]}', which {files[0]} has; give files of one kind")
            names = names or found
    in_path = {part.partition("=")[0] for file in files for part in os.path.dirname(file).split(os.sep) if "=" in part}
    # a folder such as month=3 adds a column, but never in place of one that the files have
    hive = ", hive_partitioning = false" if in_path & set(names) else ""
    scan = f"read_parquet({listed}{', union_by_name = true' if len(files) > 1 else ''}{hive})"
    return scan, frozenset(name for name, text in texts if text and (name, False) in texts)


def csv_scan(files: Sequence[str], listed: str) -> str:
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
    with quiet(file), gzip.open(file, "rb") as stream:
        while stream.read(1 << 22):
            pass


def _header(file: str) -> tuple[str, str, list[str]]:
    """Encoding, delimiter and column names of a CSV file, from its first line."""
    with quiet(file), gzip.open(file, "rb") if file.endswith(".gz") else open(file, "rb") as stream:
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
            what = ", line 1: it is blank; it" if first.strip() else " is empty; its first line"
            raise InputError(f"{file}{what} must name the columns")
        delimiter = max(",;\t|", key=line.count)
        names = [n.strip() for n in next(csv.reader(io.StringIO(first), delimiter=delimiter))]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{file}, line 1: the header cannot be read; save the file as CSV in UTF-8") from None
    names = [n or f"unnamed_{i}" for i, n in enumerate(names)]
    letters = [n.lower() for n in names]  # engines take 'Area' and 'area' for one column
    if double := next((at for at, n in enumerate(letters) if n in letters[:at]), None):
        # not by its name: where the header is missing, that is a record's value
        alike = letters.index(letters[double]) + 1
        raise InputError(
            f"{file}, line 1: columns {alike} and {double + 1} are called alike; give each column a name of its own"
        )
    return encoding, delimiter, names
