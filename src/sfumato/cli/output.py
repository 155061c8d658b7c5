"""What the commands print: results on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 120  # of what is written into a pipe or a file, where nobody knows how wide it will be shown


@dataclass(frozen=True)
class Output:
    """How much to print: nothing but warnings and errors when quiet, JSON where a program reads it."""

    quiet: bool = False
    as_json: bool = False

    def say(self, what: RenderableType) -> None:
        """Print for a person; text as it is, on lines as long as they are."""
        if not self.quiet and not self.as_json:
            console().print(what, markup=False, soft_wrap=isinstance(what, str))

    def step(self, title: str, text: str) -> None:
        """Print where a run of several steps has got to."""
        from rich.text import Text

        self.say(Text.assemble((title, "bold"), f" {text}"))

    def warn(self, text: str) -> None:
        """Print a warning, whatever else is quiet: it is there to be seen."""
        console(stderr=True).print("[yellow]warning:[/]", end=" ")
        print(text, file=sys.stderr)

    def result(self, data: Any, what: RenderableType) -> None:
        """Print the outcome: as JSON or for a person."""
        if self.as_json:
            print(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False))
        else:
            self.say(what)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show that something is going on, where a person is looking."""
        if not self._watched:
            yield
            return
        with console(stderr=True).status(f"{text} …"):
            yield

    @contextmanager
    def counting(self, text: str, total: int | None) -> Iterator[Any]:
        """A function to call with the number of records done; it moves a bar where a person is looking."""
        if not self._watched:
            yield lambda done: None
            return
        from rich.progress import Progress

        with Progress(console=console(stderr=True), transient=True) as progress:
            task = progress.add_task(text, total=total)
            yield lambda done: progress.advance(task, done)

    @property
    def _watched(self) -> bool:
        return not self.quiet and not self.as_json and sys.stderr.isatty()


def console(stderr: bool = False) -> Any:
    """A console as wide as the terminal, or `WIDTH` in a pipe; under NO_COLOR not even bold."""
    from rich.console import Console

    colours: Any = None if os.environ.get("NO_COLOR") else "auto"
    made = Console(stderr=stderr, highlight=False, color_system=colours)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, color_system=colours, width=WIDTH)
