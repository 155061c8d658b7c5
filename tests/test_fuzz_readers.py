"""Whatever is handed to a reader, it is read or refused in one sentence: no other exception, no second line."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError
from sfumato.models.histogram import HistogramModel
from sfumato.privacy.provenance import Provenance
from tests.strategies import JSON, mutated, schemas

FULL = sf.Schema(
    columns=(
        sf.Person(name="who", source="id"),
        sf.Category(name="shift", values=(0, 1, 2, 3), levels={"day": ("a", "a", "b", "b")}, cyclic=True),
        sf.Place(name="area", values=("n", "s"), names=("North", "South"), other="s", map="m.geojson", key="id"),
        sf.Number(name="fare", edges=(None, 0, 10, None), missing=(-1, None), decode="uniform", integer=True),
        sf.Number(name="tip", edges=(0, 5), decode=(sf.Shares(values=(1, 2), weights=(1, 3)),)),
        sf.Time(name="part", part="weekday_part", source="when", hours=(0, 12), format="%d.%m.%Y"),
        sf.Time(name="span", part="period", periods=({"start": "2020-01-01", "end": "2020-02-01", "name": "jan"},)),
        sf.Time(name="p", part="year_month", months=((2019, 1), (2019, 2)), year="year", month="month"),
    ),
    max_records_per_person=20,
)
SPRINT1 = {
    "runs": [{"epsilon": 1.0, "delta": 1e-11, "max_records_per_individual": 20}],
    "schema": {
        "periods": [{"year": 2019, "month": 1}],
        "neighborhood": [{"name": "Abell", "code": 0}],
        "incident_type": [{"name": "30", "code": 0}, {"name": "31", "code": 1}],
    },
}
SPRINT3 = {
    "runs": [{"epsilon": 1.0, "delta": 2.5e-5, "max_records": 9, "max_records_per_individual": 200}],
    "schema": {
        "taxi_id": {"dtype": "int64", "kind": "id", "min": 1, "max": 9},
        "shift": {"dtype": "uint8", "kind": "categorical", "values": [0, 1], "names": ["a", "b"], "codes": [1, 2]},
        "fare": {"dtype": "int16", "kind": "numeric", "min": -1, "max": 100},
        "speed": {"dtype": "float", "kind": "numeric", "min": -1, "max": 100, "bins": [0, 50, 100]},
        "age": {"dtype": "int8", "min": 0, "max": 9},
    },
}
DOCUMENTS = [FULL.to_dict(), SPRINT1, SPRINT3]


def one_sentence(error):
    assert str(error).isprintable()
    assert 0 < len(str(error)) < 3_000


def read(document):
    """A schema, which then can be written and read again, or a sentence."""
    try:
        schema = sf.Schema.from_dict(document)
    except InputError as error:
        one_sentence(error)
        return None
    assert sf.Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    return schema


@given(
    JSON
    | st.builds(lambda x: {"sfumato": "schema", "version": 1, "columns": x}, JSON)
    | JSON.map(lambda x: {"schema": x})
)
@settings(max_examples=300)
@example({"schema": {"periods": []}})
@example({"sfumato": "schema", "version": 1, "columns": {"a": {"kind": {}}}})
@example(
    {"sfumato": "schema", "version": 1, "columns": {"a": {"kind": "category", "values": [1], "self": 1}}, "self": 2}
)
def test_any_json_is_a_schema_or_an_input_error(document):
    """Arbitrary JSON, bare or dressed as a schema or as parameters."""
    read(document)


@pytest.mark.parametrize("document", DOCUMENTS, ids=["own", "sprint1", "sprint3"])
@given(st.data())
@settings(max_examples=250)
def test_a_schema_with_a_mistake_in_it_is_a_schema_or_an_input_error(document, data):
    """Valid documents with up to three places replaced, taken out or doubled."""
    assert read(document) is not None
    read(data.draw(mutated(document)))


@given(schemas(), st.data())
@settings(max_examples=60)
def test_random_schemas_with_a_mistake_are_schemas_or_input_errors(schema, data):
    """The same from random beginnings."""
    read(data.draw(mutated(schema.to_dict())))


@given(st.binary(max_size=60) | st.data())
@settings(max_examples=200)
def test_any_bytes_are_a_schema_file_or_an_input_error(tmp_path_factory, given):
    """Arbitrary bytes, and a valid file with some of them changed."""
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    raw = given if isinstance(given, bytes) else changed(given, json.dumps(FULL.to_dict()).encode())
    path.write_bytes(raw)
    try:
        sf.Schema.load(path)
    except InputError as error:
        one_sentence(error)


def changed(data, raw):
    """The bytes with a few replaced, taken out or put in."""
    out = bytearray(raw)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(out) - 1, 0)))
        out[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    return bytes(out)


def _model_parts():
    made = Provenance(method="nmd", epsilon=1.0, delta=0.0, unit="person", private=True, release="r")
    model = HistogramModel(FULL, made, sf.Marginal.of("shift@day", "area"), np.array([[1, 2], [3, 4]]))
    settings, arrays = model.parts()
    header = io.BytesIO()
    np.save(header, arrays["counts"])
    document = {
        "format": "sfumato-model",
        "version": 1,
        "kind": "histogram",
        "provenance": made.to_dict(),
        "schema": FULL.to_dict(),
        "settings": settings,
        "arrays": {"counts": {"shape": [2, 2], "dtype": "|u1"}},
    }
    return document, header.getvalue()


DOCUMENT, COUNTS = _model_parts()


def loaded(path):
    """A model that can be sampled, or a sentence."""
    try:
        model = sf.load_model(path)
    except InputError as error:
        one_sentence(error)
        return None
    assert model.to_table(seed=0).num_rows == model.total if model.total < 10**6 else model.total
    return model


def packed(path, document, counts=COUNTS):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("model.json", document)
        file.writestr("counts.npy", counts)
    return path


def test_a_model_put_together_by_hand_is_a_model(tmp_path):
    """What the fuzzing begins from is valid, with an array that numpy wrote."""
    assert loaded(packed(tmp_path / "m", json.dumps(DOCUMENT))).counts.tolist() == [[1, 2], [3, 4]]


@given(mutated(DOCUMENT))
@settings(max_examples=300)
def test_a_model_whose_document_has_a_mistake_is_a_model_or_an_input_error(tmp_path_factory, document):
    """model.json with up to three places replaced, taken out or doubled."""
    loaded(packed(tmp_path_factory.getbasetemp() / "fuzz.sfumato", json.dumps(document)))


@given(st.data())
@settings(max_examples=200)
def test_a_model_with_changed_bytes_inside_is_a_model_or_an_input_error(tmp_path_factory, data):
    """The members changed byte by byte before they are packed, so that no checksum notices."""
    document, counts = json.dumps(DOCUMENT).encode(), COUNTS
    if data.draw(st.booleans()):
        document = changed(data, document)
    else:
        counts = changed(data, counts)
    loaded(packed(tmp_path_factory.getbasetemp() / "fuzz.sfumato", document, counts))


@given(st.binary(max_size=200))
def test_any_bytes_are_no_model(tmp_path_factory, raw):
    """Arbitrary bytes are refused."""
    path = tmp_path_factory.getbasetemp() / "fuzz.sfumato"
    path.write_bytes(raw)
    assert loaded(path) is None


CSV = "id,shift,area,fare,tip,when,span,year,month\n" + "\n".join(
    f"{i % 3},{i % 4},{'ns'[i % 2]},{i - 1},{i / 4},0{i + 1}.01.2020,2020-01-0{i + 1} 08:00,2019,{i % 2 + 1}"
    for i in range(6)
)
COUNTED = [sf.Marginal.of(name) for name in FULL.names]


@given(st.data())
@settings(max_examples=60)
def test_a_csv_with_changed_bytes_is_counted_or_refused(tmp_path_factory, data):
    """A table's file with bytes changed anywhere: at most its lines are counted, or one sentence says why not."""
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    raw = changed(data, CSV.encode()) if data.draw(st.booleans()) else data.draw(st.binary(max_size=80))
    path.write_bytes(raw)
    try:
        with sf.Table.open(path, FULL) as table:
            counts = table.counts(COUNTED)
    except sf.SfumatoError as error:
        one_sentence(error)
        return
    lines = raw.count(b"\n") + raw.count(b"\r")
    assert all(c.total <= lines for c in counts)


def test_the_csv_that_the_fuzzing_begins_from_is_counted(tmp_path):
    """Every column of it is understood."""
    (tmp_path / "t.csv").write_text(CSV)
    with sf.Table.open(tmp_path / "t.csv", FULL) as table:
        assert [c.total for c in table.counts(COUNTED)] == [6, 6, 6, 6, 6, 6, 6]
