"""The house: bounded counting beside DuckDB's plain group-by, the NMD-Privatizer end to end, start-up and the demo.

python -m benchmarks.house
"""

from __future__ import annotations

import tempfile

from benchmarks.measure import costs, incidents, trips

TRIPS, INCIDENTS = 10_000_000, 1_455_000
Row = tuple[str, str, str]


def rows() -> list[Row]:
    """What was measured, the figures, the target."""
    return [*bounded(), nmd(), startup(), demo()]


def bounded() -> list[Row]:
    """`l2` over person × three columns, from Parquet, beside group-bys without any bound."""
    path = trips(TRIPS)
    columns = "pickup_community_area, dropoff_community_area, shift"
    marginal = f'sf.Marginal.of(*"{columns}".split(", "))'
    ours = (
        f"import sfumato as sf\nfrom sfumato.bounded import bounded_counts\nimport duckdb, pyarrow\n"
        f'schema = sf.Schema.load("{path.with_suffix(".json")}")',
        f'bounded_counts(sf.Table.open("{path}", schema), [{marginal}], sf.BOUND, "key")',
    )
    peer = "import duckdb, pyarrow\ncon = duckdb.connect()"
    plain = f"""con.sql("SELECT COLUMNS, COUNT(*) FROM '{path}' GROUP BY ALL").to_arrow_table()"""
    found = costs(
        {
            "l2": (ours[0], ours[1].replace("BOUND", "l2(25)")),
            "weight": (ours[0], ours[1].replace("BOUND", "weight(50)")),
            "records": (ours[0], ours[1].replace("BOUND", "records(50)")),
            "person × cell": (peer, plain.replace("COLUMNS", f"taxi_id, {columns}")),
            "cell": (peer, plain.replace("COLUMNS", columns)),
        }
    )
    by_person, by_cell = found["person × cell"], found["cell"]
    out = []
    for rule in ("l2", "weight", "records"):
        ratio = f"{found[rule].seconds / by_person.seconds:.2f} × / {found[rule].seconds / by_cell.seconds:.1f} ×"
        figures = f"{found[rule]}; plain group-by with person {by_person}, without {by_cell}; ratio {ratio}"
        target = "≤ 4 ×, ≤ 2,048 MiB" if rule == "l2" else "–"
        out.append((f"{rule} on person × three columns, {TRIPS:,} trips", figures, target))
    return out


def nmd() -> Row:
    """The command from Parquet to written Parquet."""
    path = incidents(INCIDENTS)
    with tempfile.TemporaryDirectory() as folder:
        work = (
            f"sys.argv = ['sfumato', 'synthesize', '{path}', '--schema', '{path.with_suffix('.json')}', '--method',"
            f" 'nmd', '--epsilon', '1', '--out', folder + '/s.parquet', '--ledger', folder + '/l.ledger', '--quiet']\n"
            "from sfumato.cli import run\n"
            "try: run()\nexcept SystemExit as stop: assert not stop.code, stop.code"
        )
        setup = f"import tempfile; folder = tempfile.mkdtemp(dir='{folder}')"
        cost = costs({"nmd": (setup, work)})["nmd"]
    return f"nmd, {INCIDENTS:,} incidents to a written Parquet (580,464 cells, ε = 1)", str(cost), "≤ 10 s, ≤ 1,536 MiB"


def startup() -> Row:
    """Importing the package in a fresh interpreter."""
    cost = costs({"import": ("", "import sfumato")}, times=11)["import"]
    return "import sfumato", str(cost), "≤ 0.5 s"


def demo() -> Row:
    """The demonstration, after installation."""
    with tempfile.TemporaryDirectory() as folder:
        work = (
            "from sfumato.cli.demo import run_demo\nfrom sfumato.cli.output import Output\n"
            f"run_demo(Path('{folder}') / 'demo', {INCIDENTS}, Output(quiet=True))"
        )
        cost = costs({"demo": ("from pathlib import Path", work)}, times=3)["demo"]
    return "make demo, after installation", str(cost), "≤ 60 s"


if __name__ == "__main__":
    for what, figures, target in rows():
        print(f"{what}: {figures} (target {target})")
