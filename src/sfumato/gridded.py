"""Answers to grid questions with every person bounded (`sfumato.grid`).

Under `records(C)` and `weight(C)` a person's cells sum to at most C, and a column of a grid has Euclidean norm at most
`Grid.norm`: so the person moves the answer by at most C · norm. One scan counts the outermost marginals; all other
counts are sums along their axes, under the same bound. For `weight` a person has R records in the whole table, and
each record counts ⌊C·unit/R⌋ units wherever it counts (all `unit` of them where R ≤ C): that is never more than C.

Under `l2(C)` each person's *answer vector* is computed apart, scaled to Euclidean norm at most C where it is longer,
rounded towards zero, and added: leaving the person out moves the answer by at most C, whatever the grid. The norm is a
compensated sum of at most 2^40 squares, so its relative error is below 2^-40; the limit is shrunk by 2^-30 before.

How long a person's answer vectors are can be asked as well: as a histogram of persons, each in one bin (`norm_counts`).

**Memory.** Answer vectors need all records of a person together. Codes of records come from the engine by parts of the
persons, some two million records at a time, and are forgotten with the part; a part is sorted and walked through by a
compiled loop. Nothing grows with the number of records but the number of parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.bounded import PART, bounded_counts, in_parts, shrunk
from sfumato.bounds import UNIT, Bound
from sfumato.columns import Floats, Ints
from sfumato.engine import part_anywhere, part_of
from sfumato.grid import Grid
from sfumato.marginal import Axis, Counts, Marginal
from sfumato.table import Encoded, Table

if TYPE_CHECKING:
    import pyarrow as pa

RECORDS = 2**21  # in a part, about: some 100 MB while it is sorted

NormEdges = Floats  # increasing; a person's norm falls below the first, between two, or above the last


# ---------------------------------------------------------------------- one scan of counts


def outermost(marginals: Sequence[Marginal]) -> list[Marginal]:
    """Those that are part of no other."""
    sets = [frozenset(m.axes) for m in marginals]
    return [m for m, s in zip(marginals, sets, strict=True) if not any(s < other for other in sets)]


def grid_counts(table: Table, marginals: Sequence[Marginal], bound: Bound, key: str) -> list[Counts]:
    """The bounded counts of marginals, in units of the bound's lattice; one scan for all."""
    if table.schema.person is None:
        return table.counts(marginals)
    if bound.rule != "weight":
        return bounded_counts(table, marginals, bound, key)
    encoded = Encoded(table, marginals, person=True)
    units = int(bound.limit * UNIT)
    share = f"CASE WHEN COUNT(*) * {UNIT} <= {units} THEN {UNIT} ELSE {units} // COUNT(*) END"
    sets = ", ".join(f"({name})" for name in encoded.names)
    which = " ".join(f"WHEN GROUPING({name}) = 0 THEN {i}" for i, name in enumerate(encoded.names))
    cells = ", ".join(encoded.names)
    sql = f"""
        WITH e AS (SELECT * FROM ({encoded.sql}) AS a WHERE {PART}),
        r AS (SELECT person, CAST({share} AS BIGINT) AS w FROM e GROUP BY person),
        g AS (SELECT CASE {which} END AS q, COALESCE({cells}) AS cell, CAST(SUM(w) AS BIGINT) AS n
              FROM e JOIN r ON e.person = r.person GROUP BY GROUPING SETS ({sets}))
        SELECT q, cell, n FROM g WHERE cell IS NOT NULL"""
    return encoded.fill(in_parts(table, sql, **encoded.tables), np.dtype(np.int64))


# ---------------------------------------------------------------------- person by person


@dataclass(frozen=True)
class Part:
    """Codes of the records of some persons: a row a record, person by person; `ends` says where each person ends."""

    codes: npt.NDArray[np.int32]
    ends: Ints


def parts(table: Table, axes: Sequence[Axis]) -> Iterator[Part]:
    """The records of a table, all of a person in one part; -1 where a record falls into no bin."""
    encoded = Encoded(table, [Marginal((axis,)) for axis in axes], person=True)
    codes = ", ".join(f"CAST(COALESCE({name}, -1) AS INTEGER) AS {name}" for name in encoded.names)
    size = table.engine.run(f"SELECT COUNT(*) AS n FROM ({encoded.sql}) AS e", **encoded.tables).column(0)[0].as_py()
    passes = -(-int(size) // RECORDS) or 1
    part = part_of if table.engine.splits else part_anywhere
    for i in range(passes):
        where = part("person", i, passes) if passes > 1 else "TRUE"
        found = table.engine.run(f"SELECT person, {codes} FROM ({encoded.sql}) AS e WHERE {where}", **encoded.tables)
        yield _sorted(found, len(axes))


def _sorted(found: pa.Table, columns: int) -> Part:
    person = found.column("person").combine_chunks().dictionary_encode()
    ids = person.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    codes = np.empty((len(ids), columns), np.int32)
    order = np.argsort(ids, kind="stable")
    for i in range(columns):
        codes[:, i] = found.column(i + 1).to_numpy()[order]
    return Part(codes, np.cumsum(np.bincount(ids, minlength=len(person.dictionary))).astype(np.int64))


def grid_answers(table: Table, asked: Sequence[tuple[Grid, float]]) -> list[Ints]:
    """The answers to grids under `l2(C)`, each with its C, in 1/`UNIT`; one scan for all."""
    axes, flat = _flat([grid for grid, _ in asked])
    out = [np.zeros(grid.rows, np.int64) for grid, _ in asked]
    for part in parts(table, axes):

        def add(i: int, part: Part = part) -> None:
            limit = shrunk(asked[i][1] * UNIT)
            _walk()(part.codes, part.ends, *flat[i], limit, out[i], np.empty(0))

        _each(add, len(asked))
    return out


def grid_norms(table: Table, grids: Sequence[Grid]) -> Iterator[list[Floats]]:
    """For each part of the persons the Euclidean norms of their answer vectors to each grid, in records."""
    axes, flat = _flat(grids)
    for part in parts(table, axes):
        out = [np.zeros(len(part.ends)) for _ in grids]

        def add(i: int, part: Part = part, out: list[Floats] = out) -> None:
            _walk()(part.codes, part.ends, *flat[i], np.inf, np.empty(0, np.int64), out[i])

        _each(add, len(grids))
        yield [norms / UNIT for norms in out]


def norm_counts(table: Table, grids: Sequence[Grid], edges: NormEdges) -> list[Ints]:
    """How many persons' norms fall between the edges, one bin a person; those with nothing in a grid are in none."""
    out = [np.zeros(len(edges) + 1, np.int64) for _ in grids]
    for norms in grid_norms(table, grids):
        for counts, mine in zip(out, norms, strict=True):
            counts += np.bincount(np.searchsorted(edges, mine[mine > 0]), minlength=len(counts))
    return out


def _each(work: Any, count: int) -> None:
    """Do the pieces of work, two at a time; compiled loops let go of the interpreter."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(count)))


Flat = tuple[Ints, Ints, Ints, Ints, Ints]


def _flat(grids: Sequence[Grid]) -> tuple[tuple[Axis, ...], list[Flat]]:
    """The axes that grids need, and each grid as arrays: strides, offsets, ends, the row of each cell, units."""
    axes = tuple(dict.fromkeys(axis for grid in grids for axis in grid.marginal.axes))
    return axes, [_arrays(grid, axes) for grid in grids]


def _arrays(grid: Grid, axes: Sequence[Axis]) -> Flat:
    at = {axis.column: axes.index(axis) for axis in grid.marginal.axes}
    strides = np.zeros((len(grid.paths), len(axes)), np.int64)
    for i, path in enumerate(grid.paths):
        step = 1
        for name, size in zip(reversed(path.columns), reversed(grid.asked[i].shape), strict=True):
            strides[i, at[name]] = step
            step *= size
    asked = np.concatenate([a.reshape(-1) for a in grid.asked])
    row = np.where(asked, np.cumsum(asked) - 1, -1).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum([a.size for a in grid.asked])])[:-1].astype(np.int64)
    units = np.repeat([p.units for p in grid.paths], np.diff(grid.starts)).astype(np.int64)
    return strides, offsets, np.array([p.end for p in grid.paths], np.int64), row, units


@lru_cache
def _walk() -> Any:
    """The compiled loop over persons: it adds their scaled answers, or tells their norms."""
    from numba import njit

    def walk(codes, ends, strides, offsets, skips, row, units, limit, out, norms):  # type: ignore[no-untyped-def]
        total = np.zeros(len(units), np.int64)  # one person's answer, in records; zero again after each
        touched = np.empty(len(units), np.int64)
        needed = np.flatnonzero(strides[0])
        start = 0
        for person in range(len(ends)):
            count = 0
            for i in range(start, ends[person]):
                whole = True
                for c in needed:
                    whole &= codes[i, c] >= 0
                path = 0 if whole else len(skips)
                while path < len(skips):
                    cell = offsets[path]
                    for c in needed:
                        cell += codes[i, c] * strides[path, c]
                    r = row[cell]
                    if r < 0:
                        path += 1
                        continue
                    if total[r] == 0:
                        touched[count] = r
                        count += 1
                    total[r] += 1
                    path = skips[path]
            start = ends[person]
            high, low = 0.0, 0.0  # Neumaier's sum
            for j in range(count):
                x = float(total[touched[j]] * units[touched[j]])
                square = x * x
                new = high + square
                low += (high - new) + square if high >= square else (square - new) + high
                high = new
            norm = np.sqrt(high + low)
            if len(norms):
                norms[person] = norm
            scale = limit / norm if norm > limit else 1.0
            for j in range(count):
                r = touched[j]
                if len(out):
                    exact = total[r] * units[r]
                    out[r] += exact if norm <= limit else np.int64(np.floor(exact * scale))
                total[r] = 0

    return njit(cache=True, nogil=True, boundscheck=False)(walk)
