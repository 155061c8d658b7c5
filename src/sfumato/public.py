"""Public tables: records that anyone may see, read one by one.

A synthesizer may be handed one beside the vault, to learn what needs no privacy from it. What makes a table public is
its owner's word alone; nothing here ever touches the table behind a vault.

>>> import pyarrow as pa
>>> from sfumato.columns import Category, Person
>>> schema = Schema(columns=(Person(name="who"), Category(name="area", values=(1, 2, 3))))
>>> last_year = Public.open(pa.table({"who": ["a", "b", "a"], "area": [3, 1, 99]}), schema)
>>> last_year.counts([Marginal.of("area")])[0].values.tolist()
[1, 0, 1]
>>> found = last_year.records(["area"])
>>> found["area"].tolist(), found.person.tolist()
([2, -1, 0], [0, 0, 1])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.coding import Encoding, as_number, quote
from sfumato.columns import Floats, Ints, Number
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.gridded import grid_norms
from sfumato.marginal import Counts, Marginal
from sfumato.schema import Schema
from sfumato.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Records:
    """Records as arrays: the code of each column (-1 where a record falls into no bin), values of numbers as they are.

    `person` numbers the persons 0, 1, ... in the order of their ids, -1 where a record has none; the records of one
    person stand side by side. `values` holds NaN where a number is missing.
    """

    codes: Mapping[str, Ints]
    values: Mapping[str, Floats]
    person: Ints

    def __getitem__(self, column: str) -> Ints:
        return self.codes[column]

    def __len__(self) -> int:
        return len(self.person)


@dataclass(frozen=True, eq=False)
class Groups:
    """What records are like, and how many there are of each kind: codes and values as in `Records`."""

    codes: Mapping[str, Ints]
    values: Mapping[str, Floats]
    counts: Ints


class Public:
    """A table that anyone may see, read by a schema."""

    def __init__(self, table: Table):
        self._table = table
        self.schema = table.schema

    @classmethod
    def open(cls, data: Any, schema: Schema) -> Public:
        """The public table in a file, in memory or in a database; one that is open already is given back."""
        return data if isinstance(data, Public) else cls(Table.open(data, schema))

    def __repr__(self) -> str:
        return f"Public({self._table.engine.origin})"

    @property
    def origin(self) -> str:
        """What to call it in error texts."""
        return self._table.engine.origin

    def counts(self, marginals: Sequence[Marginal]) -> list[Counts]:
        """The exact counts of marginals, in one scan."""
        return self._table.counts(marginals)

    def norms(self, grids: Sequence[Grid]) -> list[Floats]:
        """For each grid the Euclidean norm of every person's answers to it."""
        found = [list(part) for part in grid_norms(self._table, grids)]
        return [np.concatenate(norms) if norms else np.zeros(0) for norms in zip(*found, strict=True)]

    def records(self, columns: Sequence[str], values: Sequence[str] = ()) -> Records:
        """Every record, sorted by person: the codes of `columns`, and the numbers of `values` as they are.

        Takes some 8 bytes a record for each column that is asked for. Records of one person come in no certain order.
        """
        encoding = Encoding()
        select = self._selected(encoding, columns, values)
        person = self._table.person
        who = encoding.value(person) if person is not None else "NULL"
        numbered = f"CASE WHEN {who} IS NOT NULL THEN DENSE_RANK() OVER (ORDER BY {who} NULLS LAST) - 1 ELSE -1 END"
        if person is None:
            numbered = "-1"
        inner = encoding.query("source", ", ".join([f"{numbered} AS person", *select]), "TRUE")
        found = self._table.engine.run(f"SELECT * FROM ({inner}) AS e ORDER BY person", **encoding.tables)
        codes, numbers = _arrays(found, columns, values)
        return Records(codes, numbers, person=_array(found, "person", np.dtype(np.int64)))

    def groups(self, columns: Sequence[str], values: Sequence[str] = ()) -> Groups:
        """The kinds of records there are, by codes of `columns` and numbers of `values`, in no certain order.

        >>> import pyarrow as pa
        >>> from sfumato.columns import Category
        >>> schema = Schema(columns=(Category(name="area", values=(1, 2)),))
        >>> Public.open(pa.table({"area": [2, 2, 2]}), schema).groups(["area"]).counts.tolist()
        [3]
        """
        encoding = Encoding()
        inner = encoding.query("source", ", ".join(self._selected(encoding, columns, values)), "TRUE")
        names = ", ".join([f"c{i}" for i in range(len(columns))] + [f"x{i}" for i in range(len(values))])
        sql = f"SELECT {names}, COUNT(*) AS n FROM ({inner}) AS e GROUP BY {names}"
        found = self._table.engine.run(sql, **encoding.tables)
        codes, numbers = _arrays(found, columns, values)
        return Groups(codes, numbers, _array(found, "n", np.dtype(np.int64)))

    def _selected(self, encoding: Encoding, columns: Sequence[str], values: Sequence[str]) -> list[str]:
        """What to select for codes c0, c1, ... and numbers x0, x1, ..."""
        families = self._table.engine.families
        codes = [encoding.code(c, c.depth, families) for c in map(self.schema.__getitem__, columns)]
        numbers = [encoding.value(self._number(name)) for name in values]
        select = [f"CAST(COALESCE({code}, -1) AS BIGINT) AS c{i}" for i, code in enumerate(codes)]
        return select + [f"{number} AS x{i}" for i, number in enumerate(numbers)]

    def _number(self, name: str) -> str:
        column = self.schema[name]
        if not isinstance(column, Number):
            raise InputError(f"column '{name}' holds no numbers whose values could be read; it is a {column.kind}")
        (source,) = column.sources
        return as_number(f"s.{quote(source)}", self._table.engine.families[source])


def _arrays(
    found: pa.Table, columns: Sequence[str], values: Sequence[str]
) -> tuple[dict[str, Ints], dict[str, Floats]]:
    codes = {name: _array(found, f"c{i}", np.dtype(np.int64)) for i, name in enumerate(columns)}
    return codes, {name: _array(found, f"x{i}", np.dtype(np.float64)) for i, name in enumerate(values)}


def _array(found: pa.Table, name: str, dtype: np.dtype[Any]) -> Any:
    column = found.column(name)
    if dtype.kind == "f":
        column = column.cast("float64").fill_null(float("nan"))
    return column.to_numpy().astype(dtype, copy=False)
