"""Checks of submissions: the verdict of the published checks, with the rows where a rule is broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import InputError
from sfumato.contest import Checked, records, sprint1, sprint2, sprint3
from tests import challenge
from tests.contest import official

Change = Callable[[pd.DataFrame], pd.DataFrame]
P1, P2, P3 = challenge.sprint1(), challenge.sprint2(), challenge.sprint3()


def put(row: int, column: str, value: Any) -> Change:
    """One value replaced."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        out = frame.astype({column: object})
        out.loc[row, column] = value
        return out

    return change


def epsilon(old: float, new: Any) -> Change:
    return lambda f: f.assign(epsilon=[new if e == old else e for e in f["epsilon"]])


ONE: dict[str, tuple[Change, tuple[str, ...]]] = {
    "as it should be": (lambda f: f, ()),
    "index columns last": (lambda f: f[[*f.columns[4:], *f.columns[:4]]], ()),
    "missing ε": (lambda f: f[f["epsilon"] == 1.0], ("there are 6 rows", "make 12")),
    "another ε": (epsilon(2.0, 3.0), ("another epsilon", "lines 8, 9")),
    "wrong order": (lambda f: f.iloc[[1, 0, *range(2, len(f))]], ("another month", "lines 2, 3")),
    "one row more": (lambda f: pd.concat([f, f[-1:]]), ("there are 13 rows",)),
    "extra index column": (lambda f: f.reset_index(), ("'index' does not belong",)),
    "unknown kind": (lambda f: f.rename(columns={"3": "9"}), ("no column '3'", "'9'")),
    "kinds out of order": (lambda f: f[[*f.columns[:4], "1", "0", "2", "3"]], ("not in order, from '1'",)),
    "a fraction": (put(2, "1", 1.5), ("column '1'", "no whole number", "such as 1.5", "line 4")),
    "whole, but written as a fraction": (put(2, "1", "3.0"), ("column '1'", "no whole number", "line 4")),
    "below zero": (put(3, "0", -1), ("column '0'", "below zero", "line 5")),
    "nothing": (put(3, "0", None), ("column '0'", "missing or infinite", "line 5")),
    "infinity": (put(0, "2", "inf"), ("column '2'", "missing or infinite", "line 2")),
    "a word": (put(0, "2", "many"), ("column '2'", "no whole number", "line 2")),
}
RECORDS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "as it should be": (lambda f: f, ()),
    "missing ε": (lambda f: f[f["epsilon"] != 1.0], ("no row has ε = 1,",)),
    "another ε": (epsilon(10.0, 9.0), ("an ε that is no run's", "such as 9", "no row has ε = 10")),
    "ε missing in a row": (put(3, "epsilon", None), ("an ε that is no run's", "line 5")),
    "columns in another order": (
        lambda f: f[[f.columns[0], f.columns[2], f.columns[1], *f.columns[3:]]],
        ("column 2 is",),
    ),
    "extra index column": (lambda f: f.reset_index(), ("'index' does not belong",)),
    "a column less": (lambda f: f.drop(columns=f.columns[3]), ("no column",)),
}
TWO: dict[str, tuple[Change, tuple[str, ...]]] = RECORDS | {
    "unknown area": (put(4, "PUMA", "99-1"), ("column 'PUMA'", "not in the schema", "'99-1'", "line 6")),
    "unknown value": (put(4, "SEX", 3), ("column 'SEX'", "such as 3", "line 6")),
    "a category missing": (put(4, "SEX", None), ("column 'SEX'", "such as nothing", "line 6")),
    "whole, but written as a fraction": (put(4, "SEX", "2.0"), ()),
    "too old": (put(1, "AGE", 136), ("column 'AGE'", "above 135", "line 3")),
    "too young": (put(1, "AGE", -1), ("column 'AGE'", "below 0", "line 3")),
    "an infinite weight": (put(1, "HHWT", "inf"), ("column 'HHWT'", "nothing or infinity (float)", "line 3")),
    "a missing weight": (put(1, "HHWT", None), ("column 'HHWT'", "nothing or infinity (float)", "line 3")),
    "a word for a number": (put(1, "INCTOT", "rich"), ("column 'INCTOT'", "no number (int32)", "line 3")),
    "a missing number": (put(1, "INCTOT", None), ("column 'INCTOT'", "nothing or infinity (int32)", "line 3")),
    "a fraction where whole numbers belong": (put(1, "INCTOT", 10.5), ()),
    "any id": (lambda f: f.assign(sim_individual_id="me"), ()),
}
THREE: dict[str, tuple[Change, tuple[str, ...]]] = RECORDS | {
    "unknown shift": (put(4, "shift", 21), ("column 'shift'", "such as 21", "line 6")),
    "id too small": (put(4, "taxi_id", 999_999), ("column 'taxi_id'", "below 1000000", "line 6")),
    "id missing": (put(4, "taxi_id", None), ("column 'taxi_id'", "nothing or infinity (int64)", "line 6")),
    "id a word": (put(4, "taxi_id", "cab"), ("column 'taxi_id'", "no number (int64)", "line 6")),
    "float ids": (lambda f: f.astype({"taxi_id": float}), ()),
    "a fare too high": (put(7, "fare", 10_001), ("column 'fare'", "above 10000", "line 9")),
    "trips on a day of the week": (lambda f: f.assign(trip_day_of_week=1), ("'trip_day_of_week' does not belong",)),
    "201 trips of a taxi": (
        lambda f: pd.concat([f, *[f[:1].assign(taxi_id=1_234_567)] * 201]),
        ("more than 200 rows of one taxi_id at ε = 1: 1 have, 1234567 has 201",),
    ),
    "200 trips of a taxi": (lambda f: pd.concat([f, *[f[:1].assign(taxi_id=1_234_567)] * 200]), ()),
    "200 trips at each ε": (
        lambda f: pd.concat([f, *[g.assign(taxi_id=1_234_567) for g in (f[:1], f[-1:]) for _ in range(200)]]),
        (),
    ),
}


def judged(frame: pd.DataFrame, folder: Path, check: Callable[..., Checked], parameters: Any) -> tuple[str, Checked]:
    path = folder / "submission.csv"
    frame.to_csv(path, index=False)
    return path.read_text(), check(path, parameters)


def agree(found: Checked, expected: bool, says: tuple[str, ...]) -> None:
    assert found.ok == expected
    told = " | ".join(map(str, found.faults))
    assert all(part in told for part in says), told
    assert bool(says) != found.ok


@pytest.mark.parametrize(("change", "says"), ONE.values(), ids=ONE)
def test_counts_get_the_official_verdict(change: Change, says: tuple[str, ...], tmp_path: Path) -> None:
    """A submission to the first sprint is taken just where the published check takes it; faults name their lines."""
    text, found = judged(change(official.counts(P1)), tmp_path, sprint1.check, P1)
    agree(found, official.counts_valid(text, P1), says)


@pytest.mark.parametrize(("change", "says"), TWO.values(), ids=TWO)
def test_people_get_the_official_verdict(change: Change, says: tuple[str, ...], tmp_path: Path) -> None:
    """So is one to the second."""
    text, found = judged(change(official.people(P2)), tmp_path, sprint2.check, P2)
    agree(found, official.records_valid(text, P2, 2), says)


@pytest.mark.parametrize(("change", "says"), THREE.values(), ids=THREE)
def test_trips_get_the_official_verdict(change: Change, says: tuple[str, ...], tmp_path: Path) -> None:
    """So is one to the third."""
    text, found = judged(change(official.trips(P3)), tmp_path, sprint3.check, P3)
    agree(found, official.records_valid(text, P3, 3), says)


def test_too_many_records_for_one_epsilon(tmp_path: Path) -> None:
    """The limit on the records of a run is held to the record."""
    few = {**P3, "runs": [{**run, "max_records": 40} for run in P3["runs"]]}
    frame = official.trips(few)
    for more, expected in ((frame, True), (pd.concat([frame, frame[:1]]), False)):
        text, found = judged(more, tmp_path, sprint3.check, few)
        assert official.records_valid(text, few, 3) is found.ok is expected
    assert "ε = 1 has 41 rows, more than 40" in str(found.faults[0])


@pytest.mark.parametrize("line", ["1.0,5", "1.0" + ",1" * 40])
def test_a_broken_line_is_a_fault_with_its_number(line: str, tmp_path: Path) -> None:
    """Too few values, or too many: the line is named."""
    path = tmp_path / "s.csv"
    official.trips(P3).to_csv(path, index=False)
    path.write_text(path.read_text() + line + "\n")
    found = sprint3.check(path, P3)
    assert not found.ok
    assert found.faults[0].rows == (82,)
    assert "instead of 12" in found.faults[0].text


def test_faults_are_counted_and_the_first_rows_named(tmp_path: Path) -> None:
    """A fault says how often it comes, shows its first five rows, and a few of the values."""
    frame = official.trips(P3, records=300)
    frame.loc[10:59, "shift"] = 77
    _, found = judged(frame, tmp_path, sprint3.check, P3)
    (fault,) = found.faults
    assert (fault.rule, fault.count, fault.rows) == ("values", 50, (12, 13, 14, 15, 16))
    assert (
        str(fault)
        == "column 'shift': a value that is not in the schema in 50 lines, such as 77 (lines 12, 13, 14, 15, 16 …)"
    )
    assert found.to_dict()["faults"][0]["first"] == [12, 13, 14, 15, 16]
    assert found.records == {1.0: 300, 10.0: 300}


def test_every_kind_of_file_and_table_gets_one_verdict(tmp_path: Path) -> None:
    """CSV, compressed CSV, Parquet, pandas and Arrow: the same faults in the same places."""
    frame = official.trips(P3)
    frame.loc[7, "fare"] = 20_000
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_csv(tmp_path / "s.csv.gz", index=False)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "s.parquet")
    for data, row in (
        (tmp_path / "s.csv", 9),
        (tmp_path / "s.csv.gz", 9),
        (tmp_path / "s.parquet", 8),
        (frame, 8),
        (pa.Table.from_pandas(frame, preserve_index=False), 8),
    ):
        (fault,) = sprint3.check(data, P3).faults
        assert (fault.rule, fault.rows) == ("max", (row,))


def test_a_long_file_is_checked_to_its_end(tmp_path: Path) -> None:
    """Rows are counted across the blocks that a file is read in."""
    frame = official.trips(P3, records=120)
    long = pd.concat(
        [frame.assign(taxi_id=1_000_000 + np.arange(240) + 300 * i) for i in range(900)], ignore_index=True
    )
    long.loc[215_000, "tips"] = 5_000
    _, found = judged(long, tmp_path, sprint3.check, P3)
    (fault,) = found.faults
    assert fault.rows == (215_002,)
    assert sum(found.records.values()) == 216_000


def test_persons_are_counted_whatever_is_added_up_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of persons that are merged again and again come to the same."""
    monkeypatch.setattr(records, "_MANY", 5)
    frame = official.trips(P3, records=70_000).assign(taxi_id=lambda f: 1_000_000 + f.index % 700)
    frame.loc[:1, "taxi_id"] = 1_000_699
    _, found = judged(frame, tmp_path, sprint3.check, P3)
    assert found.ok
    frame.loc[2:104, "taxi_id"] = 1_000_699
    _, found = judged(frame, tmp_path, sprint3.check, P3)
    assert ["at ε = 1: 1 have, 1000699 has 205" in f.text for f in found.faults] == [True]


def test_loose_parameters_are_told(tmp_path: Path) -> None:
    """The files of the final allow a million trips a taxi: that is taken, and said."""
    loose = {**P3, "runs": [{**run, "max_records_per_individual": 1_000_000} for run in P3["runs"]]}
    _, found = judged(official.trips(loose), tmp_path, sprint3.check, loose)
    assert found.ok
    assert "the contest said 200" in found.notes[0]


def test_a_score_needs_a_valid_submission() -> None:
    """What the contest would not take is not scored; the first fault is told."""
    with pytest.raises(InputError, match=r"no valid submission to sprint 3: column 'shift'.* \(and 1 more fault\)$"):
        sprint3.score(official.trips(P3), official.trips(P3).assign(epsilon=1.0, shift=99), P3)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        (P1, "holds the parameters of sprint 1, not of sprint 3"),
        ({"runs": []}, "needs 'runs' and 'schema'"),
        ({**P3, "runs": []}, "asks for no run"),
        ({**P3, "runs": [P3["runs"][0]] * 2}, "two runs of one epsilon"),
        ({**P3, "schema": {k: v for k, v in P3["schema"].items() if k != "tips"}}, "no column 'tips'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters: dict[str, Any], says: str) -> None:
    """One sentence says which sprint they are of, or what is missing."""
    with pytest.raises(InputError, match=says):
        sprint3.check(official.trips(P3), parameters)


@pytest.mark.parametrize(
    ("check", "submission", "parameters", "records"),
    [
        (sprint1.check, "sprint1_submission_format.csv.gz", "sprint1_parameters.json", 10_008),
        (sprint2.check, "sprint2_submission_format_head.csv", "sprint2_parameters.json", 15),
    ],
    ids=["sprint 1", "sprint 2"],
)
def test_the_formats_that_were_handed_out_are_valid(
    check: Callable[..., Checked], submission: str, parameters: str, records: int, shared: Path
) -> None:
    """The contest's own examples, by its own parameters."""
    found = check(shared / submission, shared / parameters)
    assert found.ok, found.faults
    assert sum(found.records.values()) == records
