"""Behind the door: what each vault holds, and how a thing that must not be copied says so.

Nothing but the rooms of the vault may import this.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Never
from weakref import WeakKeyDictionary

from numpy.random import Generator

from sfumato.bounds import Bound
from sfumato.errors import InputError
from sfumato.marginal import Counts
from sfumato.privacy.ledger import Ledger
from sfumato.table import Table


class Sealed:
    """Neither copied nor pickled: a copy could be asked what the original was asked."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> Never:
        raise InputError(f"the {type(self).__name__.lower()} of a private table cannot be copied or pickled")


@dataclass
class Held:
    """What stays behind the door."""

    table: Table
    ledger: Ledger
    noise: Generator
    key: str
    process: int
    counted: dict[tuple[str, Bound], list[Counts]] = field(default_factory=dict)  # exact, for the grids of a release


class Door(WeakKeyDictionary[Sealed, Held]):
    """What each vault holds, for the process that opened it."""

    def __getitem__(self, vault: Sealed) -> Held:
        held = super().__getitem__(vault)
        if held.process != os.getpid():
            raise InputError(
                "a vault answers only in the process that opened it: a forked copy would repeat its noise; "
                "open one in the process that asks"
            )
        return held


HELD = Door()
