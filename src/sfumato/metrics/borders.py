"""Distances between the areas of a map: how many borders lie between them, as a share of the most between any two."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from sfumato.columns import Floats
from sfumato.errors import InputError
from sfumato.files import read_json


def borders(path: str | os.PathLike[str], areas: Sequence[str], key: str | None = None) -> Floats:
    """A matrix over the areas, from 0 to 1; infinite between areas that no chain of neighbours joins.

    `key` is the property of a GeoJSON feature that names its area; its `id` unless told.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path
    from shapely import STRtree
    from shapely.errors import ShapelyError
    from shapely.geometry import shape

    data = read_json(path)
    features = data.get("features") if isinstance(data, dict) else None
    if not isinstance(features, list):
        raise InputError(f"{path} is no map: it needs a GeoJSON FeatureCollection")
    found: dict[str, list[object]] = {}
    for feature in features:
        try:
            name = feature["properties"][key] if key is not None else feature["id"]
            found.setdefault(str(name), []).append(shape(feature["geometry"]))
        except (KeyError, TypeError, AttributeError, ValueError, ShapelyError):
            what = f"property '{key}'" if key is not None else "id"
            raise InputError(f"{path}: a feature has no {what}, or no geometry that can be read") from None
    if lost := [a for a in areas if a not in found]:
        raise InputError(f"{path} has no area {lost[0]!r}; it is one of the column's bins")
    owner = [i for i, a in enumerate(areas) for _ in found[a]]
    shapes = [s for a in areas for s in found[a]]
    one, other = STRtree(shapes).query(shapes, predicate="intersects")
    pairs = np.array(owner)[one], np.array(owner)[other]
    near = csr_array((np.ones(len(one)), pairs), shape=(len(areas),) * 2)
    steps: Floats = shortest_path(near, directed=False, unweighted=True)
    most = steps[np.isfinite(steps)].max(initial=0.0)
    return steps / most if most else steps
