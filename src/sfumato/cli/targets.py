"""Files that a command writes: none is another one, and none is what the command reads."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from sfumato.errors import InputError
from sfumato.export import about_file, has_about_file

Inputs = Mapping[str, Iterable[str | os.PathLike[str]]]


def files_of(data: str) -> list[str]:
    """The files that a path, a pattern or `file.duckdb::table` stands for."""
    file = data.partition("::")[0]
    return [file] if os.path.exists(file) else glob.glob(file)


def check_apart(targets: Mapping[str, Path | None], inputs: Inputs | None = None) -> None:
    """Raise if two options would write one file, or one would write over what is read; names are the options' own."""
    taken: dict[str, str] = {}
    for what, files in (inputs or {}).items():
        taken |= {os.path.realpath(file): what for file in files}
    for option, path in _written(targets).items():
        if other := taken.get(os.path.realpath(path)):
            raise InputError(f"{option} {path} is also {other}; give it a file of its own")
        taken[os.path.realpath(path)] = option


def _written(targets: Mapping[str, Path | None]) -> dict[str, Path]:
    """The targets that are given, with the file about it that a CSV file gets beside it."""
    given = {option: path for option, path in targets.items() if path is not None}
    about = {f"the note beside {option}": about_file(path) for option, path in given.items() if has_about_file(path)}
    return given | about


def check_public(public: str, private: str) -> None:
    """Raise if a file that is given as public is one of the private data, whatever it is called."""
    held = {os.path.realpath(file) for file in files_of(private)}
    if same := [file for file in files_of(public) if os.path.realpath(file) in held]:
        raise InputError(f"--public {same[0]} is the private data itself; give a table that anyone may see")
