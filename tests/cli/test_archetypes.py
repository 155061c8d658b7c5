"""`sfumato archetypes`, and synthesize with what it wrote."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Sfumato, contents, trips

LEARN = ("archetypes", "learn", "public.parquet", "--schema", "schema.json", "--k", 3, "--set", "columns=hour,area")
LEARN = (*LEARN, "--set", "attribute=how", "--out", "kinds.sfumato")
MAKE = (
    "synthesize",
    "trips.parquet",
    "--schema",
    "schema.json",
    "--method",
    "taxitrip",
    "--epsilon",
    1,
    "--delta",
    1e-5,
)
MAKE = (*MAKE, "--set", "columns=hour,area", "--set", "attribute=how", "--out", "out.parquet")


@pytest.fixture
def public(city: Path) -> Path:
    pq.write_table(trips(500), city / "public.parquet")
    return city


def test_learn_show_synthesize_sample(public: Path, sfumato: Sfumato) -> None:
    """Public kinds in a file, then records from it; no public table is needed any more."""
    learned = sfumato(*LEARN)
    assert learned.code == 0, learned.err
    assert "PUBLIC" in learned.err
    shown = sfumato("archetypes", "show", "kinds.sfumato", "--json").json
    assert shown["public"] is True
    assert sum(k["persons"] for k in shown["archetypes"]) == 97
    assert shown["nearness"] == {"hour": "cycle", "area": "an axis for each bin"}
    (public / "public.parquet").unlink()
    made = sfumato(*MAKE, "--public", "kinds.sfumato", "--set", "trips=400", "--model-out", "m.sfumato", "--json")
    assert made.code == 0, made.err
    assert made.json["records"] == 400
    table = pq.read_table(public / "out.parquet")
    assert set(table.column_names) == {"who", "area", "hour", "fare", "how"}
    assert sfumato("archetypes", "show", "m.sfumato", "--json").json["public"] is False
    assert "ε = 1" in sfumato("archetypes", "show", "m.sfumato").out
    assert sfumato("sample", "m.sfumato", "--out", "more.csv", "--records", 50).code == 0


def test_the_public_table_itself_is_enough(public: Path, sfumato: Sfumato) -> None:
    """Learned on the way."""
    made = sfumato(*MAKE, "--public", "public.parquet", "--set", "archetypes=3", "--records", 100, "--json")
    assert made.code == 0, made.err
    assert made.json["records"] == 100


def test_the_plan_is_explained_without_any_public_data(public: Path, sfumato: Sfumato) -> None:
    """Two questions, their bins, noise and cost; nothing is read."""
    plan = sfumato(*MAKE, "--explain", "--json").json
    assert [(q["question"], q["cells"], q["sensitivity"]) for q in plan["questions"]] == [
        ("archetypes", 10, 1),
        ("how", 2, 1),
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((*MAKE,), "learns archetypes from public data"),
        ((*MAKE, "--public", "no.sfumato"), "no.sfumato does not exist"),
        ((*MAKE, "--public", "schema.sfumato"), "no model file"),
        ((*MAKE, "--public", "trips.parquet"), "the private data itself"),
        ((*MAKE, "--public", "public.parquet", "--set", "archetypes=200"), "97 persons to learn 200"),
        ((*MAKE, "--public", "public.parquet", "--set", "cluster=areas"), "'persons' or 'records'"),
        ((*LEARN, "--set", "noise=classical"), "need no 'noise'"),
        ((*LEARN[:-1], "public.parquet"), "is also the public data"),
        ((*LEARN[:-1], "no/where.sfumato"), "does not exist"),
        ((*LEARN, "--k", 0), "archetypes is 0"),
        (("archetypes", "show", "schema.json"), "no model file"),
        (("archetypes", "show", "no.sfumato"), "does not exist"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(
    public: Path, sfumato: Sfumato, arguments: tuple[object, ...], text: str
) -> None:
    """Exit code 2, one sentence, nothing written but an empty ledger, nothing spent."""
    (public / "schema.sfumato").write_text("no model")
    before = contents(public)
    ran = sfumato(*arguments)
    assert ran.code == 2
    assert text in ran.err
    after = contents(public)
    assert set(after) - set(before) <= {"trips.ledger"}
    assert before.items() <= after.items()


def test_a_model_of_another_kind_holds_no_archetypes(public: Path, sfumato: Sfumato) -> None:
    """A histogram is a model and no archetypes."""
    nmd = (
        "synthesize",
        "trips.parquet",
        "--schema",
        "schema.json",
        "--method",
        "nmd",
        "--epsilon",
        1,
        "--marginal",
        "area",
    )
    assert sfumato(*nmd, "--model-out", "h.sfumato").code == 0
    assert "holds no archetypes" in sfumato("archetypes", "show", "h.sfumato").err
    assert "holds no archetypes" in sfumato(*MAKE, "--public", "h.sfumato").err
