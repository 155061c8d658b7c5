"""Histograms of persons: each person falls into exactly one bin, so one person changes one count by one.

The bin of a person is a function of that person's records alone: how many there are (`ByRecords`), the most
frequent value of a column (`ByValue`), the most frequent label where a public table labels each cell of a
marginal (`ByLabel`), or the part of a public mixture that the person's mean record belongs to (`ByMixture`). Ties are
broken by a keyed hash of (label, person), or by the order of the labels, whatever the order of the rows. A person
without a record that can be placed is in no bin. So the sensitivity is 1, in L1 and in L2.

A rule that `waits` has all of this but its numbers, which public data will give: it can be planned, and not asked.
"""

from __future__ import annotations

import math
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

    @property
    def waits(self) -> bool:
        """Whether it cannot be counted yet."""
        ...

    def count(self, table: Table, key: str) -> Ints:
        """How many persons are in each bin, exactly."""
        ...


class _Ready:
    """A rule that can be counted."""

    @property
    def waits(self) -> bool:
        """No."""
        return False


@dataclass(frozen=True)
class Awaited:
    """A rule of so many bins, by some columns, that public data will give."""

    name: str
    size: int
    marginal: Marginal

    @property
    def waits(self) -> bool:
        """Yes."""
        return True

    def __str__(self) -> str:
        return f"persons by {self.name}"

    def bins(self, schema: Schema) -> int:
        """As many as there will be."""
        return self.size

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """Those that it will read."""
        return self.marginal.columns

    def count(self, table: Table, key: str) -> Ints:
        """Nothing yet."""
        raise InputError(f"the rule for {self} is not known yet")


@dataclass(frozen=True)
class ByRecords(_Ready):
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
class ByValue(_Ready):
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
class ByLabel(_Ready):
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


ONE, FINE = 1 << 16, 1 << 20  # units of a coordinate, and of a number of the mixture
_REACH = 1 << 18  # the largest coordinate, in its units
_CELLS, _RECORDS = 1 << 24, 1 << 20  # cells, and records of a person in one, so that no sum is beyond 64 bits


@dataclass(frozen=True, eq=False)
class ByMixture(_Ready):
    """Persons by the part of a mixture that the root of their number of records and their mean coordinates belong to.

    `points` gives each bin of each axis of the marginal its coordinates, in units of 2^-16. The score of part k at x is
    bias_k − ‖shift_k + x·slope_k‖² (in units of 2^-40, 2^-20 and 2^-20); a person is where it is highest, in the first
    of several such parts.
    The sums over a person's records are whole numbers, and what follows is one expression, so that no order matters.
    """

    name: str
    marginal: Marginal
    points: tuple[npt.NDArray[np.integer], ...]
    bias: npt.NDArray[np.integer]
    shift: npt.NDArray[np.integer]
    slope: npt.NDArray[np.integer]

    def __str__(self) -> str:
        return f"persons by {self.name}"

    def bins(self, schema: Schema) -> int:
        """The parts of the mixture."""
        shape = self.marginal.shape(schema)
        if tuple(len(p) for p in self.points) != shape or math.prod(shape) > _CELLS:
            raise InputError(f"the points of {self} are not those of the marginal {self.marginal}")
        if any(np.abs(p).max(initial=0) > _REACH for p in self.points):
            raise InputError(f"a coordinate of {self} is larger than {_REACH // ONE}")
        parts, size = len(self.bias), 1 + sum(p.shape[1] for p in self.points)
        if self.shift.shape != (parts, size) or self.slope.shape != (parts, size, size):
            raise InputError(f"the mixture of {self} has another size than its points")
        return parts

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """Those of the marginal."""
        return self.marginal.columns

    def count(self, table: Table, key: str) -> Ints:
        """How many persons belong to each part."""
        bins = self.bins(table.schema)
        encoded = Encoded(table, [self.marginal], person=True)
        return _fill(table, self._sql(in_groups(encoded), table.schema), bins, **self._tables(), **encoded.tables)

    def _tables(self) -> dict[str, object]:
        """The coordinates of the bins of each axis, to join."""
        import pyarrow as pa

        return {
            f"axis{i}": pa.table({"at": np.arange(len(p)), **{f"e{j}": e for j, e in enumerate(p.T.astype(np.int64))}})
            for i, p in enumerate(self.points)
        }

    def _sql(self, groups: str, schema: Schema) -> str:
        """From (person, cell, n) to the sums of each person, the mean, the scores, and the best."""
        shape = self.marginal.shape(schema)
        joins = " ".join(
            f"JOIN axis{i} AS a{i} ON (g.cell // {math.prod(shape[i + 1 :])}) % {size} = a{i}.at"
            for i, size in enumerate(shape)
        )
        ends = [(i, j) for i, p in enumerate(self.points) for j in range(p.shape[1])]
        n = f"LEAST(g.n, {_RECORDS})"
        sums = [f"SUM({n} * a{i}.e{j}) AS t{at}" for at, (i, j) in enumerate(ends, start=1)]
        means = [
            f"CAST(t{at} AS DOUBLE) / CAST(n AS DOUBLE) / CAST({ONE} AS DOUBLE) AS x{at}"
            for at in range(1, len(ends) + 1)
        ]
        away = [
            f"{_plus(self.shift[k, j], self.slope[k, :, j])} AS y{k}_{j}"
            for k in range(len(self.bias))
            for j in range(len(ends) + 1)
        ]
        scores = [
            f"{_double(b)} - ({' + '.join(f'y{k}_{j} * y{k}_{j}' for j in range(len(ends) + 1))}) AS s{k}"
            for k, b in enumerate(self.bias)
        ]
        best = " ".join(f"WHEN s{k} >= best THEN {k}" for k in range(len(self.bias) - 1))
        most = f"GREATEST({', '.join(f's{k}' for k in range(len(self.bias)))})" if len(self.bias) > 1 else "s0"
        label = f"CASE {best} ELSE {len(self.bias) - 1} END" if best else "0"
        return f"""
            WITH t AS (SELECT g.person, SUM({n}) AS n, {", ".join(sums)}
                       FROM ({groups}) AS g {joins} GROUP BY g.person),
            x AS (SELECT SQRT(CAST(n AS DOUBLE)) AS x0, {", ".join(means)} FROM t),
            y AS (SELECT {", ".join(away)} FROM x),
            s AS (SELECT {", ".join(scores)} FROM y),
            b AS (SELECT *, {most} AS best FROM s)
            SELECT 0 AS q, label, COUNT(*) AS n FROM (SELECT {label} AS label FROM b) AS w GROUP BY label"""


def _plus(shift: int, slopes: npt.NDArray[np.integer]) -> str:
    """shift + Σ x·slope, without what is zero."""
    terms = [f"x{i} * {_double(slope)}" for i, slope in enumerate(slopes) if slope]
    return " + ".join([_double(shift), *terms])


def _double(number: int) -> str:
    """A whole number as a double, exactly."""
    return f"CAST({int(number)} AS DOUBLE)"


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
