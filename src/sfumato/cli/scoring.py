"""The run of `sfumato score`: one metric over two tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.cli.output import Output
from sfumato.cli.settings import parse_settings, setting_names
from sfumato.cli.targets import check_apart, files_of
from sfumato.errors import InputError
from sfumato.files import check_writable, write_text
from sfumato.metrics import METRICS, Metric, Score, Staged
from sfumato.schema import Schema, dumps
from sfumato.table import comparable


@dataclass(frozen=True)
class Comparison:
    """What the command line asked for; `options` are settings that have an option of their own."""

    truth: str
    synthetic: str
    schema: Path
    metric: str
    settings: tuple[str, ...]
    options: Mapping[str, str | None]
    top: int
    json_out: str | None


def run_score(asked: Comparison, output: Output) -> None:
    """Check everything, score, print, and write the JSON where it was asked for."""
    if asked.top < 0:
        raise InputError(f"--top is {asked.top}; give a number from 0 on")
    schema, lacking = comparable(Schema.load(asked.schema), asked.truth, asked.synthetic)
    if lacking:
        output.warn(f"not compared, as one of the two tables does not have it: {', '.join(lacking)}")
    metric = _metric(asked, schema)
    to_file = asked.json_out is not None and asked.json_out != "-"
    if asked.json_out is not None and to_file:
        check_writable(asked.json_out)
        read = {"the truth": files_of(asked.truth), "the synthetic data": files_of(asked.synthetic)}
        check_apart({"--json": Path(asked.json_out)}, {**read, "the schema": [asked.schema]})
    score = _score(asked, metric, output)
    if asked.json_out is not None and to_file:
        write_text(asked.json_out, dumps(score.to_dict()) + "\n")
    output.result(score.to_dict(), score.render(asked.top))
    output.say("Compared with the truth: where that is private, so is all of this.")


def _score(asked: Comparison, metric: Metric, output: Output) -> Score:
    """The score, with a bar where the metric counts its steps."""
    if isinstance(metric, Staged):
        with output.counting(f"scoring by {asked.metric}", metric.stages) as advance:
            return metric.score(asked.truth, asked.synthetic, advance)
    with output.working(f"scoring by {asked.metric}"):
        return metric.score(asked.truth, asked.synthetic)


def _metric(asked: Comparison, schema: Schema) -> Metric:
    """The metric with its settings."""
    if asked.metric not in METRICS:
        raise InputError(f"there is no metric '{asked.metric}'; take one of {', '.join(METRICS)}")
    make = METRICS[asked.metric]
    given = list(asked.settings)
    for option, text in asked.options.items():
        if text is not None:
            if option not in setting_names(make):
                raise InputError(f"metric '{asked.metric}' takes no --{option}")
            given.append(f"{option}={text}")
    settings: dict[str, Any] = parse_settings(make, given, f"metric '{asked.metric}'")
    return make(schema, **settings)
