"""Linear questions about a marginal: the answers A·x for a public matrix A with a column for each cell.

The matrix is put on the lattice first (towards zero, in steps of 1/`UNIT`), so that every answer is a whole number
of units and the norms that are claimed are those of the matrix that is used.

With `records(C)` or `weight(C)` a person's cells x_p have x_p ≥ 0 and Σ x_p ≤ C, so ‖A·x_p‖ ≤ C · (largest norm of a
column of A), in L1 and in L2. With `l2(C)` each person's *answer vector* A·x_p is scaled to Euclidean norm ≤ C and
rounded towards zero, so the sensitivity is C whatever the columns' norms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.bounded import bounded_counts, in_groups, in_parts, shrunk
from sfumato.bounds import UNIT, Bound
from sfumato.columns import Ints
from sfumato.errors import InputError
from sfumato.marginal import Marginal
from sfumato.table import Encoded, Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def on_lattice(matrix: object, marginal: Marginal, cells: int) -> csr_array:
    """The matrix in whole units of the lattice, a row for each question."""
    from scipy.sparse import csr_array

    sparse = csr_array(matrix, copy=True)
    sparse.sum_duplicates()  # an entry in several parts would pass for several small ones when norms are taken
    if sparse.ndim != 2 or sparse.shape[1] != cells:
        raise InputError(f"the matrix has shape {sparse.shape}; the marginal {marginal} needs {cells} columns")
    if not np.isfinite(sparse.data).all() or (np.abs(sparse.data) > 256).any():
        raise InputError("the entries of a matrix of questions are numbers from -256 to 256")
    return csr_array((np.trunc(sparse.data * UNIT).astype(np.int64), sparse.indices, sparse.indptr), sparse.shape)


def column_norm(matrix: csr_array, order: int) -> float:
    """The largest L1 or L2 norm of a column of a matrix in lattice units."""
    data = np.abs(matrix.data.astype(float)) ** order
    sums = np.bincount(matrix.indices, weights=data, minlength=matrix.shape[1])
    return float(sums.max(initial=0.0) ** (1 / order)) / UNIT


def linear_answers(table: Table, marginal: Marginal, matrix: csr_array, bound: Bound, key: str) -> tuple[Ints, int]:
    """The bounded answers, and how many lattice units make one."""
    if bound.rule == "l2":
        return _scaled_answers(table, marginal, matrix, bound), UNIT
    (counts,) = bounded_counts(table, [marginal], bound, key)
    return matrix @ counts.values.reshape(-1), bound.unit * UNIT


def _scaled_answers(table: Table, marginal: Marginal, matrix: csr_array, bound: Bound) -> Ints:
    """Each person's answers, scaled to the norm and summed, in the engine."""
    import pyarrow as pa

    encoded = Encoded(table, [marginal], person=True)
    coo = matrix.tocoo()
    entries = pa.table({"at": coo.coords[1].astype(np.int64), "row": coo.coords[0].astype(np.int64), "x": coo.data})
    limit = f"CAST({shrunk(bound.limit * UNIT)!r} AS DOUBLE)"
    square = f"CAST({shrunk(bound.limit * UNIT) ** 2!r} AS DOUBLE)"
    sql = f"""
        WITH g AS ({in_groups(encoded)}),
        a AS (SELECT person, m.row AS question, SUM(LEAST(n, {2**20}) * m.x) AS answer
              FROM g JOIN entries AS m ON g.cell = m.at GROUP BY person, m.row),
        r AS (SELECT person, SUM(CAST(answer AS DOUBLE) * CAST(answer AS DOUBLE)) AS total FROM a GROUP BY person),
        s AS (SELECT question, CAST(answer AS BIGINT) AS answer, total,
                     FLOOR(ABS(CAST(answer AS DOUBLE)) * {limit} / SQRT(total)) AS size
              FROM a JOIN r ON a.person = r.person WHERE total > 0)
        SELECT 0 AS q, question, CAST(SUM(CASE WHEN total <= {square} THEN answer
               WHEN answer < 0 THEN -CAST(size AS BIGINT) ELSE CAST(size AS BIGINT) END) AS BIGINT) AS n
        FROM s GROUP BY question"""
    answer = in_parts(table, sql, entries=entries, **encoded.tables)
    out = np.zeros(matrix.shape[0], np.int64)
    np.add.at(out, answer.column(1).to_numpy(), answer.column(2).to_numpy())
    return out
