"""What Sfumato raises when it is handed something it cannot use.

Two kinds, and the command line turns each into one sentence: `InputError` for what the user gave (exit code 2) and
`RunError` for a run that failed on the way (exit code 1). Neither ever carries a value read from private data.
"""

_LONGEST = 2_000  # characters of a sentence; names in a file can be of any length


class SfumatoError(Exception):
    """Any error Sfumato raises on purpose; its text is one sentence made for a person, on one line.

    >>> str(SfumatoError("column 'a\\nb' has no values"))
    "column 'a\\\\nb' has no values"
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(one_line(text))


def one_line(text: str) -> str:
    """The text with what a terminal cannot show written as an escape, and cut where it is endless."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class InputError(SfumatoError, ValueError):
    """The input cannot be used: the sentence names the file, the place and what to do."""


class BudgetError(InputError):
    """The request would spend more privacy than is left; nothing was read or spent."""


class RunError(SfumatoError, RuntimeError):
    """The work failed for a reason outside the input (a full disk, a dead engine)."""
