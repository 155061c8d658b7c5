"""How real the invented city looks, beside public data of a real one; and how fast it is made.

Run as `python benchmarks/simulate.py [--quick] [--speed]`. The real files are looked for in ../shared/data beside the
repository; a column without them shows a dash. Nothing private is read: the real data are open data.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from sfumato.simulate import Simulation, incidents, taxi
from sfumato.simulate.fleet import PAYMENTS

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
TRIPS, CRIMES = DATA / "chicago_taxi_two_days.csv.gz", DATA / "chicago_crimes_2018.parquet"
PICKUP, DROPOFF = "pickup_community_area", "dropoff_community_area"
NORMS = {  # median norms of one person's histogram on the simulated data of an earlier study (1 M trips, 7,500 taxis)
    ("shift",): 43,
    (PICKUP,): 63,
    (PICKUP, "shift"): 22,
    (PICKUP, DROPOFF): 31,
    (PICKUP, "shift", DROPOFF): 15,
}

Frame: TypeAlias = pd.DataFrame
Line: TypeAlias = tuple[str, list[str]]


def table(head: list[str], lines: Iterable[Line]) -> None:
    """Print lines as a Markdown table."""
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name, cells in lines:
        print(f"| {name} | " + " | ".join(cells) + " |")


def compare(title: str, columns: dict[str, Frame | None], measures: dict[str, Callable[[Frame], str]]) -> None:
    """Print what each measure says of each table."""
    dash = {name: [("–" if t is None else of(t)) for t in columns.values()] for name, of in measures.items()}
    table([title, *columns], dash.items())


def gini(counts: np.ndarray) -> float:
    """0 when all counts are equal, near 1 when one has it all."""
    x = np.sort(counts.astype(float))
    n = len(x)
    return float((2 * np.arange(1, n + 1) - n - 1) @ x / (n * x.sum()))


def shares(values: pd.Series | Frame, tops: tuple[int, ...]) -> str:
    """The share of the most frequent values."""
    counts = np.sort(values.value_counts().to_numpy())[::-1]
    return " / ".join(f"{counts[:n].sum() / counts.sum():.3f}" for n in tops)


def quantiles(values: pd.Series, at: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)) -> str:
    return " / ".join(f"{v:.0f}" for v in values.quantile(list(at)))


def known(t: Frame, column: str) -> pd.Series:
    return t.loc[t[column] > 0, column]


def norm(t: Frame, person: str, columns: tuple[str, ...]) -> float:
    """The median Euclidean norm of a person's histogram."""
    cells = t.groupby([person, *columns]).size().to_numpy(), t.groupby([person, *columns]).size().index
    squares = pd.Series(cells[0] ** 2).groupby(cells[1].get_level_values(0)).sum()
    return float(np.sqrt(squares).median())


def same_size(t: Frame, column: str) -> str:
    """Chance that two records of a person agree: the squared norm without what its size alone makes."""
    cells = t.groupby(["taxi_id", *column.split("+")]).size()
    n = t.groupby("taxi_id").size()
    return f"{(cells * (cells - 1)).sum() / (n * (n - 1)).sum():.3f}"


def next_is_last(t: Frame) -> str:
    """Share of rides that begin where the last one (in the same or the hour before) ended."""
    t = t.sort_values(["taxi_id", "trip_day_of_week", "trip_hour_of_day"], kind="stable")
    after = t.shift(-1)
    near = (after.trip_hour_of_day - t.trip_hour_of_day).isin([0, 1]) & (after.trip_day_of_week == t.trip_day_of_week)
    ok = (after.taxi_id == t.taxi_id) & near & (after[PICKUP] > 0) & (t[DROPOFF] > 0)
    return f"{(after[PICKUP] == t[DROPOFF])[ok].mean():.2f}"


def hours(t: Frame, days: tuple[int, ...]) -> np.ndarray:
    here = t[t.trip_day_of_week.isin(days)]
    return np.bincount(here.trip_hour_of_day, minlength=24) / max(1, len(here))


def by_length(t: Frame, column: str) -> str:
    """Medians of a column for rides of 1–2, 2–4, 4–8, 8–14 and 14–22 miles."""
    t = t[(t.trip_miles > 0) & (t.trip_seconds > 60)]
    return " / ".join(
        f"{g:.0f}" for g in t.groupby(pd.cut(t.trip_miles, [1, 2, 4, 8, 14, 22], right=False))[column].median()
    )


def by_payment(t: Frame, of: Callable[[Frame], float]) -> str:
    return " / ".join(f"{of(t[t.payment_type == code]):.2f}" for code in list(PAYMENTS)[:5])


def area_gini(t: Frame, column: str, areas: int) -> str:
    counts = known(t, column).value_counts().to_numpy()
    return f"{gini(np.pad(counts, (0, max(0, areas - len(counts))))):.2f}"


def taxi_measures(real: Frame | None) -> dict[str, Callable[[Frame], str]]:
    """What is compared of trips: name, and the function that writes it."""
    out: dict[str, Callable[[Frame], str]] = {
        "share of top 1 / 5 / 10 / 20 pickup areas": lambda t: shares(known(t, PICKUP), (1, 5, 10, 20)),
        "… dropoff areas": lambda t: shares(known(t, DROPOFF), (1, 5, 10, 20)),
        "… top 1 / 10 / 50 / 300 pairs": lambda t: shares(t[[PICKUP, DROPOFF]], (1, 10, 50, 300)),
        "Gini of pickup areas": lambda t: area_gini(t, PICKUP, 77),
        "unknown pickup / dropoff / both": lambda t: " / ".join(
            f"{v.mean():.3f}" for v in (t[PICKUP] < 0, t[DROPOFF] < 0, (t[PICKUP] < 0) & (t[DROPOFF] < 0))
        ),
        "begins and ends in one area": lambda t: f"{(t[PICKUP] == t[DROPOFF]).mean():.2f}",
        "next pickup where last dropoff was": next_is_last,
        "share of top 1 / 5 / 10 companies": lambda t: shares(t.company_id, (1, 5, 10)),
        "two rides of a taxi agree in pickup": lambda t: same_size(t, PICKUP),
        "… in pickup and dropoff": lambda t: same_size(t, f"{PICKUP}+{DROPOFF}"),
        "unknown / cash / credit / mobile / prcard": lambda t: by_payment(t, lambda g: len(g) / len(t)),
        "with a tip": lambda t: by_payment(t, lambda g: float((g.tips > 0).mean())),
        "tip / fare where tipped": lambda t: by_payment(
            t, lambda g: float((g.tips / g.fare.clip(1))[g.tips > 0].median())
        ),
        "total − fare − tips": lambda t: by_payment(t, lambda g: float((g.trip_total - g.fare - g.tips).mean())),
        "median fare by miles (1, 2, 4, 8, 14–22)": lambda t: by_length(t, "fare"),
        "median seconds by miles": lambda t: by_length(t, "trip_seconds"),
        "correlation fare–miles / fare–seconds, log": lambda t: " / ".join(
            f"{np.log1p(t.fare.clip(0)).corr(np.log1p(t[c].clip(0))):.2f}" for c in ("trip_miles", "trip_seconds")
        ),
    }
    for column in ("fare", "tips", "trip_total", "trip_seconds", "trip_miles"):
        out[f"{column}: 5 / 25 / 50 / 75 / 95 / 99 %"] = lambda t, c=column: quantiles(t[c])  # type: ignore[misc]
    if real is not None:
        out["hours of Tue and Fri: half L1 distance"] = lambda t: (
            f"{np.abs(hours(t, (1, 4)) - hours(real, (1, 4))).sum() / 2:.3f}"
        )
    return out


def incident_measures() -> dict[str, Callable[[Frame], str]]:
    """What is compared of incidents, as far as both have it."""
    return {
        "share of top 1 / 5 / 10 / 20 areas": lambda t: shares(t.area, (1, 5, 10, 20)),
        "Gini of areas": lambda t: f"{gini(t.area.value_counts().to_numpy()):.2f}",
        "share of top 1 / 5 / 10 / 20 types": lambda t: shares(t.type, (1, 5, 10, 20)),
        "types that are 90 % / 99 % of all": lambda t: " / ".join(
            str(int((t.type.value_counts(normalize=True).cumsum() < q).sum() + 1)) for q in (0.9, 0.99)
        ),
        "types: how far an area is from the city (half L1)": lambda t: mix_distance(t, "area"),
        "types: how far a month is": lambda t: mix_distance(t, "month"),
        "months 1–7, quietest to busiest": lambda t: month_range(t),
    }


def mix_distance(t: Frame, by: str) -> str:
    mix = pd.crosstab(t[by], t.type, normalize="index")
    return f"{(mix - t.type.value_counts(normalize=True)).abs().sum(axis=1).mean() / 2:.2f}"


def month_range(t: Frame) -> str:
    counts = t[t.month <= 7].month.value_counts(normalize=True)
    return f"{counts.min():.3f} – {counts.max():.3f}"


def marginals(a: Frame, b: Frame, columns: Iterable[str]) -> list[str]:
    """Half L1 distance of each column's shares."""
    pairs = ((a[c].value_counts(normalize=True), b[c].value_counts(normalize=True)) for c in columns)
    return [f"{p.sub(q, fill_value=0).abs().sum() / 2:.3f}" for p, q in pairs]


def frame(sim: Simulation) -> Frame:
    out: Frame = sim.to_table().to_pandas()
    return out


def coarse(t: Frame) -> Frame:
    """The same with numbers in the schema's bins."""
    cut = {c: t[c] // (200 if c == "trip_seconds" else 10) for c in ("fare", "trip_seconds", "trip_miles")}
    return t.assign(**cut, trips=t.groupby("taxi_id")["taxi_id"].transform("size") // 20)


def trips(records: int) -> None:
    """Everything about taxi trips."""
    real = pd.read_csv(TRIPS) if TRIPS.exists() else None
    made = frame(taxi(records))
    few = frame(taxi(34_090, persons=1_941))
    columns = {"real, two days": real, f"simulated, {records:,}": made, "simulated, two days' size": few}
    compare("taxi trips", columns, taxi_measures(real))
    size = made.groupby("taxi_id").size()
    print(f"\ntrips a taxi: mean {size.mean():.2f} (the challenge: 70.99), sd {size.std():.1f}; ", quantiles(size))
    week = "/".join(f"{v:.3f}" for v in np.bincount(made.trip_day_of_week) / len(made))
    print(f"days of the week, Monday first: {week}")
    busy = frame(taxi(records, persons=max(1, records * 3 // 400)))
    lines = [(" × ".join(c), [str(w), f"{norm(busy, 'taxi_id', c):.0f}"]) for c, w in NORMS.items()]
    table(["median norm of a person, 133 trips each", "earlier study", "simulated"], lines)
    names = ["shift", "company_id", PICKUP, DROPOFF, "payment_type", "fare", "trip_seconds", "trip_miles", "trips"]
    years = {d: coarse(frame(taxi(records, drift=d, seed=8))) for d in (0.0, 0.2, 0.5, 1.0)}
    base = coarse(made)
    table(
        ["half L1 distance to drift 0", *names], ((f"drift {d:g}", marginals(base, y, names)) for d, y in years.items())
    )


def events(records: int) -> None:
    """Everything about incidents."""
    real = None
    if CRIMES.exists():
        raw = pd.read_parquet(CRIMES, columns=["CommunityArea", "PrimaryType", "Date"]).dropna()
        when = pd.to_datetime(raw["Date"]).dt.month
        real = pd.DataFrame({"area": raw["CommunityArea"].astype(int), "type": raw["PrimaryType"], "month": when})
    sim = incidents(records)
    made = frame(sim).rename(columns={"neighborhood": "area", "incident_type": "type"})
    compare("incidents", {"real (77 areas, 31 types)": real, "simulated (278, 174)": made}, incident_measures())
    cells = made.groupby(["area", "month", "type"]).size()
    total = len(sim.city.codes) * 12 * 174
    print(
        f"\nempty cells: {1 - len(cells) / total:.1%} of {total:,}; largest {cells.max():,}; residents {sim.persons:,}"
    )
    size = made.groupby("sim_resident").size()
    homes = made.groupby("sim_resident").area.nunique().mean()
    print(f"events a resident: mean {size.mean():.2f}, {quantiles(size)}; areas a resident: {homes:.2f}")
    years = {d: frame(incidents(records, drift=d, seed=8)) for d in (0.0, 0.2, 1.0)}
    base, names = frame(sim), ["neighborhood", "month", "incident_type"]
    table(
        ["half L1 distance to drift 0", *names], ((f"drift {d:g}", marginals(base, y, names)) for d, y in years.items())
    )


SPEED = """
import re, tempfile, time
from sfumato.simulate import incidents, taxi
start = time.perf_counter()
with tempfile.TemporaryDirectory() as folder:
    {call}.write(folder + "/{name}")
peak = int(re.search("VmHWM: *\\t* *([0-9]+)", open("/proc/self/status").read())[1]) / 1024
print(f"{{time.perf_counter() - start:.1f}} s|{{peak:.0f}} MiB")
"""


def speed(quick: bool) -> None:
    """Time and memory of writing files, each in a process of its own."""
    asked = [("taxi(1_000_000)", "a.parquet"), ("taxi(1_000_000)", "a.csv"), ("incidents()", "a.parquet")]
    asked += [] if quick else [("taxi(10_000_000)", "a.parquet")]
    lines: list[Line] = []
    for call, name in asked:
        code = SPEED.format(call=call, name=name)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        lines.append((f"{call} to {name[1:]}", done.stdout.strip().split("|")))
    table(["writing", "time", "peak memory"], lines)


def main(argv: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, no long runs")
    parser.add_argument("--speed", action="store_true", help="time and memory alone")
    asked = parser.parse_args(argv)
    start = time.perf_counter()
    if not asked.speed:
        trips(100_000 if asked.quick else 1_000_000)
        events(145_500 if asked.quick else 1_455_000)
    speed(asked.quick)
    print(f"\n{time.perf_counter() - start:.0f} s in all", file=sys.stderr)


if __name__ == "__main__":
    main()
