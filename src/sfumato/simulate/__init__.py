"""An invented city with people in it: taxi trips, incidents and a map, for demos, tests and benchmarks.

Nothing here describes a real place or person, so it can be shared; `docs/simulate.md` says how close it comes to the
real thing. `City.build` draws a map, `taxi` and `incidents` fill it with people, and what they return streams.

>>> from sfumato.simulate import taxi
>>> sim = taxi(records=1_000)
>>> sim.persons, sim.city.name, sim.schema["pickup_community_area"].size()
(14, 'New Gordell', 78)
"""

from sfumato.simulate.calls import incidents
from sfumato.simulate.city import City
from sfumato.simulate.simulation import Simulation
from sfumato.simulate.trips import taxi

__all__ = ["City", "Simulation", "incidents", "taxi"]
