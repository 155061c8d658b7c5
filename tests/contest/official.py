"""The published checks, written down once more with pandas: the verdict that ours has to give."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd

from tests import challenge

TRIP = [
    "taxi_id", "shift", "company_id", "pickup_community_area", "dropoff_community_area", "payment_type",
    "fare", "tips", "trip_total", "trip_seconds", "trip_miles",
]  # fmt: skip


def counts_valid(text: str, parameters: dict[str, Any]) -> bool:
    """Sprint 1: shape, order of the rows, order of the columns, whole, finite, not negative."""
    schema = parameters["schema"]
    kinds = [str(e["code"]) for e in schema["incident_type"]]
    wanted = [
        (run["epsilon"], area["code"], period["year"], period["month"])
        for run in parameters["runs"]
        for area in schema["neighborhood"]
        for period in schema["periods"]
    ]
    try:
        frame = pd.read_csv(io.StringIO(text), index_col=["epsilon", "neighborhood", "year", "month"])
    except (ValueError, pd.errors.ParserError):
        return False
    if frame.shape != (len(wanted), len(kinds)) or frame.columns.astype(str).tolist() != kinds:
        return False
    if frame.index.tolist() != wanted:
        return False
    if not all(frame[c].dtype in (np.int64, np.uint64) for c in frame.columns):
        return False
    return bool(np.isfinite(frame.to_numpy()).all() and (frame.to_numpy() >= 0).all())


def records_valid(text: str, parameters: dict[str, Any], sprint: int) -> bool:
    """Sprints 2 and 3: columns, domains, types, every ε and no other, records an ε, trips a taxi."""
    schema = parameters["schema"]
    columns = TRIP if sprint == 3 else [*schema, "sim_individual_id"]
    try:
        frame = pd.read_csv(io.StringIO(text))
    except pd.errors.ParserError:
        return False
    if frame.columns.tolist() != ["epsilon", *columns]:
        return False
    entries = {c: schema[c] for c in columns if c in schema}
    try:
        for name, entry in entries.items():
            column = frame[name]
            if set(column.tolist()) - set(entry.get("values", column.tolist())):
                return False
            if not (column.min() >= entry.get("min", column.min()) and column.max() <= entry.get("max", column.max())):
                return False
            cast = column.astype(entry["dtype"])
            if "float" in entry["dtype"] and not np.isfinite(cast.to_numpy()).all():
                return False
    except (TypeError, ValueError):
        return False
    runs = {run["epsilon"]: run for run in parameters["runs"]}
    if set(frame["epsilon"]) != set(runs):
        return False
    if any(size > runs[e]["max_records"] for e, size in frame.groupby("epsilon").size().items()):
        return False
    if sprint == 3:
        trips = frame.groupby(["epsilon", "taxi_id"]).size()
        return all(n <= runs[e]["max_records_per_individual"] for (e, _), n in trips.items())
    return True


def counts(parameters: dict[str, Any], seed: int = 0) -> pd.DataFrame:
    """A valid submission to the first sprint."""
    schema, rng = parameters["schema"], np.random.default_rng(seed)
    rows = [
        {"epsilon": run["epsilon"], "neighborhood": area["code"], **period}
        | {str(e["code"]): int(rng.integers(0, 30)) for e in schema["incident_type"]}
        for run in parameters["runs"]
        for area in schema["neighborhood"]
        for period in schema["periods"]
    ]
    return pd.DataFrame(rows)


def people(parameters: dict[str, Any], records: int = 40) -> pd.DataFrame:
    """A valid submission to the second sprint."""
    schema = parameters["schema"]
    made = {run["epsilon"]: challenge.people(schema, i, records) for i, run in enumerate(parameters["runs"])}
    return challenge.epsilons(made, list(schema), "sim_individual_id")


def trips(parameters: dict[str, Any], records: int = 40) -> pd.DataFrame:
    """A valid submission to the third sprint."""
    schema = parameters["schema"]
    made = {run["epsilon"]: challenge.trips(schema, i, records, 9) for i, run in enumerate(parameters["runs"])}
    return challenge.epsilons(made, TRIP)
