"""Scores against ε, a panel for each metric and a line for each method, with the spread over repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

STEEP = 50  # from this ratio of the scores on, they stand on a log scale


def picture(rows: Sequence[Mapping[str, Any]], warning: str) -> tuple[str, bytes]:
    """The picture as SVG and as PNG; it needs no network."""
    import json

    import vl_convert

    specification = json.dumps(chart(rows, warning))
    return vl_convert.vegalite_to_svg(specification), vl_convert.vegalite_to_png(specification, scale=2)


def chart(rows: Sequence[Mapping[str, Any]], warning: str) -> dict[str, Any]:
    """The picture as a Vega-Lite document."""
    import altair as alt

    known = [{k: r[k] for k in ("method", "epsilon", "metric", "score")} for r in rows if r["score"] is not None]
    names = list(dict.fromkeys(r["metric"] for r in known))
    panels = [_panel(name, [r for r in known if r["metric"] == name]) for name in names]
    whole = alt.concat(*panels, columns=3)
    if warning:
        whole = whole.properties(title=alt.TitleParams(warning, color="crimson", fontSize=11))
    made: dict[str, Any] = whole.to_dict()
    return made


def _panel(metric: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """The lines of one metric: means joined, and bars from the least score to the greatest."""
    import altair as alt

    scores = [r["score"] for r in rows]
    steep = min(scores) > 0 and max(scores) > STEEP * min(scores)
    scale = alt.Scale(type="log") if steep else alt.Scale(zero=False)
    ticks = sorted({float(r["epsilon"]) for r in rows})
    base = alt.Chart(alt.InlineData(values=list(rows)), title=metric, width=260, height=200).encode(
        x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log"), axis=alt.Axis(values=ticks, format="~g")),
        color=alt.Color("method:N", title=None),
    )
    bars = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
        y=alt.Y("min(score):Q", title=None, scale=scale), y2="max(score):Q"
    )
    line = base.mark_line(point=True).encode(y=alt.Y("mean(score):Q", title=None, scale=scale))
    return line + bars
