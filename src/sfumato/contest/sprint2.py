"""The second sprint: records of people by area and year, scored by the k-marginal with fifty drawn pairs.

Per ε: 1000 × the k-marginal over PUMA × YEAR, with the pairs that seed 123456 draws, and nothing for a PUMA and year
whose numbers of records differ by 250 or more. The score is the mean over ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.contest.checked import Checked
from sfumato.contest.parameters import Parameters, Source
from sfumato.contest.records import by_epsilon, check_records
from sfumato.contest.score import ContestScore
from sfumato.metrics.kmarginal import KMarginal

BY = ("PUMA", "YEAR")
PAIRS, SEED, BIAS = 50, 123456, 250


def metric(parameters: Parameters, bias: int | None = BIAS) -> KMarginal:
    """The k-marginal as the sprint scored it."""
    return KMarginal(parameters.schema, by=BY, draws=PAIRS, seed=SEED, bias=bias)


def score(truth: Any, submission: Any, parameters: Source | Parameters) -> ContestScore:
    """The score of a submission; `truth` holds the true records, as the contest's `ground_truth.csv`."""
    given = Parameters.load(parameters, 2)
    check(submission, given).require()
    return score_tables(truth, by_epsilon(submission, given.schema, given), given)


def score_tables(
    truth: Any, made: Mapping[float, Any], parameters: Parameters, bias: int | None = BIAS
) -> ContestScore:
    """The score of a table for every ε; without `bias` totals may differ."""
    found = dict(zip(made, metric(parameters, bias).score_all(truth, *made.values()), strict=True))
    each = {e: 1000 * s.value for e, s in found.items()}
    parts = {e: {"k-marginal": s.value} for e, s in found.items()}
    return ContestScore(2, sum(each.values()) / len(each), 1000, each, parts, {e: {"k": s} for e, s in found.items()})


def check(submission: Any, parameters: Source | Parameters) -> Checked:
    """Whether the contest would take it, by the rules of its own check."""
    return check_records(submission, Parameters.load(parameters, 2))
