"""What every model can do, and its file: a zip of one JSON document and plain arrays, never a pickle.

`model.json` says the format, the kind of model, its schema, its provenance and what else the kind needs; each array
is a `.npy` member announced in it by shape and type. A reader takes nothing on trust: the schema and the settings say
which arrays there are and of what shape, the members must be just these, and of an array's own header nothing is
parsed: it is the one that Sfumato writes, byte by byte, or the file is refused before anything is unpacked.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError, RunError
from sfumato.files import parse_json, written_whole
from sfumato.privacy.provenance import Provenance
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Array = npt.NDArray[Any]

FORMAT, VERSION = "sfumato-model", 1
MOST_UNASKED = 10**9  # records that are written of a model without a word on how many
MAX_HEADER = 64 * 2**20  # bytes of model.json
DTYPES = tuple(np.dtype(t).str for t in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"))
_CHUNK = 2**20  # bytes unpacked at a time
_EPOCH = (1980, 1, 1, 0, 0, 0)  # members carry no time, so that equal models are equal files


class Model(Protocol):
    """A model of records: it samples them, and it can be kept."""

    @property
    def schema(self) -> Schema:
        """What its columns may hold."""
        ...

    @property
    def provenance(self) -> Provenance:
        """How it came about."""
        ...

    @property
    def believed(self) -> int:
        """How many records the model believes there are."""
        ...

    def sample(self, records: int | None = None, seed: int | None = None) -> Iterator[pa.RecordBatch]:
        """Records in batches; as many as the model believes there are, or as many as asked for."""
        ...

    def to_table(self, records: int | None = None, seed: int | None = None) -> pa.Table:
        """The same in one table."""
        ...

    def given(self, where: str) -> Model:
        """The model of those records for which a condition holds."""
        ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model's file."""
        ...


def check_believed(model: Model) -> None:
    """Raise where a model believes in more records than anybody wants: noise has drowned the data it was made of."""
    if model.believed > MOST_UNASKED:
        raise RunError(
            f"the model believes in {model.believed:,} records, too many to write unasked (so little ε leaves noise "
            "alone); say how many you want with --records"
        )


class Stored:
    """Saving and loading, for a model that names its `kind` and can be taken apart and put together again."""

    kind: ClassVar[str]
    schema: Schema
    provenance: Provenance

    def parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What to write: settings as JSON, and arrays."""
        raise TypeError(f"{type(self).__name__} cannot be saved")

    def given(self, where: str) -> Model:
        """The model of those records for which a condition holds."""
        raise InputError(f"a model of kind '{self.kind}' takes no condition; sample from it and filter the records")

    @classmethod
    def shapes(cls, schema: Schema, settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """The arrays that belong to a schema and settings, so that no others are ever read."""
        raise TypeError(f"{cls.__name__} cannot be loaded")

    @classmethod
    def of_parts(
        cls, schema: Schema, provenance: Provenance, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> Model:
        """The model of what `parts` gave; raises ValueError, KeyError or TypeError where they do not fit."""
        raise TypeError(f"{cls.__name__} cannot be loaded")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model's file, whole or not at all."""
        settings, arrays = self.parts()
        document = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "provenance": self.provenance.to_dict(),
            "schema": self.schema.to_dict(),
            "settings": settings,
            "arrays": {n: {"shape": list(a.shape), "dtype": a.dtype.str} for n, a in arrays.items()},
        }
        with written_whole(path) as beside, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
            file.writestr(_member("model.json"), json.dumps(document, ensure_ascii=False, allow_nan=False))
            for name, array in arrays.items():
                with file.open(_member(f"{name}.npy"), "w", force_zip64=True) as stream:
                    stream.write(_npy_header(array.shape, array.dtype.str))
                    stream.write(np.ascontiguousarray(array).data)


def _npy_header(shape: tuple[int, ...], dtype: str) -> bytes:
    """The beginning of a `.npy` file of version 1.0, the same with every release of numpy."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    padded = text.ljust(-(len(text) + 11) % 64 + len(text)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode("ascii")


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def load_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file that `save` wrote."""
    if os.path.exists(path) and not os.path.isfile(path):  # a device might never end
        raise InputError(f"{path} is a folder, a device or a pipe; a model file is needed")
    try:
        with zipfile.ZipFile(path) as file:
            document = _document(file)
            schema = Schema.from_dict(document["schema"], where="its schema")
            kind = next((cls for cls in _kinds() if cls.kind == document["kind"]), None)
            if kind is None:
                raise InputError(f"it is of kind {document['kind']!r}, which this Sfumato does not know")
            provenance = Provenance.from_dict(document["provenance"])
            shapes = kind.shapes(schema, document["settings"])
            if announced := sorted(set(document["arrays"]) ^ set(shapes)):
                raise InputError(f"it has other arrays than a {kind.kind} has (see '{announced[0]}')")
            arrays = {name: _array(file, name, document["arrays"][name], shape) for name, shape in shapes.items()}
            return kind.of_parts(schema, provenance, document["settings"], arrays)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except InputError as error:
        raise InputError(f"{path} is not a model that can be used: {error}") from None
    except zipfile.BadZipFile:
        raise InputError(f"{path} is no model file of Sfumato, or only a part of one") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or 'damaged'}") from None
    except _DAMAGE:
        raise InputError(f"{path} is damaged: its parts do not fit together; make the model again") from None


# What reading a file that was tampered with can raise, in zipfile, zlib and in taking the document apart.
_DAMAGE = (
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    EOFError,
    RuntimeError,
    struct.error,
    zlib.error,
)


def _kinds() -> tuple[type[Stored], ...]:
    from sfumato.models.archetypes import Archetypes
    from sfumato.models.graphical import GraphicalModel
    from sfumato.models.histogram import HistogramModel
    from sfumato.models.records import RecordsModel
    from sfumato.models.uniform import UniformModel

    return (Archetypes, GraphicalModel, HistogramModel, RecordsModel, UniformModel)


def _document(file: zipfile.ZipFile) -> dict[str, Any]:
    """The JSON of a model, after checking that the file holds what it announces and nothing else."""
    names = [info.filename for info in file.infolist()]
    if "model.json" not in names:
        raise InputError("it has no model.json")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in file.infolist()):
        raise InputError("its members are packed in another way than Sfumato packs them")
    if file.getinfo("model.json").file_size > MAX_HEADER:
        raise InputError("its model.json is too large")
    with file.open("model.json") as stream:
        document = parse_json(stream.read())
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("it has another format")
    if document.get("version") != VERSION:
        raise InputError(f"it has version {document.get('version')!r}; this Sfumato reads version {VERSION}")
    if sorted(names) != sorted(["model.json", *(f"{name}.npy" for name in document["arrays"])]):
        raise InputError("it holds other members than it announces")
    return document


def _array(file: zipfile.ZipFile, name: str, announced: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
    """An array of this shape, unpacked only when the announcement, the header and the size agree with it."""
    dtype = announced["dtype"]
    if dtype not in DTYPES:
        raise InputError(f"its array '{name}' is of type {dtype!r}, not of numbers")
    if announced["shape"] != list(shape):
        raise InputError(f"its array '{name}' has another shape than its schema says")
    header = _npy_header(shape, dtype)
    info = file.getinfo(f"{name}.npy")
    if info.file_size != len(header) + math.prod(shape) * np.dtype(dtype).itemsize:
        raise InputError(f"its array '{name}' has another size than it announces")
    with file.open(info) as stream:
        if stream.read(len(header)) != header:
            raise InputError(f"its array '{name}' is not what it announces")
        array = np.empty(shape, dtype)
        _fill(stream, array.reshape(-1).view(np.uint8))
    return array


def _fill(stream: IO[bytes], room: Array) -> None:
    """Read until the room is full and the stream at its end, where its checksum is compared."""
    at = 0
    while chunk := stream.read(_CHUNK):
        room[at : at + len(chunk)] = np.frombuffer(chunk, np.uint8)
        at += len(chunk)
    if at < len(room):
        raise EOFError
