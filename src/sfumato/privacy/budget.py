"""How much privacy a release may cost, what its questions cost, and what they cost together.

A promise to a person is a pair (ε, δ): a `Budget`. A noisy answer is a `Cost`, which is data and knows nothing of the
budget: `GaussianCost(mu)` for a question of L2 sensitivity Δ answered with normal noise of deviation σ, mu = Δ/σ; and
`PureCost(epsilon)` for one of L1 sensitivity Δ answered with Laplace noise of scale s, ε = Δ/s. `compose` says what
(ε, δ) several costs add up to, `calibrate` turns a budget and shares of it into costs.

**The formulas are exact**, no bound is loosened for convenience:

- Gaussian answers compose to one Gaussian answer of mu = √Σmu², which is (ε, δ)-private exactly when
  δ ≥ Φ(mu/2 − ε/mu) − e^ε·Φ(−mu/2 − ε/mu)  (Balle and Wang 2018; Dong, Roth and Su 2019).
- Pure answers alone add up: Σε with nothing of δ spent.
- Both together: an ε-private answer is never worse than randomised response, whose privacy loss is +ε or −ε with odds
  e^ε : 1 (Kairouz, Oh and Viswanath 2015). So the sum L of the pure losses has a finite law, and conditioning on it
  leaves a Gaussian: δ(ε) = Σ P(L = l)·δ_mu(ε − l). This is what `dp_accounting` computes on a grid (and the tests
  compare with it); here the Gaussian part needs no grid, and the pure part only when it has more than 2^15 values,
  which are then rounded up, against us (it costs 0.4 % of the budget with 100 different pure costs, nothing with 14).

A question may depend on earlier answers, its cost may not: the plan names all costs before any data is read. (Where
costs are nevertheless chosen on the way, the rules for Gaussian costs alone and for pure costs alone still hold, as
privacy filters; for the mixture nobody has shown it.) A pure sum is reported even where the mixture's formula would
give a smaller ε for more δ, so a Gaussian cost added to many pure ones may lower the figure. Both figures are true.

**Every rounding is against us.** A solver aims at δ·(1 − 10^-12), which is more than the floating-point error of the
formulas (about 10^-13 relative, see the tests), and returns the end of its last interval that keeps the promise; and
`calibrate` aims lower than `compose`, so that what was calibrated to a budget always fits into it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError

Floats = NDArray[np.float64]
Noise = Literal["gaussian", "laplace"]

_HAIR = 1e-12  # of δ: more than the formulas are off, less than anybody would notice
_LEAST_DELTA = 1e-290  # below it doubles lose their digits; treated as 0, which is against us
_LOSSES = 1 << 13  # values that the sum of pure losses is rounded to once it has four times as many


@dataclass(frozen=True)
class Budget:
    """The promise (ε, δ): no person's records change the odds of any outcome by more than e^ε, but for δ.

    >>> Budget(1, 2.5e-5).sigma(sensitivity=150, questions=66)
    4290.2...
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise InputError(f"Epsilon must be a number above 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise InputError(f"Delta must be a number from 0 to below 1, not {self.delta}")

    @property
    def mu(self) -> float:
        """The whole budget in Gaussian terms: the largest sensitivity / sigma that keeps the promise."""
        return gaussian_mu(self.epsilon, self.delta)

    def sigma(self, sensitivity: float, questions: int = 1) -> float:
        """The deviation of normal noise for this many questions of this L2 sensitivity that share the whole budget."""
        if questions < 1:
            raise InputError(f"The number of questions must be 1 or more, not {questions}")
        return math.sqrt(questions) * _sensible(sensitivity) / self.mu

    def scale(self, sensitivity: float) -> float:
        """The scale of Laplace noise for one question of this L1 sensitivity that takes the whole budget.

        >>> Budget(0.5).scale(sensitivity=3)
        6.0
        """
        return _sensible(sensitivity) / self.epsilon


@dataclass(frozen=True)
class GaussianCost:
    """One answer with normal noise: mu is its L2 sensitivity divided by the noise's deviation."""

    mu: float

    def __post_init__(self) -> None:
        if not 0 <= self.mu < math.inf:
            raise InputError(f"The mu of a Gaussian cost must be a number from 0 up, not {self.mu}")


@dataclass(frozen=True)
class PureCost:
    """One answer with pure ε-privacy: epsilon is its L1 sensitivity divided by the scale of the Laplace noise."""

    epsilon: float

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon < math.inf:
            raise InputError(f"The epsilon of a pure cost must be a number from 0 up, not {self.epsilon}")


Cost = GaussianCost | PureCost


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The smallest δ for which a Gaussian answer of this mu is (ε, δ)-private.

    >>> round(gaussian_delta(epsilon=1, mu=1), 6)
    0.126937
    """
    return float(_gaussian_delta(np.array([epsilon], dtype=np.float64), mu)[0])


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest ε for which a Gaussian answer of this mu is (ε, δ)-private, rounded up a hair; inf when δ is 0.

    >>> round(gaussian_epsilon(mu=1, delta=1e-5), 4)
    4.3772
    """
    if mu == 0:
        return 0.0
    if delta < _LEAST_DELTA:
        return math.inf
    aim = delta * (1 - _HAIR)
    return _least(lambda epsilon: gaussian_delta(epsilon, mu) <= aim, mu)


@lru_cache
def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which a Gaussian answer is (ε, δ)-private, rounded down a hair.

    >>> round(gaussian_mu(epsilon=1, delta=1e-5), 5)
    0.26805
    """
    if delta < _LEAST_DELTA:
        raise InputError(f"Gaussian noise needs a delta above 0, for example 1e-6, not {delta}")
    aim = delta * (1 - 2 * _HAIR)
    return _most(lambda mu: gaussian_delta(epsilon, mu) <= aim)


def compose(costs: Sequence[Cost], delta: float) -> float:
    """The ε for which all these answers together are (ε, δ)-private, rounded up a hair; inf when no ε is.

    Pure costs alone give their sum and leave δ unspent.

    >>> compose([PureCost(0.5), PureCost(0.25)], delta=0)
    0.75
    >>> compose([GaussianCost(3), GaussianCost(4)], delta=1e-5) == gaussian_epsilon(5, 1e-5)
    True
    """
    mu, pure = _split(costs)
    together = math.fsum(pure)
    most = together + gaussian_epsilon(mu, delta)
    if mu == 0 or together == 0 or delta < _LEAST_DELTA:
        return most
    aim, (losses, masses) = delta * (1 - _HAIR), _losses(pure)
    if _mixed_delta(most, mu, losses, masses) > aim:
        return most  # the losses were rounded up by more than the mixture gains
    return _least(lambda epsilon: _mixed_delta(epsilon, mu, losses, masses) <= aim, most)


def calibrate(questions: Sequence[tuple[Noise, float]], budget: Budget) -> tuple[Cost, ...]:
    """The costs, one a question, that spend the whole budget in these shares; `compose` of them never exceeds it.

    A share is a part of the budget, and they sum to 1: of mu² among Gaussian questions, of ε among Laplace ones. Where
    both occur the shares are taken of the two whole budgets, and what mixing saves is given to all by one factor.

    >>> calibrate([("laplace", 0.25), ("laplace", 0.75)], Budget(2))
    (PureCost(epsilon=0.5), PureCost(epsilon=1.5))
    """
    _check_shares(questions)
    kinds = {noise for noise, _ in questions}
    mu = budget.mu if "gaussian" in kinds else 0.0

    def costs(factor: float) -> tuple[Cost, ...]:
        def cost(noise: Noise, share: float) -> Cost:
            if noise == "gaussian":
                return GaussianCost(factor * mu * math.sqrt(share))
            return PureCost(factor * budget.epsilon * share)

        return tuple(cost(noise, share) for noise, share in questions)

    factor = _most(lambda factor: _fits(costs(factor), budget), narrow=1e-9) if len(kinds) == 2 else 1.0
    hair = 2.0**-52
    while compose(costs(factor), budget.delta) > budget.epsilon:  # shares may sum to a little over 1
        factor, hair = factor * (1 - hair), 2 * hair
    return costs(factor)


def _check_shares(questions: Sequence[tuple[Noise, float]]) -> None:
    """Nothing, if the questions are of a known kind and share the whole; else an InputError."""
    for noise, share in questions:
        if noise not in ("gaussian", "laplace"):
            raise InputError(f"The noise of a question must be 'gaussian' or 'laplace', not {noise!r}")
        if not 0 < share <= 1 + 1e-9:
            raise InputError(f"The share of a question must be above 0 and at most 1, not {share}")
    total = math.fsum(share for _, share in questions)
    if abs(total - 1) > 1e-9:
        raise InputError(f"The shares of the questions must sum to 1, not {total}")


def _sensible(sensitivity: float) -> float:
    """The sensitivity, if it is one."""
    if not 0 < sensitivity < math.inf:
        raise InputError(f"The sensitivity must be a number above 0, not {sensitivity}")
    return sensitivity


def _split(costs: Sequence[Cost]) -> tuple[float, list[float]]:
    """The mu of all Gaussian costs together, and the pure ones that are not zero."""
    mu = math.hypot(*(cost.mu for cost in costs if isinstance(cost, GaussianCost)))
    return mu, [cost.epsilon for cost in costs if isinstance(cost, PureCost) and cost.epsilon > 0]


def _fits(costs: Sequence[Cost], budget: Budget) -> bool:
    """Whether mixed costs keep the promise with two hairs to spare."""
    mu, pure = _split(costs)
    return _mixed_delta(budget.epsilon, mu, *_losses(pure)) <= budget.delta * (1 - 2 * _HAIR)


def _mixed_delta(epsilon: float, mu: float, losses: Floats, masses: Floats) -> float:
    """The δ at ε of a Gaussian answer and pure ones whose total loss has this law."""
    return float(masses @ _gaussian_delta(epsilon - losses, mu))


def _losses(pure: Sequence[float]) -> tuple[Floats, Floats]:
    """The law of the total privacy loss of pure answers in the worst case: its values and their probabilities."""
    losses, masses = np.zeros(1), np.ones(1)
    for epsilon, count in Counter(pure).most_common():
        while count > 0:
            some = min(count, max(1, 4 * _LOSSES // len(losses)))  # all at once, unless memory forbids
            steps, odds = _equal_losses(epsilon, some)
            losses, masses = _coarser(np.add.outer(losses, steps).ravel(), np.multiply.outer(masses, odds).ravel())
            count -= some
    # The sums are rounded, and next to a small mu the last bit of a loss is not small: up, by more than all roundings.
    return losses + math.fsum(pure) * (len(pure) + 4) * 2.0**-52, masses


def _equal_losses(epsilon: float, count: int) -> tuple[Floats, Floats]:
    """The law of the total privacy loss of equal pure answers: binomial."""
    one = np.array([math.exp(-epsilon), 1.0]) / (1 + math.exp(-epsilon))
    odds = np.ones(1)
    for _ in range(count):
        odds = np.convolve(odds, one)
    return epsilon * np.arange(-count, count + 1, 2, dtype=np.float64), odds


def _coarser(losses: Floats, masses: Floats) -> tuple[Floats, Floats]:
    """The same law, with losses rounded up to a grid if they are too many."""
    if len(losses) <= 4 * _LOSSES:
        return losses, masses
    bottom, step = losses.min(), np.ptp(losses) / _LOSSES
    # A loss that is on the grid but for float error must not climb a step; the grid is a touch higher instead.
    place = np.ceil((losses - bottom) / step - 1e-9).astype(np.int64)
    pooled = np.asarray(np.bincount(place, weights=masses), dtype=np.float64)
    return bottom + step * (np.arange(len(pooled)) + 1e-9), pooled


def _gaussian_delta(epsilon: Floats, mu: float) -> Floats:
    """The δ of a Gaussian answer at each ε, accurate to 5·10^-13 of itself; a negative ε is allowed."""
    if mu == 0:
        return np.maximum(-np.expm1(epsilon), 0.0)
    positive = np.abs(epsilon)
    delta = _tails(positive / mu, mu)
    # The hockey stick seen from the other side: δ(-ε) = 1 - e^-ε + e^-ε·δ(ε).
    mirrored = np.exp(-positive) * delta - np.expm1(-positive)
    return np.where(epsilon < 0, mirrored, delta)


def _tails(middle: Floats, mu: float) -> Floats:
    """Φ(mu/2 − t) − e^(t·mu)·Φ(−mu/2 − t) at t = `middle` from 0 up, with neither overflow nor cancellation.

    With Mills' ratio R(x) = Φ(−x)/φ(x), and because e^(t·mu)·φ(t + mu/2) = φ(t − mu/2), it is φ(x)·(R(x) − R(x + mu))
    at x = t − mu/2. For a small mu the difference is taken as the integral of −R′ = 1 − x·R(x).
    """
    from scipy.special import erfc, erfcx

    def mills(x: Floats) -> Floats:
        return np.asarray(math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2)))

    low, high = middle - mu / 2, middle + mu / 2
    density = np.exp(-low * low / 2) / math.sqrt(2 * math.pi)
    if mu < 0.1:
        nodes, weights = np.polynomial.legendre.leggauss(6)
        x = np.add.outer(middle, nodes * (mu / 2))
        return np.asarray(density * (mu / 2) * ((1 - x * mills(x)) @ weights))
    right = np.maximum(low, 0.0)
    upper = np.where(low > 0, density * mills(right), erfc(low / math.sqrt(2)) / 2)
    return np.asarray(np.where(low > 0, density * (mills(right) - mills(high)), upper - density * mills(high)))


def _least(holds: Callable[[float], bool], guess: float) -> float:
    """The smallest number from 0 up for which this holds, to the last bit, if it holds from some number on."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, guess
    while not holds(high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _most(holds: Callable[[float], bool], narrow: float = 0.0) -> float:
    """The largest number for which this holds, or less by this part of it at most, if it holds up to some number."""
    low, high = 1.0, 2.0
    while not holds(low):
        low, high = low / 2, low
    while holds(high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high and high - low > narrow * low:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
