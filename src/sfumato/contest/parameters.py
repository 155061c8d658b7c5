"""What a sprint asks for: its `parameters.json`, read once and checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.columns import Person
from sfumato.errors import InputError
from sfumato.files import read_json
from sfumato.schema import Run, Schema

SPRINTS = (1, 2, 3)
TRIP = (
    "taxi_id", "shift", "company_id", "pickup_community_area", "dropoff_community_area", "payment_type",
    "fare", "tips", "trip_total", "trip_seconds", "trip_miles",
)  # fmt: skip
"""The columns of a submission to the third sprint after ε, in order; the truth has two more."""

PERSON = {1: "sim_resident", 2: "sim_individual_id", 3: "taxi_id"}
RECORDS_A_PERSON = {1: 20, 2: 7, 3: 200}
"""What the contest told everybody; the files of its final say 1,000,000, so that a check of theirs could not fail."""

Source = str | os.PathLike[str] | Mapping[str, Any]


@dataclass(frozen=True)
class Parameters:
    """The runs of a sprint and its columns."""

    sprint: int
    schema: Schema
    entries: Mapping[str, Any]
    where: str

    @classmethod
    def load(cls, source: Source | Parameters, sprint: int) -> Parameters:
        """The parameters in a file or a parsed document; raises where they are another sprint's."""
        if isinstance(source, Parameters):
            return source
        where = "parameters" if isinstance(source, Mapping) else os.fspath(source)
        data = source if isinstance(source, Mapping) else read_json(source)
        if not isinstance(data, Mapping) or not isinstance(data.get("schema"), Mapping):
            raise InputError(f"{where} is no parameters.json of the challenge: it needs 'runs' and 'schema'")
        entries = data["schema"]
        found = _sprint(entries)
        if found != sprint:
            raise InputError(f"{where} holds the parameters of sprint {found}, not of sprint {sprint}")
        schema = Schema.from_dict({**data, "schema": _as_scored(entries, sprint)}, where)
        if not schema.runs:
            raise InputError(f"{where} asks for no run; 'runs' needs at least one, with epsilon and delta")
        if len({run.epsilon for run in schema.runs}) < len(schema.runs):
            raise InputError(f"{where} asks for two runs of one epsilon, which a submission cannot tell apart")
        if sprint == 3 and (lost := [c for c in TRIP if c not in entries]):
            raise InputError(f"{where}: the schema has no column '{lost[0]}', which sprint 3 scores")
        return cls(sprint, schema, entries, where)

    @property
    def runs(self) -> tuple[Run, ...]:
        """Each run with its ε and limits, in order."""
        return self.schema.runs

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The ε of every run, in order."""
        return tuple(run.epsilon for run in self.runs)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a submission of records, after ε (sprints 2 and 3)."""
        return TRIP if self.sprint == 3 else (*self.entries, PERSON[2])

    @property
    def released(self) -> Schema:
        """The columns that a submission holds, and the contest's limit on the records of one person."""
        columns = [c for c in self.schema.columns if self.sprint != 3 or c.name in TRIP]
        own = self.schema.max_records_per_person
        limit = RECORDS_A_PERSON[self.sprint] if own is None else min(own, RECORDS_A_PERSON[self.sprint])
        return self.schema.model_copy(update={"columns": tuple(columns), "max_records_per_person": limit, "runs": ()})


def _sprint(entries: Mapping[str, Any]) -> int:
    """Which sprint's schema it is."""
    return 1 if "periods" in entries else 2 if "PUMA" in entries else 3


def _as_scored(entries: Mapping[str, Any], sprint: int) -> dict[str, Any]:
    """The schema without what later tools wrote into it: the contest scored by bins of its own."""
    if sprint == 1:
        return dict(entries)
    later = {"bins", "codes", "kind"} if sprint == 2 else {"bins", "codes"}
    return {
        name: {k: v for k, v in entry.items() if k not in later} if isinstance(entry, Mapping) else entry
        for name, entry in entries.items()
    }


def person_of(schema: Schema) -> Person:
    """The person id of a sprint's schema."""
    person = schema.person
    assert person is not None  # every dialect names one
    return person
