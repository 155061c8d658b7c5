import numpy as np
import pandas as pd
import pytest

from sfumato.errors import InputError
from sfumato.simulate import Simulation, incidents


@pytest.fixture(scope="module")
def sim() -> Simulation:
    return incidents()


@pytest.fixture(scope="module")
def calls(sim: Simulation) -> pd.DataFrame:
    out: pd.DataFrame = sim.to_table().to_pandas()
    return out


def half_l1(a: pd.Series, b: pd.Series) -> float:
    p, q = a.value_counts(normalize=True), b.value_counts(normalize=True)
    return float(p.sub(q, fill_value=0).abs().sum() / 2)


def test_columns_are_those_of_the_challenge(sim: Simulation, calls: pd.DataFrame) -> None:
    """Names, order and types are those of the first sprint."""
    assert {k: str(v) for k, v in calls.dtypes.items()} == {
        "sim_resident": "int64",
        "neighborhood": "int16",
        "year": "int16",
        "month": "int8",
        "day": "int8",
        "incident_type": "int16",
    }
    assert [c.size() for c in sim.schema.attributes] == [278, 12, 174]
    assert [c.size(1) for c in sim.schema.attributes] == [9, 4, 10]


def test_residents(sim: Simulation, calls: pd.DataFrame) -> None:
    """At full size there are 285,784 residents with 1 to 20 events, most of them in one area."""
    counts = calls.groupby("sim_resident").size()
    assert sim.persons == len(counts) == 285_784
    assert counts.max() <= 20
    by_area = calls.groupby(["sim_resident", "neighborhood"]).size()
    assert by_area.groupby("sim_resident").max().sum() / len(calls) > 0.7


def test_every_value_is_in_the_schema(sim: Simulation, calls: pd.DataFrame) -> None:
    """Nothing lies outside the schema, and days exist in their month."""
    places, _, types = (c.bins for c in sim.schema.attributes)
    assert set(calls.neighborhood.unique()) <= set(places)
    assert set(calls.incident_type.unique()) <= set(types)
    assert set(calls.year.unique()) == {2019}
    assert set(calls.month.unique()) == set(range(1, 13))
    pd.to_datetime(calls[["year", "month", "day"]])


def test_most_cells_are_empty_and_few_types_lead(calls: pd.DataFrame) -> None:
    """75 to 90 % of the 580,464 cells are empty at full size; ten types are most of the calls."""
    cells = calls.groupby(["neighborhood", "month", "incident_type"]).size()
    assert 0.75 < 1 - len(cells) / (278 * 12 * 174) < 0.90
    shares = calls.incident_type.value_counts(normalize=True)
    assert 0.08 < shares.iloc[0] < 0.25
    assert 0.6 < shares.iloc[:10].sum() < 0.9


def test_types_depend_on_character_and_season(sim: Simulation, calls: pd.DataFrame) -> None:
    """Downtown and residential areas differ in their calls, summer and winter too."""
    kind = pd.Series(sim.schema["incident_type"].coarsen("kind"))[calls.incident_type].to_numpy()
    character = np.array(sim.city.characters)[calls.neighborhood]
    downtown, homes = (pd.Series(kind[character == c]) for c in ("downtown", "residential"))
    assert half_l1(downtown, homes) > 0.1
    summer, winter = (pd.Series(kind[calls.month.isin(m)]) for m in ((6, 7, 8), (12, 1, 2)))
    assert half_l1(summer, winter) > 0.03


def test_drift_is_another_year_of_the_same_city() -> None:
    """Drift 0.2 moves areas and types more than other people do, and less than drift 1."""
    base, *years = (
        incidents(200_000, drift=d, seed=s).to_table().to_pandas() for d, s in ((0, 7), (0, 8), (0.2, 8), (1, 8))
    )
    for name in ("neighborhood", "incident_type"):
        none, some, much = (half_l1(base[name], year[name]) for year in years)
        assert 1.3 * none < some < 0.2, name
        assert much > 1.5 * some, name


def test_another_year_is_in_schema_and_records() -> None:
    """The year is what was asked for."""
    sim = incidents(100, year=2021)
    assert sim.schema["period"].bins[0] == "2021-01"
    assert set(sim.to_table().column("year").to_pylist()) == {2021}
    with pytest.raises(InputError, match="year"):
        incidents(100, year=0)
