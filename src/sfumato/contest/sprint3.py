"""The third sprint: taxi trips, scored by k-marginal, flows and higher-order conjunction.

Per ε: 1000 × the mean of K, the k-marginal over pickup area × shift and all pairs of the eight other columns; G, how
alike the flows from pickup to dropoff area are; H, the higher-order conjunction over shift and pickup area. The score
is the mean over ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.contest.checked import Checked
from sfumato.contest.parameters import TRIP, Parameters, Source
from sfumato.contest.records import by_epsilon, check_records
from sfumato.contest.score import ContestScore
from sfumato.metrics.base import Score
from sfumato.metrics.conjunction import Conjunction
from sfumato.metrics.edges import Edges
from sfumato.metrics.kmarginal import KMarginal

BY = ("pickup_community_area", "shift")
COMPARED = tuple(c for c in TRIP if c not in (*BY, "taxi_id"))
FLOW = ("pickup_community_area", "dropoff_community_area")
SEED = 123456


def score(truth: Any, submission: Any, parameters: Source | Parameters, *, official_bug: bool = False) -> ContestScore:
    """The score of a submission; `truth` holds the true trips, as the contest's `ground_truth.csv`.

    `official_bug` repeats what the published scorer's H lost where the submission lacks a shift or an area
    (`sfumato.metrics.conjunction`).
    """
    given = Parameters.load(parameters, 3)
    check(submission, given).require()
    return score_tables(truth, by_epsilon(submission, given.schema.select(TRIP[1:]), given), given, official_bug)


def score_tables(
    truth: Any, made: Mapping[float, Any], parameters: Parameters, official_bug: bool = False
) -> ContestScore:
    """The score of a table for every ε."""
    schema = parameters.schema
    tables = list(made.values())
    k = KMarginal(schema, by=BY, columns=COMPARED).score_all(truth, *tables)
    h = Conjunction(schema, BY[::-1], seed=SEED, official_bug=official_bug).score_all(truth, *tables)
    g = [Edges(schema, FLOW).score(truth, table) for table in tables]
    details: dict[float, dict[str, Score]] = {e: {"k": k[i], "g": g[i], "h": h[i]} for i, e in enumerate(made)}
    names = {"k": "K k-marginal", "g": "G flows", "h": "H conjunction"}
    parts = {e: {names[n]: s.value for n, s in found.items()} for e, found in details.items()}
    each = {e: 1000 * sum(p.values()) / len(p) for e, p in parts.items()}
    return ContestScore(3, sum(each.values()) / len(each), 1000, each, parts, details)


def check(submission: Any, parameters: Source | Parameters) -> Checked:
    """Whether the contest would take it, by the rules of its own check."""
    return check_records(submission, Parameters.load(parameters, 3))
