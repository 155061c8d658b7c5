"""What each column may hold: public knowledge, written down before any private record is read.

A `Schema` is a list of columns (`sfumato.columns`). Its JSON form is versioned (`{"sfumato": "schema", "version": 1,
"columns": {name: {"kind": ...}}}`); the three dialects of the temporal map challenge's `parameters.json` are read too
(`sfumato.dialects`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

from sfumato.checked import Checked, short
from sfumato.columns import Binned, Category, Number, Person, Place, Time
from sfumato.errors import InputError
from sfumato.files import read_json, write_text

VERSION = 1

Limit = Annotated[StrictInt, Field(gt=0, lt=2**63)]
AnyColumn = Annotated[Person | Category | Place | Number | Time, Field(discriminator="kind")]


class Run(Checked):
    """One run that the challenge's parameters ask for."""

    model_config = ConfigDict(extra="ignore")

    epsilon: float = Field(gt=0)
    delta: float = Field(ge=0, lt=1)
    max_records: Limit | None = None
    max_records_per_individual: Limit | None = None


class Schema(Checked):
    """All columns, and the public limit on the records of one person where there is one."""

    columns: tuple[AnyColumn, ...] = Field(min_length=1)
    max_records_per_person: Limit | None = None
    runs: tuple[Run, ...] = ()

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        names = [c.name for c in self.columns]
        if double := [n for i, n in enumerate(names) if n in names[:i]]:
            raise ValueError(f"column '{double[0]}' stands twice")
        persons = [c.name for c in self.columns if isinstance(c, Person)]
        if len(persons) > 1:
            raise ValueError(f"'{persons[0]}' and '{persons[1]}' are both the person id; a table has one")
        if len(persons) == len(names):
            raise ValueError("there is no column beside the person id")
        for c in self.columns:
            if isinstance(c, Time) and c.year is not None and (both := set(c.sources) & set(names)):
                raise ValueError(f"column '{both.pop()}' is read by '{c.name}' already; take one of the two out")
        return self

    # ------------------------------------------------------------------ reading and writing

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema in a file: Sfumato's own JSON, or a `parameters.json` of the challenge."""
        return cls.from_dict(read_json(path), os.fspath(path), os.path.dirname(os.fspath(path)))

    @classmethod
    def from_dict(cls, data: object, where: str = "schema", folder: str | None = None) -> Schema:
        """The schema in a parsed JSON document; `where` is named in error texts.

        With the `folder` of the schema's file, maps are looked for there, and a place that has a map and no values gets
        them from it: its areas, or the H3 cells that cover them. Without one no other file is read.
        """
        if not isinstance(data, dict):
            raise InputError(f"{where} holds no schema: an object is needed, not a {type(data).__name__}")
        if "schema" in data and "sfumato" not in data:
            from sfumato.dialects import read_parameters

            data = read_parameters(data, where)
        else:
            data = _own_form(data, where, folder)
        try:
            made = cls(**data)
            placed = tuple(c.beside(folder) if isinstance(c, Place) and c.map and folder else c for c in made.columns)
            return made.model_copy(update={"columns": placed})
        except InputError as error:
            raise InputError(f"{where}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """The versioned JSON form, without what is default."""
        columns = {c.name: {"kind": c.kind, **_dump(c)} for c in self.columns}
        out: dict[str, Any] = {"sfumato": "schema", "version": VERSION, "columns": columns}
        if self.max_records_per_person is not None:
            out["max_records_per_person"] = self.max_records_per_person
        if self.runs:
            out["runs"] = [_dump(r) for r in self.runs]
        return out

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON form, beside first and then renamed."""
        write_text(path, dumps(self.to_dict()) + "\n")

    # ------------------------------------------------------------------ looking things up

    @property
    def person(self) -> Person | None:
        """The person id, if the schema names one."""
        return next((c for c in self.columns if isinstance(c, Person)), None)

    @property
    def attributes(self) -> tuple[Binned, ...]:
        """Every column with bins, in order."""
        return tuple(c for c in self.columns if isinstance(c, Binned))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns with bins."""
        return tuple(c.name for c in self.attributes)

    def __getitem__(self, name: str) -> Binned:
        for c in self.attributes:
            if c.name == name:
                return c
        raise InputError(f"the schema has no column '{name}' with bins; it has {', '.join(self.names)}")

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def select(self, names: Iterable[str]) -> Schema:
        """The schema with these columns alone (the person id stays)."""
        wanted = [self[n].name for n in names]
        keep = [c for c in self.columns if isinstance(c, Person) or c.name in wanted]
        return self.model_copy(update={"columns": tuple(keep)})

    def of_kind(self, kind: type[Binned]) -> Iterator[Binned]:
        """The columns of one kind."""
        return (c for c in self.attributes if isinstance(c, kind))


def dumps(data: object, indent: str = "") -> str:
    """JSON for a person to read: an object a line a key, lists without objects on one line.

    >>> print(dumps({"a": {"values": [1, "two"], "runs": [{"b": 1}]}}))
    {
     "a": {
      "values": [1, "two"],
      "runs": [
       {
        "b": 1
       }
      ]
     }
    }
    """
    deeper = f"{indent} "
    if isinstance(data, dict) and data:
        items = [f"{deeper}{json.dumps(k, ensure_ascii=False)}: {dumps(v, deeper)}" for k, v in data.items()]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(data, list | tuple) and any(isinstance(item, dict) for item in data):
        return "[\n" + ",\n".join(f"{deeper}{dumps(item, deeper)}" for item in data) + f"\n{indent}]"
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


def _dump(model: BaseModel) -> dict[str, Any]:
    """The fields that differ from their defaults, without name and kind."""
    return model.model_dump(mode="json", exclude={"name", "kind"}, exclude_defaults=True)


def _own_form(data: dict[str, Any], where: str, folder: str | None) -> dict[str, Any]:
    """Our own document with its columns as a list, each with its name."""
    if data.get("sfumato") != "schema":
        raise InputError(f'{where} is no schema: it needs {{"sfumato": "schema", "version": {VERSION}, "columns": …}}')
    if data.get("version") != VERSION:
        raise InputError(f"{where} is schema version {data.get('version')!r}; this Sfumato reads version {VERSION}")
    columns = data.get("columns")
    if not isinstance(columns, dict):
        raise InputError(f"{where}: columns is an object with a key for each column")
    for name, column in columns.items():
        if not isinstance(column, dict):
            raise InputError(f"{where}: column '{name}' is described by an object, not by {short(column)}")
        if "name" in column:
            raise InputError(f"{where}: column '{name}': the key is the name; take 'name' out")
    rest = {k: v for k, v in data.items() if k not in ("sfumato", "version", "columns")}
    return {**rest, "columns": [{**_mapped(column, folder, name), "name": name} for name, column in columns.items()]}


def _mapped(column: dict[str, Any], folder: str | None, name: str) -> dict[str, Any]:
    """A place without values with those of its map."""
    file, key, h3 = column.get("map"), column.get("key"), column.get("h3")
    if column.get("kind") != "place" or "values" in column or not isinstance(file, str) or folder is None:
        return column
    from sfumato.maps import Map, h3_cells

    try:
        drawn = Map.load(os.path.join(folder, file))
        if isinstance(h3, int):
            return {**column, "values": h3_cells(drawn, h3)}
        areas = drawn.areas(drawn.values(key), key)
    except InputError as error:
        raise InputError(f"column '{name}': {error}") from None
    names = {} if None in areas.names or "names" in column else {"names": areas.names}
    return {**column, "values": areas.values, **names}
