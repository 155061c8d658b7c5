"""The three scores: values of the published scorers, slow transcriptions, files and tables alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon

from sfumato import Schema
from sfumato.contest import ContestScore, Parameters, references, sprint1, sprint2, sprint3
from sfumato.metrics import Pie
from tests import challenge
from tests.contest import official

# ---------------------------------------------------------------------- sprint 1


def slow_pie(a: np.ndarray, p: np.ndarray) -> float:
    """One row by the published rules, step by step."""
    if (a == p).all():
        return 1.0
    off = 0.25 if abs(a.sum() - p.sum()) > 500 else 0.0
    g, d = ([x if total and x / total >= 0.05 else 0.0 for x in v] for v, total in ((a, a.sum()), (p, p.sum())))
    distance = jensenshannon(np.array(g) + 1e-9, np.array(d) + 1e-9, base=2)
    off += 0.2 * sum(x == 0 and y > 0 for x, y in zip(g, d, strict=True))
    return float(min(1.0, max(0.0, 1 - distance - off)))


def pie() -> Pie:
    return Pie(Schema.from_dict(challenge.sprint1(kinds=174)), "incident_type", ("neighborhood", "period"))


def row(*counts: float) -> np.ndarray:
    out = np.zeros(174)
    out[: len(counts)] = counts
    return out


@pytest.mark.parametrize(
    ("a", "p", "expected"),
    [
        (row(10, 5), row(9, 6), 0.9412205027),
        (row(10, 5), row(), 0.0227001401),
        (row(), row(10, 5), 0.0),
        (row(10, 5), row(10, 5, 1), 0.6211780504),
        (row(10, 5), 100 * row(10, 5), 0.7499270163),
        (np.ones(174), row(10, 5), 0.0),
        (row(), row(), 1.0),
        (row(10, 5), row(10, 5), 1.0),
    ],
)
def test_pies_score_as_published(a: np.ndarray, p: np.ndarray, expected: float) -> None:
    """Rows whose scores the published scorer gave, to ten digits."""
    assert pie().rows([a], [p])[0] == pytest.approx(expected, abs=5e-11)


def test_pies_are_the_published_procedure() -> None:
    """Random rows, sparse and full, small and beyond the allowed bias, score as a slow transcription."""
    rng = np.random.default_rng(1)
    a = rng.poisson(rng.choice([0.05, 0.5, 5, 50], (300, 1)), (300, 174)) * (rng.random((300, 174)) < 0.2)
    p = np.maximum(a + rng.integers(-3, 4, a.shape) * (rng.random(a.shape) < rng.random((300, 1))), 0)
    p[::7] *= 3
    found = pie().rows(a, p)
    assert found == pytest.approx(
        [slow_pie(x.astype(float), y.astype(float)) for x, y in zip(a, p, strict=True)], abs=1e-9
    )
    assert 0.05 < found.mean() < 0.95


def test_a_difference_of_500_records_is_allowed() -> None:
    """501 is too many, 500 is not."""
    a, p, q = row(1000, 1000), row(1250, 1250), row(1251, 1250)
    assert pie().rows([a, a], [p, q]) == pytest.approx([1.0, 0.75], abs=1e-3)


def incidents(parameters: dict[str, Any], records: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    schema = parameters["schema"]
    frame = pd.DataFrame(
        {
            "sim_resident": rng.integers(0, 99, records),
            "neighborhood": rng.integers(0, len(schema["neighborhood"]) + 1, records),
            "year": 2019,
            "month": rng.integers(1, len(schema["periods"]) + 2, records),
            "incident_type": rng.integers(0, len(schema["incident_type"]), records),
        }
    )
    frame["day"] = 3
    return frame


def test_the_first_sprint_adds_up_its_rows(tmp_path: Path) -> None:
    """From files as the contest had them: an unnamed first column, incidents outside the schema, every ε."""
    parameters = challenge.sprint1()
    truth, submission = incidents(parameters, 400, 2), official.counts(parameters, 3)
    truth.to_csv(tmp_path / "incidents.csv")
    submission.to_csv(tmp_path / "submission.csv", index=False)
    (tmp_path / "parameters.json").write_text(json.dumps(parameters))
    score = sprint1.score(*(tmp_path / name for name in ("incidents.csv", "submission.csv", "parameters.json")))
    expected: dict[float, float] = {1.0: 0.0, 2.0: 0.0}
    for _, line in submission.iterrows():
        mine = truth[(truth["neighborhood"] == line["neighborhood"]) & (truth["month"] == line["month"])]
        a = np.array([(mine["incident_type"] == k).sum() for k in range(4)], float)
        expected[line["epsilon"]] += slow_pie(a, line[["0", "1", "2", "3"]].to_numpy(float))
    assert score.per_epsilon == pytest.approx(expected, abs=1e-9)
    assert score.value == pytest.approx(sum(expected.values()), abs=1e-9)
    assert score.full == 12
    assert score.parts[1.0]["Inv-Pie"] == pytest.approx(1 - expected[1.0] / 6)


def test_the_truth_itself_scores_full() -> None:
    """Every pie of the truth is right."""
    parameters = challenge.sprint1()
    truth = incidents(parameters, 400, 4)
    score = references.score(truth, parameters, 1, share=1.0)
    assert score.value == score.full == 6


# ---------------------------------------------------------------------- sprints 2 and 3


def test_the_second_sprint_scores_as_published(tmp_path: Path) -> None:
    """A whole submission: each ε its published value, and their mean; files and tables alike."""
    parameters = challenge.sprint2()
    schema = parameters["schema"]
    g, s = challenge.people(schema, 0, 3000), challenge.people(schema, 1, 2500)
    submission = challenge.epsilons({0.1: g[:1000], 1.0: s, 10.0: g[:2000]}, list(schema), "sim_individual_id")
    score = sprint2.score(g, submission, parameters)
    assert list(score.per_epsilon.values()) == pytest.approx([0.0, 740.7879117320404, 883.374596424268], abs=1e-9)
    assert score.value == pytest.approx((740.7879117320404 + 883.374596424268) / 3, abs=1e-9)
    submission.to_csv(tmp_path / "s.csv", index=False)
    g.to_csv(tmp_path / "g.csv", index=False)
    assert sprint2.score(tmp_path / "g.csv", tmp_path / "s.csv", parameters).per_epsilon == score.per_epsilon


def test_the_third_sprint_scores_as_published(tmp_path: Path) -> None:
    """A whole submission: K, G and H of each ε, their mean, and the published bug where it is asked for."""
    parameters = challenge.sprint3()
    schema = parameters["schema"]
    g, s = challenge.trips(schema, 0, 20000, 400), challenge.trips(schema, 1, 15000, 300)
    submission = challenge.epsilons({1.0: s, 10.0: s[s["pickup_community_area"] != 8]}, official.TRIP)
    score = sprint3.score(g, submission, parameters)
    assert list(score.parts[1.0].values()) == pytest.approx([0.11526484, 0.67003333, 0.9964], abs=5e-9)
    assert score.per_epsilon[1.0] == pytest.approx(593.89939, abs=5e-6)
    bug = sprint3.score(g, submission, parameters, official_bug=True)
    assert list(bug.parts[10.0].values()) == pytest.approx([0.11386571, 0.66493129, 0.99713333], abs=5e-9)
    assert bug.per_epsilon[10.0] == pytest.approx(591.976776, abs=5e-7)
    assert bug.per_epsilon[1.0] == score.per_epsilon[1.0]
    submission.to_csv(tmp_path / "s.csv", index=False)
    g.to_parquet(tmp_path / "g.parquet")
    files = sprint3.score(tmp_path / "g.parquet", tmp_path / "s.csv", parameters)
    assert files.per_epsilon == score.per_epsilon


def test_the_first_ten_thousand_trips_score_as_published() -> None:
    """K, G, H and the total of a part of the truth."""
    parameters = challenge.sprint3(epsilons=(1.0,))
    g = challenge.trips(parameters["schema"], 0, 20000, 400)
    score = sprint3.score(g, challenge.epsilons({1.0: g[:10000]}, official.TRIP), parameters)
    assert score.value == pytest.approx(772.61556, abs=5e-6)
    assert sprint3.score(g, challenge.epsilons({1.0: g}, official.TRIP), parameters).value == 1000.0


def test_a_score_explains_itself() -> None:
    """As JSON it holds each ε, its parts and what is behind them."""
    parameters = challenge.sprint3()
    frame = official.trips(parameters, records=200)
    score = sprint3.score(frame, frame, parameters)
    found = json.loads(json.dumps(score.to_dict(), allow_nan=False))
    assert set(found["per_epsilon"]) == {"1", "10"}
    assert found["details"]["1"]["k"]["metric"] == "kmarginal"
    assert isinstance(score, ContestScore)


def test_a_schema_of_the_handed_out_parameters(shared: Path) -> None:
    """The files that were handed out are read as the sprint they are of."""
    for sprint in (1, 2, 3):
        given = Parameters.load(shared / f"sprint{sprint}_parameters.json", sprint)
        assert given.released.max_records_per_person == (20, 7, 200)[sprint - 1]


def test_bins_of_later_tools_do_not_change_the_score() -> None:
    """Parameters with `kind`, `codes` and `bins` added are scored by the contest's own bins."""
    for parameters, make in ((challenge.sprint2(), official.people), (challenge.sprint3(), official.trips)):
        sprint = 2 if "PUMA" in parameters["schema"] else 3
        scored = sprint2.score if sprint == 2 else sprint3.score
        more = {
            name: {"kind": "numeric" if "values" not in entry else "categorical", **entry}
            | ({"bins": [-10_000, 50, 200_000]} if "values" not in entry else {"codes": [1]})
            for name, entry in parameters["schema"].items()
        }
        submission, truth = make(parameters), make(parameters, 90)
        assert (
            scored(truth, submission, {**parameters, "schema": more}).value
            == scored(truth, submission, parameters).value
        )
