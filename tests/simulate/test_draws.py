import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.simulate.draws import Rows, generator, sizes


@given(st.integers(1, 60), st.data())
def test_sizes_sum_and_stay_within_bounds(persons: int, data: st.DataObject) -> None:
    """Whatever is asked for: the records are shared out exactly, 1..cap each."""
    cap = data.draw(st.integers(1, 30))
    records = data.draw(st.integers(persons, persons * cap))
    out = sizes(generator(1), persons, records, cap, 2.0)
    assert out.sum() == records
    assert out.min() >= 1
    assert out.max() <= cap


def test_draws_follow_their_row() -> None:
    """Frequencies approach the row's shares (20,000 draws, 5 standard errors), and zero weights never come up."""
    weights = np.array([[0.0, 3.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    rows = np.repeat([0, 1], 20_000)
    found = Rows.of(weights).draw(rows, generator(5).random(40_000))
    assert np.bincount(found[:20_000], minlength=4)[[0, 3]].sum() == 0
    assert (found[:20_000] == 1).mean() == pytest.approx(0.75, abs=5 * 0.0031)
    assert (found[20_000:] == 0).all()


def test_the_ends_of_the_unit_interval_are_drawn_right() -> None:
    """0 gives the first value with weight, the largest number below 1 the last."""
    rows = Rows.of(np.array([[0.0, 1.0, 1.0, 0.0]] * 50))
    every = np.arange(50)
    assert (rows.draw(every, np.zeros(50)) == 1).all()
    assert (rows.draw(every, np.full(50, 1 - 2**-40)) == 2).all()
