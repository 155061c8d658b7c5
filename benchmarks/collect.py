"""Run every benchmark and write results.md.

python -m benchmarks.collect            # or: make bench
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
    """Measure the parts named, or all, and write the page."""
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}: Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, {platform.machine()}. Peers run in the same run; medians. Machines are shared and "
        "noisy: read the ratios.",
    ]
    for name in names or list(PARTS):
        lines += ["", f"## {PARTS[name]}", "", "| what | measured | target |", "| --- | --- | --- |"]
        for row in import_module(f"benchmarks.{name}").rows():
            print(" | ".join(row), flush=True)
            lines.append(f"| {' | '.join(row)} |")
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
