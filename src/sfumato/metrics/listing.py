"""How a score is shown: a line with the number and what it means, and a table of what is behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as Grid


def headline(metric: str, value: str, meaning: str) -> RenderableType:
    """The number, what it is called and what it means."""
    from rich.text import Text

    return Text.assemble(f"{metric} ", (value, "bold"), f"  {meaning}")


def listing(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Grid:
    """Rows under headings, text to the left and numbers, given as they shall be shown, to the right."""
    from rich.table import Table as Grid
    from rich.text import Text

    from sfumato.errors import one_line

    grid = Grid(box=None, header_style="dim", padding=(0, 3, 0, 0), pad_edge=False)
    for heading in headings:
        grid.add_column(heading.removesuffix("#"), justify="right" if heading.endswith("#") else "left")
    for row in rows:
        grid.add_row(*(Text(one_line(str(cell))) for cell in row))
    return grid
