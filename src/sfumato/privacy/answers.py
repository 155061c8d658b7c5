"""Answers: what a charged plan may be asked, each question once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from sfumato.errors import InputError, RunError
from sfumato.grid import Grid
from sfumato.privacy.door import HELD, Sealed
from sfumato.privacy.exact import Noisy, noisy_answer, noisy_grids, noisy_norms, noisy_parts
from sfumato.privacy.plan import Priced
from sfumato.privacy.provenance import Provenance
from sfumato.privacy.questions import Chosen, Gridded, Linear, Norms, Part, Question
from sfumato.schema import Schema

P = ParamSpec("P")
T = TypeVar("T")
CHARGED = object()  # who holds it has charged the ledger


def one_at_a_time(
    ask: Callable[Concatenate[Answers, P], T],
) -> Callable[Concatenate[Answers, P], T]:
    """A method of `Answers` that one thread runs at a time: two at once would both find a question not answered yet."""

    @wraps(ask)
    def alone(self: Answers, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return ask(self, *args, **kwargs)

    return alone


class Answers(Sealed):
    """The noisy answers of a charged plan, by the names of its questions; `Vault.ask` makes them."""

    def __init__(
        self, vault: Sealed, schema: Schema, priced: Mapping[str, Priced], provenance: Provenance, seal: object
    ):
        if seal is not CHARGED:
            raise InputError("answers come from Vault.ask, which charges the ledger for them")
        self._lock = threading.RLock()
        self._vault = vault
        self.schema = schema
        self._priced = priced
        self._given: dict[str, Noisy] = {}
        self._chosen: set[str] = set()
        self.provenance = provenance

    def __contains__(self, name: object) -> bool:
        return name in self._priced

    def level(self, name: str) -> float:
        """The σ or the scale of a question's noise, known before it is asked."""
        return self._find(name).level

    @one_at_a_time
    def __getitem__(self, name: str) -> Noisy:
        """The answer to a question."""
        priced = self._find(name)
        if isinstance(priced.question, Linear):
            raise InputError(f"question '{name}' needs its matrix; ask for it with linear('{name}', matrix)")
        if isinstance(priced.question, Chosen):
            raise InputError(f"question '{name}' needs its marginals; ask for it with chosen('{name}', parts)")
        if isinstance(priced.question, Gridded | Norms):
            ask = "grids" if isinstance(priced.question, Gridded) else "norms"
            raise InputError(f"question '{name}' needs its grid; ask for it with {ask}({{'{name}': grid}})")
        return self._give(name, priced, None)

    @one_at_a_time
    def linear(self, name: str, matrix: object) -> Noisy:
        """The answers A·x to a linear question, for a dense or sparse matrix with a column for each cell."""
        priced = self._find(name)
        if not isinstance(priced.question, Linear):
            raise InputError(f"question '{name}' takes no matrix")
        if name in self._given:
            raise InputError(f"question '{name}' has been answered; another matrix would need another question")
        return self._give(name, priced, matrix)

    @one_at_a_time
    def chosen(self, name: str, parts: Sequence[Part]) -> list[Noisy]:
        """The counts of the marginals chosen for a question, each with the noise that its weight buys."""
        priced = self._find(name)
        if not isinstance(priced.question, Chosen):
            raise InputError(f"question '{name}' takes no marginals")
        if name in self._chosen:
            raise InputError(f"question '{name}' has been answered; other marginals would need another question")
        weights = priced.question.weighed(parts, self.schema)
        self._chosen.add(name)
        return list(noisy_parts(HELD[self._vault], priced, parts, weights))

    @one_at_a_time
    def grids(self, asked: Mapping[str, Grid], limits: Mapping[str, float] | None = None) -> dict[str, Noisy]:
        """The answers to several gridded questions, read in one scan.

        `limits` has the C of l2(C) for each question whose bound the plan leaves open.
        """
        found = {name: self._gridded(name, grid, Gridded) for name, grid in asked.items()}
        planned = [p.question for p in self._priced.values() if isinstance(p.question, Gridded)]
        given = noisy_grids(HELD[self._vault], planned, found, limits or {}, self.provenance.release)
        self._given |= given
        return given

    @one_at_a_time
    def norms(self, asked: Mapping[str, Grid]) -> dict[str, Noisy]:
        """How many persons have answers of which Euclidean norm to each grid, read in one scan."""
        found = {name: self._gridded(name, grid, Norms) for name, grid in asked.items()}
        given = noisy_norms(HELD[self._vault], found)
        self._given |= given
        return given

    def _gridded(self, name: str, grid: Grid, kind: type[Question]) -> tuple[Priced, Grid]:
        """A question of this kind, and a copy of its grid that nobody else can change, after checking that it may."""
        priced = self._find(name)
        question = priced.question
        if not isinstance(question, kind) or not isinstance(question, Gridded | Norms):
            raise InputError(f"question '{name}' takes no grid here")
        if name in self._given:
            raise InputError(f"question '{name}' has been answered; another grid would need another question")
        if grid.marginal != question.marginal:
            raise InputError(f"question '{name}' is about {question.marginal}, not about {grid.marginal}")
        shape = question.marginal.shape(self.schema)
        own = Grid(question.marginal, {tuple(c): np.array(mask) for c, mask in grid.fine.items()})
        if own.fine[own.marginal.columns].shape != shape:
            raise InputError(f"question '{name}': the grid's cells are not those of {question.marginal}")
        if own.norm() > 1 + 1e-12:
            raise InputError(f"question '{name}': a column has norm {own.norm():.6g}, which may be 1 at most")
        return priced, own

    def _find(self, name: str) -> Priced:
        if name not in self._priced:
            raise InputError(f"the plan has no question '{name}'; it has {', '.join(self._priced)}")
        return self._priced[name]

    def _give(self, name: str, priced: Priced, matrix: object) -> Noisy:
        if name not in self._given:
            try:
                self._given[name] = noisy_answer(HELD[self._vault], priced, matrix)
            except (InputError, RunError) as error:
                if matrix is not None:
                    raise
                spent = f"release {self.provenance.release} was charged before and stays in the ledger"
                raise type(error)(f"{error}; {spent}") from None
        return self._given[name]
