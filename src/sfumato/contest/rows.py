"""The rows of a submission as they stand in its file, in order and without mercy, batch after batch.

The scorers read tables leniently and fast (`sfumato.Table`); what is checked has to be read as it is.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.columns import Floats
from sfumato.engine import connect
from sfumato.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

Mask = npt.NDArray[np.bool_]

NOTHING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What the official check, which reads with pandas, takes for a missing value."""
_BLOCK = 1 << 23  # bytes of a CSV file at a time
_BATCH = 1 << 16


@dataclass(frozen=True)
class Rows:
    """Names of the columns, and the rows in batches; `first` is the number of the first row, as `unit`s are counted."""

    origin: str
    names: tuple[str, ...]
    batches: Iterator[pa.RecordBatch]
    unit: str
    first: int

    @classmethod
    def of(cls, data: Any, on_bad_line: Callable[[int, int, int], None]) -> Rows:
        """The rows of a CSV or Parquet file, or a table in memory.

        A line of too few or too many values is left out, and told as its number, the values it should have and has.
        """
        import pyarrow as pa

        if isinstance(data, str | os.PathLike):
            path = os.fspath(data)
            if not os.path.isfile(path):
                raise InputError(f"{path} does not exist" if not os.path.exists(path) else f"{path} is no file")
            if path.endswith((".parquet", ".pq")):
                import pyarrow.parquet as pq

                try:
                    file = pq.ParquetFile(path)
                except (pa.ArrowException, OSError):
                    raise InputError(f"{path} cannot be read; is it the kind of file its name says?") from None
                return cls(path, tuple(file.schema_arrow.names), file.iter_batches(_BATCH), "row", 1)
            if path.removesuffix(".gz").endswith((".csv", ".txt")):
                return _csv(path, on_bad_line)
            raise InputError(f"{path}: a submission is a CSV file (.csv, .csv.gz) or Parquet (.parquet)")
        if type(data).__module__.startswith("pandas"):
            data = pa.Table.from_pandas(data, preserve_index=False)
        if isinstance(data, pa.Table):
            return cls("the submission", tuple(data.column_names), iter(data.to_batches(_BATCH)), "row", 1)
        engine = connect(data)
        return cls(engine.origin, tuple(engine.families), engine.stream("SELECT * FROM source"), "row", 1)


def _csv(path: str, on_bad_line: Callable[[int, int, int], None]) -> Rows:
    import pyarrow.csv as arrow

    names = _header(path)
    order = [f"{i}" for i in range(len(names))]  # two columns of one name are a fault to be told, not to stumble over

    def bad(row: Any) -> str:
        on_bad_line(row.number or 0, row.expected_columns, row.actual_columns)
        return "skip"

    try:
        reader = arrow.open_csv(
            path,
            arrow.ReadOptions(column_names=order, skip_rows=1, block_size=_BLOCK, use_threads=False),
            arrow.ParseOptions(invalid_row_handler=bad, newlines_in_values=False),
            arrow.ConvertOptions(
                column_types=dict.fromkeys(order, "string"),
                null_values=NOTHING,
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except Exception as error:
        if "Empty CSV" in str(error):
            return Rows(path, names, iter(()), "line", 2)
        raise InputError(f"{path} cannot be read as CSV; save it as CSV in UTF-8") from None
    return Rows(path, names, _quietly(reader, path), "line", 2)


def _quietly(reader: Any, path: str) -> Iterator[pa.RecordBatch]:
    try:
        yield from reader
    except Exception:
        raise InputError(f"{path} cannot be read as CSV to its end; save it as CSV in UTF-8") from None


def _header(path: str) -> tuple[str, ...]:
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if path.endswith(".gz")
            else open(path, encoding="utf-8-sig", newline="") as file
        ):
            names = next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InputError(f"{path}, line 1: the header cannot be read; save the file as CSV in UTF-8") from None
    if not names:
        raise InputError(f"{path} is empty; its first line must name the columns")
    return tuple(names)


def numbers(column: Any) -> tuple[Floats, Mask]:
    """A column as numbers, NaN where it is missing or none, and where it is text that is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        try:
            x = pc.cast(column, pa.float64(), safe=False)
        except pa.ArrowException:
            return np.full(len(column), np.nan), np.ones(len(column), bool)
        return x.to_numpy(zero_copy_only=False), np.zeros(len(column), bool)
    try:
        x = pc.cast(column, pa.float64())
        return x.to_numpy(zero_copy_only=False), np.zeros(len(column), bool)
    except pa.ArrowException:
        pass
    found = [_number(text) for text in column.to_pylist()]
    return np.array([np.nan if x is None else x for x in found], float), np.array([x is None for x in found], bool)


def _number(text: str | None) -> float | None:
    """The number a text is; NaN where there is none, None where it is something else."""
    if text is None:
        return float("nan")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def texts(column: Any) -> list[str | None]:
    """A column as text."""
    return [None if x is None else str(x) for x in column.to_pylist()]
