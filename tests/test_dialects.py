"""The three dialects of the challenge's `parameters.json`, on its own files and on small documents."""

import json

import pytest

import sfumato as sf
from sfumato.errors import InputError


def load(document):
    return sf.Schema.from_dict(document, where="parameters.json")


@pytest.fixture(params=["sprint1", "sprint2", "sprint3"])
def parameters(request, shared):
    return json.loads((shared / f"{request.param}_parameters.json").read_text())


def test_each_sprints_file_becomes_the_same_schema_by_way_of_our_own_form(parameters):
    """Dialect to own form to schema loses nothing, runs and limits included."""
    schema = load(parameters)
    assert sf.Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert [(r.epsilon, r.delta) for r in schema.runs] == [(r["epsilon"], r["delta"]) for r in parameters["runs"]]


def test_sprint_1_is_278_neighbourhoods_12_months_and_174_types(shared):
    """580,464 cells; a person is a simulated resident with at most 20 records; names stay with their codes."""
    schema = sf.Schema.load(shared / "sprint1_parameters.json")
    assert {c.name: c.size() for c in schema.attributes} == {"period": 12, "neighborhood": 278, "incident_type": 174}
    assert sf.Marginal.of(*schema.names).size(schema) == 580_464
    assert (schema.person.name, schema.max_records_per_person) == ("sim_resident", 20)
    assert [r.epsilon for r in schema.runs] == [1, 2, 10]
    place = schema["neighborhood"]
    assert (place.kind, place.bins, place.title(0), place.title(277)) == (
        "place",
        tuple(range(278)),
        "Abell",
        "York-Homeland",
    )
    assert schema["period"].sources == ("year", "month")
    assert schema["period"].bins[0] == "2019-01"


def test_sprint_2_has_35_columns_with_the_bins_it_was_scored_in(shared):
    """Right-closed bins: 18 ages, 22 incomes, 27 weights and poverty, 97 quarter hours of the day."""
    schema = sf.Schema.load(shared / "sprint2_parameters.json")
    assert len(schema.names) == 35
    assert (schema.person.name, schema.max_records_per_person) == ("sim_individual_id", 7)
    numbers = {c.name: c for c in schema.of_kind(sf.Number)}
    money, share, clock = (
        ("INCTOT", "INCWAGE", "INCWELFR", "INCINVST", "INCEARN"),
        ("POVERTY", "HHWT", "PERWT"),
        ("DEPARTS", "ARRIVES"),
    )
    sizes = {"AGE": 18, **dict.fromkeys(money, 22), **dict.fromkeys(share, 27), **dict.fromkeys(clock, 97)}
    assert {name: c.size() for name, c in numbers.items()} == sizes
    assert all(c.closed == "right" for c in numbers.values())
    assert (schema["PUMA"].size(), schema["PUMA"].bins[0], schema["PUMA"].bins[-1]) == (181, "17-1001", "39-910")
    assert schema["YEAR"].bins == tuple(range(2012, 2019))
    assert schema["YEAR"].is_ordered
    assert schema["HISPAN"].bins == (0, 1, 2, 3, 4, 9)
    assert not schema["HISPAN"].is_ordered
    assert (numbers["HHWT"].integer, numbers["AGE"].integer) == (False, True)
    # the edge belongs to the bin below it
    assert numbers["AGE"].code([20, 21, 25, 26, 100, 101]).tolist() == [0, 1, 1, 2, 16, 17]
    assert numbers["INCTOT"].code([-1, 0, 1, 5000, 5001, 100_000, 100_001]).tolist() == [0, 0, 1, 1, 2, 20, 21]
    assert numbers["DEPARTS"].code([0, 1, 15, 16, 45, 46, 100, 101, 2345, 2359]).tolist() == [
        0,
        1,
        1,
        2,
        3,
        4,
        4,
        5,
        95,
        96,
    ]


def test_sprint_3_has_left_closed_bins_of_ten_and_of_two_hundred_seconds(shared):
    """11 bins for each number, −1 in the lowest; 78 areas, 21 shifts on a circle, at most 200 trips a taxi."""
    schema = sf.Schema.load(shared / "sprint3_parameters.json")
    numbers = {c.name: c for c in schema.of_kind(sf.Number)}
    assert {name: c.size() for name, c in numbers.items()} == dict.fromkeys(
        ("fare", "tips", "trip_total", "trip_seconds", "trip_miles"), 11
    )
    assert numbers["fare"].code([-1, 0, 9, 10, 89, 90, 9900]).tolist() == [0, 1, 1, 2, 9, 10, 10]
    assert numbers["trip_seconds"].code([-1, 0, 199, 200, 1799, 1800]).tolist() == [0, 1, 1, 2, 9, 10]
    assert (schema.person.name, schema.max_records_per_person) == ("taxi_id", 200)
    assert schema["pickup_community_area"].bins == (-1, *range(1, 78))
    assert schema["payment_type"].bins == (-1, 0, 1, 2, 3, 5, 6, 7, 8)
    assert (schema["shift"].size(), schema["shift"].is_cyclic, schema["company_id"].is_ordered) == (21, True, False)


ID = {"taxi_id": {"dtype": "int64", "kind": "id", "min": 1, "max": 9}}
RUN = {"epsilon": 1.0, "delta": 2.5e-5, "max_records": 100, "max_records_per_individual": 200}


def test_names_of_values_are_kept_and_the_largest_limit_of_the_runs_counts():
    """`names` run along `values`; the limit on a person's records is public and stands in the runs."""
    entry = {"dtype": "int8", "kind": "categorical", "values": [-1, 1], "names": ["Unknown", "Rogers Park"]}
    schema = load({"runs": [RUN, RUN | {"epsilon": 10}], "schema": {**ID, "pickup_community_area": entry}})
    assert schema["pickup_community_area"].title(1) == "Rogers Park"
    assert schema.max_records_per_person == 200
    assert load({"schema": {**ID, "a": entry}}).max_records_per_person is None


def test_a_file_without_kinds_is_of_the_second_sprint_and_closed_on_the_right():
    """The known bins of its numbers, whatever min and max say; the third sprint's are closed on the left."""
    second = load(
        {"schema": {"AGE": {"dtype": "uint8", "min": 0, "max": 135}, "SEX": {"dtype": "uint8", "values": [1, 2]}}}
    )
    assert second["AGE"].bins[:2] == ("(−∞, 20]", "(20, 25]")
    assert second["AGE"].size() == 18
    assert second.person.name == "sim_individual_id"
    third = load({"schema": {**ID, "fare": {"dtype": "int16", "kind": "numeric", "min": -1, "max": 9900}}})
    assert third["fare"].bins[:2] == ("[−∞, 0)", "[0, 10)")
    assert third["fare"].size() == 11
    first = load({"schema": {"periods": [{"year": 2019, "month": 7}], "neighborhood": [{"name": "Abell", "code": 4}]}})
    assert (first.names, first.person.name) == (("period", "neighborhood"), "sim_resident")
    assert (first["period"].bins, first["neighborhood"].bins) == (("2019-07",), (4,))
    assert first["neighborhood"].title(0) == "Abell"


def test_later_tools_codes_and_bins_are_understood():
    """`codes` run along the values and say nothing new; `bins` are the edges of a number."""
    schema = load(
        {
            "schema": {
                **ID,
                "payment": {"dtype": "str", "kind": "categorical", "values": ["cash", "card"], "codes": [1, 2]},
                "fare": {"dtype": "float", "kind": "numeric", "min": 0, "max": 100, "bins": [0, 5, 20, 100]},
            }
        }
    )
    assert schema["payment"].bins == ("cash", "card")
    assert schema["fare"].bins == ("[0, 5)", "[5, 20)", "[20, 100)")
    assert not schema["fare"].integer


@pytest.mark.parametrize(
    ("low", "high", "dtype", "edges"),
    [
        (0, 100, "float", tuple(range(0, 101, 5))),
        (0, 100, "int16", tuple(range(0, 101, 5))),
        (0, 3, "int16", (0, 1, 2, 3)),
        (0.0, 1.0, "float", tuple(i / 20 for i in range(21))),
    ],
)
def test_a_number_without_known_bins_gets_twenty_at_most_from_min_to_max(low, high, dtype, edges):
    """Equal bins between the bounds; of whole numbers, each bin holds one at least."""
    schema = load({"schema": {**ID, "speed": {"dtype": dtype, "kind": "numeric", "min": low, "max": high}}})
    assert schema["speed"].edges == pytest.approx(edges)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"schema": []}, "schema is an object with a key for each column"),
        ({"schema": {}}, "schema is an object with a key for each column"),
        ({"schema": {"a": 3}}, "column 'a' is described by an object with dtype and values, or min and max"),
        ({"schema": {"a": {}}}, "column 'a' has neither values, bins, nor min below max; add one of them"),
        (
            {"schema": {"a": {"min": 3, "max": 3}}},
            "column 'a' has neither values, bins, nor min below max; add one of them",
        ),
        ({"schema": {"a": {"values": []}}}, "column 'a': values: must not be empty"),
        ({"schema": {"a": {"values": [1, 1]}}}, "column 'a': value 1 stands twice"),
        ({"schema": {"a": {"values": 5}}}, "column 'a': values: a list is needed (got 5)"),
        (
            {"schema": {"a": {"min": 0, "max": 9, "bins": [1, "x"]}}},
            "column 'a': edges.1: input should be a valid number, unable to parse string as a number (got 'x')",
        ),
        ({"schema": {"periods": 3}}, "column 'periods': a list of objects is needed"),
        ({"schema": {"periods": [{"year": 2019}]}}, "column 'periods': an entry has no 'month'"),
        ({"schema": {"periods": [], "type": [{"code": 1}]}}, "column 'type': an entry has no 'name'"),
        (
            {"schema": {"periods": [{"year": 2019, "month": 13}]}},
            "column 'period': months are [year, month] with a month from 1 to 12; got [2019, 13]",
        ),
        ({"schema": {"a": {"values": [1]}}, "runs": 3}, "runs is a list of objects with epsilon and delta"),
        (
            {"schema": {"a": {"values": [1]}}, "runs": [{"epsilon": 0, "delta": 0}]},
            "runs.0: epsilon: input should be greater than 0 (got 0)",
        ),
        (
            {"schema": {"a": {"values": [1]}}, "runs": [RUN | {"max_records_per_individual": 7.5}]},
            "runs.0: max_records_per_individual: input should be a valid integer (got 7.5)",
        ),
    ],
)
def test_an_error_in_a_dialect_names_file_column_and_value(document, text):
    """One sentence, as for Sfumato's own form."""
    with pytest.raises(InputError) as caught:
        load(document)
    assert str(caught.value) == f"parameters.json: {text}"
