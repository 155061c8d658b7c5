"""Files: read with clear errors, written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from sfumato.errors import InputError, RunError

MAX_JSON = 64 * 2**20  # bytes; a schema of a million values is smaller
LEDGER_MARK = 0x5F06A701  # marks an SQLite file as a ledger (its application id)


def read_json(path: str | os.PathLike[str]) -> Any:
    """The document in a JSON file (UTF-8, with or without a byte order mark)."""
    raw = read_bytes(path, MAX_JSON)
    try:
        return parse_json(raw)
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}, column {error.colno}: {error.msg}; it must be JSON") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be a schema") from None
    except ValueError as error:  # a key that stands twice, NaN, a number of thousands of digits
        raise InputError(f"{path} is not JSON that can be used: {error}") from None


def parse_json(raw: bytes) -> Any:
    """The document in UTF-8 text; a ValueError also where a key stands twice or a number is NaN."""
    return json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_not_json)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one of two equal keys would be lost without a word."""
    out = dict(pairs)
    if len(out) < len(pairs):
        double = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key '{double}' stands twice in one object")
    return out


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number in JSON")


def read_bytes(path: str | os.PathLike[str], limit: int) -> bytes:
    """What a file holds; a missing, unreadable or oversized one is a clear error."""
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; a file is needed") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > limit:
        raise InputError(f"{path} is larger than {limit // 2**20} MiB, too large for what it should hold")
    return data


@contextlib.contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the name of `path` when all went well, and vanishes otherwise."""
    target = Path(path)
    check_writable(target)
    beside = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.part")
    try:  # the file is made inside, so that a stop at any moment takes it away again
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield beside
        _sync(beside)
        beside.chmod(_mode(target))
        beside.replace(target)
    except OSError as error:
        raise RunError(f"{target} could not be written: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise unless a file can be made at `path`: asked before any work or budget is spent."""
    target = Path(path)
    try:
        there = target.lstat() and target.exists()
    except FileNotFoundError:
        there = False
    except (OSError, ValueError) as error:
        raise InputError(f"{target} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file to write")
    if there and not target.is_file():
        raise InputError(f"{target} is a device or a pipe; give the name of a file to write")
    if there and is_ledger(target):
        raise InputError(f"{target} is a ledger, which must not forget what was spent; give another name")
    if not target.parent.is_dir():
        raise InputError(f"the folder {target.parent} for {target.name} does not exist; make it first")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise InputError(f"the folder {target.parent} cannot be written to: {error.strerror or error}") from None


def is_ledger(path: Path) -> bool:
    """Whether a file that is there is a ledger of Sfumato, also where it is damaged further on."""
    with contextlib.suppress(sqlite3.Error):
        return database_mark(path)[0] == LEDGER_MARK
    return False


def database_mark(path: Path) -> tuple[int, int]:
    """The application id and version in the header of an SQLite file.

    `immutable` takes no lock, writes nothing and plays no journal back, even one that waits beside a foreign file.
    Opening the file without SQLite would do so too, but closing it would drop the locks of our other threads.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        return int(mark), int(connection.execute("PRAGMA user_version").fetchone()[0])


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, whole or not at all."""
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _mode(target: Path) -> int:
    """The permission bits of the file that is replaced, or those of any new file."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
