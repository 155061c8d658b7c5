"""What a page may hold that anyone may read: the synthetic table, its provenance, the ledger, the schema, the map.

Nothing in this module takes the truth, and nothing it imports can open it for the page: an import contract holds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.columns import Place
from sfumato.errors import InputError
from sfumato.export import read_about
from sfumato.maps import Areas, Drawing, Map, tiles
from sfumato.places import areas_of
from sfumato.privacy.ledger import Ledger, Line, Statement
from sfumato.privacy.provenance import Provenance
from sfumato.report.noise import Noise
from sfumato.report.reading import Reading, Seen, read_release
from sfumato.schema import Schema


@dataclass(frozen=True)
class Release:
    """A synthetic table with all that may be told of it."""

    name: str
    schema: Schema
    reading: Reading
    provenance: Provenance | None
    statement: Statement | None
    areas: Mapping[str, Areas]
    """The shapes of each place column that has a map."""

    @property
    def line(self) -> Line | None:
        """This release's entry in the ledger."""
        if self.statement is None or self.provenance is None:
            return None
        return next((x for x in self.statement.lines if _tag(x) == self.provenance.release), None)

    @cached_property
    def noise(self) -> Noise:
        """How large the noise in this release is; nothing is known of it without the ledger."""
        return Noise.of(self.schema, self.line.release.charges if self.line else ())

    def titles(self, seen: Seen) -> list[str]:
        """What to call the bins of a column: their names in the schema, else on the map, else the values."""
        titles, areas = seen.titles, self.areas.get(seen.name)
        if areas is None or (isinstance(seen.column, Place) and seen.column.names and seen.finest):
            return titles
        return [name or title for name, title in zip(areas.names, titles, strict=True)]

    def drawing(self, seen: Seen) -> Drawing:
        """The places as shapes, or as a grid of tiles where there is no map."""
        areas = self.areas.get(seen.name)
        return areas.drawing() if areas is not None else tiles(seen.size)


def open_release(
    synthetic: Any,
    schema: Schema,
    map: Any = None,
    key: str | None = None,
    ledger: Any = None,
    account: str | None = None,
    provenance: Provenance | None = None,
) -> Release:
    """The release in a table and in the files beside it, checked against each other."""
    found = provenance or _provenance(synthetic)
    reading = read_release(synthetic, schema)
    statement = _statement(ledger, account, found)
    made = Release(_name(synthetic), schema, reading, found, statement, _areas(reading, map, key))
    if statement is not None and found is not None and made.line is None:
        raise InputError(
            f"{statement.path} has no release '{found.release}', which the synthetic table says it is; "
            "give the ledger that paid for it"
        )
    return made


def _tag(line: Line) -> str:
    """How a file names the entry of the ledger that it comes from."""
    return f"{line.release.account}/{line.release.id}"


def _provenance(data: Any) -> Provenance | None:
    about = read_about(data)
    if about is None:
        return None
    try:
        return Provenance.from_dict(about)
    except (InputError, KeyError, TypeError, ValueError):
        raise InputError(f"{_name(data)}: what it says of its own making cannot be read; write the file anew") from None


def _name(data: Any) -> str:
    """What to call the table on the page: a file by its name, without the folders that lead to it."""
    if isinstance(data, str | os.PathLike):
        return Path(os.fspath(data).partition("::")[0]).name
    return "a table in memory"


def _statement(ledger: Any, account: str | None, provenance: Provenance | None) -> Statement | None:
    """The statement of the account that paid for the release."""
    if ledger is None:
        return None
    book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger, create=False)
    name = account or (provenance.release.rpartition("/")[0] if provenance else None)
    if name is None:
        names = [a.name for a in book.accounts()]
        if len(names) != 1:
            raise InputError(f"{book.path} has {len(names)} accounts; say which one as account")
        name = names[0]
    statement = book.statement(name)
    return replace(statement, path=Path(statement.path).name)


def _areas(reading: Reading, given: Any, key: str | None) -> dict[str, Areas]:
    """The shapes of every place column: on the map that is given, or on the one that the schema names."""
    places = [s for s in reading.seen if isinstance(s.column, Place)]
    if given is not None and not places:
        raise InputError("the table has no column of kind place, so nothing can be shown on a map; leave the map out")
    out: dict[str, Areas] = {}
    drawn = None if given is None else given if isinstance(given, Map) else _map(given)
    errors = []
    for seen in places:
        column = seen.column
        assert isinstance(column, Place)
        try:
            found = areas_of(column, drawn, key)
        except InputError as error:
            errors.append(error)
            continue
        if found is None:
            continue
        if not seen.finest:
            groups, labels = column.coarsen(seen.level), column.labels(seen.level)
            found = found.grouped(np.asarray(groups), labels)
        out[seen.name] = found
    if errors and not out:
        raise errors[0]
    return out


def _map(given: Any) -> Map:
    return Map.of(given) if isinstance(given, Mapping) else Map.load(given)
