"""Run every benchmark and write results.md.

python -m benchmarks.collect            # or: make bench
python -m benchmarks.collect house      # some parts; the others stay as they were measured
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

PARTS = {
    "house": "The house",
    "noise": "Noise",
    "aemc": "Earth mover cost",
    "contest": "The contest",
    "taxitrip": "TaxiTrip",
    "adagrid": "AdaGrid",
    "dpsyn": "DPSyn",
    "mgd_table": "The table of the MGD design",
    "report": "The report",
}
RESULTS = Path(__file__).parent / "results.md"


def main(names: list[str]) -> None:
    """Measure the parts named, or all, and write the page; parts that are not measured stay as they are."""
    held = sections(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in names or list(PARTS):
        held[PARTS[name]] = measured(name)
        RESULTS.write_text(page(held), encoding="utf-8")


def measured(name: str) -> str:
    """The section of a part, measured now."""
    lines = [f"Measured on {datetime.now(UTC):%Y-%m-%d}.", "", "| what | measured | target |", "| --- | --- | --- |"]
    for row in import_module(f"benchmarks.{name}").rows():
        print(" | ".join(row), flush=True)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def sections(text: str) -> dict[str, str]:
    """What stands under each heading of the page."""
    parts = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {title.strip(): body.strip() for title, _, body in parts}


def page(held: dict[str, str]) -> str:
    """The page, its parts in their order."""
    head = (
        f"# Benchmarks\n\nWritten by `make bench`, or part by part by `python -m benchmarks.collect NAME`: Python "
        f"{platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}. Peers run in the same run; "
        "medians. Machines are shared and noisy: read the ratios."
    )
    return head + "".join(f"\n\n## {title}\n\n{held[title]}" for title in PARTS.values() if title in held) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
