"""Records from consistent marginals: only what hangs together in cycles needs gradual update, the rest is drawn.

Marginals that share no column are made apart and joined in random order. Columns that only one marginal has are drawn
from it at the end, given its other columns; taken out one after the other, a tree of marginals falls apart to a
single one, and its records have every marginal as exactly as whole numbers can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.columns import Floats, Ints
from sfumato.synthesizers.privsyn.consistency import Axes, Measured

Codes = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Columns to be drawn from a table, given its other columns."""

    table: Measured
    columns: Axes

    @property
    def given(self) -> Axes:
        """The other columns."""
        return tuple(a for a in self.table.axes if a not in self.columns)


def records(n: int, tables: Sequence[Measured], rounds: int, rng: np.random.Generator) -> dict[int, Codes]:
    """The codes of each column, `n` of them, with the marginals of the tables; every column is in one of them."""
    out: dict[int, Codes] = {}
    for part in components(widest(tables)):
        core, drawn = peeled(part)
        made = _updated(n, core, rounds, rng) if core else {}
        for step in reversed(drawn):
            _draw(made, n, step, rng)
        order = rng.permutation(n)
        out |= {axis: codes[order] for axis, codes in made.items()}
    return out


def widest(tables: Sequence[Measured]) -> list[Measured]:
    """The tables whose columns are not all in another one."""
    distinct = {t.axes: t for t in tables}
    return [t for t in distinct.values() if not any(set(t.axes) < set(other) for other in distinct)]


def components(tables: Sequence[Measured]) -> list[list[Measured]]:
    """The tables in groups that share no column."""
    groups: list[list[Measured]] = []
    for table in tables:
        touching = [g for g in groups if any(set(table.axes) & set(t.axes) for t in g)]
        groups = [g for g in groups if g not in touching] + [[*(t for g in touching for t in g), table]]
    return groups


def peeled(tables: Sequence[Measured]) -> tuple[list[Measured], list[Drawn]]:
    """What needs gradual update, and what is drawn after it, the last first: columns that only one table has."""
    left, drawn = list(tables), list[Drawn]()
    while True:
        lone = next(((t, own) for t in left if (own := _own(t, left))), None)
        if lone is None:
            return left, drawn
        table, own = lone
        drawn.append(Drawn(table, own))
        rest = tuple(a for a in table.axes if a not in own)
        left = [t for t in left if t is not table]
        if rest and not any(set(rest) <= set(t.axes) for t in left):
            left.append(Measured(rest, table.sums(rest), table.precision))


def _own(table: Measured, tables: Sequence[Measured]) -> Axes:
    """The columns that no other table has."""
    others = {a for t in tables if t is not table for a in t.axes}
    return tuple(a for a in table.axes if a not in others)


def _updated(n: int, tables: Sequence[Measured], rounds: int, rng: np.random.Generator) -> dict[int, Codes]:
    """Records by gradual update, from columns that are right each by itself and shuffled."""
    from sfumato.synthesizers.privsyn.gum import Target, gradually_updated

    columns = sorted({a for t in tables for a in t.axes})
    place = {a: i for i, a in enumerate(columns)}
    targets = [Target(tuple(place[a] for a in t.axes), whole_of(n, t.values, rng)) for t in tables]
    ones = {a: next(t for t in tables if a in t.axes).sums((a,)) for a in columns}
    codes = np.empty((len(columns), n), _compact(max(len(counts) for counts in ones.values())))
    for a, i in place.items():
        codes[i] = rng.permutation(np.repeat(np.arange(len(ones[a])), whole_of(n, ones[a], rng)))
    gradually_updated(codes, targets, rounds, rng)
    return {a: codes[i] for a, i in place.items()}


def whole_of(n: int, values: Floats, rng: np.random.Generator) -> Ints:
    """The table scaled to n records, in whole numbers that sum to n; evenly filled where it is empty."""
    from sfumato.synthesizers.privsyn.rounding import adding_to, whole

    total = float(values.sum())
    scaled = values * (n / total) if total > 0 else np.full(values.shape, n / values.size)
    sums = [(axis,) for axis in range(values.ndim)] if values.ndim > 1 else []
    return adding_to(n, whole(scaled, sums, rng), rng)


def _draw(made: dict[int, Codes], n: int, step: Drawn, rng: np.random.Generator) -> None:
    """Add columns to the records: for each cell of those given, the table's shares, as exactly as whole numbers can."""
    table, given = step.table, step.given
    order = [table.axes.index(a) for a in (*given, *step.columns)]
    shape = [table.values.shape[i] for i in order]
    rows, new = math.prod(shape[: len(given)]), shape[len(given) :]
    shares = table.values.transpose(order).reshape(rows, -1)
    group = np.zeros(n, np.int64)
    if given:
        group = np.ravel_multi_index([made[a] for a in given], shape[: len(given)])
    sizes = np.bincount(group, minlength=rows)
    quotas = _quotas(shares, sizes, rng)
    shuffled = rng.permutation(n)
    place = shuffled[np.argsort(group[shuffled], kind="stable")]
    cells = np.empty(n, np.int64)
    cells[place] = np.repeat(np.tile(np.arange(shares.shape[1]), rows), quotas.reshape(-1))
    for column, size, codes in zip(step.columns, new, np.unravel_index(cells, new), strict=True):
        made[column] = codes.astype(_compact(size))


def _compact(size: int) -> type[np.uint8 | np.int32]:
    """The smaller of two types that holds codes below a size: two, so that the kernels are compiled for no more."""
    return np.uint8 if size <= 256 else np.int32


def _quotas(shares: Floats, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Each row's size split by its shares in whole numbers, each off by less than one; unbiased."""
    totals = shares.sum(1, keepdims=True)
    overall = shares.sum(0) if shares.sum() > 0 else np.ones(shares.shape[1])
    likely = np.where(totals > 0, shares, overall)
    steps = np.cumsum(likely, axis=1)
    steps = steps / steps[:, -1:] * sizes[:, None]
    steps[:, -1] = sizes
    marks = np.minimum(np.floor(steps + rng.random((len(sizes), 1))), sizes[:, None]).astype(np.int64)
    marks[:, -1] = sizes
    return np.asarray(np.diff(marks, axis=1, prepend=0))
