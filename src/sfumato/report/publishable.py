"""The page that may go out with a release: made of the synthetic table, the ledger, the schema and the map alone.

>>> import pyarrow as pa
>>> import sfumato as sf
>>> schema = sf.Schema(columns=(sf.Person(name="who"), sf.Place(name="area", values=(1, 2, 3))))
>>> data = pa.table({"who": [1, 1, 2, 3], "area": [1, 2, 2, 3]})
>>> vault = sf.Vault.open(data, schema, sf.Budget(epsilon=100.0), ledger=":memory:")
>>> model = sf.NMD(bound=sf.records(2)).fit(vault)
>>> about = Report(model.to_table(records=50), schema, provenance=model.provenance)
>>> "PUBLISHABLE" in about.html, "50 synthetic records" in about.html.replace(chr(10), "")
(True, False)
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from sfumato.errors import InputError
from sfumato.files import write_text
from sfumato.privacy.provenance import Provenance
from sfumato.report.contents import page
from sfumato.report.release import Release, open_release
from sfumato.schema import Schema


class Report:
    """The publishable page of a release; it renders in a notebook. It takes no truth, so it cannot show any.

    `map` is a GeoJSON file or document whose features are found by `key`; `ledger` a file or an open `Ledger`.
    `provenance` is read from the table's file; a table in memory has none, so give the model's.
    """

    def __init__(
        self,
        synthetic: Any,
        schema: Schema,
        *,
        map: Any = None,
        key: str | None = None,
        ledger: Any = None,
        account: str | None = None,
        provenance: Provenance | None = None,
        title: str | None = None,
    ):
        self.title = title
        self._release = publishable(open_release(synthetic, schema, map, key, ledger, account, provenance))

    @cached_property
    def html(self) -> str:
        """The page."""
        return page(self._release, {"synthetic": self._release.reading}, self.title, None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all."""
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        return framed(self.html)


def publishable(release: Release) -> Release:
    """The release, if a page of it may go out: what is not known to be synthetic and private is refused."""
    made = release.provenance
    if made is None:
        raise InputError(
            f"nothing says how {release.name} was made, so it may be private records; a publishable page needs a file "
            "that sfumato wrote, or the provenance of its model"
        )
    if not made.private:
        raise InputError(f"{release.name} was made with seeded noise and is NOT PRIVATE; publish nothing from it")
    return release


def framed(html: str) -> str:
    """The page in a frame of its own, so that a notebook's styles and its own leave each other alone."""
    from markupsafe import escape

    return f'<iframe srcdoc="{escape(html)}" style="width:100%;height:900px;border:0" title="Sfumato report"></iframe>'
