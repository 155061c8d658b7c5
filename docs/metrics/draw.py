"""Draws the pictures of mgd.md: what moves where in small tables, as SVG.

python docs/metrics/draw.py
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from sfumato.metrics import Aemc, Axis, aemc

HERE = Path(__file__).parent
SYNTHETIC, TRUTH = [10, 0, 0, 5, 7], [6, 3, 0, 5, 4]
BAR, GAP, HIGH, SCALE = 34, 96, 150, 12
INK, TRUE, MADE, MOVE, OFF = "#333", "#b9c6d3", "#4472a8", "#c8553d", "#8a8a8a"


def main() -> None:
    """Write all pictures."""
    for tolerance in (0, 2):
        (HERE / f"line-{tolerance}.svg").write_text(line(tolerance), encoding="utf-8")
    (HERE / "clock.svg").write_text(clock(), encoding="utf-8")


def line(tolerance: int) -> str:
    """Five bins in a row: bars of both tables, arrows where counts move, what is added and removed."""
    found = aemc(SYNTHETIC, TRUTH, [Axis.ordinal()], tolerance)
    parts = []
    for i, (p, q) in enumerate(zip(SYNTHETIC, TRUTH, strict=True)):
        x = 40 + GAP * i
        parts += [bar(x, p, MADE), bar(x + BAR + 2, q, TRUE)]
        parts.append(text(x + BAR, HIGH + 18, f"bin {i}"))
        parts.append(text(x + BAR / 2, HIGH - SCALE * p - 5, str(p), MADE))
        parts.append(text(x + BAR * 1.5, HIGH - SCALE * q - 5, str(q), "#6d7f91"))
        if tolerance:
            top, low = (HIGH - SCALE * max(0, q + d) for d in (tolerance, -tolerance))
            parts.append(f'<rect x="{x + BAR + 2}" y="{top}" width="{BAR}" height="{low - top}" fill="none" '
                         f'stroke="{OFF}" stroke-dasharray="3 3"/>')  # fmt: skip
    parts += arrows(found)
    cost = found.problem.truth * found.value
    told = f"moved {found.moved:g}, added {found.added:g}, removed {found.removed:g}: "
    told += f"costs {cost:g} / {sum(TRUTH)} = {found.value:.3f}"
    parts.append(text(40 + GAP * 2 + BAR, HIGH + 66, told, INK, 14))
    return svg(GAP * 5 + 40, HIGH + 80, parts)


def arrows(found: Aemc) -> list[str]:
    """An arrow under the bins for each pair that counts move between, and crosses for what is removed."""
    flows, parts = found.flows(), []
    for (a,), (b,), count in zip(flows.origin, flows.destination, flows.counts, strict=True):
        x, y = (40 + GAP * i + BAR for i in (a, b))
        parts.append(f'<path d="M{x},{HIGH + 24} Q{(x + y) / 2},{HIGH + 50} {y},{HIGH + 24}" fill="none" '
                     f'stroke="{MOVE}" stroke-width="2" marker-end="url(#tip)"/>')  # fmt: skip
        parts.append(text((x + y) / 2, HIGH + 50, f"{count:g}", MOVE))
    return parts


def clock() -> str:
    """Twelve records an hour late: the way round a circle, and the way along a line."""
    P, Q = np.zeros(24, int), np.zeros(24, int)
    P[23], Q[0] = 12, 12
    parts = [f'<circle cx="110" cy="110" r="80" fill="none" stroke="{TRUE}" stroke-width="2"/>']
    for hour in range(24):
        x, y = at(hour, 80)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{INK if hour in (23, 0) else TRUE}"/>')
        if hour % 6 == 0 or hour == 23:
            u, v = at(hour, 98)
            parts.append(text(u, v + 4, str(hour)))
    (x, y), (u, v) = at(23, 70), at(0, 70)
    parts.append(
        f'<path d="M{x:.1f},{y:.1f} L{u:.1f},{v:.1f}" stroke="{MOVE}" stroke-width="3" marker-end="url(#tip)"/>'
    )
    parts.append(text(110, 112, f"circle: {aemc(P, Q, [Axis.cyclic()]).value:.3f}", MOVE, 14))
    parts.append(text(110, 132, f"line: {aemc(P, Q, [Axis.ordinal()]).value:.3f}", OFF, 14))
    return svg(220, 220, parts)


def at(hour: int, radius: float) -> tuple[float, float]:
    """Where an hour stands on the dial."""
    angle = 2 * math.pi * hour / 24 - math.pi / 2
    return 110 + radius * math.cos(angle), 110 + radius * math.sin(angle)


def bar(x: float, height: float, colour: str) -> str:
    """A bar that stands on the line."""
    top = HIGH - SCALE * height
    return f'<rect x="{x}" y="{top}" width="{BAR}" height="{SCALE * height}" fill="{colour}"/>'


def text(x: float, y: float, words: str, colour: str = INK, size: int = 12) -> str:
    """Words around a point."""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="middle">{words}</text>'


def svg(width: float, height: float, parts: list[str]) -> str:
    """A picture of its parts."""
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{MOVE}"/></marker></defs>'
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
    return "\n".join([f'{head} font-family="sans-serif">', tip, *parts, "</svg>", ""])


if __name__ == "__main__":
    main()
