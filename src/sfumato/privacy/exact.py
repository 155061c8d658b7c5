"""What is true, on its lattice, and the noise that makes an answer of it. Behind the door: the vault alone calls it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.bounded import bounded_counts
from sfumato.bounds import UNIT, Bound
from sfumato.columns import Floats, Ints
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.gridded import grid_answers, grid_counts, norm_counts, outermost
from sfumato.linear import column_norm, linear_answers, on_lattice
from sfumato.marginal import Counts, Marginal
from sfumato.privacy.door import Held
from sfumato.privacy.noise import discrete_laplace, rounded_gaussian
from sfumato.privacy.plan import Priced
from sfumato.privacy.questions import (
    LARGEST,
    Chosen,
    Gridded,
    Histogram,
    Linear,
    Norms,
    Part,
    Persons,
    Question,
    Scores,
)
from sfumato.schema import Schema

_SCAN, _SCAN_CELLS = 16, 2**24  # marginals counted in one scan, and their cells together


@dataclass(frozen=True)
class Noisy:
    """A noisy answer, in records: `level` is the σ or the scale of its noise."""

    question: Question
    values: Floats
    level: float


def noisy_answer(held: Held, priced: Priced, matrix: object) -> Noisy:
    """The exact answer on its lattice, plus noise of the same lattice."""
    exact, unit = _exact(held, priced.question, matrix)
    return _with_noise(held, priced.question, exact, priced.level, unit)


def _with_noise(held: Held, question: Question, exact: Ints, level: float, unit: int) -> Noisy:
    """Whole units of the lattice with noise of this level in records."""
    law = rounded_gaussian if question.noise == "gaussian" else discrete_laplace
    noise = law(level * unit, exact.shape, held.noise)
    return Noisy(question, (exact + noise) / unit, level)


def noisy_grids(
    held: Held,
    planned: Sequence[Gridded],
    asked: Mapping[str, tuple[Priced, Grid]],
    limits: Mapping[str, float],
    key: str,
) -> dict[str, Noisy]:
    """The answers to grids; `planned` are all of the release, whose counts are kept under its name `key`."""
    bounds = {name: _bound_of(priced, limits) for name, (priced, _) in asked.items()}
    exact = _exact_grids(held, planned, {name: (grid, bounds[name]) for name, (_, grid) in asked.items()}, key)
    out: dict[str, Noisy] = {}
    for name, (priced, _) in asked.items():
        assert isinstance(priced.question, Gridded)
        scale = 1.0 if priced.question.bound is not None else bounds[name].limit
        out[name] = _with_noise(held, priced.question, exact[name], priced.level * scale, priced.question.unit)
    return out


def noisy_norms(held: Held, asked: Mapping[str, tuple[Priced, Grid]]) -> dict[str, Noisy]:
    """How many persons have answers of which norm, one scan for all questions with the same edges."""
    by_edges: dict[tuple[float, ...], list[str]] = {}
    for name, (priced, _) in asked.items():
        assert isinstance(priced.question, Norms)
        by_edges.setdefault(priced.question.edges, []).append(name)
    out: dict[str, Noisy] = {}
    for edges, names in by_edges.items():
        counts = norm_counts(held.table, [asked[name][1] for name in names], np.array(edges))
        for name, exact in zip(names, counts, strict=True):
            priced = asked[name][0]
            out[name] = _with_noise(held, priced.question, exact, priced.level, 1)
    return out


def _bound_of(priced: Priced, limits: Mapping[str, float]) -> Bound:
    """The bound of a gridded question: the planned one, or l2 of the limit it is asked with."""
    question = priced.question
    assert isinstance(question, Gridded)
    if question.bound is not None:
        return question.bound
    if question.name not in limits:
        raise InputError(f"question '{question.name}' needs a limit: the C of l2(C)")
    bound = Bound("l2", float(limits[question.name]))
    if priced.level * bound.limit * question.unit > LARGEST:
        raise InputError(
            f"question '{question.name}': {bound} would need more noise than there is; take a smaller limit"
        )
    return bound


def _exact_grids(
    held: Held, planned: Sequence[Gridded], asked: Mapping[str, tuple[Grid, Bound]], release: str
) -> dict[str, Ints]:
    """The answers to grids in units of their lattices; one scan for all under `l2`, one a release for others."""
    scaled = {name: (grid, b.limit) for name, (grid, b) in asked.items() if _by_person(held, b)}
    out = dict(zip(scaled, grid_answers(held.table, list(scaled.values())) if scaled else [], strict=True))
    for name, (grid, bound) in asked.items():
        if name not in out:
            if (release, bound) not in held.counted:
                marginals = outermost([q.marginal for q in planned if q.bound == bound])
                held.counted[release, bound] = grid_counts(held.table, marginals, bound, held.key)
            columns = grid.marginal.columns
            outer = next(c for c in held.counted[release, bound] if set(grid.marginal.axes) <= set(c.marginal.axes))
            out[name] = grid.answer(outer.project(*columns).values)
    return out


def _by_person(held: Held, bound: Bound) -> bool:
    """Whether each person's answers are scaled apart; a record that is its own person is never too long."""
    return bound.rule == "l2" and held.table.schema.person is not None


def noisy_parts(held: Held, priced: Priced, parts: Sequence[Part], weights: Sequence[float]) -> Iterator[Noisy]:
    """The counts of each part with noise level/√weight on their lattice."""
    question = priced.question
    assert isinstance(question, Chosen)
    found = _bounded(held, [part.marginal for part in parts], question.bound)
    for part, weight, counts in zip(parts, weights, found, strict=True):
        level = priced.level / math.sqrt(weight)
        exact = part.merged(counts.values)
        noise = rounded_gaussian(level * question.unit, exact.shape, held.noise)
        about = Histogram(f"{question.name}: {part.marginal}", part.marginal, question.bound, share=weight)
        yield Noisy(about, (exact + noise) / question.unit, level)


def _exact(held: Held, question: Question, matrix: object) -> tuple[Ints, int]:
    """The exact answer as whole units of its lattice, and how many of them make one record."""
    if isinstance(question, Histogram):
        (counts,) = _bounded(held, [question.marginal], question.bound)
        return counts.values, question.bound.unit
    if isinstance(question, Persons):
        return question.labelling.count(held.table, held.key), 1
    if isinstance(question, Linear):
        lattice = on_lattice(matrix, question.marginal, question.marginal.size(held.table.schema))
        order = 2 if question.noise == "gaussian" else 1
        if question.bound.rule != "l2" and (norm := column_norm(lattice, order)) > question.norm:
            raise InputError(
                f"question '{question.name}': a column has norm {norm:.6g}, planned were {question.norm:g}"
            )
        return linear_answers(held.table, question.marginal, lattice, question.bound, held.key)
    if isinstance(question, Scores):
        values = [
            question.score.values([Counts(c.marginal, c.values / question.bound.unit)])
            for c in _bounded(held, question.score.marginals, question.bound)
        ]
        return np.rint(np.concatenate(values) * UNIT).astype(np.int64), UNIT
    raise TypeError(f"the vault knows no question of type {type(question).__name__}")


def _bounded(held: Held, marginals: Sequence[Marginal], bound: Bound) -> Iterator[Counts]:
    """The bounded counts of marginals, a few in each scan: memory holds so many of their cells at a time."""
    schema = held.table.schema
    for few in _few(marginals, schema):
        if schema.person is None:
            yield from held.table.counts(few)
        else:
            yield from bounded_counts(held.table, few, bound, held.key)


def _few(marginals: Sequence[Marginal], schema: Schema) -> Iterator[list[Marginal]]:
    """Marginals in runs of at most `_SCAN`, and of at most `_SCAN_CELLS` cells unless one alone has more."""
    run: list[Marginal] = []
    for marginal in marginals:
        if run and (len(run) == _SCAN or sum(m.size(schema) for m in [*run, marginal]) > _SCAN_CELLS):
            yield run
            run = []
        run.append(marginal)
    if run:
        yield run
