"""pandas tables as Arrow: whatever objects a column holds, nothing raises and no value reaches an error text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def from_pandas(frame: Any) -> pa.Table:
    """A pandas table as Arrow; columns of mixed objects become text, and no value reaches an error message."""
    import pyarrow as pa

    names = [str(c) for c in frame.columns]
    refuse_double(names, "a pandas table")
    return pa.table({name: _pandas_column(frame.iloc[:, i]) for i, name in enumerate(names)})


def _pandas_column(column: Any) -> pa.Array | pa.ChunkedArray:
    """A column as Arrow; one of objects as text, value by value.

    Were the type of objects guessed from all of them, one record could change how those of others are read.
    """
    import pyarrow as pa

    try:
        return pa.array(column, pa.string() if column.dtype == object else None, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([_as_text(x) for x in column], pa.string())


def _as_text(x: Any) -> str | None:
    """Any object as text that can be written as UTF-8, as a column of its type would give it; None where missing."""
    try:
        if x is None or x != x:
            return None
        if isinstance(x, bytes):
            return x.decode("utf-8", "backslashreplace")
        if type(x).__name__.startswith("bool"):
            return str(x).lower()
        numeric = isinstance(x, Real | Decimal)
        whole = numeric and abs(x) < 2**53 and x == int(x)
        return str(int(x) if whole else x).encode("utf-8", "backslashreplace").decode()
    except Exception:  # whatever an object in a private table does when it is looked at; pandas' NA is one
        return None


def refuse_double(names: Sequence[str], where: str) -> None:
    """Raise where two columns have one name."""
    if double := [a for a, b in itertools.pairwise(sorted(names)) if a == b]:
        raise InputError(f"{where}: the column '{double[0]}' stands twice; give each column a name of its own")
