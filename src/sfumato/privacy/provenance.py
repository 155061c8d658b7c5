"""How a release came about: what may be told of it, kept in every model and file made from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sfumato._version import __version__


@dataclass(frozen=True)
class Provenance:
    """Method, budget and unit of a release, its entry in the ledger, and whether the promise holds.

    What was made from public data alone has ε = 0 and no entry.
    """

    method: str
    epsilon: float
    delta: float
    unit: str
    private: bool
    release: str
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON, with a warning where the noise was seeded."""
        mark = {} if self.private else {"warning": "NOT PRIVATE: made with seeded noise, for tests alone"}
        return {**mark, **asdict(self)}
