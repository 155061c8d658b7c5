"""A sprint run: valid submissions with every ε, and what they spend together on the ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.contest import Parameters, sprint1, sprint2, sprint3
from sfumato.contest.running import Entry, counts_of
from sfumato.synthesizers import Uniform
from tests import challenge
from tests.contest import official
from tests.contest.test_scores import incidents


def folder(path: Path, sprint: int, records: int = 300, epsilons: tuple[float, ...] = (1.0, 10.0)) -> dict[str, Any]:
    """The contest's data folder, and its parameters."""
    parameters = [challenge.sprint1, challenge.sprint2, challenge.sprint3][sprint - 1](epsilons=epsilons)
    if sprint == 1:
        incidents(parameters, records, 1).to_csv(path / "incidents.csv")
    elif sprint == 2:
        people = challenge.people(parameters["schema"], 1, records).assign(sim_individual_id=np.arange(records) // 4)
        people.to_csv(path / "ground_truth.csv", index=False)
    else:
        trips = challenge.trips(parameters["schema"], 1, records, 9).assign(trip_day_of_week=0, trip_hour_of_day=0)
        trips.to_csv(path / "ground_truth.csv", index=False)
    (path / "parameters.json").write_text(json.dumps(parameters))
    return parameters


def test_the_first_sprint_is_run_for_every_epsilon(tmp_path: Path) -> None:
    """The published check takes it, its counts are near the truth where ε is large, and it scores."""
    parameters = folder(tmp_path, 1, records=3000, epsilons=(1.0, 2000.0))
    out = tmp_path / "submission.csv"
    done = Entry.of(1, tmp_path, sf.NMD()).run(out)
    assert official.counts_valid(out.read_text(), parameters)
    assert [r["epsilon"] for r in done.releases] == [1.0, 2000.0]
    score = sprint1.score(tmp_path / "incidents.csv", out, parameters)
    assert score.parts[2000.0]["mean of rows"] > 0.9
    found = pd.read_csv(out)
    truth = sprint1.true_counts(tmp_path / "incidents.csv", Parameters.load(parameters, 1))
    kept = found[found["epsilon"] == 2000.0].to_numpy()[:, 4:].reshape(truth.shape)
    assert kept.sum() <= 20 * 99 + 50  # residents have at most 20 records counted, and noise is next to nothing
    assert (kept <= truth + 1).all()


def test_all_runs_together_stand_on_the_ledger(tmp_path: Path) -> None:
    """A new account's cap is the sum of all ε; all are charged, and a second run is refused unspent."""
    folder(tmp_path, 1, epsilons=(1.0, 2.0, 10.0))
    entry = Entry.of(1, tmp_path, sf.NMD())
    done = entry.run(tmp_path / "a.csv")
    assert done.together.epsilon == 13.0
    book = sf.Ledger.open(tmp_path / "incidents.ledger", create=False)
    (account,) = book.accounts()
    assert (account.cap.epsilon, account.releases) == (13.0, 3)
    assert account.spent == pytest.approx(13.0)
    with pytest.raises(sf.BudgetError, match=r"3 runs come to ε = 13.*to ε = 26.*ledger cap"):
        entry.run(tmp_path / "b.csv")
    assert book.accounts()[0].releases == 3
    assert not (tmp_path / "b.csv").exists()


def test_a_cap_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """An owner's cap holds: too small for all runs, none is made; large enough, it stays."""
    folder(tmp_path, 1, epsilons=(1.0, 2.0))
    path = tmp_path / "own.ledger"
    book = sf.Ledger.open(path)
    book.set_cap("data", sf.Budget(2.5))
    entry = Entry.of(1, tmp_path, sf.NMD())
    with pytest.raises(sf.BudgetError, match=r"above its cap of ε = 2\.5"):
        entry.run(tmp_path / "a.csv", path)
    assert book.accounts()[0].spent == 0
    book.set_cap("data", sf.Budget(4.0))
    entry.run(tmp_path / "a.csv", path)
    assert book.accounts()[0].cap.epsilon == 4.0


@pytest.mark.parametrize(("sprint", "check"), [(2, sprint2.check), (3, sprint3.check)])
def test_records_are_run_for_every_epsilon(sprint: int, check: Any, tmp_path: Path) -> None:
    """The baseline makes submissions of records that the published check takes, as many as its noisy count says."""
    parameters = folder(tmp_path, sprint, records=2000, epsilons=(20.0, 40.0))
    out = tmp_path / "s.csv"
    Entry.of(sprint, tmp_path, Uniform()).run(out)
    assert official.records_valid(out.read_text(), parameters, sprint)
    sizes = pd.read_csv(out).groupby("epsilon").size()
    most = 9 * 200 if sprint == 3 else 2000
    # noise of scale 200/20 or less: 300 away once in e^30
    assert all(abs(sizes - most) < 300)


def test_made_up_taxis_have_no_more_trips_than_allowed(tmp_path: Path) -> None:
    """Trips without a taxi get one, in numbers like those of the contest's own baseline."""
    folder(tmp_path, 3)
    out = tmp_path / "s.csv"
    Entry.of(3, tmp_path, Uniform()).run(out, records=50_000, seed=3)
    trips = pd.read_csv(out).groupby(["epsilon", "taxi_id"]).size()
    assert trips.max() <= 200
    assert 50 < trips.mean() < 60
    assert trips.index.get_level_values("taxi_id").min() == 1_000_000


def test_no_more_records_than_the_contest_takes(tmp_path: Path) -> None:
    """A model that makes more than max_records is cut there."""
    parameters = folder(tmp_path, 3)
    parameters["runs"] = [{**run, "max_records": 150_000} for run in parameters["runs"]]
    (tmp_path / "parameters.json").write_text(json.dumps(parameters))
    done = Entry.of(3, tmp_path, Uniform()).run(tmp_path / "s.parquet", records=200_000)
    assert done.checked.records == {1.0: 150_000, 10.0: 150_000}


def test_the_public_contract_bounds_a_taxi(tmp_path: Path) -> None:
    """Where the final's files say a million trips a taxi, 200 are counted, as the contest had told everybody."""
    parameters = folder(tmp_path, 3)
    parameters["runs"] = [{**run, "max_records_per_individual": 1_000_000} for run in parameters["runs"]]
    (tmp_path / "parameters.json").write_text(json.dumps(parameters))
    (_, plan), _ = Entry.of(3, tmp_path, Uniform()).plans
    assert str(plan.questions[0].capped) == "records(200)"


def test_counts_of_records_are_those_of_the_histogram() -> None:
    """A model that samples records is counted; the histogram itself gives the same table at once."""
    parameters = Parameters.load(challenge.sprint1(), 1)
    data = pa.Table.from_pandas(incidents(challenge.sprint1(), 500, 4), preserve_index=False)
    vault = sf.Vault.open(data, parameters.released, sf.Budget(5.0), ledger=":memory:", seed=1)
    model = sf.NMD().fit(vault)

    @dataclass
    class Records:
        """The same model, seen as one that only samples."""

        schema: sf.Schema = model.schema

        def sample(self, records: int | None = None, seed: int | None = None) -> Any:
            return model.sample(records, seed)

    assert counts_of(Records(), parameters).tolist() == counts_of(model, parameters).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sprint", "method", "says"),
    [
        (3, sf.NMD(), "cannot make a submission to sprint 3: all 10 columns together"),
        (3, sf.NMD(marginal=("shift", "fare")), "makes shift, fare alone, but sprint 3 needs company_id"),
        (1, sf.NMD(marginal=("neighborhood", "period")), "each at its finest level"),
    ],
)
def test_a_method_that_cannot_is_refused_before_anything_is_spent(
    sprint: int, method: Any, says: str, tmp_path: Path
) -> None:
    """One sentence, and no ledger is opened."""
    folder(tmp_path, sprint)
    with pytest.raises(sf.InputError, match=says):
        Entry.of(sprint, tmp_path, method).run(tmp_path / "s.csv")
    assert not list(tmp_path.glob("*.ledger"))


def test_data_without_a_column_opens_no_ledger(tmp_path: Path) -> None:
    """What is missing is named before anything is made."""
    folder(tmp_path, 3)
    trips = pd.read_csv(tmp_path / "ground_truth.csv").drop(columns="tips")
    trips.to_csv(tmp_path / "ground_truth.csv", index=False)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(sf.InputError, match="no column 'tips'"):
        Entry.of(3, tmp_path, Uniform()).run(tmp_path / "s.csv")
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_without_its_files_is_refused(tmp_path: Path) -> None:
    """What is missing is named."""
    with pytest.raises(sf.InputError, match=r"parameters.json does not exist"):
        Entry.of(1, tmp_path, sf.NMD())
    (tmp_path / "parameters.json").write_text(json.dumps(challenge.sprint1()))
    with pytest.raises(sf.InputError, match=r"has no incidents.csv"):
        Entry.of(1, tmp_path, sf.NMD())
    with pytest.raises(sf.InputError, match="is no folder"):
        Entry.of(1, tmp_path / "x", sf.NMD())
