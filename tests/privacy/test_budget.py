"""The accounting is right to the last digits that matter, and wherever it rounds it rounds against us."""

import itertools
import math
import subprocess
import sys

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.privacy import budget as module
from sfumato.privacy.budget import (
    Budget,
    GaussianCost,
    PureCost,
    calibrate,
    compose,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
)

epsilons = st.floats(1e-3, 100)
deltas = st.floats(-30, -0.5).map(lambda power: 10**power)
mus = st.floats(-3, 1).map(lambda power: 10**power)


def reference_delta(epsilon, mu):
    """δ of the Gaussian mechanism in 60 digits."""
    with mpmath.workdps(60):
        epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)

        def cdf(x):
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        return cdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity", "questions", "sigma"),
    [
        (1, 2.5e-5, 150, 66, 4290.24),
        (10, 2.5e-5, 200, 66, 784.12),
        (1, 2.5e-6, 1, 1, 4.03),
        (9, 2.25e-5, 1, 1, 0.528),
        (0.1, 2.5e-6, 1, 1, 34.2),
        (0.9, 2.25e-5, 1, 1, 3.90),
        (1, 2.5e-5, math.sqrt(2), 1, 4.98),
        (10, 2.5e-5, math.sqrt(2), 1, 0.68),
    ],
)
def test_noise_has_the_published_deviation(epsilon, delta, sensitivity, questions, sigma):
    """The figures of the contest's write-ups, to as many digits as they give."""
    ours = Budget(epsilon, delta).sigma(sensitivity, questions)
    assert ours == pytest.approx(sigma, rel=1e-5 if sigma > 100 else 4e-3)


@settings(max_examples=200, deadline=None)
@given(t=st.floats(0, 37), mu=st.floats(-6, 2).map(lambda power: 10**power))
def test_delta_is_right_to_twelve_digits(t, mu):
    """From mu 1e-6 to 100, wherever δ can be written as a double at all."""
    epsilon = t * mu
    truth = reference_delta(epsilon, mu)
    assume(truth > 1e-290)
    assert abs(gaussian_delta(epsilon, mu) / truth - 1) < 5e-13


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 1.0, 50.0, 700.0])
@pytest.mark.parametrize("mu", [1e-6, 0.0999, 0.1, 1.0, 37.0, 100.0])
def test_delta_never_overflows(epsilon, mu):
    assert gaussian_delta(epsilon, mu) == pytest.approx(float(reference_delta(epsilon, mu)), rel=5e-13, abs=1e-290)


@pytest.mark.parametrize("mu", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("epsilon", [-30.0, -1.0, -1e-3])
def test_delta_at_a_negative_epsilon_is_the_hockey_stick_seen_from_the_other_side(epsilon, mu):
    ours = module._gaussian_delta(np.array([epsilon]), mu)[0]
    assert ours == pytest.approx(float(reference_delta(epsilon, mu)), rel=5e-13)


@settings(max_examples=200, deadline=None)
@given(epsilon=epsilons, delta=deltas)
def test_mu_and_epsilon_undo_each_other_and_err_against_us(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    assert gaussian_delta(epsilon, mu * (1 + 1e-9)) > delta
    assert epsilon * (1 - 1e-9) <= gaussian_epsilon(mu, delta) <= epsilon


@settings(max_examples=200, deadline=None)
@given(mu=mus, delta=deltas)
def test_epsilon_is_the_least_that_holds(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    assert epsilon == 0 or gaussian_delta(epsilon * (1 - 1e-9), mu) > delta * (1 - 2e-12)


@settings(max_examples=100, deadline=None)
@given(epsilon=epsilons, delta=st.floats(-12, -1).map(lambda power: 10**power))
def test_the_deviation_agrees_with_dp_accounting(epsilon, delta):
    assert 1 / gaussian_mu(epsilon, delta) == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-6)


@settings(max_examples=100, deadline=None)
@given(epsilon=epsilons, delta=deltas, more=st.floats(1.001, 3))
def test_a_larger_budget_buys_less_noise(epsilon, delta, more):
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_mu(epsilon * more, delta) > mu
    assert gaussian_mu(epsilon, min(delta * more, 0.99)) > mu
    assert gaussian_epsilon(mu * more, delta) > gaussian_epsilon(mu, delta)


def test_no_mu_costs_nothing_and_no_delta_allows_no_gaussian():
    assert gaussian_delta(0, 0) == 0
    assert gaussian_epsilon(0, 0) == 0
    assert gaussian_epsilon(1, 0) == math.inf
    assert gaussian_epsilon(0.001, 0.9) == 0
    assert compose([GaussianCost(1)], 0) == math.inf
    assert compose([GaussianCost(1), PureCost(1)], 0) == math.inf
    with pytest.raises(InputError, match=r"^Gaussian noise needs a delta above 0"):
        _ = Budget(1).mu


def test_nothing_composes_to_nothing():
    assert compose([], 0) == 0
    assert compose([], 1e-6) == 0
    assert compose([PureCost(0), GaussianCost(0)], 0) == 0


@given(st.lists(st.floats(0, 5), max_size=20), st.sampled_from([0.0, 1e-6]))
def test_pure_costs_add_up(pure, delta):
    assert compose([PureCost(epsilon) for epsilon in pure], delta) == math.fsum(pure)


@settings(deadline=None)
@given(st.lists(mus, min_size=1, max_size=20), deltas)
def test_gaussian_costs_add_their_squares(many, delta):
    together = math.sqrt(math.fsum(mu * mu for mu in many))
    ours = compose([GaussianCost(mu) for mu in many], delta)
    assert ours == pytest.approx(gaussian_epsilon(together, delta), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(mu=mus, pure=st.lists(st.floats(0.01, 3), min_size=1, max_size=4), delta=deltas)
@example(mu=0.001, pure=[1.0, 0.841422869058421, 2.3803853633251135], delta=1e-5)  # the last bit of ε − l matters here
def test_mixed_costs_are_right_to_nine_digits(mu, pure, delta):
    """Against every combination of signs of the pure losses, in 60 digits."""
    epsilon = compose([GaussianCost(mu), *map(PureCost, pure)], delta)
    assert mixed_reference(epsilon, mu, pure) <= delta
    assert epsilon == 0 or mixed_reference(max(epsilon - 1e-9, 0), mu, pure) > delta * (1 - 2e-12)


def mixed_reference(epsilon, mu, pure):
    total = mpmath.mpf(0)
    for signs in itertools.product((1, -1), repeat=len(pure)):
        loss = math.fsum(sign * one for sign, one in zip(signs, pure, strict=True))
        chance = mpmath.fprod(1 / (1 + mpmath.exp(-sign * one)) for sign, one in zip(signs, pure, strict=True))
        total += chance * reference_delta(epsilon - loss, mu)
    return total


@pytest.mark.parametrize(
    ("gaussian", "pure"),
    [
        ([0.3], [0.5]),
        ([0.05] * 9, [0.1] * 12),
        ([1.0, 2.0], [0.25, 0.5, 1.0]),
        ([0.02], [0.02 * i for i in range(1, 31)]),
    ],
)
def test_mixed_costs_agree_with_the_grid_of_dp_accounting(gaussian, pure):
    """Ours is never above dp_accounting's pessimistic figure, and within what its grid rounds up below it."""
    grid = 1e-4
    theirs = privacy_loss_distribution.from_gaussian_mechanism(
        1 / math.hypot(*gaussian), value_discretization_interval=grid
    )
    for epsilon in pure:
        one = common.DifferentialPrivacyParameters(epsilon, 0)
        theirs = theirs.compose(privacy_loss_distribution.from_privacy_parameters(one, grid))
    ours = compose([*map(GaussianCost, gaussian), *map(PureCost, pure)], 1e-6)
    bound = theirs.get_epsilon_for_delta(1e-6)
    coarse = 2e-3 * bound if len(set(pure)) > 14 else 0  # where we have a grid too
    assert bound - grid * (len(pure) + 2) <= ours <= bound + coarse + 1e-9


def test_many_different_pure_costs_are_rounded_up_and_only_a_little(monkeypatch):
    costs = [GaussianCost(0.1), *(PureCost(0.01 * i) for i in range(1, 13))]
    exact = compose(costs, 1e-6)
    monkeypatch.setattr(module, "_LOSSES", 256)
    assert exact < compose(costs, 1e-6) < 1.03 * exact


def test_mixing_never_costs_more_than_the_parts():
    costs = [GaussianCost(0.2), *[PureCost(0.1)] * 40]
    parts = compose(costs[:1], 1e-6) + compose(costs[1:], 1e-6)
    assert compose(costs[:1], 1e-6) < compose(costs, 1e-6) < 0.7 * parts


@settings(max_examples=50, deadline=None)
@given(
    mu=mus,
    pure=st.lists(st.floats(0.01, 2), min_size=1, max_size=5),
    delta=st.floats(-10, -2).map(lambda power: 10**power),
    more=st.floats(1.01, 2),
)
def test_more_spending_never_promises_more(mu, pure, delta, more):
    """A larger cost, one cost more, or a smaller δ never gives a smaller ε."""
    costs = [GaussianCost(mu), *map(PureCost, pure)]
    epsilon = compose(costs, delta) * (1 - 1e-9)
    assert compose([GaussianCost(mu * more), *costs[1:]], delta) >= epsilon
    assert compose([*costs[:-1], PureCost(pure[-1] * more)], delta) >= epsilon
    assert compose([*costs, PureCost(0.1)], delta) >= epsilon
    assert compose([*costs, GaussianCost(0.1)], delta) >= epsilon
    assert compose(costs, delta / more) >= epsilon


shares = st.lists(st.floats(0.01, 1), min_size=1, max_size=12).map(lambda parts: [p / math.fsum(parts) for p in parts])


@settings(max_examples=100, deadline=None)
@given(shares=shares, epsilon=epsilons, delta=deltas)
def test_gaussian_questions_get_their_share_of_mu_squared(shares, epsilon, delta):
    whole = Budget(epsilon, delta)
    costs = calibrate([("gaussian", share) for share in shares], whole)
    assert [cost.mu for cost in costs] == pytest.approx([whole.mu * math.sqrt(share) for share in shares])
    assert epsilon * (1 - 1e-9) <= compose(costs, delta) <= epsilon


@given(shares=shares, epsilon=epsilons, delta=st.sampled_from([0.0, 1e-5]))
def test_laplace_questions_get_their_share_of_epsilon(shares, epsilon, delta):
    costs = calibrate([("laplace", share) for share in shares], Budget(epsilon, delta))
    assert [cost.epsilon for cost in costs] == pytest.approx([epsilon * share for share in shares])
    assert epsilon * (1 - 1e-9) <= compose(costs, delta) <= epsilon


@settings(max_examples=30, deadline=None)
@given(
    gaussian=st.lists(st.floats(0.05, 1), min_size=1, max_size=5),
    laplace=st.lists(st.floats(0.05, 1), min_size=1, max_size=5),
    epsilon=st.floats(0.05, 20),
    delta=st.floats(-10, -2).map(lambda power: 10**power),
)
def test_mixed_questions_spend_the_whole_budget_and_not_more(gaussian, laplace, epsilon, delta):
    parts = [("gaussian", part) for part in gaussian] + [("laplace", part) for part in laplace]
    total = math.fsum(part for _, part in parts)
    questions = [(noise, part / total) for noise, part in parts]
    whole = Budget(epsilon, delta)
    costs = calibrate(questions, whole)
    assert epsilon * (1 - 1e-6) <= compose(costs, delta) <= epsilon
    factors = [
        cost.mu / whole.mu / math.sqrt(share) if noise == "gaussian" else cost.epsilon / epsilon / share
        for cost, (noise, share) in zip(costs, questions, strict=True)
    ]
    assert factors == pytest.approx([factors[0]] * len(factors))


def test_shares_that_sum_to_a_little_over_one_do_not_overspend():
    third = (1 + 9e-10) / 3
    for noise in ("laplace", "gaussian"):
        assert compose(calibrate([(noise, third)] * 3, Budget(1, 1e-6)), 1e-6) <= 1


def test_whole_shares_keep_whole_numbers():
    assert calibrate([("laplace", 0.1)] * 10, Budget(1)) == (PureCost(0.1),) * 10


@pytest.mark.parametrize(
    "broken",
    [
        lambda: Budget(0),
        lambda: Budget(-1.0),
        lambda: Budget(math.nan),
        lambda: Budget(math.inf),
        lambda: Budget(1, -1e-9),
        lambda: Budget(1, 1),
        lambda: Budget(1, math.nan),
        lambda: Budget(1).scale(0),
        lambda: Budget(1, 0.1).sigma(math.nan),
        lambda: Budget(1, 0.1).sigma(1, questions=0),
        lambda: GaussianCost(-1),
        lambda: GaussianCost(math.nan),
        lambda: PureCost(math.inf),
        lambda: gaussian_mu(1, 0),
        lambda: calibrate([("gaussian", 1.0)], Budget(1)),
        lambda: calibrate([("gaussian", 0.5), ("laplace", 0.5)], Budget(1)),
        lambda: calibrate([("gaussian", 0.5)], Budget(1, 1e-6)),
        lambda: calibrate([("gaussian", 1.5), ("gaussian", -0.5)], Budget(1, 1e-6)),
        lambda: calibrate([("uniform", 1.0)], Budget(1, 1e-6)),
        lambda: calibrate([], Budget(1, 1e-6)),
    ],
)
def test_bad_input_is_refused_in_one_sentence(broken):
    with pytest.raises(InputError, match=r"^[A-Z][^\n]* not [^\n]*[^\n.]$"):
        broken()


def test_importing_the_module_loads_nothing_slow():
    code = "import sys, sfumato.privacy.budget; print([m for m in ('scipy', 'dp_accounting') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
