"""What a sweep found: kept run by run, and written as a tidy table, as Markdown and as a picture."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.files import read_json, write_text, written_whole
from sfumato.schema import dumps

FORMAT, VERSION = "sfumato-sweep", 1
COLUMNS = ("method", "epsilon", "delta", "seed", "metric", "score", "records", "seconds", "truth")
WARNING = "PRIVATE: these scores were computed from private data, without noise; do not publish them."


@dataclass(frozen=True)
class Result:
    """What came of a run: the number of synthetic records, the seconds they took, a score for each metric."""

    method: str
    epsilon: float
    delta: float
    seed: int
    records: int
    seconds: float
    scores: Mapping[str, float | None]

    def scored(self, metric: str, value: float) -> Result:
        """The same with one more score; None stands for one that is no number."""
        return replace(self, scores={**self.scores, metric: value if math.isfinite(value) else None})

    def only(self, metrics: Sequence[str]) -> Result:
        """The same with these scores alone."""
        return replace(self, scores={m: self.scores[m] for m in metrics if m in self.scores})

    def rows(self, truth: str) -> list[dict[str, Any]]:
        """A row for each score."""
        head = {k: v for k, v in asdict(self).items() if k != "scores"}
        return [{**head, "metric": m, "score": s, "truth": truth} for m, s in self.scores.items()]


@dataclass(frozen=True)
class Folder:
    """Where a sweep keeps its files."""

    path: Path
    public_truth: bool

    def synthetic(self, name: str) -> Path:
        """The synthetic records of a run."""
        return self.path / "synthetic" / f"{name}.parquet"

    def _kept(self, name: str) -> Path:
        return self.path / "runs" / f"{name}.json"

    def check(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """Raise unless the folder is new or holds a sweep of the same kind; what it has of methods and metrics, added.

        Other methods, epsilons, seeds and metrics may be added to a sweep; what was run must mean the same. Scores are
        computed again where the settings of their metric have changed.
        """
        file = self.path / "sweep.json"
        if not file.exists():
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                raise InputError(f"{self.path} holds files that are not a sweep's; name a new folder")
            return {"format": FORMAT, "version": VERSION, **described}
        known = read_json(file)
        if not isinstance(known, dict) or known.get("format") != FORMAT or known.get("version") != VERSION:
            raise InputError(f"{file} is no sweep of this version; name a new folder")
        for key, value in described.items():
            if key not in ("methods", "metrics") and known.get(key) != json.loads(json.dumps(value)):
                raise InputError(f"{self.path} holds a sweep with another {key}; name a new folder")
        if differ := _changed(known, described, "methods"):
            raise InputError(f"{self.path} holds runs of '{differ[0]}' with other settings; name a new folder")
        merged = {key: {**known[key], **described[key]} for key in ("methods", "metrics")}
        return {**known, **merged}

    def settle(self, described: Mapping[str, Any]) -> None:
        """Make the folder, or check that what is there is this sweep's, and write down what it is of."""
        document = self.check(described)
        file = self.path / "sweep.json"
        again = _changed(read_json(file), described, "metrics") if file.exists() else []
        try:
            for folder in (self.path, self.path / "runs", self.path / "synthetic"):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder {self.path} cannot be made: {error.strerror}; name another") from None
        for name in [kept.stem for kept in (self.path / "runs").glob("*.json")] if again else []:
            if result := self.result(name):
                self.keep(name, result.only([m for m in result.scores if m not in again]))
        write_text(file, dumps(document) + "\n")

    def result(self, name: str) -> Result | None:
        """What is kept of a run, if its synthetic records are there too."""
        file = self._kept(name)
        if not (file.exists() and self.synthetic(name).exists()):
            return None
        try:
            return Result(**read_json(file))
        except TypeError:
            raise InputError(f"{file} is not what a sweep writes; delete it, or name a new folder") from None

    def keep(self, name: str, result: Result) -> None:
        """Write down what came of a run."""
        write_text(self._kept(name), dumps(asdict(result)) + "\n")

    def write(self, results: Sequence[Result]) -> None:
        """The tidy table as Parquet and CSV, the Markdown table and the pictures."""
        from sfumato.sweep.picture import picture

        truth = "public" if self.public_truth else "private"
        rows = [row for result in results for row in result.rows(truth)]
        _parquet(rows, self.path / "results.parquet", truth)
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(self.path / "results.csv", text.getvalue())
        write_text(self.path / "results.md", markdown(rows, truth))
        svg, png = picture(rows, "" if self.public_truth else WARNING)
        write_text(self.path / "results.svg", svg)
        with written_whole(self.path / "results.png") as beside:
            beside.write_bytes(png)


def _changed(known: Any, described: Mapping[str, Any], key: str) -> list[str]:
    """The methods or metrics whose settings are not those that are written down."""
    before = known.get(key, {})
    return [name for name, settings in described[key].items() if before.get(name, settings) != settings]


def _parquet(rows: Sequence[Mapping[str, Any]], path: Path, truth: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    kinds = {
        "seed": pa.int64(),
        "records": pa.int64(),
        "method": pa.string(),
        "metric": pa.string(),
        "truth": pa.string(),
    }
    schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in COLUMNS], {"truth": truth})
    with written_whole(path) as beside:
        pyarrow.parquet.write_table(pa.Table.from_pylist([dict(r) for r in rows], schema), beside)


def markdown(rows: Sequence[Mapping[str, Any]], truth: str) -> str:
    """A table for each metric: methods by epsilons, the mean of the scores and their spread.

    >>> row = {"method": "nmd", "epsilon": 1.0, "metric": "edges", "records": 9, "seconds": 0.1}
    >>> print(markdown([{**row, "score": 0.5}, {**row, "score": 0.7}], "public").splitlines()[-1])
    | nmd | 0.6000 ± 0.1414 |
    """
    epsilons = sorted({r["epsilon"] for r in rows})
    lines = [] if truth == "public" else [f"**{WARNING}**", ""]
    lines += ["Mean ± standard deviation over repetitions."]
    for metric in dict.fromkeys(r["metric"] for r in rows):
        lines += ["", f"## {metric}", "", "| method | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |"]
        lines.append("| --- |" + " --- |" * len(epsilons))
        for method in dict.fromkeys(r["method"] for r in rows):
            cells = [_cell([r["score"] for r in rows if _is(r, method, metric, e)]) for e in epsilons]
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _is(row: Mapping[str, Any], method: str, metric: str, epsilon: float) -> bool:
    return bool(row["method"] == method and row["metric"] == metric and row["epsilon"] == epsilon)


def _cell(scores: Sequence[float | None]) -> str:
    known = [s for s in scores if s is not None]
    if not known:
        return "–"
    spread = f" ± {statistics.stdev(known):.4f}" if len(known) > 1 else ""
    return f"{statistics.fmean(known):.4f}{spread}"
