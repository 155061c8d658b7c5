"""Scores against ε, a panel for each metric and a line for each method, with the spread over repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


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
    base = alt.Chart().encode(
        x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log"), axis=alt.Axis(values=_ticks(known))),
        color=alt.Color("method:N", title=None),
    )
    score = alt.Y("score:Q", title=None, scale=alt.Scale(zero=False))
    band = base.mark_errorbar(extent="stdev", ticks=True).encode(y=score)
    mean = alt.Y("mean(score):Q", title=None, scale=alt.Scale(zero=False))
    line = base.mark_line(point=True).encode(y=mean)
    panels = (
        alt.layer(line, band)
        .properties(width=260, height=200)
        .facet(facet=alt.Facet("metric:N", title=None), columns=3, data=alt.InlineData(values=known))
        .resolve_scale(y="independent")
    )
    if warning:
        panels = panels.properties(title=alt.TitleParams(warning, color="crimson", fontSize=11))
    made: dict[str, Any] = panels.to_dict()
    return made


def _ticks(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    return sorted({float(r["epsilon"]) for r in rows})
