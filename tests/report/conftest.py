"""A small city with a map, its release, and a browser to look at pages."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.export import write_batches

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def squares(across: int, down: int, key: str = "code") -> dict[str, Any]:
    """A map of equal squares, numbered row by row from 1."""
    features = []
    for i in range(across * down):
        x, y = i % across / 100, i // across / 100
        ring = [[x, y], [x + 0.01, y], [x + 0.01, y + 0.01], [x, y + 0.01], [x, y]]
        shape = {"type": "Polygon", "coordinates": [ring]}
        properties = {key: i + 1, "name": f"Quarter {i + 1}"}
        features.append({"type": "Feature", "properties": properties, "geometry": shape})
    return {"type": "FeatureCollection", "features": features}


AREAS = tuple(range(1, 13))
SCHEMA = sf.Schema(
    columns=(
        sf.Person(name="who"),
        sf.Place(name="from_area", values=AREAS),
        sf.Place(name="to_area", values=AREAS),
        sf.Time(name="month", part="month"),
        sf.Category(name="kind", values=tuple("abcd"), levels={"group": {"early": ("a", "b"), "late": ("c", "d")}}),
        sf.Number(name="fare", edges=(0, 10, 20, None)),
    ),
    max_records_per_person=20,
)


def truth(records: int = 6000, seed: int = 1) -> pa.Table:
    """Trips of 900 people; nothing begins in area 12."""
    rng = np.random.default_rng(seed)
    return pa.table({
        "who": rng.integers(0, 900, records),
        "from_area": np.minimum(rng.geometric(0.25, records), 11),
        "to_area": np.minimum(rng.geometric(0.2, records), 12),
        "month": rng.integers(1, 13, records),
        "kind": rng.choice(list("abcd"), records),
        "fare": rng.gamma(2, 6, records),
    })  # fmt: skip


@dataclass(frozen=True)
class City:
    """A folder with truth.parquet, synthetic.parquet, schema.json, areas.geojson and city.ledger."""

    folder: Path
    schema: sf.Schema

    def __truediv__(self, name: str) -> str:
        return str(self.folder / name)


def release(folder: Path, schema: sf.Schema, data: pa.Table, method: sf.NMD, drawn: dict[str, Any]) -> City:
    """All files of a release of a table."""
    pq.write_table(data, folder / "truth.parquet")
    (folder / "areas.geojson").write_text(json.dumps(drawn))
    schema.save(folder / "schema.json")
    vault = sf.Vault.open(folder / "truth.parquet", schema, sf.Budget(8.0), folder / "city.ledger", account="city")
    model = method.fit(vault)
    write_batches(model.sample(), folder / "synthetic.parquet", model.provenance.to_dict())
    return City(folder, schema)


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> City:
    """A release of trips, with kinds in groups."""
    method = sf.NMD(marginal=("from_area", "to_area", "month", "kind@group"))
    return release(tmp_path_factory.mktemp("city"), SCHEMA, truth(), method, squares(4, 3))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium, without a window."""
    path = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
    if path is None:
        if os.environ.get("SFUMATO_BROWSER") == "required":
            pytest.fail("no Chromium here, and SFUMATO_BROWSER says that there must be one")
        pytest.skip("no Chromium here; install it to test the report in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


class Looked:
    """A page in the browser, with every request it made and everything its console said."""

    def __init__(self, browser: Any, path: str, **settings: Any):
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.said: list[str] = []
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        self.url = f"file://{path}"
        self.page.goto(self.url)

    def classes(self, which: int) -> list[str]:
        """The colours of the areas of a map, from the left."""
        found: list[str] = self.page.evaluate(
            "i => [...document.querySelectorAll('svg.map')[i].children].map(p => p.getAttribute('class'))", which
        )
        return found

    def close(self) -> None:
        """Nothing went wrong and nothing was asked of a network."""
        assert self.said == []
        assert self.requests == [self.url]
        self.context.close()
