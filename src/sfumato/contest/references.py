"""References to read a score by: part of the truth itself, scored as a submission. NOT PRIVATE.

A subsample is no synthesizer: it copies real records. So it takes no vault and stands in no list of methods; it is a
tool of the owner over a table, as a metric is. What releases data (`sfumato.synthesizers`, `sfumato.models`,
`sfumato.privacy`, `sfumato.contest.running`) may not import this module, and an import contract holds that. Whatever
comes out is marked NOT PRIVATE: the table's origin, a file's metadata, and what the command prints.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from sfumato.bounded import keyed_hash
from sfumato.coding import quote
from sfumato.contest import sprint1, sprint2, sprint3
from sfumato.contest.parameters import Parameters, Source
from sfumato.contest.score import ContestScore
from sfumato.errors import InputError
from sfumato.export import write_batches
from sfumato.schema import Schema
from sfumato.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

Of = Literal["records", "persons"]
WARNING = "NOT PRIVATE: real records, copied from the table itself; a reference to compare with, publish nothing of it"


def subsample(data: Any, schema: Schema, share: float, of: Of = "records", seed: int = 0) -> Table:
    """A part of a table: each record, or all records of a person, with probability `share`. NOT PRIVATE.

    Who is in it depends on seed and content alone, not on engine or order; records that are alike in every column go
    together. A share of 1 is the table itself.

    >>> import pyarrow as pa
    >>> from sfumato.columns import Category, Person
    >>> from sfumato.marginal import Marginal
    >>> schema = Schema(columns=(Person(name="who"), Category(name="hour", values=(0, 1))))
    >>> truth = pa.table({"who": list(range(1000)), "hour": [0, 1] * 500})
    >>> half = subsample(truth, schema, 0.5, of="persons")
    >>> 400 < half.counts([Marginal.of("hour")])[0].total < 600
    True
    """
    if not 0 < share <= 1:
        raise InputError(f"share is {share:g}; give a part of the {of} above 0, up to 1 for all of them")
    if of not in ("records", "persons"):
        raise InputError(f"a subsample is of records or of persons, not of {of!r}")
    table = Table.open(data, schema)
    if of == "persons":
        if table.person is None:
            raise InputError("the schema names no person id, so persons cannot be sampled; sample records")
        who = [f"CAST({table.person} AS VARCHAR)"]
    else:
        who = [f"CAST(s.{quote(name)} AS VARCHAR), '|'" for name in table.engine.families]
    if share == 1:
        return table
    limit = f"{min(math.floor(share * 16**12), 16**12 - 1):012x}"
    return table.where(f"{keyed_hash(f'subsample {seed}', *who)} < '{limit}'")


def about(share: float, of: Of, seed: int) -> dict[str, Any]:
    """What a file of a subsample says of itself."""
    return {"warning": WARNING, "method": "subsample", "private": False, "share": share, "of": of, "seed": seed}


def write(part: Table, path: str | os.PathLike[str], said: dict[str, Any]) -> int:
    """The number of real records written, with the warning in the file or beside it."""
    if said.get("warning") != WARNING:
        raise InputError("a file of real records says so; give what `about` says")
    return write_batches(_records(part), path, said)


def _records(part: Table) -> Iterator[pa.RecordBatch]:
    """The records; the first batch is empty, so that every file has its columns."""
    import pyarrow as pa

    columns = ", ".join(f"s.{quote(name)}" for name in part.engine.families)
    where = "" if part.condition == "TRUE" else f" WHERE {part.condition}"
    layout = part.engine.run(f"SELECT {columns} FROM source AS s LIMIT 0").schema
    yield pa.RecordBatch.from_arrays([pa.array([], f.type) for f in layout], schema=layout)
    yield from part.engine.stream(f"SELECT {columns} FROM source AS s{where}")


def score(
    truth: Any, parameters: Source | Parameters, sprint: int, share: float, of: Of = "records", seed: int = 0
) -> ContestScore:
    """What the contest would have given to a part of the truth, handed in for every ε.

    The second sprint gave nothing to an area and year whose totals differ by 250 records, which a part cannot help:
    that rule is left out.
    """
    given = Parameters.load(parameters, sprint)
    schema = given.released
    parts = subsample(truth, schema, share, of, seed)
    first = given.epsilons[0]
    if sprint == 1:
        return sprint1.score_counts(truth, {first: sprint1.true_counts(parts, given)}, given)
    if sprint == 2:
        return sprint2.score_tables(truth, {first: parts}, given, bias=None)
    return sprint3.score_tables(truth, {first: parts}, given)
