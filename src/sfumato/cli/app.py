"""The whole command line: importing a module of commands hangs them on the root, in the order that help shows."""

from sfumato.cli import preparing

# isort: split
from sfumato.cli import releasing

# isort: split
from sfumato.cli import comparing
from sfumato.cli.root import app

__all__ = ["app", "comparing", "preparing", "releasing"]
