"""What an engine raises, said without its own text, which may quote a record."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.errors import InputError, RunError


def memory() -> int:
    """Memory for an embedded DuckDB, in MB; a table that needs more is counted in several passes."""
    text = os.environ.get("SFUMATO_MEMORY_MB", "1500")
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise InputError(f"SFUMATO_MEMORY_MB is {text!r}; set it to a whole number of megabytes, such as 1500")
    return int(text)


class OutOfMemoryError(RunError):
    """A query did not fit in memory; asking it in more passes may help."""


@contextmanager
def quiet(origin: str) -> Iterator[None]:
    """Turn what an engine raises into a sentence without the engine's own text, which may quote a record."""
    import duckdb

    try:
        yield
    except (InputError, RunError):
        raise
    except duckdb.OutOfMemoryException:
        raise OutOfMemoryError(
            f"{origin}: counting needs more than {memory()} MB; set SFUMATO_MEMORY_MB higher"
        ) from None
    except (OSError, EOFError, zlib.error, duckdb.IOException, duckdb.InvalidInputException) as error:
        raise InputError(
            f"{origin} cannot be read ({type(error).__name__}); is it the kind of file its name says?"
        ) from None
    except Exception as error:
        raise RunError(f"{origin}: the engine could not answer ({type(error).__name__})") from None
