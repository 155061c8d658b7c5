"""The ledger never shows less spent than was released, whatever happens to it."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.errors import BudgetError, InputError, RunError
from sfumato.privacy import book, ledger_file
from sfumato.privacy import ledger as module
from sfumato.privacy.budget import Budget, Cost, GaussianCost, PureCost, compose, gaussian_mu
from sfumato.privacy.ledger import FORMAT, Charge, Ledger, Release

PACKAGE = Path(module.__file__).parents[1]
WHOLE = Budget(10.0, 1e-6)

# What the subprocesses below share: a charge of ε = 1 under a name. The package's own __init__ is passed over, as it
# would load engines that the ledger does not need and a start would take three times as long.
PRELUDE = """
import sys, types
sys.modules["sfumato"] = types.ModuleType("sfumato")
sys.modules["sfumato"].__path__ = [sys.argv.pop()]
from sfumato.errors import BudgetError, InputError, RunError
from sfumato.privacy.budget import Budget, PureCost
from sfumato.privacy.ledger import Charge, Ledger
charges = [Charge("count", "area", "discrete laplace", "records(1)", 1.0, 1.0, PureCost(1.0))]
def spend(ledger):
    ledger.charge("data", Budget(1.0), charges, method="m", unit="taxi_id", fingerprint="f", version="0")
ledger = Ledger(sys.argv[1])
"""


def a_charge(cost: Cost) -> Charge:
    mechanism = "rounded gaussian" if isinstance(cost, GaussianCost) else "discrete laplace"
    return Charge("histogram", "area × shift", mechanism, "l2(1)", 1.0, 10.0, cost)


def spend(ledger: Ledger, *costs: Cost, account: str = "data", budget: Budget = WHOLE, **more: object) -> Release:
    texts = {"method": "archetypes", "unit": "taxi_id", "fingerprint": "3fa9", "version": "0.1.0", **more}
    return ledger.charge(account, budget, [a_charge(cost) for cost in costs], **texts)  # type: ignore[arg-type]


def start(script: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + script, str(path), str(PACKAGE)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def tamper(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def three_releases(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a ledger with a cap of ε = 10 and three releases."""
    path = tmp_path_factory.mktemp("used") / "ledger.db"
    ledger = Ledger(path)
    ledger.set_cap("data", WHOLE)
    for mu in (0.1, 0.2, 0.3):
        spend(ledger, GaussianCost(mu), budget=Budget(5.0, 1e-6))
    return path.read_bytes()


@pytest.fixture
def used(path: Path, three_releases: bytes) -> Path:
    """A ledger with a cap of ε = 10 and three releases."""
    path.write_bytes(three_releases)
    return path


# --- Charging --------------------------------------------------------------------------------------------------------


def test_a_charge_is_there_for_the_next_who_opens_the_file(ledger: Ledger, path: Path) -> None:
    release = spend(ledger, GaussianCost(0.1), PureCost(0.5), note="first try", private=False)
    assert Ledger(path, create=False).releases("data") == [release]
    assert release.charges == (a_charge(GaussianCost(0.1)), a_charge(PureCost(0.5)))
    assert (release.account, release.budget, release.private, release.note) == ("data", WHOLE, False, "first try")


def test_the_first_release_sets_the_cap_so_that_a_second_needs_a_decision(ledger: Ledger) -> None:
    spend(ledger, PureCost(1.0), budget=Budget(1.0))
    assert ledger.accounts()[0].cap == Budget(1.0)
    with pytest.raises(BudgetError, match=r"spent ε = 1 .* cap ε = 1; .*sfumato ledger cap .* --epsilon 1.5 --delta 0"):
        spend(ledger, PureCost(0.5), budget=Budget(0.5))
    assert len(ledger.releases("data")) == 1
    ledger.set_cap("data", Budget(1.5))
    spend(ledger, PureCost(0.5), budget=Budget(0.5))
    assert ledger.remaining("data") == pytest.approx(0)


def test_the_advice_names_the_account_and_quotes_the_path(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "my ledger.db")
    spend(ledger, PureCost(1.0), account="taxi data", budget=Budget(1.0))
    with pytest.raises(BudgetError, match=r"ledger\.db' --account 'taxi data' --epsilon"):
        spend(ledger, PureCost(1.0), account="taxi data", budget=Budget(1.0))


def test_accounts_do_not_share_a_cap(ledger: Ledger) -> None:
    for name in ("taxi", "bikes"):
        spend(ledger, PureCost(1.0), account=name, budget=Budget(1.0))
    assert [(account.name, account.spent) for account in ledger.accounts()] == [("taxi", 1.0), ("bikes", 1.0)]


def test_the_fingerprint_does_not_open_a_fresh_account(ledger: Ledger) -> None:
    spend(ledger, PureCost(1.0), budget=Budget(1.0), fingerprint="one")
    with pytest.raises(BudgetError):
        spend(ledger, PureCost(1.0), budget=Budget(1.0), fingerprint="two")


def test_gaussian_noise_is_refused_where_delta_is_zero(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match="δ = 0, which no Gaussian noise can meet"):
        spend(ledger, GaussianCost(0.1), budget=Budget(5.0))
    ledger.set_cap("data", Budget(5.0))
    with pytest.raises(BudgetError, match="cap of account 'data' has δ = 0"):
        spend(ledger, GaussianCost(0.1))
    assert ledger.releases("data") == []


def test_charges_beyond_the_release_s_own_budget_are_refused(ledger: Ledger) -> None:
    ledger.set_cap("data", WHOLE)
    with pytest.raises(BudgetError, match="more than its own budget ε = 1"):
        spend(ledger, PureCost(1.5), budget=Budget(1.0))


def test_a_plan_that_uses_the_cap_to_the_last_bit_is_granted(ledger: Ledger) -> None:
    tenths = [PureCost(0.1)] * 3
    spend(ledger, *tenths, budget=Budget(0.3))
    assert ledger.remaining("data") == pytest.approx(0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_numbers_that_make_no_sense_are_refused(ledger: Ledger, bad: float) -> None:
    for field in ("sensitivity", "noise"):
        values = {"sensitivity": 1.0, "noise": 1.0, field: bad}
        broken = Charge("q", "c", "discrete laplace", "l2(1)", cost=PureCost(1.0), **values)
        with pytest.raises(InputError, match=field):
            ledger.charge("data", WHOLE, [broken], method="m", unit="u", fingerprint="f", version="0")
    assert ledger.accounts() == []


def test_a_release_without_charges_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="at least one charge"):
        spend(ledger)


@pytest.mark.parametrize("name", ["", " data", "data ", "a\nb", "a\x1b[2J", "x" * 201])
def test_a_name_that_cannot_be_told_apart_is_no_account(ledger: Ledger, name: str) -> None:
    with pytest.raises(InputError, match="cannot name an account"):
        ledger.set_cap(name, WHOLE)


def test_a_slip_in_the_name_opens_no_fresh_account(ledger: Ledger) -> None:
    spend(ledger, PureCost(1.0), account="Café")
    with pytest.raises(InputError, match="use 'Café'"):
        spend(ledger, PureCost(1.0), account="café")
    spend(ledger, PureCost(1.0), account="Cafe\u0301")  # the same name, typed as two characters
    assert [account.releases for account in ledger.accounts()] == [2]


def test_an_unknown_account_is_named_with_the_known_ones(ledger: Ledger) -> None:
    spend(ledger, PureCost(1.0), account="taxi")
    for ask in (ledger.releases, ledger.remaining, ledger.statement):
        with pytest.raises(InputError, match="no account 'taxy'; its accounts: 'taxi'"):
            ask("taxy")


def test_texts_cannot_steer_a_terminal(ledger: Ledger) -> None:
    assert spend(ledger, PureCost(1.0), note="a\x1b[2J\nb\ud800").note == "a [2J b "


# --- Caps ------------------------------------------------------------------------------------------------------------


def test_a_cap_goes_up_and_down_but_not_below_what_is_spent(ledger: Ledger) -> None:
    ledger.set_cap("data", Budget(3.0))
    spend(ledger, PureCost(1.0))
    ledger.set_cap("data", Budget(1.0))
    with pytest.raises(InputError, match="ε = 1 is already spent"):
        ledger.set_cap("data", Budget(0.9))
    assert [change.cap.epsilon for change in ledger.statement("data").caps] == [3.0, 1.0]


def test_a_cap_cannot_drop_the_delta_that_gaussian_noise_needed(used: Path) -> None:
    with pytest.raises(InputError, match="already spent"):
        Ledger(used).set_cap("data", Budget(10.0, 0.0))


@pytest.mark.parametrize(
    "cap", [(0.0, 0.0), (math.inf, 0.0), (math.nan, 0.0), (1.0, 1.0), (1.0, -0.1), (1.0, math.nan)]
)
def test_a_cap_that_is_no_budget_is_refused(ledger: Ledger, cap: tuple[float, float]) -> None:
    with pytest.raises(InputError):
        ledger.set_cap("data", Budget(*cap))


def test_as_much_as_the_gaussian_room_fits_and_no_more(used: Path) -> None:
    ledger = Ledger(used)
    account = ledger.accounts()[0]
    assert account.gaussian_room is not None
    assert account.remaining < account.gaussian_room < account.cap.epsilon
    mu = gaussian_mu(account.gaussian_room, 1e-6)
    with pytest.raises(BudgetError):
        spend(ledger, GaussianCost(mu * 1.0001))
    spend(ledger, GaussianCost(mu))


# --- Sums ------------------------------------------------------------------------------------------------------------

gaussian_costs = st.floats(0.001, 0.3).map(GaussianCost)
pure_costs = st.floats(0.001, 0.3).map(PureCost)
plans = st.one_of(
    *(st.lists(st.lists(kind, min_size=1, max_size=3), min_size=1, max_size=4) for kind in (gaussian_costs, pure_costs))
)


@given(plans)
@settings(max_examples=20, deadline=None)
def test_what_is_spent_is_what_all_costs_compose_to(plan: list[list[Cost]]) -> None:
    ledger = Ledger(":memory:")
    ledger.set_cap("data", Budget(50.0, 1e-6))
    for release in plan:
        spend(ledger, *release, budget=Budget(50.0, 1e-6))
    statement = ledger.statement("data")
    assert statement.account.spent == compose([cost for release in plan for cost in release], 1e-6)
    assert [line.epsilon for line in statement.lines] == [compose(release, 1e-6) for release in plan]
    totals = [line.total for line in statement.lines]
    assert totals == sorted(totals)
    assert totals[-1] == statement.account.spent


def test_gaussian_and_laplace_noise_compose_together(ledger: Ledger) -> None:
    spend(ledger, GaussianCost(0.2), PureCost(0.3))
    assert ledger.accounts()[0].spent == compose([GaussianCost(0.2), PureCost(0.3)], 1e-6)
    assert ledger.accounts()[0].gaussian_room is None


# --- Files that are not ours, or not whole ---------------------------------------------------------------------------


def refused(path: Path, match: str, error: type[Exception] = InputError) -> None:
    """The ledger at the path is refused with one sentence and not a byte of it changes."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=match) as caught:
        spend(Ledger(path), GaussianCost(0.1))
    assert "\n" not in str(caught.value)
    assert not str(caught.value).endswith(".")
    assert before is None or path.read_bytes() == before


def test_a_new_ledger_is_for_its_owner_only_and_leaves_nothing_else(ledger: Ledger, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["ledger.db"]


def test_a_ledger_in_memory_says_that_it_does_not_last() -> None:
    with Ledger(":memory:") as ledger:
        spend(ledger, GaussianCost(0.1))
        assert not ledger.persistent
        assert not ledger.statement("data").persistent
    assert not Path(":memory:").exists()


def test_a_closed_ledger_refuses(ledger: Ledger) -> None:
    ledger.close()
    with pytest.raises(InputError, match="was closed"):
        spend(ledger, GaussianCost(0.1))


def test_a_missing_ledger_is_made_only_when_asked(path: Path) -> None:
    with pytest.raises(InputError, match="There is no ledger"):
        Ledger(path, create=False)
    assert not path.exists()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "none" / "ledger.db", "Folder .*none for the ledger ledger.db does not exist")


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    refused(tmp_path, "is not a file")


def test_a_name_with_a_null_is_no_ledger() -> None:
    with pytest.raises(InputError, match="cannot name a file"):
        Ledger("a\0b")


@pytest.mark.parametrize("content", [b"hello", b"hello" * 1000, b"\0" * 4096])
def test_a_file_that_is_no_database_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refused(path, "is not a ledger")


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_foreign_database_is_left_alone(path: Path, mode: str) -> None:
    tamper(path, f"PRAGMA journal_mode = {mode}")
    tamper(path, "CREATE TABLE entry(number)")
    refused(path, "not a ledger of Sfumato")
    assert os.listdir(path.parent) == ["ledger.db"]


def test_an_empty_file_is_not_a_fresh_ledger(path: Path) -> None:
    path.touch()
    refused(path, "is empty, and an emptied ledger cannot count as a new one")


def test_a_newer_format_is_left_to_a_newer_sfumato(used: Path) -> None:
    tamper(used, f"PRAGMA user_version = {FORMAT + 1}")
    refused(used, f"has format {FORMAT + 1}")


def test_a_journal_without_its_ledger_is_not_played_into_a_new_one(path: Path) -> None:
    path.with_name("ledger.db-journal").write_bytes(b"left over")
    refused(path, "a ledger was lost here")
    assert not path.exists()


def test_a_second_name_of_the_file_is_refused(used: Path) -> None:
    used.with_name("other.db").hardlink_to(used)
    refused(used, "second name")


def test_a_symbolic_link_leads_to_the_same_ledger(used: Path) -> None:
    link = used.with_name("link.db")
    link.symlink_to(used)
    spend(Ledger(link), GaussianCost(0.1))
    assert len(Ledger(used).releases("data")) == 4


def test_a_deleted_ledger_is_not_replaced_in_mid_run(ledger: Ledger, path: Path) -> None:
    spend(ledger, PureCost(1.0))
    path.unlink()
    with pytest.raises(InputError, match="There is no ledger"):
        spend(ledger, PureCost(1.0))


def test_a_ledger_swapped_in_mid_run_is_noticed(ledger: Ledger, path: Path) -> None:
    spend(ledger, PureCost(1.0))
    older = path.read_bytes()
    spend(ledger, PureCost(1.0))
    path.write_bytes(older)
    with pytest.raises(InputError, match="no longer the file it was"):
        spend(ledger, PureCost(1.0))


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        ("UPDATE entry SET body = replace(body, '0.3', '0.03') WHERE number = 5", "altered at entry 5"),
        ("UPDATE entry SET account = 'other' WHERE number = 3", "altered at entry 3"),
        ("UPDATE entry SET time = 'yesterday' WHERE number = 4", "altered at entry 4"),
        ("UPDATE entry SET hash = x'00' WHERE number = 4", "altered at entry 4 .a value is of the wrong type"),
        ("UPDATE entry SET hash = cast(x'ff' as text) WHERE number = 4", "damaged"),
        ("DELETE FROM entry WHERE number = 5", "altered at entry 5 .the last entries are missing"),
        ("DELETE FROM entry WHERE number = 3", "altered at entry 3 .an entry is missing"),
        ("DELETE FROM entry", "altered at entry 1 .the last entries are missing"),
        ("DELETE FROM sqlite_sequence", "altered at entry 6"),
        ("INSERT INTO entry SELECT 6, time, account, kind, body, hash FROM entry WHERE number = 5", "entry 6"),
        ("CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry WHERE number = new.number; END", "tables"),
        ("CREATE TABLE more(x)", "its tables are not as they were made"),
        ("DROP TABLE entry", "its tables are not as they were made"),
    ],
)
def test_an_edited_ledger_grants_nothing(used: Path, statement: str, match: str) -> None:
    tamper(used, statement)
    refused(used, match)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"mu":0.3', '"mu":-0.3'),
        ('"mu":0.3', '"mu":1e999'),
        ('"mu":0.3', '"mu":NaN'),
        ('"mu":0.3', '"mu":"0.3"'),
        ('"mu":0.3', '"mu":0.1,"mu":0.3'),
        ('"kind":"gaussian"', '"kind":"free"'),
        ('"kind":"gaussian",', ""),
        ('"private":true', '"private":1'),
        ('"delta":1e-06', '"delta":2.0'),
        ('"note":""', '"note":"\\u001b[2J"'),
        ('"note":""', '"note":null'),
        ('"method"', '"mothed"'),
    ],
)
def test_even_a_resealed_edit_must_make_sense(used: Path, old: str, new: str) -> None:
    reseal(used, lambda body: body.replace(old, new))
    refused(used, "altered at entry 5")


def reseal(path: Path, edit: Callable[[str], str]) -> None:
    """Edit the last entry and compute its hash anew, as one who knows the code could."""
    with closing(sqlite3.connect(path)) as connection:
        (before,) = connection.execute("SELECT hash FROM entry WHERE number = 4").fetchone()
        *head, body = connection.execute(
            "SELECT number, time, account, kind, body FROM entry WHERE number = 5"
        ).fetchone()
        assert edit(body) != body
        values = (edit(body), book._hash(before, *head, edit(body)))
        connection.execute("UPDATE entry SET body = ?, hash = ? WHERE number = 5", values)
        connection.commit()


def test_a_schema_edited_in_place_is_noticed(used: Path) -> None:
    with closing(sqlite3.connect(used)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'hash TEXT NOT NULL', 'hash TEXT')")
        connection.commit()
    refused(used, "its tables are not as they were made")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"entryentry", b"\xffntryentry"),  # SQLite's message quotes it
        (b"CREATE TABLE entry", b"CREATE\nTABLE\xffentry"),
    ],
)
def test_broken_text_in_the_schema_is_damage(used: Path, old: bytes, new: bytes) -> None:
    content = used.read_bytes()
    assert content.count(old) == 1
    used.write_bytes(content.replace(old, new))
    refused(used, "damaged|altered")


def test_pages_that_do_not_add_up_are_damage(used: Path) -> None:
    content = bytearray(used.read_bytes())
    content[39] = 1  # the header now counts a free page that is not there
    used.write_bytes(content)
    refused(used, "damaged")


@pytest.fixture(scope="module")
def sound() -> Iterator[tuple[Path, bytes, float]]:
    """A path, the bytes of a sound ledger with enough releases to need inner pages, and what they spent."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger.db")
        ledger = Ledger(path)
        ledger.set_cap("data", WHOLE)
        for _ in range(12):
            spend(ledger, *[GaussianCost(0.01)] * 4)
        yield path, path.read_bytes(), ledger.accounts()[0].spent


def spends_no_less(path: Path, content: bytes, spent: float) -> None:
    path.write_bytes(content)
    try:
        ledger = Ledger(path, create=False)
        assert ledger.accounts()[0].spent >= spent
        spend(ledger, GaussianCost(0.01))
        assert ledger.accounts()[0].spent > spent
    except (InputError, RunError):
        pass
    finally:
        for left in path.parent.iterdir():
            left.unlink()


@given(data=st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_flipped_bytes_never_make_less_spent(sound: tuple[Path, bytes, float], data: st.DataObject) -> None:
    path, content, spent = sound
    damaged = bytearray(content)
    # The first bytes of each page steer SQLite; the rest is mostly text under the seal.
    heads = st.builds(lambda page, at: page * 4096 + at, st.integers(0, len(content) // 4096 - 1), st.integers(0, 120))
    places = st.lists(st.integers(0, len(content) - 1) | heads, min_size=1, max_size=3, unique=True)
    for place in data.draw(places):
        damaged[place] ^= data.draw(st.integers(1, 255))
    spends_no_less(path, bytes(damaged), spent)


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_truncated_file_never_shows_less_spent(sound: tuple[Path, bytes, float], data: st.DataObject) -> None:
    path, content, _ = sound
    pages = st.integers(0, len(content) // 4096 - 1).map(lambda page: page * 4096)
    length = data.draw(st.integers(0, len(content) - 1) | pages)
    path.write_bytes(content[:length])
    with pytest.raises((InputError, RunError)):
        Ledger(path)
    path.unlink()


@pytest.mark.skipif(not hasattr(os, "fork") or os.geteuid() != 0, reason="only root can become a stranger")
@pytest.mark.parametrize(("mode", "expected"), [(0o600, 2), (0o644, 3)])
def test_a_stranger_is_told_about_permissions(mode: int, expected: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger.db")
        spend(Ledger(path), PureCost(1.0))
        os.chmod(folder, 0o755)
        path.chmod(mode)
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            os._exit(as_stranger(path))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == expected


def as_stranger(path: Path) -> int:
    """2: could not read; 3: could read but not charge; 0: charged."""
    try:
        ledger = Ledger(path)
        assert len(ledger.releases("data")) == 1
    except InputError as error:
        return 2 if "permissions" in str(error) else 1
    try:
        ledger.set_cap("data", WHOLE)
    except InputError as error:
        return 3 if "permissions" in str(error) else 1
    return 0


# --- Two at once, a kill, a full disk --------------------------------------------------------------------------------


def test_two_processes_together_get_no_more_than_the_cap(path: Path) -> None:
    script = """
granted = 0
while True:
    try:
        spend(ledger)
        granted += 1
    except BudgetError:
        break
print(granted)
"""
    Ledger(path).set_cap("data", Budget(40.0))
    workers = [start(script, path) for _ in range(2)]
    granted = [int(worker.communicate(timeout=60)[0]) for worker in workers]
    assert sum(granted) == 40
    assert len(Ledger(path).releases("data")) == 40
    assert Ledger(path).remaining("data") == pytest.approx(0)


def test_processes_that_start_together_share_one_new_ledger(path: Path) -> None:
    workers = [start("ledger.set_cap(sys.argv[2] if len(sys.argv) > 2 else 'n', Budget(1.0))", path) for _ in range(4)]
    assert [worker.wait(timeout=60) for worker in workers] == [0] * 4
    assert len(Ledger(path).statement("n").caps) == 4
    assert os.listdir(path.parent) == ["ledger.db"]


def test_threads_may_share_a_ledger(ledger: Ledger) -> None:
    ledger.set_cap("data", Budget(8.0))
    refusals: list[BudgetError] = []

    def work() -> None:
        for _ in range(4):
            try:
                spend(ledger, PureCost(1.0), budget=Budget(1.0))
            except BudgetError as error:
                refusals.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.releases("data")) == 8
    assert len(refusals) == 4


def test_a_ledger_held_too_long_by_another_is_a_failed_run(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "_WAIT", 0.05)
    with closing(sqlite3.connect(used)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RunError, match="held by another process"):
            spend(Ledger(used), GaussianCost(0.1))
    assert len(Ledger(used).releases("data")) == 3


def test_a_killed_process_never_released_more_than_it_recorded(path: Path) -> None:
    script = """
print("ready", flush=True)
while True:
    spend(ledger)
    print("released", flush=True)
"""
    moments = random.Random(5)
    Ledger(path).set_cap("data", Budget(1e6))
    released = 0
    for _ in range(6):
        worker = start(script, path)
        assert worker.stdout is not None
        worker.stdout.readline()
        time.sleep(moments.uniform(0, 0.15))
        worker.send_signal(signal.SIGKILL)
        released += worker.communicate()[0].count("released")
        recorded = len(Ledger(path, create=False).releases("data"))
        assert recorded >= released
        released = recorded  # what was recorded but not printed counts as released for the next round
    assert released > 10


def test_a_kill_while_the_ledger_is_made_leaves_a_whole_one_or_none(tmp_path: Path) -> None:
    script = 'print("made", flush=True)'
    moments = random.Random(5)
    for number in range(5):
        path = tmp_path / f"{number}.db"
        worker = start(script, path)
        while worker.poll() is None and not any(tmp_path.glob(f"*{number}.db*")):
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.02))
        worker.kill()
        worker.communicate()
        # Killed between taking the name and filling it, it leaves an empty file, which is refused.
        with suppress(InputError) if path.exists() and path.stat().st_size == 0 else nullcontext():
            Ledger(path).set_cap("data", WHOLE)


def test_a_full_disk_grants_nothing_and_leaves_the_file_whole(path: Path) -> None:
    pytest.importorskip("resource")
    script = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
released = 0
try:
    while True:
        spend(ledger)
        released += 1
except RunError as error:
    assert "could not be written" in str(error), error
    print(released)
"""
    Ledger(path).set_cap("data", Budget(1e6))
    released = int(start(script, path).communicate(timeout=60)[0])
    assert released > 2
    assert released <= len(Ledger(path).releases("data")) <= released + 1
    spend(Ledger(path), PureCost(1.0), budget=Budget(1.0))


def test_a_disk_too_full_for_a_new_ledger_leaves_nothing(path: Path) -> None:
    pytest.importorskip("resource")
    script = """
import os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
try:
    Ledger(sys.argv[1] + ".second")
except RunError as error:
    print(error)
"""
    assert "could not be written" in start(script, path).communicate(timeout=60)[0]
    assert os.listdir(path.parent) == ["ledger.db"]


@pytest.mark.skipif(shutil.which("mount") is None or os.name == "nt", reason="needs mount")
def test_a_file_system_without_room_grants_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True).returncode:
        pytest.skip("this user may not mount")
    try:
        ledger = Ledger(folder / "ledger.db")
        ledger.set_cap("data", Budget(1e6))
        released: list[Release] = []
        with pytest.raises(RunError, match="could not be written"):
            spend_until_it_fails(ledger, released)
        assert len(released) > 2
        assert Ledger(folder / "ledger.db").releases("data")[: len(released)] == released
    finally:
        subprocess.run(["umount", folder], check=True)


def spend_until_it_fails(ledger: Ledger, released: list[Release]) -> None:
    while True:
        released.append(spend(ledger, *[PureCost(0.01)] * 8, budget=Budget(1.0)))


def test_a_commit_that_another_file_swallowed_is_not_granted(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is put back to an older state between the commit and the look that confirms it."""
    ledger.set_cap("data", WHOLE)
    older, confirm = path.read_bytes(), Ledger._confirm

    def swapped(self: Ledger, written: book.Entry) -> None:
        path.write_bytes(older)
        confirm(self, written)

    monkeypatch.setattr(Ledger, "_confirm", swapped)
    with pytest.raises(RunError, match="does not hold what was just written"):
        spend(ledger, GaussianCost(0.1))


# --- The statement, as data ------------------------------------------------------------------------------------------


def test_the_statement_is_json_that_any_reader_takes(used: Path) -> None:
    plain = json.loads(json.dumps(Ledger(used).statement("data").to_dict(), allow_nan=False))
    assert plain["account"]["releases"] == len(plain["lines"]) == 3
    assert plain["lines"][0]["release"]["charges"][0]["cost"] == {"kind": "gaussian", "mu": 0.1}
    assert plain["lines"][2]["total"] == plain["account"]["spent"]


def test_a_sum_that_fails_counts_as_infinite_and_json_can_say_it(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(used)

    def broken(costs: list[Cost], delta: float) -> float:
        raise OverflowError

    monkeypatch.setattr(module, "compose", broken)
    plain = ledger.statement("data").to_dict()
    assert (plain["account"]["spent"], plain["account"]["remaining"]) == ("infinity", 0.0)
    with pytest.raises(BudgetError):
        spend(ledger, GaussianCost(0.1))
