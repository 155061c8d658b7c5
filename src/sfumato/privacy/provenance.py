"""How a release came about: what may be told of it, kept in every model and file made from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sfumato._version import __version__
from sfumato.errors import InputError


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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Provenance:
        """What `to_dict` gave; raises InputError, KeyError, TypeError or ValueError where it is something else."""
        made = cls(**{f.name: data[f.name] for f in fields(cls)})
        texts = (made.method, made.unit, made.release, made.version)
        sound = 0 <= float(made.epsilon) < math.inf and 0 <= float(made.delta) < 1
        if not (sound and isinstance(made.private, bool) and all(isinstance(text, str) for text in texts)):
            raise InputError("its provenance is not one")
        return made
