"""The ledger's file: made whole or not at all, recognised before it is touched, opened so that a commit lasts.

**Invariant: nothing but a ledger of our format is ever written to, and no ledger is ever written over.**

- *Making one.* The whole ledger is first written under a name nobody else knows; then the real name is taken by making
  an empty file there, which fails where one exists; only the one who made it replaces it. A kill in between leaves an
  empty file, which is refused from then on. Where a journal lies beside a missing ledger, one was lost: none is made.
- *Recognising one.* A look that takes no lock, writes nothing and plays no journal back must find our mark and format.
- *Opening one.* Rollback journal, every commit synced to disk with its folder.

What SQLite and the system raise becomes one sentence here (`in_sentences`): InputError where the file is at fault,
RunError where the moment is (a full disk, another writer).
"""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sfumato.errors import InputError, RunError
from sfumato.files import database_mark
from sfumato.privacy.book import APPLICATION_ID, BACKUP, FORMAT, begin, damaged, one_line

_WAIT = 30.0  # seconds to wait for another writer
_PRAGMAS = (
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "synchronous = EXTRA",  # also syncs the folder after the journal is gone: the commit is then on disk
    "fullfsync = ON",  # macOS: a plain fsync stops at the drive's cache
)
_NOT_TEXT = "its text is not UTF-8"


# --- Opening ---------------------------------------------------------------------------------------------------------


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the ledger at the path, once it was recognised as one; closed afterwards."""
    _recognise(path)
    with closing(_connect(path)) as connection:
        yield connection


def in_memory() -> sqlite3.Connection:
    """A new ledger that is gone when its connection is; any thread may use it, one at a time."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    begin(connection)
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_WAIT, isolation_level=None)
    try:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        # Someone may have switched the file to a write-ahead log, whose commits are not durable one by one.
        if connection.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
            raise RunError(f"Ledger {path} could not be set to a rollback journal; close other programs that use it")
    except BaseException:
        connection.close()
        raise
    return connection


# --- Making ----------------------------------------------------------------------------------------------------------


def create_if_missing(path: Path) -> None:
    """Make a whole new ledger at the path, or nothing: another process never reads half of one."""
    with in_sentences(path):
        if os.path.lexists(path):
            return
        if not path.parent.is_dir():
            raise InputError(f"Folder {path.parent} for the ledger {path.name} does not exist; make it first")
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
        try:
            draft.touch(0o600, exist_ok=False)
            with closing(_connect(draft)) as connection:
                begin(connection)
            if _claim(path):
                os.replace(draft, path)
                _sync_folder(path.parent)
        finally:
            for leftover in (draft, _beside(draft, "-journal")):
                leftover.unlink(missing_ok=True)


def _claim(path: Path) -> bool:
    """True when the name is ours now: whoever else finds the empty file waits or refuses it, and never writes to it.

    Replacing an empty file that only we may replace is a rename that cannot wipe out another's ledger.
    """
    try:
        path.touch(0o600, exist_ok=False)
    except FileExistsError:
        return False
    for lost in (_beside(path, "-journal"), _beside(path, "-wal")):
        if lost.exists():
            path.unlink()
            # SQLite would play the old journal back into the new file.
            raise InputError(
                f"Ledger {path} is missing but its journal {lost} is there, so a ledger was lost here; "
                f"put it back, or move the journal away"
            )
    return True


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot open a folder; it writes the name with the file
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- Recognising -----------------------------------------------------------------------------------------------------


def _recognise(path: Path) -> None:
    """Raise unless a look that writes nothing shows a ledger of our format at the path."""
    state = _settled_stat(path)
    if not stat.S_ISREG(state.st_mode):
        raise InputError(f"{path} is not a file; name the file that holds the ledger")
    if state.st_size == 0:
        raise InputError(
            f"{path} is empty, and an emptied ledger cannot count as a new one; {BACKUP}, "
            f"or delete it if it never held one"
        )
    if state.st_nlink > 1:
        # A journal is found by the name of its file; under another name a killed writer's half row would be read.
        raise InputError(f"Ledger {path} has a second name (a hard link); remove one of them")
    mark, version = database_mark(path)
    if mark != APPLICATION_ID:
        raise InputError(f"{path} is a database, but not a ledger of Sfumato; nothing was changed, name another file")
    if version != FORMAT:
        raise InputError(
            f"Ledger {path} has format {version}, this Sfumato reads format {FORMAT}; use the Sfumato that wrote it"
        )


def _settled_stat(path: Path) -> os.stat_result:
    """The file's state, once a process that is just creating it is done."""
    for _ in range(50):
        state = os.stat(path)
        if state.st_size > 0 or not stat.S_ISREG(state.st_mode):
            break
        time.sleep(0.01)
    return state


# --- Sentences -------------------------------------------------------------------------------------------------------


@contextmanager
def in_sentences(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise into one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(error, path) from error
    except UnicodeDecodeError as error:  # SQLite's own message can quote broken text from the file
        raise InputError(damaged(path, _NOT_TEXT)) from error
    except OSError as error:
        raise _from_system(error, path) from error


def _from_sqlite(error: sqlite3.Error, path: Path) -> InputError | RunError:
    if not hasattr(error, "sqlite_errorcode"):  # raised by Python's side, which decodes
        return InputError(damaged(path, _NOT_TEXT))
    code, reason = error.sqlite_errorcode & 0xFF, one_line(str(error))
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return RunError(
            f"Ledger {path} was held by another process for more than {_WAIT:.0f} s; nothing was granted: "
            f"let that one finish and run again"
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM):
        return RunError(
            f"Ledger {path} could not be written or read ({reason}); nothing was granted: make room and run again"
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return InputError(
            f"Ledger {path} cannot be opened for writing ({reason}); nothing was granted: "
            f"check the permissions of the file and its folder"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return InputError(f"{path} is not a ledger; nothing was changed, name another file or {BACKUP}")
    return InputError(damaged(path, reason))


def _from_system(error: OSError, path: Path) -> InputError | RunError:
    reason = error.strerror or type(error).__name__
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return InputError(f"There is no ledger {path}; check the path")
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
        return RunError(f"Ledger {path} could not be written ({reason}); nothing was granted: make room and run again")
    return InputError(f"Ledger {path} cannot be opened ({reason}); check the permissions of the file and its folder")
