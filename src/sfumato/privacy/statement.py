"""A statement as a page for the terminal: what was spent under a name, with a running total as a bank prints it.

Whatever the ledger holds, no line is longer than 100 characters, no text steers the terminal or is taken for markup,
and no number shows less spent or more left than there is.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sfumato.privacy.book import one_line
from sfumato.privacy.budget import Budget, Cost, GaussianCost
from sfumato.privacy.ledger import SEEDED, Line, Statement, in_words, rounded_down, rounded_up


def render(statement: Statement) -> RenderableType:
    """The statement as a page for a terminal of 100 characters, with a running total as a bank prints it."""
    parts: list[RenderableType] = [*_heading(statement)]
    for line in statement.lines:
        parts += [_release_line(line), _charges_table(line), _total_line(line, statement.account.cap)]
    return Group(*parts, *_closing(statement))


def _heading(statement: Statement) -> Iterator[Text]:
    where = statement.path if statement.persistent else "in memory: forgotten when the program ends"
    yield Text.assemble(("Privacy statement", "bold"), f"  account {statement.account.name}  ·  ", one_line(where))
    for change in statement.caps:
        yield Text(f"{_minute(change.time)}  cap set to {in_words(change.cap)}")
    if not statement.lines:
        yield Text("Nothing was spent yet.")


def _release_line(line: Line) -> Text:
    release = line.release
    text = Text.assemble("\n", (f"{_minute(release.time)}  {release.method}", "bold"))
    text.append(f"  #{release.id} · asked {in_words(release.budget)} · protects each {release.unit}")
    text.append(f"\n{'':18}sfumato {release.version} · schema {release.fingerprint[:16]}")
    if release.note:
        text.append(f" · {release.note}")
    if not release.private:
        text.append(f"\n{'':18}{SEEDED}", "bold red")
    return text


def _charges_table(line: Line) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name, width in (("question", 20), ("columns", 22), ("bound", 12), ("mechanism", 16)):
        table.add_column(name, width=width, overflow="fold")
    for name in ("noise", "cost"):
        table.add_column(name, width=9, justify="right", no_wrap=True)
    for charge in line.release.charges:
        symbol = "σ" if isinstance(charge.cost, GaussianCost) else "b"
        texts = (charge.question, charge.columns, charge.bound, charge.mechanism)
        table.add_row(*map(Text, texts), f"{symbol} {charge.noise:.4g}", _cost(charge.cost))
    return table


def _cost(cost: Cost) -> str:
    return f"μ {rounded_up(cost.mu)}" if isinstance(cost, GaussianCost) else f"ε {rounded_up(cost.epsilon)}"


def _total_line(line: Line, cap: Budget) -> Text:
    own, total = rounded_up(line.epsilon), rounded_up(line.total)
    left = rounded_down(max(0.0, cap.epsilon - line.total))
    text = f"this release ε {own}  ·  total ε {total}  ·  left of cap ε {left}"
    return Text(f"{text:>98}", "green" if line.release.private else "red")


def _closing(statement: Statement) -> Iterator[Text]:
    account = statement.account
    total = f"\nSpent ε {rounded_up(account.spent)} of {rounded_down(account.cap.epsilon)} at δ {account.cap.delta:g}"
    yield Text(f"{total}; left ε {rounded_down(account.remaining)}", "bold")
    room = account.gaussian_room
    if room is not None and room > account.remaining:
        yield Text(f"Gaussian costs add as squares: one more Gaussian release of up to ε {rounded_down(room)} fits.")
    yield Text(f"Seal of the last entry {statement.head[:16]}", "dim")


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")
