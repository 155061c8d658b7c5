"""The sweep: every method at every ε, several times, scored by every metric; it goes on where it stopped.

Scores compare with the truth itself: they are exact, no noise is in them and no ledger counts them. Where the truth is
private, so is everything that a sweep writes but the synthetic records.
"""

from sfumato.sweep.grid import Run, Sweep
from sfumato.sweep.results import Result

__all__ = ["Result", "Run", "Sweep"]
