"""Private-PGM: from noisy answers about marginals to one distribution that agrees with them."""

from sfumato.estimation.descent import Estimator, Fit
from sfumato.estimation.problem import Measured, Problem

__all__ = ["Estimator", "Fit", "Measured", "Problem"]
