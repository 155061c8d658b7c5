"""The command line: thin, it parses, calls the API and prints."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

_STOPPED = 130  # the exit code of what Ctrl-C ended


def run() -> None:
    """The `sfumato` command: errors become one sentence, with exit code 2 for bad input and 1 for a failed run."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # asked to stop: tidy up as after Ctrl-C
    try:
        import typer

        from sfumato.cli.app import app
        from sfumato.errors import InputError, RunError
    except KeyboardInterrupt:
        _fail_stopped()

    # typer brought click along before it had a copy of its own inside, so its errors are found through typer
    usage_error: Any = typer.BadParameter.__base__
    _speak_any_encoding()
    try:
        code = app(prog_name="sfumato", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        _fail(str(error), 2)
    except RunError as error:
        _fail(str(error), 1)
    except usage_error as error:
        _fail_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        _fail_stopped()
    except BrokenPipeError:  # whoever read the output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _fail("out of memory; take fewer columns or coarser levels", 1)
    except Exception as error:
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        # the text of an unforeseen error may quote private data, so only its kind is told
        _fail(f"an unforeseen {type(error).__name__} stopped the run; SFUMATO_DEBUG=1 shows where", 1)
    else:
        if code == _STOPPED:  # typer makes Ctrl-C into this code
            _fail_stopped()
        sys.exit(code if isinstance(code, int) else 0)


def _speak_any_encoding() -> None:
    """Write an escape for what a terminal's encoding lacks (ε in ASCII): no result is worth losing for that."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _fail_usage(error: Any) -> None:
    """What typer says of a command it cannot read, in one sentence that says where help is."""
    said = error.format_message().strip().rstrip(".")
    if not said:  # no command was named, and the help has been shown
        sys.exit(2)
    said = said.replace(". Did you mean ", "; did you mean ").replace("\n", " ")
    path = error.ctx.command_path if getattr(error, "ctx", None) else "sfumato"
    _fail(f"{said[:1].lower()}{said[1:]}{'' if said.endswith('?') else ';'} see `{path} --help`", 2)


def _fail_stopped() -> NoReturn:
    """Say that Ctrl-C was heard."""
    _fail("stopped; nothing half-written is left", _STOPPED)


def _fail(text: str, code: int) -> NoReturn:
    """Print one sentence and leave."""
    from sfumato.cli.output import console

    console(stderr=True).print("[bold red]error:[/]", end=" ")
    print(text, file=sys.stderr)
    sys.exit(code)
