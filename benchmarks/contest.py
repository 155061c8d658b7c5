"""The contest: the third score beside the published procedure in pandas, long tables, the first score, references.

python -m benchmarks.contest
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.measure import CACHE, Cost, costs, incidents, trips

TRIPS, MANY = 1_000_000, 16_000_000
Row = tuple[str, str, str]
_ONE_CORE = "import os, json; os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\n"


def rows() -> list[Row]:
    """What was measured, the figures, the target."""
    return [third(), long(), first(), checked(), *references()]


def _other_year(records: int) -> Path:
    """Another year of the same simulated city, as a synthetic table."""
    from sfumato.simulate import taxi

    path = CACHE / f"taxi_{records}_drift.parquet"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        taxi(records=records, drift=0.2, seed=11).write(path)
    return path


def _ours(truth: Path, out: Path) -> str:
    """Setup that defines the third sprint's metrics over two files."""
    return (
        _ONE_CORE + f"import sfumato as sf\nfrom sfumato.contest import sprint3\nfrom sfumato.metrics import *\n"
        f"schema, truth, made = sf.Schema.load('{truth.with_suffix('.json')}'), '{truth}', '{_other_year(TRIPS)}'\n"
        "def score(a, b):\n"
        "    k = KMarginal(schema, by=sprint3.BY, columns=sprint3.COMPARED).score(a, b).value\n"
        "    g, h = Edges(schema, sprint3.FLOW).score(a, b), Conjunction(schema, sprint3.BY[::-1]).score(a, b)\n"
        "    return {'k': k, 'g': g.value, 'h': h.value}\n"
        f"def tell(found): open('{out}', 'w').write(json.dumps(found))\n"
    )


def third() -> Row:
    """One ε of 1 M trips against 1 M, all 28 pairs, on one core: in the same run the published procedure, twice."""
    truth, made = trips(TRIPS), _other_year(TRIPS)
    with tempfile.TemporaryDirectory() as folder:
        outs = {name: Path(folder) / name for name in ("ours", "published", "by columns")}
        peer = _ONE_CORE + "from benchmarks import published\nimport pandas, pyarrow.parquet\n"

        def work(name: str, by_columns: bool) -> tuple[str, str]:
            return peer, (
                f"open('{outs[name]}', 'w').write(json.dumps("
                f"published.score('{truth}', '{made}', by_columns={by_columns})))"
            )

        found = costs({"ours": (_ours(truth, outs["ours"]) + _warm(), "tell(score(truth, made))")}, times=3)
        found |= costs({name: work(name, name != "published") for name in ("published", "by columns")}, times=1)
        found["again"] = costs({"ours": (_ours(truth, outs["ours"]) + _warm(), "tell(score(truth, made))")}, times=3)[
            "ours"
        ]
        values = {name: json.loads(path.read_text()) for name, path in outs.items()}
    ours = Cost(max(found["ours"].seconds, found["again"].seconds), max(found["ours"].mib, found["again"].mib))
    apart = max(abs(values["ours"][m] - values[peer][m]) for m in "kgh" for peer in ("published", "by columns"))
    ratios = [found[name].seconds / ours.seconds for name in ("published", "by columns")]
    figures = (
        f"{ours}; the published procedure in pandas {found['published']}, ratio {ratios[0]:.0f} ×; "
        f"with its loop over groups taken out {found['by columns']}, ratio {ratios[1]:.1f} ×; "
        f"largest difference {apart:.0e}"
    )
    return f"sprint 3, {TRIPS:,} × {TRIPS:,} trips, 28 pairs, one core", figures, "≥ 20 ×, 1e-9, ≤ 1,536 MiB"


def _warm() -> str:
    """Setup that has the kernels read from numba's cache: loading them is not scoring."""
    return "import pyarrow.parquet as pq\nfew = pq.read_table(truth).slice(0, 1000)\nscore(few, few)\ndel few\n"


def long() -> Row:
    """Memory does not grow with the trips."""
    out = Path(tempfile.gettempdir()) / "sfumato_long.json"
    works = {n: (_ours(trips(n), out), "score(truth, made)") for n in (TRIPS, MANY)}
    found = {n: costs({"ours": work}, times=1)["ours"] for n, work in works.items()}
    figures = "; ".join(f"{n:,}: {cost}" for n, cost in found.items())
    return f"sprint 3, truth of {TRIPS:,} and of {MANY:,} trips, one core", figures, "memory does not grow"


def first() -> Row:
    """Files in, score out: incidents counted, 10,008 rows of 174 counts read, checked and scored."""
    path = incidents(1_455_000)
    with tempfile.TemporaryDirectory() as folder:
        setup = (
            "import json, numpy as np, sfumato as sf\nfrom pathlib import Path\n"
            "from sfumato.contest import Parameters, sprint1\nfrom sfumato.export import write_batches\n"
            f"schema, folder = sf.Schema.load('{path.with_suffix('.json')}'), Path('{folder}')\n"
            "entries = {'periods': [{'year': y, 'month': m} for y, m in schema['period'].months]}\n"
            "for n in ('neighborhood', 'incident_type'):\n"
            "    entries[n] = [{'name': str(v), 'code': v} for v in schema[n].bins]\n"
            "runs = [{'epsilon': e, 'delta': 1e-11, 'max_records_per_individual': 20} for e in (1.0, 2.0, 10.0)]\n"
            "given = Parameters.load({'runs': runs, 'schema': entries}, 1)\n"
            f"true = sprint1.true_counts('{path}', given)\n"
            "noise = np.random.default_rng(1).integers(-3, 4, true.shape)\n"
            "noisy = {r['epsilon']: np.maximum(true + noise, 0) for r in runs}\n"
            "write_batches(sprint1.table_of(noisy, given).to_batches(), folder / 's.csv')\n"
        )
        cost = costs({"first": (setup, f"sprint1.score('{path}', folder / 's.csv', given)")})["first"]
    return "sprint 1, 10,008 rows × 174 and 1,455,000 incidents, from files", str(cost), "≤ 2 s"


def checked() -> Row:
    """The check of a long submission."""
    truth = trips(TRIPS)
    with tempfile.TemporaryDirectory() as folder:
        setup = (
            _ONE_CORE + "import sys; sys.path.insert(0, '.')\nimport pandas as pd\nfrom tests import challenge\n"
            "from sfumato.contest import sprint3\nfrom sfumato.contest.parameters import TRIP\n"
            f"t = pd.read_parquet('{truth}')\nparameters = challenge.sprint3()\n"
            f"challenge.epsilons({{1.0: t, 10.0: t}}, list(TRIP)).to_csv('{folder}/s.csv', index=False)\n"
        )
        cost = costs({"check": (setup, f"assert sprint3.check('{folder}/s.csv', parameters).ok")}, times=3)["check"]
    return f"check of a submission of {2 * TRIPS:,} trips (CSV), one core", str(cost), "–"


def references() -> list[Row]:
    """Parts of a simulated year scored as submissions, beside what was published for the real ones."""
    from tests import challenge

    from sfumato.contest import Parameters, references, sprint3

    published = {
        (0.01, "records"): "K .547, .472",
        (0.1, "records"): "K .721, .703",
        (0.5, "records"): "K .889, .887",
        (0.4, "persons"): "total 804, 817",
    }
    path = str(trips(MANY))
    given = Parameters.load(challenge.sprint3(), 3)
    with tempfile.TemporaryDirectory() as folder:
        parts = {}
        for i, (share, of) in enumerate(published):
            parts[float(i)] = f"{folder}/{i}.parquet"
            part = references.subsample(path, given.released, share, of)  # type: ignore[arg-type]
            references.write(part, parts[float(i)], references.about(share, of, 0))  # type: ignore[arg-type]
        score = sprint3.score_tables(path, parts, given)
    out = []
    for i, ((share, of), known) in enumerate(published.items()):
        k, g, h = score.parts[float(i)].values()
        figures = f"total {score.per_epsilon[float(i)]:.0f}: K {k:.3f}, G {g:.3f}, H {h:.3f}"
        out.append(
            (f"{share:.0%} of the {of} of {MANY:,} simulated trips", figures, f"published for 2016, 2020: {known}")
        )
    return out


if __name__ == "__main__":
    for what, figures, target in rows():
        print(f"{what}: {figures} (target {target})")
