"""The book: what a ledger's file holds, entry by entry, each sealed onto the one before.

**Invariant: a `Book` holds what was written, all of it, in order, and nothing else.** `read` gives one back only after
it has found that

- the pages add up, and the tables are exactly ours: no other table, no trigger, no loosened column;
- the entries are numbered 1, 2, 3 ... and the last is the one SQLite handed out last, so none is missing;
- each carries the SHA-256 of its content and of the seal before it;
- each is one that `append` could have written: canonical JSON, numbers in their range, texts of one line, a release
  only under a cap.

At the first thing that is otherwise it raises InputError and repairs nothing. `append` writes the next entries; its
caller holds the transaction, checks first, and commits.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import sqlite3
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import InputError
from sfumato.files import LEDGER_MARK
from sfumato.privacy.budget import Budget, Cost, GaussianCost, PureCost

APPLICATION_ID = LEDGER_MARK
FORMAT = 1
BACKUP = "restore it from a backup that holds every release"

_TABLE = (
    "CREATE TABLE entry(number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, account TEXT NOT NULL, "
    "kind TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL)"
)


@dataclass(frozen=True)
class Charge:
    """One noisy question and what it costs; `noise` is σ or the scale, in counts."""

    question: str
    columns: str
    mechanism: str
    bound: str
    sensitivity: float
    noise: float
    cost: Cost


@dataclass(frozen=True)
class Release:
    """One entry of the ledger: all charges of one run, recorded before any of its answers was given."""

    id: int
    account: str
    time: str
    method: str
    unit: str
    fingerprint: str
    budget: Budget
    private: bool
    version: str
    note: str
    charges: tuple[Charge, ...]


@dataclass(frozen=True)
class CapChange:
    """A cap and the time from which it held."""

    id: int
    time: str
    cap: Budget


class Entry(NamedTuple):
    """A row of the file: something that happened to an account, as JSON, and its seal."""

    number: int
    time: str
    account: str
    kind: str
    body: str
    hash: str


@dataclass
class Book:
    """The checked content of a ledger."""

    entries: list[Entry] = field(default_factory=list)
    caps: dict[str, list[CapChange]] = field(default_factory=dict)
    releases: defaultdict[str, list[Release]] = field(default_factory=lambda: defaultdict(list))

    def holds(self, entry: Entry) -> bool:
        """Whether this very entry is in the book, and with it all that it is sealed onto."""
        return entry.number <= len(self.entries) and self.entries[entry.number - 1] == entry

    def cap(self, name: str) -> Budget:
        """The cap that holds now for a known account."""
        return self.caps[name][-1].cap

    def costs(self, name: str) -> list[Cost]:
        """Every cost ever charged under a name."""
        return [charge.cost for release in self.releases[name] for charge in release.charges]

    def refuse_lookalike(self, name: str) -> None:
        """Raise if the name is new but for its case an account's: a slip must not open a fresh account."""
        if name in self.caps:
            return
        for known in self.caps:
            if known.casefold() == name.casefold():
                raise InputError(f"Account {name!r} differs from {known!r} in letter case only; use {known!r}")

    def take(self, entry: Entry) -> None:
        """Nothing; the book then holds the entry too. Raises ValueError or KeyError if it makes no sense there."""
        if (entry.kind == "opened") != (entry.number == 1):
            raise ValueError("only the first entry opens the ledger")
        if entry.kind != "opened":
            self._take_event(entry)
        self.entries.append(entry)

    def _take_event(self, entry: Entry) -> None:
        body = _parsed(entry.body)
        if account_name(entry.account) != entry.account:
            raise ValueError("the account's name is not in normal form")
        if entry.kind == "cap":
            change = CapChange(entry.number, entry.time, _to_budget(body))
            self.caps.setdefault(entry.account, []).append(change)
        elif entry.kind == "release" and entry.account in self.caps:
            release = _to_release(entry.number, entry.account, entry.time, body)
            self.releases[entry.account].append(release)
        else:
            raise ValueError("neither a cap nor a release under one")


# --- Reading ---------------------------------------------------------------------------------------------------------


def read(connection: sqlite3.Connection, path: Path) -> Book:
    """The checked content of the file; raises InputError at the first thing that is not as we wrote it."""
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != ("ok",):
        raise InputError(damaged(path, "its pages are broken"))
    objects = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    if [row[:2] for row in objects] != [("table", "entry"), ("table", "sqlite_sequence")] or objects[0][2] != _TABLE:
        raise InputError(f"Ledger {path} has been altered: its tables are not as they were made; {BACKUP}")
    book, seal = Book(), ""
    for row in connection.execute("SELECT number, time, account, kind, body, hash FROM entry ORDER BY number"):
        number = len(book.entries) + 1
        try:
            book.take(_checked_entry(row, number, seal))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(_altered(path, number, reason)) from None
        seal = book.entries[-1].hash
    handed_out = connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    if not book.entries or handed_out != [("entry", len(book.entries))]:
        raise InputError(_altered(path, len(book.entries) + 1, "the last entries are missing"))
    return book


def _checked_entry(row: Sequence[Any], number: int, previous: str) -> Entry:
    if type(row[0]) is not int or any(type(value) is not str for value in row[1:]):
        raise ValueError("a value is of the wrong type")
    entry = Entry(*row)
    if entry.number != number:
        raise ValueError("an entry is missing")
    if entry.hash != _hash(previous, *entry[:-1]):
        raise ValueError("its content does not match its seal")
    if datetime.fromisoformat(entry.time).utcoffset() != timedelta(0):
        raise ValueError("its time is not in UTC")
    return entry


def damaged(path: Path, reason: str) -> str:
    """What to say of a file that SQLite cannot read as it stands."""
    return f"Ledger {path} is damaged ({reason}); nothing was charged: {BACKUP}"


def _altered(path: Path, number: int, reason: str) -> str:
    return f"Ledger {path} has been altered at entry {number} ({reason}); nothing was charged: {BACKUP}"


# --- Writing ---------------------------------------------------------------------------------------------------------


def begin(connection: sqlite3.Connection) -> None:
    """Nothing; the empty database is then a ledger with its first entry, or as empty as it was."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute(_TABLE)
    _write(connection, None, "", "opened", {"format": FORMAT, "id": secrets.token_hex(16)})
    connection.execute("COMMIT")


def append(connection: sqlite3.Connection, book: Book, account: str, events: Iterable[Budget | Release]) -> Entry:
    """The last of the new entries, one for each cap (a budget) or release: all written, none committed yet."""
    last = book.entries[-1]
    for event in events:
        kind, body = ("cap", _budget_body(event)) if isinstance(event, Budget) else ("release", _release_body(event))
        last = _write(connection, last, account, kind, body)
    return last


def _write(
    connection: sqlite3.Connection, last: Entry | None, account: str, kind: str, body: Mapping[str, Any]
) -> Entry:
    number, seal = (last.number + 1, last.hash) if last else (1, "")
    content = (number, datetime.now(UTC).isoformat(timespec="seconds"), account, kind, _canonical(body))
    entry = Entry(*content, _hash(seal, *content))
    connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?)", entry)
    return entry


def _hash(previous: str, *content: int | str) -> str:
    return hashlib.sha256(_canonical([previous, *content]).encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


# --- From data to JSON and back --------------------------------------------------------------------------------------


def recorded(release: Release) -> Release:
    """The release as the ledger would give it back; raises InputError if it would refuse to."""
    with _in_a_sentence():
        return _to_release(release.id, release.account, release.time, _release_body(release))


def recorded_cap(cap: Budget) -> Budget:
    """The cap as the ledger would give it back; raises InputError if it would refuse to."""
    with _in_a_sentence():
        return _to_budget(_budget_body(cap))


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"The ledger cannot record this: {error}; nothing was charged") from None


def _release_body(release: Release) -> dict[str, Any]:
    texts = {name: one_line(getattr(release, name)) for name in ("method", "unit", "fingerprint", "version", "note")}
    charges = [_charge_body(charge) for charge in release.charges]
    return {**texts, "budget": _budget_body(release.budget), "private": bool(release.private), "charges": charges}


def _charge_body(charge: Charge) -> dict[str, Any]:
    texts = {name: one_line(getattr(charge, name)) for name in ("question", "columns", "mechanism", "bound")}
    numbers = {"sensitivity": float(charge.sensitivity), "noise": float(charge.noise)}
    return {**texts, **numbers, "cost": cost_body(charge.cost)}


def cost_body(cost: Cost) -> dict[str, Any]:
    """The cost as plain JSON values."""
    if isinstance(cost, GaussianCost):
        return {"kind": "gaussian", "mu": float(cost.mu)}
    if isinstance(cost, PureCost):
        return {"kind": "pure", "epsilon": float(cost.epsilon)}
    raise InputError(f"A charge costs {cost!r}, which the ledger cannot add up; give a GaussianCost or a PureCost")


def _budget_body(budget: Budget) -> dict[str, Any]:
    return {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}


def _parsed(body: str) -> dict[str, Any]:
    """The JSON object; raises ValueError unless the text is exactly what we would have written for it."""
    value = _object(json.loads(body))
    if _canonical(value) != body:
        raise ValueError("its content is not in our form")
    return value


def _to_release(number: int, account: str, moment: str, body: dict[str, Any]) -> Release:
    if not isinstance(body["charges"], list) or not body["charges"]:
        raise ValueError("a release needs at least one charge")
    if type(body["private"]) is not bool:
        raise ValueError("private must be true or false")
    texts = {name: _text(body, name) for name in ("method", "unit", "fingerprint", "version", "note")}
    charges = tuple(_to_charge(_object(charge)) for charge in body["charges"])
    budget = _to_budget(_object(body["budget"]))
    return Release(number, account, moment, budget=budget, private=body["private"], charges=charges, **texts)


def _to_charge(body: dict[str, Any]) -> Charge:
    texts = {name: _text(body, name) for name in ("question", "columns", "mechanism", "bound")}
    sensitivity, noise = _positive(body, "sensitivity"), _positive(body, "noise")
    return Charge(sensitivity=sensitivity, noise=noise, cost=_to_cost(_object(body["cost"])), **texts)


def _to_cost(body: dict[str, Any]) -> Cost:
    if body["kind"] == "gaussian":
        return GaussianCost(_positive(body, "mu"))
    if body["kind"] == "pure":
        return PureCost(_positive(body, "epsilon"))
    raise ValueError("a cost is of an unknown kind")


def _to_budget(body: dict[str, Any]) -> Budget:
    epsilon, delta = _positive(body, "epsilon"), body["delta"]
    if type(delta) is not float or not 0 <= delta < 1:
        raise ValueError("delta must be at least 0 and below 1")
    return Budget(epsilon, delta)


def _positive(body: dict[str, Any], name: str) -> float:
    value = body[name]
    if type(value) is not float or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a number above 0 and finite")
    return value


def _text(body: dict[str, Any], name: str) -> str:
    value = body[name]
    if type(value) is not str or value != one_line(value):
        raise ValueError(f"{name} must be a text of printable characters")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a part of it is not an object")
    return value


def one_line(text: str) -> str:
    """The text on one line, without characters that steer a terminal: column names come from anywhere."""
    return "".join(" " if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} else char for char in str(text))


def account_name(name: str) -> str:
    """The name in Unicode's composed form, so that it is one name however it was typed."""
    normal = unicodedata.normalize("NFC", name)
    if not normal or normal != normal.strip() or normal != one_line(normal) or len(normal) > 200:
        raise InputError(
            f"{name!r} cannot name an account; give 1 to 200 characters on one line, without spaces at either end"
        )
    return normal
