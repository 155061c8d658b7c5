import numpy as np

from sfumato.simulate import calls, city, clock, fleet, meter, streets
from sfumato.simulate.words import call_types


def test_tables_have_an_entry_for_each_thing() -> None:
    """Hand-written tables have as many rows and columns as there are characters, kinds, classes and payments."""
    characters, parts = len(city.CHARACTERS), len(clock.PARTS)
    assert calls.MIX.shape == (characters, len(set(call_types()[1])))
    assert streets.LEAVE.shape == streets.ARRIVE.shape == (parts, characters)
    assert len(streets.WEEKEND) == len(streets.WAIT) == len(streets.DRIFT) == len(city.PULL) == characters
    assert len(meter.HASTE) == 2 * parts == clock.classes().max() + 1
    assert len(clock.PATTERNS) == len(clock.PATTERN_SHARES)
    pays = (fleet.PAY_SHARES, fleet.PAY_DRIFT, fleet.PAY_AIRPORT, fleet.PAY_SPREAD, meter.TIPPING, meter.EXTRAS)
    assert {len(table) for table in pays} == {len(fleet.PAYMENTS)}


def test_shares_sum_to_one() -> None:
    """Shares are shares."""
    for table in (calls.MIX, fleet.PAY_SHARES[None], clock.PATTERN_SHARES[None]):
        assert np.allclose(table.sum(axis=1), 1, atol=0.011)


def test_drivers_together_serve_the_demand() -> None:
    """The mixture of all patterns has the city's hours."""
    busy = clock._balanced(clock._demand(0.0), clock._presence())
    mixed = clock.PATTERN_SHARES @ (busy / busy.sum(axis=1, keepdims=True))
    demand = clock._demand(0.0)
    assert np.allclose(mixed, demand / demand.sum(), rtol=0.01)
