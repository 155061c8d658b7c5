"""What the commands print: results on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Output:
    """How much to print: nothing but errors when quiet, JSON where a program reads it."""

    quiet: bool = False
    as_json: bool = False

    def say(self, what: RenderableType) -> None:
        """Print for a person."""
        if not self.quiet and not self.as_json:
            _console(stderr=False).print(what)

    def warn(self, text: str) -> None:
        """Print a warning, whatever else is quiet: it is there to be seen."""
        _console(stderr=True).print(f"[yellow]warning:[/] {text}")

    def result(self, data: Any, what: RenderableType) -> None:
        """Print the outcome: as JSON or for a person."""
        if self.as_json:
            print(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False))
        else:
            self.say(what)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show that something is going on, where a person is looking."""
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield
            return
        with _console(stderr=True).status(f"{text} …"):
            yield

    @contextmanager
    def counting(self, text: str, total: int | None) -> Iterator[Any]:
        """A function to call with the number of records done; it moves a bar where a person is looking."""
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield lambda done: None
            return
        from rich.progress import Progress

        with Progress(console=_console(stderr=True), transient=True) as progress:
            task = progress.add_task(text, total=total)
            yield lambda done: progress.advance(task, done)


def _console(stderr: bool) -> Any:
    """A console that wraps lines for a person and leaves them whole for a pipe."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=120)
