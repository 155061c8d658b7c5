"""What a check of a submission finds: faults, each with how often and where, and notes that fail nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.contest.rows import Mask
from sfumato.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN = 5  # rows of a fault that are named


@dataclass(frozen=True)
class Fault:
    """One rule that is broken: what is wrong, how often, and the first rows where it is (lines of a file)."""

    rule: str
    text: str
    count: int = 1
    rows: tuple[int, ...] = ()
    unit: str = "row"

    def __str__(self) -> str:
        if not self.rows:
            return self.text
        listed = ", ".join(f"{row:,}" for row in self.rows)
        plural = "s" if len(self.rows) > 1 else ""
        return f"{self.text} ({self.unit}{plural} {listed}{' …' if self.count > len(self.rows) else ''})"


@dataclass(frozen=True)
class Checked:
    """The verdict on a submission."""

    sprint: int
    origin: str
    records: Mapping[float, int]
    faults: tuple[Fault, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the contest would take it."""
        return not self.faults

    def require(self) -> None:
        """Raise unless the contest would take it."""
        if self.faults:
            rest = len(self.faults) - 1
            more = f" (and {rest} more fault{'s' if rest > 1 else ''})" if rest else ""
            raise InputError(f"{self.origin} is no valid submission to sprint {self.sprint}: {self.faults[0]}{more}")

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "sprint": self.sprint,
            "submission": self.origin,
            "valid": self.ok,
            "records": {f"{e:g}": n for e, n in self.records.items()},
            "faults": [
                {"rule": f.rule, "text": f.text, "count": f.count, "first": list(f.rows), "in": f.unit}
                for f in self.faults
            ],
            "notes": list(self.notes),
        }

    def render(self) -> RenderableType:
        """What rich prints."""
        from rich.console import Group
        from rich.text import Text

        from sfumato.errors import one_line

        sizes = ", ".join(f"{n:,} at ε = {e:g}" for e, n in self.records.items())
        lines = [Text(f"sprint {self.sprint}, {self.origin}: rows {sizes or 'none'}")]
        lines += [Text(one_line(f"✗ {fault}"), style="red") for fault in self.faults]
        lines += [Text(one_line(f"  {note}"), style="yellow") for note in self.notes]
        lines.append(
            Text("valid: the contest would take it", style="green")
            if self.ok
            else Text(f"not valid: {len(self.faults)} rule{'s' if len(self.faults) > 1 else ''} broken", style="bold")
        )
        return Group(*lines)


@dataclass
class Tally:
    """Broken rules, counted while rows stream past."""

    unit: str = "row"
    _found: dict[tuple[str, str], list[Any]] = field(default_factory=dict)

    def add(self, rule: str, text: str, where: Mask, first: int, example: Iterable[Any] | None = None) -> None:
        """Note that a rule is broken in the rows of a mask, the first of which has this number."""
        at = np.flatnonzero(where)
        if at.size == 0:
            return
        entry = self._found.setdefault((rule, text), [0, [], []])
        entry[0] += int(at.size)
        room = SHOWN - len(entry[1])
        entry[1] += [int(i) + first for i in at[:room]]
        if example is not None:
            values = list(example) if not isinstance(example, np.ndarray) else example
            entry[2] = list(dict.fromkeys([*entry[2], *(_shown(values[int(i)]) for i in at[:SHOWN])]))[:3]

    def note(self, rule: str, text: str, row: int) -> None:
        """Note that a rule is broken in one row."""
        self.add(rule, text, np.ones(1, bool), row)

    def faults(self) -> list[Fault]:
        """What was found, in the order of first sight."""
        out = []
        for (rule, text), (count, rows, examples) in self._found.items():
            such = f", such as {', '.join(examples)}" if examples else ""
            often = f" in {count:,} {self.unit}{'s' if count > 1 else ''}"
            out.append(Fault(rule, text + often + such, count, tuple(rows), self.unit))
        return out


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "nothing" if np.isnan(value) else f"{value:.12g}"
    return "nothing" if value is None else repr(value)[:40]
