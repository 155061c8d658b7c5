"""A model's file: equal models are equal files, and nothing but such a file is ever loaded."""

import io
import json
import os
import pickle
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sfumato as sf
from sfumato.errors import InputError, RunError
from sfumato.models.histogram import HistogramModel
from sfumato.privacy.provenance import Provenance
from tests.strategies import marginals, schemas

MADE = Provenance(method="nmd", epsilon=1.0, delta=2.5e-5, unit="person", private=True, release="r1")
SCHEMA = sf.Schema(
    columns=(
        sf.Person(name="who"),
        sf.Category(name="a", values=(10, 20), levels={"l": ("u", "v")}),
        sf.Category(name="b", values=("x", "y", "z")),
    ),
)
MODEL = HistogramModel(SCHEMA, MADE, sf.Marginal.of("a@l", "b"), np.array([[1, 0, 300], [4, 5, 6]]))


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(path, parts, kind=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, raw in parts.items() if isinstance(parts, dict) else parts:
            file.writestr(name, raw)


@pytest.fixture
def saved(tmp_path):
    MODEL.save(tmp_path / "m.sfumato")
    return tmp_path / "m.sfumato"


def refused(path, text=""):
    """The sentence with which a file is refused: InputError, one line, its name in it, and little memory taken."""
    tracemalloc.start()
    with pytest.raises(InputError) as caught:
        sf.load_model(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20
    assert str(caught.value).isprintable()
    assert os.fspath(path) in str(caught.value)
    assert text in str(caught.value)
    return str(caught.value)


def same(one, two):
    return (
        (one.schema, one.provenance, one.marginal) == (two.schema, two.provenance, two.marginal)
        and (one.counts == two.counts).all()
        and one.counts.dtype == two.counts.dtype == np.int64
    )


# ------------------------------------------------------------------ there and back


def test_a_model_comes_back_from_its_file_as_it_was(saved):
    """Schema, provenance, marginal and counts; and it samples the same under the same seed."""
    again = sf.load_model(saved)
    assert same(MODEL, again)
    assert MODEL.to_table(seed=1).equals(again.to_table(seed=1))


@given(st.data())
@settings(max_examples=40)
def test_any_model_comes_back_from_its_file(tmp_path_factory, data):
    """Every kind of schema, marginal and count."""
    schema = data.draw(schemas(most=3))
    marginal = data.draw(marginals(schema))
    top = data.draw(st.sampled_from([1, 255, 256, 2**16, 2**32, 2**63 - 1]))
    counts = data.draw(hnp.arrays(np.int64, marginal.shape(schema), elements=st.integers(0, top)))
    path = tmp_path_factory.mktemp("m") / "m.sfumato"
    made = HistogramModel(schema, MADE, marginal, counts)
    made.save(path)
    assert same(made, sf.load_model(path))


def test_equal_models_are_equal_files(saved, tmp_path):
    """Byte by byte, whenever they are written; a loaded model writes the file it came from."""
    time.sleep(0.01)
    HistogramModel(SCHEMA, MADE, MODEL.marginal, MODEL.counts.astype(np.uint32)).save(tmp_path / "two")
    sf.load_model(saved).save(tmp_path / "three")
    assert saved.read_bytes() == (tmp_path / "two").read_bytes() == (tmp_path / "three").read_bytes()


def test_the_file_is_a_zip_of_json_and_an_array_that_numpy_reads(saved):
    """Anyone can look inside with common tools; there is no pickle in it."""
    inside = members(saved)
    assert sorted(inside) == ["counts.npy", "model.json"]
    document = json.loads(inside["model.json"])
    assert document["arrays"] == {"counts": {"shape": [2, 3], "dtype": "<u2"}}
    assert document["settings"] == {"axes": [["a", "l"], ["b", None]]}
    assert document["provenance"]["method"] == "nmd"
    counts = np.load(io.BytesIO(inside["counts.npy"]), allow_pickle=False)
    assert (counts == MODEL.counts).all()
    assert inside["counts.npy"].startswith(b"\x93NUMPY\x01\x00")


def test_an_array_is_packed_as_numpy_packs_it(saved):
    """The header is numpy's own, so that its size is a multiple of 64 and its text one numpy can parse."""
    raw = io.BytesIO(members(saved)["counts.npy"])
    assert np.lib.format.read_magic(raw) == (1, 0)
    assert np.lib.format.read_array_header_1_0(raw) == ((2, 3), False, np.dtype("<u2"))
    assert raw.tell() % 64 == 0


def test_a_model_that_cannot_be_written_leaves_nothing(tmp_path):
    """A missing folder is an InputError; an old model is never half replaced."""
    with pytest.raises((InputError, RunError), match="does not exist; make it first"):
        MODEL.save(tmp_path / "no" / "m.sfumato")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ other things than a model


def test_a_missing_file_a_folder_and_foreign_files_are_refused(tmp_path):
    """One sentence each, whatever it is that poses as a model."""
    refused(tmp_path / "no", "does not exist")
    refused(tmp_path, "is a folder, a device or a pipe; a model file is needed")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "is a folder, a device or a pipe")
    for raw in (b"", b"PK\x05\x06" + b"\0" * 18, pickle.dumps(MODEL.counts), b"a,b\n1,2\n", b"\0" * 10_000):
        (tmp_path / "m").write_bytes(raw)
        refused(tmp_path / "m")


class Bomb:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_a_pickle_is_never_unpickled(saved, tmp_path):
    """As the file, as a member, or as an array of objects: refused, and its code does not run."""
    mark = os.fspath(tmp_path / "ran")
    inside = members(saved)
    (tmp_path / "m").write_bytes(pickle.dumps(Bomb(mark)))
    refused(tmp_path / "m", "is no model file of Sfumato")
    pack(tmp_path / "m", inside | {"extra.pkl": pickle.dumps(Bomb(mark))})
    refused(tmp_path / "m", "holds other members than it announces")
    objects = io.BytesIO()
    np.save(objects, np.array([[Bomb(mark)] * 3] * 2, dtype=object), allow_pickle=True)
    pack(tmp_path / "m", inside | {"counts.npy": objects.getvalue()})
    refused(tmp_path / "m", "another size than it announces")
    document = json.loads(inside["model.json"])
    document["arrays"]["counts"]["dtype"] = "|O"
    pack(tmp_path / "m", {"model.json": json.dumps(document), "counts.npy": objects.getvalue()})
    refused(tmp_path / "m", "is of type '|O', not of numbers")
    assert not os.path.exists(mark)


def test_a_file_cut_off_anywhere_is_refused(saved):
    """Every length short of the whole."""
    raw = saved.read_bytes()
    for length in [*range(0, len(raw), 7), *range(len(raw) - 30, len(raw))]:
        saved.write_bytes(raw[:length])
        refused(saved)


@given(st.data())
@settings(max_examples=300)
def test_flipped_bytes_are_noticed_or_do_not_matter(tmp_path_factory, data):
    """One to three bytes changed anywhere: refused in one sentence, or the model is what it was."""
    path = tmp_path_factory.getbasetemp() / "flipped.sfumato"
    MODEL.save(path)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    try:
        assert same(sf.load_model(path), MODEL)
    except InputError as error:
        assert str(error).isprintable()  # noqa: PT017 - either outcome is right, neither is expected


# ------------------------------------------------------------------ documents that lie


def changed(inside, **to):
    """The members with some keys of model.json replaced."""
    return inside | {"model.json": json.dumps(json.loads(inside["model.json"]) | to)}


def array(values, **more):
    raw = io.BytesIO()
    np.save(raw, np.asarray(values), **more)
    return raw.getvalue()


def announced(inside, values, shape=None, dtype=None):
    """The members with other counts, announced as what they are or as told."""
    values = np.asarray(values)
    entry = {"shape": list(shape or values.shape), "dtype": dtype or values.dtype.str}
    return changed(inside, arrays={"counts": entry}) | {"counts.npy": array(values)}


@pytest.mark.parametrize(
    ("lie", "text"),
    [
        (lambda m: {}, "has no model.json"),
        (lambda m: {"model.json": m["model.json"]}, "holds other members than it announces"),
        (lambda m: m | {"more.npy": b""}, "holds other members than it announces"),
        (lambda m: m | {"../evil": b""}, "holds other members than it announces"),
        (lambda m: [*m.items(), ("counts.npy", m["counts.npy"])], "holds other members than it announces"),
        (lambda m: [*m.items(), ("model.json", m["model.json"])], "holds other members than it announces"),
        (lambda m: changed(m, format="mbi"), "has another format"),
        (lambda m: changed(m, version=2), "has version 2; this Sfumato reads version 1"),
        (lambda m: changed(m, kind="crystal"), "is of kind 'crystal', which this Sfumato does not know"),
        (lambda m: changed(m, kind=["histogram"]), "which this Sfumato does not know"),
        (lambda m: changed(m, schema={}), "its schema is no schema"),
        (lambda m: changed(m, schema=None), "holds no schema"),
        (lambda m: changed(m, provenance={}), "is damaged"),
        (lambda m: changed(m, provenance=MADE.to_dict() | {"epsilon": -1}), "its provenance is not one"),
        (lambda m: changed(m, provenance=MADE.to_dict() | {"delta": 1}), "its provenance is not one"),
        (lambda m: changed(m, provenance=MADE.to_dict() | {"private": "yes"}), "its provenance is not one"),
        (lambda m: changed(m, provenance=MADE.to_dict() | {"release": 7}), "its provenance is not one"),
        (lambda m: changed(m, settings={}), "is damaged"),
        (lambda m: changed(m, settings={"axes": []}), "a marginal needs at least one column"),
        (lambda m: changed(m, settings={"axes": [["c", None]]}), "the schema has no column 'c'"),
        (lambda m: changed(m, settings={"axes": [["a", 9], ["b", None]]}), "column 'a' has no level 9"),
        (lambda m: changed(m, settings={"axes": [["a", None], ["a", 0]]}), "names a column twice"),
        (lambda m: changed(m, settings={"axes": 5}), "is damaged"),
        (lambda m: changed(m, arrays={}), "holds other members than it announces"),
        (lambda m: changed(m, arrays=[1, 2]), "holds other members than it announces"),
        (lambda m: changed(m, arrays=None), "is damaged"),
        (lambda m: changed(m, arrays={"counts": None}), "is damaged"),
        (lambda m: changed(m, arrays={"counts": {"shape": [2, 3]}}), "is damaged"),
        (
            lambda m: changed(m, arrays={"counts": {"shape": [2, 4], "dtype": "<u2"}}),
            "another shape than its schema says",
        ),
        (lambda m: changed(m, arrays={"counts": {"shape": [2**40, 2**40], "dtype": "<u2"}}), "another shape"),
        (lambda m: changed(m, arrays={"counts": {"shape": [2, 3], "dtype": "<f8,<f8"}}), "not of numbers"),
        (lambda m: changed(m, arrays={"counts": {"shape": [2, 3], "dtype": "<u4"}}), "another size than it announces"),
        (lambda m: changed(m, arrays={"counts": {"shape": [2, 3], "dtype": "<i2"}}), "is not what it announces"),
        (
            lambda m: (
                changed(m, arrays=json.loads(m["model.json"])["arrays"] | {"x": {"shape": [1], "dtype": "|u1"}})
                | {"x.npy": array(np.zeros(1, np.uint8))}
            ),
            "has other arrays than a histogram has (see 'x')",
        ),
        (lambda m: announced(m, np.zeros((3, 2), int)), "another shape than its schema says"),
        (lambda m: announced(m, np.full((2, 3), -1)), "whole numbers from zero on"),
        (lambda m: announced(m, np.ones((2, 3))), "its counts are not whole numbers"),
        (lambda m: announced(m, np.full((2, 3), np.nan)), "its counts are not whole numbers"),
        (lambda m: announced(m, np.full((2, 3), 2**64 - 1, np.uint64)), "too large to be counts of records"),
        (lambda m: announced(m, np.asfortranarray(np.ones((2, 3), int))), "is not what it announces"),
        (lambda m: announced(m, np.ones((2, 3), bool)), "is of type '|b1', not of numbers"),
        (lambda m: announced(m, np.full((2, 3), "x")), "is of type '<U1', not of numbers"),
        (lambda m: m | {"counts.npy": m["counts.npy"][:-1]}, "another size than it announces"),
        (lambda m: m | {"counts.npy": m["counts.npy"].replace(b"(2, 3)", b"(9, 9)")}, "is not what it announces"),
        (lambda m: m | {"counts.npy": b"\0" * len(m["counts.npy"])}, "is not what it announces"),
        (lambda m: m | {"model.json": b"[]"}, "has another format"),
        (lambda m: m | {"model.json": b""}, "is damaged"),
        (lambda m: m | {"model.json": b"[" * 10**6}, "is damaged"),
        (lambda m: m | {"model.json": m["model.json"].decode().encode("utf-16")}, "is damaged"),
        (lambda m: m | {"model.json": m["model.json"].replace(b'"epsilon": 1.0', b'"epsilon": NaN')}, "is damaged"),
        (lambda m: m | {"model.json": m["model.json"].replace(b"[2, 3]", b"[1e999, 3]")}, "another shape"),
        (
            lambda m: m | {"model.json": m["model.json"].replace(b'"version": 1', b'"version": ' + b"9" * 9999, 1)},
            "is damaged",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_document_that_lies_is_refused(saved, lie, text):
    """Missing, extra and double members, wrong shapes and types, impossible counts, foreign versions: one sentence."""
    pack(saved, lie(members(saved)))
    refused(saved, text)


def test_members_packed_in_other_ways_are_refused(saved):
    """Of a zip's many methods a model uses one, and no other is even tried."""
    inside = members(saved)
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        pack(saved, inside, kind)
        refused(saved, "packed in another way")
    pack(saved, inside, zipfile.ZIP_STORED)
    assert same(sf.load_model(saved), MODEL)


def zeros(path, name, inside, size, prefix=b""):
    """A zip whose member unpacks to so many zeros: some thousandth of that on disk."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for other in inside:
            if other != name:
                file.writestr(other, inside[other])
        with file.open(name, "w", force_zip64=True) as stream:
            stream.write(prefix)
            for _ in range(size // 2**20):
                stream.write(bytes(2**20))


LOAD_ALL = """
import resource, sys
import sfumato as sf
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    sf.load_model(sys.argv[1])
except sf.InputError:
    sys.exit("a true model was refused")
before = peak()
for path in sys.argv[2:]:
    try:
        sf.load_model(path)
        sys.exit("a bomb was loaded")
    except sf.InputError:
        pass
print(peak() - before)
"""


def test_a_zip_bomb_is_refused_before_it_unpacks(saved):
    """A GB of zeros in all, as the array, announced or not, as the document, as an extra member: 20 MB at most."""
    inside = members(saved)
    size = 2**28
    announcing = changed(inside, arrays={"counts": {"shape": [2, size // 16], "dtype": "<i8"}})
    bombs = []
    for name, parts in [("counts.npy", inside), ("counts.npy", announcing), ("model.json", inside), ("more", inside)]:
        bombs.append(saved.with_name(f"bomb{len(bombs)}"))
        zeros(bombs[-1], name, parts, size)
        assert bombs[-1].stat().st_size < size / 200
        refused(bombs[-1])
    done = subprocess.run([sys.executable, "-c", LOAD_ALL, saved, *bombs], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20 * 1024  # KB


def test_a_zip_that_understates_its_sizes_is_refused(saved):
    """The directory says a few bytes, the member unpacks to many: no more is taken, and it is noticed."""
    inside = members(saved)
    zeros(saved, "counts.npy", inside, 64 * 2**20, inside["counts.npy"])
    raw = saved.read_bytes()
    real = (64 * 2**20 + len(inside["counts.npy"])).to_bytes(4, "little")
    assert real in raw
    saved.write_bytes(raw.replace(real, len(inside["counts.npy"]).to_bytes(4, "little")))
    refused(saved)
