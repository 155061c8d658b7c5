"""What a metric is: settings that compare a synthetic table with the truth and give a score that explains itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sfumato.schema import Schema


class Score(Protocol):
    """One number, and what is behind it. Where the truth is private, all of it is private."""

    @property
    def value(self) -> float:
        """The number."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON, with the name of the metric and what is behind the number."""
        ...

    def render(self, top: int) -> RenderableType:
        """What rich prints: the number, what it means, and the `top` largest contributions."""
        ...


class Metric(Protocol):
    """A way to compare two tables: a frozen dataclass whose first field is the schema, the rest its settings."""

    @property
    def schema(self) -> Schema:
        """What both tables are read by."""
        ...

    def score(self, truth: Any, synthetic: Any) -> Score:
        """How far the synthetic table is from the truth; both are anything a table can be (`sfumato.Table.open`)."""
        ...
