"""The noise in a sum of cells: by counting cells, and by drawing it."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy.budget import GaussianCost, PureCost
from sfumato.privacy.ledger import Charge
from sfumato.report.noise import SPREAD, Law, Noise
from sfumato.report.reading import Seen
from tests.report.conftest import SCHEMA, City


def charge(columns: str, mechanism: str = "rounded gaussian", noise: float = 10.0) -> Charge:
    """A question about columns."""
    cost = GaussianCost(1.0) if "gaussian" in mechanism else PureCost(1.0)
    return Charge("q", columns, mechanism, "records(2)", 2.0, noise, cost)


def seen(name: str, level: int | None = None) -> Seen:
    """A column at a level; the finest unless told."""
    column = SCHEMA[name]
    return Seen(column, column.depth if level is None else level)


def level(cells: int) -> float:
    """That of a sum of cells with σ = 10: two deviations, of the noise itself or of what is left of it above zero."""
    kept = cells * 10 / np.sqrt(2 * np.pi) + 2 * np.sqrt(cells * 100 * (0.5 - 0.5 / np.pi))
    return float(max(2 * np.sqrt(cells) * 10, kept))


def test_a_sum_of_cells_has_the_noise_of_all_of_them() -> None:
    """12 areas × 12 months × 4 kinds: an area's total sums 48 cells, an area in a month 4, one cell has σ itself."""
    noise = Noise.of(SCHEMA, [charge("from_area × month × kind")])
    area, month, kind = seen("from_area"), seen("month"), seen("kind")
    assert noise.level({area: 1}) == pytest.approx(level(48))
    assert noise.level({area: 1, month: 1}) == pytest.approx(level(4))
    assert noise.level({area: 1, month: 1, kind: 1}) == pytest.approx(level(1))
    assert noise.level({area: 1, kind: 3}) == pytest.approx(level(36))
    assert noise.level({seen("kind", 1): 1}) == pytest.approx(level(288))


def test_laplace_noise_is_wider_than_its_scale() -> None:
    """The standard deviation of Laplace noise is √2 times its scale."""
    noise = Noise.of(SCHEMA, [charge("kind", "discrete laplace")])
    assert noise.level({seen("kind"): 1}) == pytest.approx(SPREAD * 10 * np.sqrt(2))


def test_of_several_tables_the_best_tells() -> None:
    """The least noise of those that tell the columns apart; a coarser table does not, nor does a question of words."""
    charges = [charge("from_area × month"), charge("from_area", noise=3.0), charge("persons by number of records")]
    noise = Noise.of(SCHEMA, charges)
    assert noise.level({seen("from_area"): 1}) == pytest.approx(0.3 * level(1))
    assert noise.level({seen("kind"): 1}) is None
    assert Noise.of(SCHEMA, [charge("kind@group")]).level({seen("kind"): 1}) is None
    assert Noise.of(SCHEMA, []).level({seen("from_area"): 1}) is None


@pytest.mark.stat
@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("cells", [1, 24, 500])
def test_noise_alone_stays_below_the_level(city: City, clean: bool, cells: int) -> None:
    """Sums of noise, cleaned up or not, are below it in some 94 of 100 cases: of 2,000 fewer than 1,840 by 1e-4."""
    with sf.Ledger.open(city / "city.ledger", create=False) as ledger:
        (line,) = ledger.statement("city").lines
    (asked,) = line.release.charges
    rng = np.random.default_rng(1)
    share = 1 - np.exp(-1 / asked.noise)
    draws = rng.geometric(share, (2000, cells)) - rng.geometric(share, (2000, cells))
    sums = np.maximum(draws, 0).sum(axis=1) if clean else np.abs(draws.sum(axis=1))
    assert (sums <= Law.of(asked).level(cells)).sum() >= 1840
