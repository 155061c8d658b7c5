"""The samplers follow their laws exactly; statistical tests have fixed seeds, so they pass always or never."""

import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from randomgen import AESCounter
from scipy import stats

from sfumato.errors import InputError
from sfumato.privacy import noise
from sfumato.privacy.noise import discrete_laplace, generator, rounded_gaussian

SAMPLERS = [rounded_gaussian, discrete_laplace]
ERROR = 1e-4  # of each statistical test, had its seed not been fixed

dp.enable_features("contrib")


def gaussian_pmf(z, sigma):
    """P(z) of the rounded Gaussian; from the tail's side, where nothing cancels."""
    far = np.abs(z)
    return stats.norm.sf((far - 0.5) / sigma) - stats.norm.sf((far + 0.5) / sigma)


def laplace_pmf(z, scale):
    return np.tanh(0.5 / scale) * np.exp(-np.abs(z) / scale)


PMF = {rounded_gaussian: gaussian_pmf, discrete_laplace: laplace_pmf}


def p_value(drawn, pmf):
    """The chi-square p-value of draws against a symmetric pmf; cells that expect fewer than 8 go to their tail."""
    reach = int(np.abs(drawn).max()) + 1
    z = np.arange(-reach, reach + 1)
    expected = pmf(z) * len(drawn)
    inner = z[expected >= 8]
    edge = max(int(inner.max()), 0) + 1 if len(inner) else 1
    seen = np.bincount(np.clip(drawn, -edge, edge) + edge, minlength=2 * edge + 1)
    middle = pmf(np.arange(-edge + 1, edge)) * len(drawn)
    tail = (len(drawn) - middle.sum()) / 2
    want = np.concatenate([[tail], middle, [tail]])
    if tail < 8:  # too few for a cell of their own
        seen = np.concatenate([[seen[0] + seen[1]], seen[2:-2], [seen[-2] + seen[-1]]]) if edge > 1 else seen
        want = np.concatenate([[want[0] + want[1]], want[2:-2], [want[-2] + want[-1]]]) if edge > 1 else want
    return stats.chisquare(seen, want, sum_check=False).pvalue


@pytest.mark.stat
@pytest.mark.parametrize("spread", [0.3, 0.5, 1.0, 4.7, 20.0, 40.0])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_follow_the_exact_law(sampler, spread):
    """A right sampler would fail for one seed in 10,000, each case; 400,000 draws."""
    drawn = sampler(spread, 400_000, generator(11))
    assert p_value(drawn, lambda z: PMF[sampler](z, spread)) > ERROR


@pytest.mark.stat
@pytest.mark.parametrize("spread", [0.3, 4.7, 40.0])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_follow_the_exact_law_when_most_are_settled_with_more_bits(sampler, spread):
    """A right sampler would fail for one seed in 10,000, each case; 20,000 draws through the slow path."""
    drawn = sampler(spread, 20_000, generator(12), band=0.4)
    assert p_value(drawn, lambda z: PMF[sampler](z, spread)) > ERROR


@pytest.mark.stat
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_only_the_bits_that_were_known_and_those_drawn_later_decide(sampler, monkeypatch):
    """A right sampler would fail for one seed in 10,000, each case; 1 bit of the coin and 1 of the place are known."""
    monkeypatch.setattr(noise, "_COIN_BITS", 1)
    monkeypatch.setattr(noise, "_PLACE_BITS", 1)
    drawn = sampler(4.7, 15_000, generator(13), band=0.6)  # the band covers both errors: 1/2 and less than 1/10
    assert p_value(drawn, lambda z: PMF[sampler](z, 4.7)) > ERROR


@pytest.mark.stat
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_tails_follow_the_exact_law_when_they_are_frequent(sampler, monkeypatch):
    """A right sampler would fail for one seed in 10,000, each case; a table of 256 entries, so 1 in 256 is a tail."""
    monkeypatch.setattr(noise, "_TABLE", 256)
    drawn = sampler(10.0, 600_000, generator(14))
    assert p_value(drawn, lambda z: PMF[sampler](z, 10.0)) > ERROR
    far = noise._hat(10.0, sampler is rounded_gaussian)[
        0
    ].tail  # here a block is one wide, so this is where tails start
    beyond = np.arange(far + 1, 60 * far)
    expected = 2 * PMF[sampler](beyond, 10.0).sum()
    assert stats.binomtest(int((np.abs(drawn) > far).sum()), len(drawn), expected).pvalue > ERROR


@pytest.mark.stat
@pytest.mark.parametrize("spread", [2.0**28, 4.98 * 2**16, 2.0**40])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_wide_noise_has_the_shape_of_its_continuous_law(sampler, spread):
    """A right sampler would fail for one seed in 10,000, each case; Kolmogorov-Smirnov on 300,000 draws."""
    law = stats.norm if sampler is rounded_gaussian else stats.laplace
    drawn = sampler(spread, 300_000, generator(15))
    assert stats.kstest(drawn / spread, law.cdf).pvalue > ERROR


@pytest.mark.stat
@pytest.mark.parametrize("bits", [0, 3, 10])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_wide_noise_has_uniform_low_bits(sampler, bits):
    """A right sampler would fail for one seed in 10,000, each case; three bits of z from the given one up."""
    low = (sampler(2.0**28, 300_000, generator(16)) >> bits) % 8
    assert stats.chisquare(np.bincount(low, minlength=8)).pvalue > ERROR


@pytest.mark.stat
@pytest.mark.parametrize("spread", [1.0, 2.0**30])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_both_signs_are_equally_likely_and_tell_nothing_of_the_magnitude(sampler, spread):
    """A right sampler would fail for one seed in 10,000, each case."""
    drawn = sampler(spread, 300_000, generator(17))
    plus, minus = drawn[drawn > 0], -drawn[drawn < 0]
    assert stats.binomtest(len(plus), len(plus) + len(minus)).pvalue > ERROR
    edges = np.unique(np.quantile(np.concatenate([plus, minus]), np.linspace(0, 1, 11)))[1:-1]
    table = [np.bincount(np.digitize(side, edges, right=True), minlength=len(edges) + 1) for side in (plus, minus)]
    assert stats.chi2_contingency(np.array(table)[:, np.sum(table, axis=0) > 0]).pvalue > ERROR


@pytest.mark.stat
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_do_not_depend_on_their_neighbours_or_their_round(sampler):
    """A right sampler would fail for one seed in 10,000, each case; autocorrelation and rounds."""
    drawn = sampler(1000.0, 20 * noise._ROUND, generator(18))
    ranks = stats.rankdata(drawn)
    assert stats.pearsonr(ranks[1:], ranks[:-1]).pvalue > ERROR
    assert stats.kruskal(*np.split(drawn, 20)).pvalue > ERROR


@pytest.mark.stat
def test_wide_gaussian_noise_agrees_with_opendp():
    """Fails once in a million runs of right samplers: opendp cannot be seeded."""
    theirs = opendp_draws(dp.m.make_gaussian, dp.l2_distance(T=float), 30_000.0, 30_000)
    ours = rounded_gaussian(30_000.0, 200_000, generator(19))  # at this width rounded and discrete are the same by eye
    assert stats.ks_2samp(ours, theirs).pvalue > 1e-6


@pytest.mark.stat
def test_laplace_noise_agrees_with_opendp():
    """Fails once in a million runs of right samplers: opendp cannot be seeded."""
    theirs = opendp_draws(dp.m.make_laplace, dp.l1_distance(T=int), 20.0, 30_000)
    ours = discrete_laplace(20.0, 200_000, generator(20))
    table = [np.bincount(np.clip(drawn, -90, 90) + 90, minlength=181) for drawn in (ours, theirs)]
    assert stats.chi2_contingency(table).pvalue > 1e-6


def opendp_draws(make, metric, scale, count):
    measure = make(dp.vector_domain(dp.atom_domain(T=int)), metric, scale=scale)
    return np.array(measure([0] * count))


@pytest.mark.parametrize("square", [True, False])
@pytest.mark.parametrize("ratio", [8.0, 9.3, 11.0, 15.999])
def test_the_staircase_is_never_below_the_density(ratio, square):
    """Each step is at least f where the step starts, and the tail's entry at least f at the tail, in exact numbers."""
    hat, exponent = noise._hat(ratio, square)
    assert exponent == 0
    starts = [Decimal(a) / Decimal(ratio) for a in range(hat.tail + 1)]
    density = [(-y * y / 2 if square else -y).exp() for y in starts]
    assert all(int(n) >= hat.unit * f for n, f in zip(hat.counts, density, strict=False))
    assert density[-1] * noise._TABLE <= 1
    assert len(hat.blocks) == noise._TABLE
    assert np.array_equal(np.bincount(hat.blocks), [*hat.counts, 1])


@pytest.mark.parametrize("square", [True, False])
def test_the_doubles_compared_are_nearer_to_the_truth_than_the_band(square):
    """The proven error, 2^-44, holds at 3,000 random places of all blocks, the ends of a block among them."""
    hat, _ = noise._hat(13.37, square)
    rng = np.random.default_rng(0)
    block = rng.integers(hat.tail, size=3_000).astype(np.uint8)
    place = np.where(rng.random(3_000) < 0.1, (1 << 48) - 1, rng.integers(1 << 48, size=3_000))
    position, coin = (block.astype(np.int64) << 48) | place, rng.integers(1 << 53, size=3_000)
    margins = noise._margin(hat, block, position, coin)
    for a, start, v, margin in zip(block, position, coin, margins, strict=True):
        bounds = noise._chance(hat, int(start), 48, Fraction(hat.unit, int(hat.counts[a])))
        errors = [
            Fraction(float(margin)) - (bound - Fraction(int(v) + more, 1 << 53)) for bound in bounds for more in (0, 1)
        ]
        assert max(map(abs, errors)) < 2.0**-44


def test_bounds_of_the_chance_enclose_every_continuation_and_close_in():
    """For f = exp(-y²/2) at r = 8: the whole place that begins with the bits known lies between the bounds."""
    hat, _ = noise._hat(8.0, True)
    widths = []
    for bits in (8, 48, 112, 176):
        lowest, highest = noise._chance(hat, 12 << bits, bits, Fraction(1))
        with localcontext(prec=90):
            y = [(12 + Decimal(more) / 2**bits) / 8 for more in (0, 1)]
            start, end = ((-one * one / 2).exp() for one in y)
        assert lowest < Fraction(end) < Fraction(start) < highest
        widths.append(highest - lowest)
    assert all(wide > 1000 * narrow for wide, narrow in pairwise(widths))


class Fed:
    """A generator that gives the words it is fed."""

    def __init__(self, *words):
        self.words = list(words)

    def integers(self, *_, **__):
        return self.words.pop(0)


def test_a_close_call_is_decided_by_the_further_bits_of_both_uniforms():
    """The coin lies between the chances at both ends of the known place, so either's next bits can turn it."""
    hat, _ = noise._hat(8.0, True)
    position = 12 << 48
    lowest, highest = noise._chance(hat, position, 48, Fraction(hat.unit, int(hat.counts[12])))
    coin = int((lowest + highest) / 2 * 2**53)
    ones = (1 << 64) - 1
    assert noise._settled(hat, position, coin, Fed(0, 0)) == position
    assert noise._settled(hat, position, coin, Fed(ones, 0)) is None
    edge = int(highest * 2**53)
    assert noise._settled(hat, position, edge, Fed(0, ones)) is None


def test_the_key_is_that_of_aes_128_in_full():
    """The example of FIPS 197, appendix C.1, comes out, so the key is used as it is and the counter is encrypted."""
    key = int.from_bytes(bytes(range(16)), "little")
    counter = int.from_bytes(bytes(0x11 * i for i in range(16)), "little")
    words = AESCounter(key=key, counter=counter).random_raw(2)
    assert words.tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


def test_generators_without_a_seed_never_repeat():
    first = {generator().integers(1 << 62) for _ in range(200)}
    assert len(first) == 200


def test_a_generator_without_a_seed_takes_128_bits_from_the_operating_system(monkeypatch):
    asked = []
    monkeypatch.setattr(noise.secrets, "randbits", lambda bits: asked.append(bits) or (1 << 127) | 5)
    words = generator().integers(0, 1 << 64, size=4, dtype=np.uint64)
    assert asked == [128]
    assert np.array_equal(words, AESCounter(key=(1 << 127) | 5).random_raw(4))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_seed_repeats_the_draws_and_another_does_not(sampler):
    draws = [sampler(50.0, 1000, generator(seed)) for seed in (3, 3, 4)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


@pytest.mark.parametrize("spread", [0, -1.0, float("nan"), float("inf"), 2.0**51])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_spread_that_is_not_one_is_refused_in_a_sentence(sampler, spread):
    with pytest.raises(InputError, match=r"^The spread of the noise must be .* not .*\.$"):
        sampler(spread, 3, generator(1))


def test_a_negative_seed_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="not -1"):
        generator(-1)


@pytest.mark.parametrize("size", [0, 1, 7, (3, 5), (), (0, 4), noise._ROUND + 1])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_size_may_be_any_shape(sampler, size):
    assert sampler(3.0, size, generator(1)).shape == np.empty(size).shape


@settings(max_examples=200, deadline=None)
@given(spread=st.floats(min_value=1e-320, max_value=noise.LARGEST), seed=st.integers(0, 2**64))
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_any_spread_gives_plausible_integers(sampler, spread, seed):
    """A magnitude above 60 spreads has a probability below e^-60 per draw."""
    drawn = sampler(spread, 50, generator(seed))
    assert drawn.shape == (50,)
    assert drawn.dtype == np.int64
    assert np.all(np.abs(drawn.astype(float)) <= 60 * spread + 1)


def test_importing_the_module_loads_nothing_slow():
    code = "import sys, sfumato.privacy.noise; print([m for m in ('scipy', 'randomgen') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
