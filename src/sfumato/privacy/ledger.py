"""The ledger: an SQLite file that records what privacy was spent on a dataset.

**Invariant: the file never shows less spent than was released.** An answer may leave the vault only after `charge`
returned, and `charge` returns only after its row was committed to disk and read back. From that all else follows:

- *Two processes at once.* Reading what is spent, deciding and writing are one `BEGIN IMMEDIATE` transaction. SQLite
  grants it to one writer at a time, so no two charges are decided on the same balance.
- *A killed process, a power cut.* Before the commit nothing was released; SQLite rolls the half-written row back when
  the file is next opened. After it the row is on disk (`synchronous=EXTRA`, rollback journal). A kill between commit
  and return wastes budget and hides nothing.
- *A full disk, a failing one.* The commit raises, so `charge` raises and the answer is not released.
- *A damaged or edited file.* Each entry carries the SHA-256 of its content and of the entry before it; numbers have no
  gaps, the last is the one SQLite handed out last, the tables are exactly ours (no triggers) and every value is
  checked. A file that fails any of this is refused: it is neither charged nor repaired.
- *A foreign file.* Nothing is written before a read-only look has found our mark and version. An empty file is not
  taken for a new ledger, nor is a missing one where a journal of a lost ledger lies.
- *A file swapped while in use.* Every call opens the path anew and must find there the last entry it has seen.

What it cannot see: a ledger that was deleted, or put back from an older backup, between two runs, and an edit by one
who computes all hashes anew. The chain is a seal against accidents and careless hands, not a signature; keep `head`
of a statement elsewhere to notice even those. It trusts the file system's locks: keep it on a local disk, as some
network shares only pretend to lock.

An account is one dataset, known by a name its owner gives. All charges under the name compose, whatever file they
came from: a fresh account for a renamed file or an appended row would forget what was released, and naming data by a
hash of its content would tell one who knows all records but one which the last is. A run with seeded noise
(`private=False`) is charged like any other.

`book` reads, checks and writes the entries, `ledger_file` makes and opens the file, `statement` prints.
"""

from __future__ import annotations

import math
import os
import shlex
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

from sfumato.errors import BudgetError, InputError, RunError
from sfumato.privacy.book import (
    APPLICATION_ID,
    FORMAT,
    Book,
    CapChange,
    Charge,
    Entry,
    Release,
    account_name,
    append,
    cost_body,
    read,
    recorded,
    recorded_cap,
)
from sfumato.privacy.budget import Budget, Cost, GaussianCost, compose
from sfumato.privacy.ledger_file import connected, create_if_missing, in_memory, in_sentences

__all__ = [
    "APPLICATION_ID",
    "DEFAULT_ACCOUNT",
    "FORMAT",
    "SEEDED",
    "Account",
    "CapChange",
    "Charge",
    "Ledger",
    "Line",
    "Release",
    "Statement",
    "in_words",
    "rounded_down",
    "rounded_up",
]

DEFAULT_ACCOUNT = "data"
SEEDED = "NOT PRIVATE: seeded noise, publish nothing from it"

_TOLERANCE = 1e-9  # a plan calibrated to the whole cap may miss it by the last bits of its arithmetic


@dataclass(frozen=True)
class Account:
    """What was spent under one name.

    `spent` is the total epsilon at the cap's delta. `remaining` is the cap less that: the epsilon any further release
    may ask for. Gaussian costs add as squares, so where all are Gaussian one more such release may ask for the larger
    `gaussian_room`; it is None where another kind of cost was spent.
    """

    name: str
    cap: Budget
    spent: float
    remaining: float
    gaussian_room: float | None
    releases: int


@dataclass(frozen=True)
class Line:
    """A release with its own epsilon and the running total, both at the cap's delta."""

    release: Release
    epsilon: float
    total: float


@dataclass(frozen=True)
class Statement:
    """All that was spent under one name, oldest first; `head` is the hash of the ledger's last entry."""

    path: str
    persistent: bool
    account: Account
    caps: tuple[CapChange, ...]
    lines: tuple[Line, ...]
    head: str

    def to_dict(self) -> dict[str, Any]:
        """The statement as plain JSON values; an infinite epsilon is the text "infinity"."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Cost):
        return cost_body(value)
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return "infinity" if isinstance(value, float) and not math.isfinite(value) else value


class Ledger:
    """A ledger file: grants charges under a cap and tells what was spent.

    The file is made when it is missing, unless `create=False`. ":memory:" keeps nothing (`persistent` is False): it
    is for experiments. No connection stays open between calls, so a ledger may be shared by threads and forks.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = os.fspath(path)
        if "\0" in self.path:
            raise InputError(f"{self.path!r} cannot name a file; name the file that holds the ledger")
        # The real path: a journal lies beside the file that a link points to.
        self._file = Path(os.path.realpath(self.path))
        self._memory: tuple[sqlite3.Connection, threading.RLock] | None = None  # one connection, for a thread at a time
        self._seen: Entry | None = None
        self._closed = False
        if path == ":memory:":
            self._memory = in_memory(), threading.RLock()
        elif create:
            create_if_missing(self._file)
        self._read()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool = True) -> Ledger:
        """The ledger at a path; the same as `Ledger(path)`."""
        return cls(path, create=create)

    @property
    def persistent(self) -> bool:
        """Whether the ledger outlives the program."""
        return self._memory is None

    def close(self) -> None:
        """Nothing; afterwards the ledger refuses every call."""
        self._closed = True
        if self._memory is not None:
            self._memory[0].close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def charge(
        self,
        account: str,
        budget: Budget,
        charges: Sequence[Charge],
        *,
        method: str,
        unit: str,
        fingerprint: str,
        version: str,
        private: bool = True,
        note: str = "",
    ) -> Release:
        """The release, recorded on disk: only after this returns may an answer be given.

        The first release under a name sets its cap. One that would exceed the cap raises BudgetError and leaves the
        file as it was.
        """
        name = account_name(account)
        # Its number and time are known once it is written.
        draft = Release(0, name, "", method, unit, fingerprint, budget, private, version, note, tuple(charges))
        wanted = recorded(draft)
        with self._session("BEGIN IMMEDIATE") as (connection, book):
            book.refuse_lookalike(name)
            opened = name in book.caps
            self._refuse_overspending(wanted, book.cap(name) if opened else wanted.budget, book.costs(name))
            last = append(connection, book, name, [wanted] if opened else [wanted.budget, wanted])
        self._confirm(last)
        return replace(wanted, id=last.number, time=last.time)

    def set_cap(self, account: str, budget: Budget) -> None:
        """Nothing; the account's cap is then this budget, and the change is on record. Opens the account if need be."""
        name, cap = account_name(account), recorded_cap(budget)
        with self._session("BEGIN IMMEDIATE") as (connection, book):
            book.refuse_lookalike(name)
            spent = _epsilon(book.costs(name), cap.delta)
            if not _within(spent, cap.epsilon):
                raise InputError(
                    f"The cap of account {name!r} cannot be {in_words(cap)}: ε = {rounded_up(spent)} is already spent "
                    f"at that δ; give a cap of at least that"
                )
            last = append(connection, book, name, [cap])
        self._confirm(last)

    def accounts(self) -> list[Account]:
        """Every account in the ledger, in the order they were opened."""
        book = self._read()
        return [_account(book, name) for name in book.caps]

    def releases(self, account: str = DEFAULT_ACCOUNT) -> list[Release]:
        """The releases of an account, oldest first."""
        name = account_name(account)
        return list(self._known(name).releases[name])

    def remaining(self, account: str = DEFAULT_ACCOUNT) -> float:
        """The epsilon, at the cap's delta, that any further release of the account may ask for."""
        name = account_name(account)
        return _account(self._known(name), name).remaining

    def statement(self, account: str = DEFAULT_ACCOUNT) -> Statement:
        """What was spent under a name, release by release, as data; `render` shows it."""
        name = account_name(account)
        book = self._known(name)
        holder = _account(book, name)
        lines = tuple(_lines(book.releases[name], holder.cap.delta))
        return Statement(self.path, self.persistent, holder, tuple(book.caps[name]), lines, book.entries[-1].hash)

    def _read(self) -> Book:
        with self._session("BEGIN") as (_, book):
            return book

    def _known(self, name: str) -> Book:
        book = self._read()
        if name not in book.caps:
            known = ", ".join(repr(known) for known in book.caps) or "none yet"
            raise InputError(f"Ledger {self.path} has no account {name!r}; its accounts: {known}")
        return book

    def _refuse_overspending(self, wanted: Release, cap: Budget, before: list[Cost]) -> None:
        budget, new = wanted.budget, [charge.cost for charge in wanted.charges]
        own = _epsilon(new, budget.delta)
        if any(isinstance(cost, GaussianCost) for cost in new) and min(cap.delta, budget.delta) == 0:
            which = f"cap of account {wanted.account!r}" if cap.delta == 0 else "budget of this release"
            raise BudgetError(
                f"The {which} has δ = 0, which no Gaussian noise can meet; "
                f"use a method with Laplace noise, or give a δ above 0"
            )
        if not _within(own, budget.epsilon):
            raise BudgetError(
                f"The charges of this release cost ε = {rounded_up(own)} at δ = {budget.delta:g}, more than "
                f"its own budget ε = {rounded_down(budget.epsilon)}; ask fewer questions, add noise or give it more"
            )
        total = _epsilon([*before, *new], cap.delta)
        if not _within(total, cap.epsilon):
            raise BudgetError(self._overspent(wanted, cap, _epsilon(before, cap.delta), total))

    def _overspent(self, wanted: Release, cap: Budget, spent: float, total: float) -> str:
        option = "" if wanted.account == DEFAULT_ACCOUNT else f" --account {shlex.quote(wanted.account)}"
        return (
            f"Account {wanted.account!r} has spent ε = {rounded_up(spent)} at δ = {cap.delta:g} and this release asks "
            f"for {in_words(wanted.budget)}, together ε = {rounded_up(total)}, above the cap "
            f"ε = {rounded_down(cap.epsilon)}; if its people may lose that much, raise the cap: "
            f"`sfumato ledger cap {shlex.quote(self.path)}{option} --epsilon {rounded_up(total)} --delta {cap.delta!r}`"
        )

    @contextmanager
    def _session(self, begin: str) -> Iterator[tuple[sqlite3.Connection, Book]]:
        """A transaction and the book it sees, checked; commits unless the block raises."""
        if self._closed:
            raise InputError(f"Ledger {self.path} was closed; open it again")
        seen = self._seen  # taken before the snapshot: another thread may move it on meanwhile
        with in_sentences(self._file), self._connection() as connection:
            connection.execute(begin)
            try:
                book = read(connection, self._file)
                self._refuse_other_file(book, seen)
                yield connection, book
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
        self._seen = book.entries[-1]

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self._memory is None:
            with connected(self._file) as connection:
                yield connection
        else:
            connection, lock = self._memory
            with lock:
                yield connection

    def _refuse_other_file(self, book: Book, seen: Entry | None) -> None:
        if seen is not None and not book.holds(seen):
            raise InputError(
                f"Ledger {self._file} is no longer the file it was: entry {seen.number} is gone or another; "
                f"nothing was charged: put the right file back and run again"
            )

    def _confirm(self, last: Entry) -> None:
        """Raise unless a fresh look at the path finds the entry, and so all that it is sealed onto."""
        if not self._read().holds(last):
            raise RunError(
                f"Ledger {self._file} does not hold what was just written to it; nothing may be released: "
                f"check the disk and that nothing else replaces the file"
            )


# --- Sums ------------------------------------------------------------------------------------------------------------


def _epsilon(costs: Sequence[Cost], delta: float) -> float:
    """The total epsilon at delta; infinity where arithmetic fails, so that doubt counts as spent."""
    if not costs:
        return 0.0
    try:
        total = compose(costs, delta)
    except (ArithmeticError, ValueError):
        return math.inf
    return total if total >= 0 else math.inf


def _within(epsilon: float, cap: float) -> bool:
    return epsilon <= cap * (1 + _TOLERANCE)


def _account(book: Book, name: str) -> Account:
    cap, costs = book.cap(name), book.costs(name)
    spent = _epsilon(costs, cap.delta)
    remaining = max(0.0, cap.epsilon - spent)
    return Account(name, cap, spent, remaining, _gaussian_room(costs, cap), len(book.releases[name]))


def _gaussian_room(costs: Sequence[Cost], cap: Budget) -> float | None:
    """The epsilon of the largest single Gaussian release that still fits, or None where not all is Gaussian."""
    spent = [cost.mu for cost in costs if isinstance(cost, GaussianCost)]
    if len(spent) < len(costs) or math.isinf(_epsilon([GaussianCost(1.0)], cap.delta)):
        return None
    left = math.sqrt(max(0.0, cap.mu**2 - math.hypot(*spent) ** 2))
    return _epsilon([GaussianCost(left)], cap.delta)


def _lines(releases: Sequence[Release], delta: float) -> Iterator[Line]:
    so_far: list[Cost] = []
    for release in releases:
        own = [charge.cost for charge in release.charges]
        so_far += own
        yield Line(release, _epsilon(own, delta), _epsilon(so_far, delta))


# --- Numbers in words ------------------------------------------------------------------------------------------------


def in_words(budget: Budget) -> str:
    """The budget as it stands in a sentence."""
    return f"ε = {budget.epsilon:.6g} at δ = {budget.delta:g}"


def rounded_up(value: float) -> str:
    """The number in four digits, never less than it is: for what is spent."""
    return _digits(value, ROUND_CEILING)


def rounded_down(value: float) -> str:
    """The number in four digits, never more than it is: for what is left. Nothing can be done with a billionth."""
    return _digits(value if value >= 1e-9 else 0.0, ROUND_FLOOR)


def _digits(value: float, rounding: str) -> str:
    if value == 0 or not math.isfinite(value):
        return "∞" if value else "0"
    exact = Decimal(f"{value:.12g}")  # first without the last bits of the arithmetic, else 0.1 + 0.2 is above 0.3
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), rounding)):.4g}"
