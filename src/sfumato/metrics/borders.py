"""Distances between the areas of a map: how many borders lie between them, as a share of the most between any two."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sfumato.columns import Floats
from sfumato.errors import InputError
from sfumato.maps import Map


def borders(path: str | os.PathLike[str], areas: Sequence[str], key: str | None = None) -> Floats:
    """A matrix over the areas, from 0 to 1; infinite between areas that no chain of neighbours joins.

    `key` is the property of a GeoJSON feature that names its area; told by the areas' names unless given.
    """
    found = Map.load(path).areas(areas, key)
    if found.missing:
        raise InputError(f"{path} has no area {areas[found.missing[0]]!r}; it is one of the column's bins")
    return found.steps()
