"""The owner's page: the release beside the truth. All of it is private where the truth is."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from sfumato.files import write_text
from sfumato.privacy.provenance import Provenance
from sfumato.report.contents import page
from sfumato.report.fidelity import fidelity
from sfumato.report.publishable import framed
from sfumato.report.reading import read_truth
from sfumato.report.release import open_release
from sfumato.schema import Schema


class OwnersReport:
    """The page of a release beside the truth, for the owner of the data alone; it renders in a notebook.

    `marginals` are those that MGD compares, as `sfumato.metrics.MGD` takes them; else columns, pairs, and places
    through time.

    >>> import pyarrow as pa
    >>> from sfumato.columns import Place
    >>> schema = Schema(columns=(Place(name="area", values=(1, 2, 3)),))
    >>> truth, synthetic = pa.table({"area": [1, 2, 2, 3]}), pa.table({"area": [1, 2, 3, 3]})
    >>> "PRIVATE" in OwnersReport(truth, synthetic, schema).html
    True
    """

    def __init__(
        self,
        truth: Any,
        synthetic: Any,
        schema: Schema,
        *,
        map: Any = None,
        key: str | None = None,
        ledger: Any = None,
        account: str | None = None,
        provenance: Provenance | None = None,
        title: str | None = None,
        marginals: Any = None,
    ):
        self.title = title
        self._marginals = marginals
        self._release = open_release(synthetic, schema, map, key, ledger, account, provenance)
        self._truth = read_truth(truth, schema, self._release.reading.seen)
        self._files = truth, synthetic

    @cached_property
    def html(self) -> str:
        """The page."""
        sides = {"truth": self._truth, "synthetic": self._release.reading}
        return page(self._release, sides, self.title, self._scores())

    def _scores(self) -> dict[str, Any]:
        return fidelity(*self._files, self._release, self._truth, self._marginals)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all."""
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        return framed(self.html)
