"""The shapes of a column of places: areas of a map, or cells of the H3 grid; and the cuts that find points in them."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from sfumato.columns import Place
from sfumato.errors import InputError
from sfumato.locate import Cuts
from sfumato.maps import Areas, Map, h3_areas


def areas_of(place: Place, given: Map | None = None, key: str | None = None) -> Areas | None:
    """The shapes of a column's values: on the map that is given, as cells of its H3 grid, or on the map it names."""
    if given is None and place.h3 is not None:
        return h3_areas(place.values, place.h3, place.name, place.other)
    chart = given or (Map.load(place.map_file) if place.map_file else None)
    return None if chart is None else chart.areas(place.values, key or place.key)


def cuts_of(place: Place) -> Cuts:
    """What finds the area of a point; made once for a map as it is."""
    try:
        return _cuts(place.model_dump_json(), _Held(place))
    except InputError as error:
        raise InputError(f"column '{place.name}': {error}") from None


class _Held:
    """A column for the cache, which is told apart by its file and when that was written."""

    def __init__(self, place: Place):
        self.place = place
        self.mark = _mark(place.map_file)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and self.mark == other.mark

    def __hash__(self) -> int:
        return hash(self.mark)


def _mark(path: str | None) -> tuple[Any, ...]:
    try:
        found = None if path is None else os.stat(path)
    except OSError:
        found = None
    return (path,) if found is None else (os.path.realpath(path or ""), found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _cuts(_description: str, held: _Held) -> Cuts:
    areas = areas_of(held.place)
    if areas is None:
        raise InputError("nothing says where its areas are; name a map or an H3 resolution")
    return Cuts.of(areas.shapes)
