"""Counts with every person capped: bounds enforced in the engine, on the very cells that are counted.

**Lattice.** What a person adds to a cell is an integer number of units, 1/`unit` of a record each: `unit` is 1 for
`records` and 2^16 for the others. Rounding is towards zero, so it never exceeds the bound: for `weight`,
Σ floor(n·C·unit/R) ≤ C·unit as Σn = R; for `l2`, the quotient C·unit·n/norm is computed in floating point and
shrunk by 2^-30, more than the relative error of a sum of up to 2^22 squares, before it is rounded down.

**Independent of others.** Which records of a person are kept depends on a key and on that person's records alone:
records are ordered by a keyed hash of (cell, occurrence, person), so equal tables give equal answers whatever the
order of the rows or the engine, and a person's presence changes nobody else's choice. The key is for fairness, not
for secrecy: the bound holds for every choice.

**Cost.** One scan for all marginals of a question, a hash table with an entry for each (person, cell), some 80 bytes
each; where that is more than the engine's memory, several scans over parts of the persons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.bounds import UNIT, Bound
from sfumato.coding import literal
from sfumato.engine import part_of
from sfumato.marginal import Counts, Marginal
from sfumato.quiet import OutOfMemoryError
from sfumato.table import Encoded, Table

if TYPE_CHECKING:
    import pyarrow as pa

PART = "/*part*/ TRUE"  # replaced by a condition on the person where a query is asked in several passes

_SHRINK = 1 - 2.0**-30
_MOST_PARTS = 1024
_MOST = 2**21  # records of one person in one cell that take part in the draw; more than any limit
_MANY = 2**40  # records of one person in one cell beyond which the count saturates, so that no product overflows


def bounded_counts(table: Table, marginals: Sequence[Marginal], bound: Bound, key: str) -> list[Counts]:
    """The counts of marginals with every person capped, as int64 in units of the lattice; one scan for all."""
    encoded = Encoded(table, marginals, person=True)
    sql = {"records": _records, "weight": _weight, "l2": _l2}[bound.rule](encoded, bound, key)
    return encoded.fill(in_parts(table, sql, **encoded.tables), np.dtype(np.int64))


def in_groups(encoded: Encoded) -> str:
    """A query for what each person has in each cell: (q, person, cell, n), for the persons of `PART`."""
    return encoded.grouped(f"LEAST(COUNT(*), {_MANY})", by="person", where=PART)


def _records(encoded: Encoded, bound: Bound, key: str) -> str:
    """Persons within the bound are counted; the records of the others are told apart, shuffled and cut off.

    Records of one cell are alike, so the k-th of them stands for any; only persons over the bound are unfolded, and of
    those with very many only draws below a mark are sorted, among which the least are.
    """
    limit = int(bound.limit)
    names = ", ".join(f"({i}, {literal(str(m))})" for i, m in enumerate(encoded.marginals))
    few = 4 * limit + 64  # of a person's records so many are expected below the mark: fewer than the limit once in e^60
    mark = f"LPAD(LOWER(HEX(CAST(FLOOR({few} * {2.0**48!r} / total) AS BIGINT))), 12, '0')"
    return f"""
        WITH g AS ({in_groups(encoded)}),
        r AS (SELECT q, person, SUM(LEAST(n, {_MOST})) AS total FROM g GROUP BY q, person),
        light AS (SELECT g.q, g.cell, g.n FROM g JOIN r ON g.q = r.q AND g.person = r.person WHERE total <= {limit}),
        heavy AS (SELECT g.q, g.person, g.cell, total, UNNEST(RANGE(CAST(LEAST(g.n, {_MOST}) AS BIGINT))) AS i
                  FROM g JOIN r ON g.q = r.q AND g.person = r.person WHERE total > {limit}),
        drawn AS (SELECT h.q, person, cell, total, i, {keyed_hash(key, "v.name", "cell", "i", "person")} AS draw
                  FROM heavy AS h JOIN (VALUES {names}) AS v(q, name) ON h.q = v.q),
        shuffled AS (SELECT q, cell, ROW_NUMBER() OVER (PARTITION BY q, person ORDER BY draw, cell, i) AS place
                     FROM drawn WHERE total <= {few} OR draw < {mark}),
        kept AS (SELECT q, cell, n FROM light UNION ALL SELECT q, cell, 1 AS n FROM shuffled WHERE place <= {limit})
        SELECT q, cell, CAST(SUM(n) AS BIGINT) AS n FROM kept GROUP BY q, cell"""


def keyed_hash(key: str, *parts: str) -> str:
    """An expression for 48 bits of a hash of some columns: as text of 12 letters, which engines sort fastest."""
    mixed = ", '|', ".join([literal(key), *parts])
    return f"SUBSTR(MD5(CONCAT({mixed})), 1, 12)"


def _weight(encoded: Encoded, bound: Bound, key: str) -> str:
    """Integers throughout: n·C·unit // R for a person over the bound, n·unit for one within it."""
    units = math.floor(bound.limit * UNIT)
    part = f"CASE WHEN total * {UNIT} <= {units} THEN n * {UNIT} ELSE (LEAST(n, {2**26}) * {units}) // total END"
    return _scaled(encoded, "CAST(SUM(n) AS BIGINT)", part)


def _l2(encoded: Encoded, bound: Bound, key: str) -> str:
    limit = f"CAST({shrunk(bound.limit * UNIT)!r} AS DOUBLE)"
    within = math.floor(Fraction(bound.limit) ** 2)  # the squared norm is a whole number: this test is exact
    scaled = f"CAST(FLOOR(CAST(n AS DOUBLE) * {limit} / SQRT(total)) AS BIGINT)"
    part = f"CASE WHEN total <= {within} THEN n * {UNIT} ELSE {scaled} END"
    return _scaled(encoded, "SUM(CAST(n AS DOUBLE) * n)", part)


def _scaled(encoded: Encoded, total: str, part: str) -> str:
    """Sum what each person may add to each cell, given a total over that person's cells."""
    return f"""
        WITH g AS ({in_groups(encoded)}),
        r AS (SELECT q, person, {total} AS total FROM g GROUP BY q, person)
        SELECT g.q, g.cell, CAST(SUM({part}) AS BIGINT) AS n
        FROM g JOIN r ON g.q = r.q AND g.person = r.person GROUP BY g.q, g.cell"""


def shrunk(limit: float) -> float:
    """A little less than a limit: what is scaled to it in floating point stays within the limit itself."""
    return limit * _SHRINK


def in_parts(table: Table, sql: str, **tables: pa.Table) -> pa.Table:
    """The answer to a query over persons, in as many passes over disjoint sets of persons as memory asks for.

    Each person is in one pass with all records, so the sum of the passes is the answer of one pass.
    """
    import pyarrow as pa

    parts = 1
    while True:
        conditions = [part_of("person", i, parts) for i in range(parts)] if parts > 1 else [PART]
        try:
            return pa.concat_tables([table.engine.run(sql.replace(PART, c), **tables) for c in conditions])
        except OutOfMemoryError:
            if not table.engine.splits or parts >= _MOST_PARTS:
                raise
            parts *= 4
