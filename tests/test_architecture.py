"""The rooms: what may import what, and that no synthesizer can reach a private table."""

from __future__ import annotations

import ast
import gc
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engine import DuckEngine
from sfumato.table import Table

SOURCE = Path(sf.__file__).parent
BEHIND_THE_DOOR = sorted([*(SOURCE / "synthesizers").rglob("*.py"), *(SOURCE / "models").rglob("*.py")])
FITTERS = sorted([*BEHIND_THE_DOOR, *(SOURCE / "estimation").rglob("*.py")])
ROOMS = ("sfumato.synthesizers.", "sfumato.models.", "sfumato.estimation.")


def _foreign_privates(tree: ast.AST) -> list[str]:
    """Private names of other modules and private attributes of other objects that a module uses."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato"):
            found += [a.name for a in node.names if a.name.startswith("_") and a.name != "__version__"]
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            owner = node.value
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                found.append(node.attr)
    return found


@pytest.mark.parametrize("path", BEHIND_THE_DOOR, ids=lambda p: str(p.relative_to(SOURCE)))
def test_what_learns_from_a_vault_uses_no_private_part_of_it(path: Path) -> None:
    """No synthesizer and no model imports a private name or touches a private attribute of another object."""
    assert _foreign_privates(ast.parse(path.read_text(encoding="utf-8"))) == []


def _smuggled(tree: ast.AST) -> list[str]:
    """What a module imports past the names that another offers: `from sfumato.privacy.vault import HELD` and the like.

    The import contracts look at modules, and a module's own imports are names in it as well.
    """
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.partition(".")[0] == "sfumato"]
        if not isinstance(node, ast.ImportFrom) or (node.module or "").partition(".")[0] != "sfumato":
            continue
        module = importlib.import_module(node.module or "")
        for name in (a.name for a in node.names):
            there = hasattr(module, name)
            thing = getattr(module, name) if there else importlib.import_module(f"{node.module}.{name}")
            if isinstance(thing, ModuleType):
                inside = thing.__name__.startswith(ROOMS)
            else:
                home = getattr(thing, "__module__", None) or type(thing).__module__
                inside = not home.startswith("sfumato") or home == module.__name__
                inside |= name in getattr(module, "__all__", ())
            if not inside or module.__name__ == "sfumato":
                found.append(f"{module.__name__}.{name}")
    return found


@pytest.mark.parametrize("path", FITTERS, ids=lambda p: str(p.relative_to(SOURCE)))
def test_what_learns_from_a_vault_takes_from_a_room_what_it_offers_alone(path: Path) -> None:
    """No synthesizer, model or estimator gets hold of a table by way of a module that has one for itself."""
    assert _smuggled(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "from sfumato.privacy.vault import HELD",
        "from sfumato.privacy.vault import Table",
        "from sfumato.privacy.answers import noisy_answer",
        "from sfumato.public import Table",
        "from sfumato.public import grid_norms",
        "from sfumato.privacy import vault",
        "from sfumato import Table",
        "import sfumato",
    ],
)
def test_ways_around_the_contracts_are_seen(line: str) -> None:
    """The check above finds what the contracts let through."""
    assert len(_smuggled(ast.parse(line))) == 1


def test_no_attribute_of_a_vault_leads_to_the_table() -> None:
    """Following every reference from a vault and its answers, without the module's own globals, finds no table."""
    schema = sf.Schema(columns=(sf.Person(name="who"), sf.Category(name="area", values=(1, 2))))
    vault = sf.Vault.open(pa.table({"who": [1], "area": [2]}), schema, sf.Budget(1.0), ledger=":memory:")
    answers = vault.ask(sf.NMD(bound=sf.records(1)))
    _ = answers["cells"]
    seen: set[int] = set()
    stack: list[object] = [vault, answers]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(thing, type | type(sys)) or callable(thing):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, Table | DuckEngine)
        stack += gc.get_referents(thing)


def test_importing_is_light() -> None:
    """What is heavy loads when it is used: importing Sfumato loads no engine, Arrow, scipy, Spark or pandas."""
    code = "import sys, sfumato; print(*(m for m in HEAVY if m in sys.modules))".replace(
        "HEAVY",
        "('duckdb', 'pyarrow', 'scipy', 'pandas', 'polars', 'pyspark', 'shapely', 'sqlglot', 'rich', 'randomgen')",
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("room", ["sfumato.metrics", "sfumato.contest", "sfumato.contest.running"])
def test_importing_metrics_and_contest_is_light(room: str) -> None:
    """Compiled kernels, engines and tables load where something is scored, not before."""
    heavy = "('numba', 'duckdb', 'pyarrow', 'scipy', 'pandas', 'polars', 'pyspark', 'sqlglot', 'rich')"
    code = f"import sys, {room}; print(*(m for m in {heavy} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_public_name_is_there() -> None:
    """`from sfumato import *` gives all that `__all__` names."""
    assert all(getattr(sf, name) is not None for name in sf.__all__)
