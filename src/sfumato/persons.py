"""Histograms of persons: each person falls into exactly one bin, so one person changes one count by one.

The bin of a person is a function of that person's records alone: how many there are (`ByRecords`), the most
frequent value of a column (`ByValue`), or the most frequent label where a public table labels each cell of a
marginal (`ByLabel`). Ties are broken by a keyed hash of (label, person), whatever the order of the rows. A person
without a record that can be placed is in no bin. So the sensitivity is 1, in L1 and in L2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.bounded import PART, in_groups, in_parts, keyed_hash
from sfumato.coding import balanced
from sfumato.columns import Ints
from sfumato.errors import InputError
from sfumato.marginal import Axis, Marginal
from sfumato.schema import Schema
from sfumato.table import Encoded, Table


class Labelling(Protocol):
    """A public rule that puts each person into one bin."""

    def bins(self, schema: Schema) -> int:
        """How many bins there are."""
        ...

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads."""
        ...

    def count(self, table: Table, key: str) -> Ints:
        """How many persons are in each bin, exactly."""
        ...


@dataclass(frozen=True)
class ByRecords:
    """Persons by their number of records: bin i holds those from `starts[i]` up to the next start."""

    starts: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.starts or list(self.starts) != sorted(set(self.starts)) or self.starts[0] < 1:
            raise InputError(f"bins of a number of records start at 1 or more and increase; got {list(self.starts)}")

    def __str__(self) -> str:
        return "persons by number of records"

    def bins(self, schema: Schema) -> int:
        """One for each start."""
        return len(self.starts)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """None but the person id."""
        return ()

    def count(self, table: Table, key: str) -> Ints:
        """How many persons have so many records."""
        records = Encoded(table, [], person=True)
        bins = balanced("n", "<", [str(s) for s in self.starts], ["NULL", *map(str, range(len(self.starts)))])
        sql = f"""
            WITH r AS (SELECT person, COUNT(*) AS n FROM ({records.sql}) AS e WHERE {PART} GROUP BY person),
            b AS (SELECT {bins} AS bin FROM r)
            SELECT 0 AS q, bin, COUNT(*) AS n FROM b WHERE bin IS NOT NULL GROUP BY bin"""
        return _fill(table, sql, len(self.starts))


@dataclass(frozen=True)
class ByValue:
    """Persons by the most frequent bin of a column."""

    axis: Axis

    def __str__(self) -> str:
        return f"persons by most frequent {self.axis}"

    def bins(self, schema: Schema) -> int:
        """The bins of the column at its level."""
        return Marginal((self.axis,)).size(schema)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The column."""
        return (self.axis.column,)

    def count(self, table: Table, key: str) -> Ints:
        """How many persons have each bin as their most frequent one."""
        encoded = Encoded(table, [Marginal((self.axis,))], person=True)
        votes = f"SELECT person, cell AS label, n FROM ({in_groups(encoded)}) AS g"
        return _fill(table, _winners(votes, key), self.bins(table.schema), **encoded.tables)


@dataclass(frozen=True, eq=False)
class ByLabel:
    """Persons by the most frequent label of their records; `labels` gives each cell its label, or -1 for none."""

    name: str
    marginal: Marginal
    labels: npt.NDArray[np.integer]

    def __str__(self) -> str:
        return f"persons by {self.name}"

    def bins(self, schema: Schema) -> int:
        """One more than the largest label."""
        if self.labels.shape != self.marginal.shape(schema):
            raise InputError(f"the labels have shape {self.labels.shape}, not that of the marginal {self.marginal}")
        return int(self.labels.max()) + 1

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """Those of the marginal."""
        return self.marginal.columns

    def count(self, table: Table, key: str) -> Ints:
        """How many persons have each label as their most frequent one."""
        import pyarrow as pa

        bins = self.bins(table.schema)
        encoded = Encoded(table, [self.marginal], person=True)
        flat = self.labels.reshape(-1).astype(np.int64)
        cells = np.flatnonzero(flat >= 0)
        votes = (
            f"SELECT person, label, SUM(n) AS n FROM ({in_groups(encoded)}) AS g "
            "JOIN labels AS l ON g.cell = l.at GROUP BY person, label"
        )
        labels = pa.table({"at": cells, "label": flat[cells]})
        return _fill(table, _winners(votes, key), bins, labels=labels, **encoded.tables)


def _winners(votes: str, key: str) -> str:
    """How many persons have each label as their most frequent one, given (person, label, n)."""
    order = f"{keyed_hash(key, 'v.label', 'v.person')}, v.label"
    return f"""
        WITH v AS ({votes}),
        m AS (SELECT person, MAX(n) AS most FROM v GROUP BY person),
        w AS (SELECT v.label, ROW_NUMBER() OVER (PARTITION BY v.person ORDER BY {order}) AS place
              FROM v JOIN m ON v.person = m.person AND v.n = m.most)
        SELECT 0 AS q, label, COUNT(*) AS n FROM w WHERE place = 1 GROUP BY label"""


def _fill(table: Table, sql: str, bins: int, **tables: object) -> Ints:
    answer = in_parts(table, sql, **tables)
    out = np.zeros(bins, np.int64)
    np.add.at(out, answer.column(1).to_numpy().astype(np.int64), answer.column(2).to_numpy().astype(np.int64))
    return out
