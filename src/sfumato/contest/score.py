"""The score of a submission: one number, that of every ε, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.metrics.base import Score
from sfumato.metrics.listing import headline, listing

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class ContestScore:
    """What the contest would have given. Where the truth is private, all of it is private.

    `value` is the score, of at most `full`; `per_epsilon` that of each run, `parts` what each is made of, `details` the
    scores of the metrics behind it, place by place.
    """

    sprint: int
    value: float
    full: float
    per_epsilon: Mapping[float, float]
    parts: Mapping[float, Mapping[str, float]]
    details: Mapping[float, Mapping[str, Score]]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "sprint": self.sprint,
            "value": self.value,
            "full": self.full,
            "per_epsilon": {f"{e:g}": v for e, v in self.per_epsilon.items()},
            "parts": {f"{e:g}": dict(parts) for e, parts in self.parts.items()},
            "details": {f"{e:g}": {n: s.to_dict() for n, s in found.items()} for e, found in self.details.items()},
        }

    def render(self, top: int = 0) -> RenderableType:
        """The score, a line for each ε, and the `top` worst places of the last one."""
        from rich.console import Group

        each = self.full / (len(self.per_epsilon) if self.sprint == 1 else 1)
        names = list(next(iter(self.parts.values()), {}))
        rows = [
            (f"{e:g}", f"{self.per_epsilon[e]:,.2f}", *(f"{parts[n]:.4f}" for n in names))
            for e, parts in self.parts.items()
        ]
        lines = [
            headline(f"sprint {self.sprint}", f"{self.value:,.2f}", f"of {self.full:,.0f}"),
            listing(["ε#", f"score of {each:,.0f}#", *(f"{n}#" for n in names)], rows),
        ]
        if top and self.details:
            epsilon, found = list(self.details.items())[-1]
            for score in found.values():
                lines += ["", f"ε = {epsilon:g}", score.render(top)]
        return Group(*lines)
