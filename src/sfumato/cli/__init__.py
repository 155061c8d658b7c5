"""The command line: thin, it parses, calls the API and prints."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """The `sfumato` command: errors become one sentence, with exit code 2 for bad input and 1 for a failed run."""
    import click

    from sfumato.cli.app import app
    from sfumato.errors import InputError, RunError

    try:
        sys.exit(app(standalone_mode=False) or 0)
    except InputError as error:
        _fail(str(error), 2)
    except RunError as error:
        _fail(str(error), 1)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.exceptions.Abort):
        _fail("stopped; nothing half-written is left", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        _fail("out of memory; take fewer columns or coarser levels", 1)
    except Exception as error:
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        # the text of an unforeseen error may quote private data, so only its kind is told
        _fail(f"an unforeseen {type(error).__name__} stopped the run; SFUMATO_DEBUG=1 shows where", 1)


def _fail(text: str, code: int) -> None:
    """Print one sentence and leave."""
    from rich.console import Console

    Console(stderr=True, soft_wrap=True, highlight=False).print("[bold red]error:[/] ", end="")
    print(text, file=sys.stderr)
    sys.exit(code)
