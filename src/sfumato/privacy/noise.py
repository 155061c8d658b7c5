"""Noise on the integers whose law is exact, at the speed of arrays.

Two laws, both in lattice units:

- `rounded_gaussian`: P(z) = Φ((z + ½)/σ) − Φ((z − ½)/σ), a true normal draw rounded to the nearest integer. Rounding is
  post-processing, so the accounting of the Gaussian mechanism holds unchanged.
- `discrete_laplace`: P(z) ∝ exp(−|z|/s), for pure ε.

**Algorithm.** Both come from a positive real number X, known by as many of its bits as somebody asks for. Let f be the
falling density of X/spread, exp(−y²/2) or exp(−y), and write the spread (σ or s) as r·2^m with 8 ≤ r < 16. A proposal
is X = 2^m·(a + w): a block a and a place w inside it, uniform on [0, 1). A table of 2^16 entries holds block a exactly
n_a times, where n_a/M ≥ f(a/r) is a staircase above f; so 16 random bits pick a block with probability exactly
n_a/2^16. One more uniform V keeps the proposal if V < f((a + w)/r)·M/n_a, which is at most 1 because f falls. That is
rejection sampling from f, and it keeps more than nine proposals of ten. The tail is one entry of the table: it means
"add A to the block and pick again". This is a staircase above f too, since f((A + b)/r) ≤ f(A/r)·f(b/r) and A is such
that f(A/r) < 2^-16. A sign is one more bit. |z| is X rounded (Gaussian) or cut (Laplace) to an integer: a shift of the
known bits of a and w, because a block is a power of two wide. The Laplace law throws (minus, 0) away and draws again.

**Why it is exact.** Nothing is rounded but the right side of V < f·M/n_a. There 48 bits of w and 53 of V are known, and
the double that is compared is off by less than 2^-44, all told: w cut to 48 bits moves f by a factor of at most 2^-48;
three roundings in y become 2^-46 in an exponent below 13; numpy's exp (documented: 1 unit in the last place, 2^10
allowed for), M/n_a, the product and the cut of V add the rest. If both sides differ by more than `band` = 2^-40 the
comparison of the doubles is therefore the comparison of the real numbers. If not (once in 2^39 proposals, and for every
tail) more bits are drawn *of the same* w and V, and f is evaluated in `decimal`, whose exp is correctly rounded, at
growing precision, until the two sides part. The output uses only bits that were drawn. Hence the law of z is the one
above, not one near it: **nothing is added to δ for the sampler**. Two assumptions remain: that the generator's bits
are uniform, which for `generator()` is the pseudorandomness of AES-128 in counter mode; and that numpy's exp is
within 2^10 units in the last place.

**Cost.** 2.2 words of 64 bits and one exp a draw, some 25 ns; memory is the result and two megabytes.

**What it does not do.** The time a draw takes depends on how many proposals were refused and, once in some 60,000
draws, on a tail; an attacker who can time single draws to the microsecond learns a little about |z|. Batches of noise
for a whole table blur this but do not remove it. A generator copied by `fork` repeats itself in the child: make one in
the process that draws.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from sfumato.errors import InputError

Integers = NDArray[np.int64]
Shape = int | tuple[int, ...]

BAND = 2.0**-40
"""How near the two sides of a comparison may be before it is settled with more bits: see the module's proof."""

LARGEST = 2.0**50
"""The largest spread: 16 bits pick the block and leave 48 of a word, enough for the integers inside it."""

_TABLE = 1 << 16
_PLACE_BITS = 48
_COIN_BITS = 53
_ROUND = 1 << 14  # proposals at a time: the arrays of one round stay in the cache


def generator(seed: int | None = None) -> Generator:
    """A source of random bits: cryptographic, keyed by the operating system; with a `seed` repeatable, NOT PRIVATE.

    Without a seed the 128 bits of the key of AES in counter mode come from `secrets`. With a seed anybody who knows or
    guesses it can subtract the noise: it is for tests and demonstrations only.

    >>> generator(7).integers(1000) == generator(7).integers(1000)
    np.True_
    """
    from randomgen import AESCounter

    if seed is None:
        return Generator(AESCounter(key=secrets.randbits(128)))
    if seed < 0:
        raise InputError(f"The seed must be a whole number from 0 up, not {seed}.")
    return Generator(AESCounter(np.random.SeedSequence(seed)))


def rounded_gaussian(sigma: float, size: Shape, rng: Generator, *, band: float = BAND) -> Integers:
    """Integers distributed exactly as a normal draw of deviation `sigma`, rounded to the nearest integer.

    >>> rounded_gaussian(100.0, 5, generator(seed=1))
    array([...])
    """
    hat, exponent = _hat(sigma, square=True)
    halves = min(_PLACE_BITS - 1 - exponent, 63)

    def draw(proposals: int) -> Integers:
        position, minus = _accepted(hat, proposals, rng, band)
        return _signed(((position >> halves) + 1) >> 1, minus)

    return _filled(size, draw)


def discrete_laplace(scale: float, size: Shape, rng: Generator, *, band: float = BAND) -> Integers:
    """Integers z drawn exactly with probability proportional to exp(-|z| / `scale`), the two-sided geometric law.

    >>> discrete_laplace(100.0, 5, generator(seed=1))
    array([...])
    """
    hat, exponent = _hat(scale, square=False)
    units = min(_PLACE_BITS - exponent, 63)

    def draw(proposals: int) -> Integers:
        position, minus = _accepted(hat, proposals, rng, band)
        magnitude = position >> units
        once = (magnitude | (minus ^ 1)) != 0  # zero has one sign only, or it would come up twice as often
        return _signed(magnitude[once], minus[once])

    return _filled(size, draw)


@dataclass(frozen=True)
class _Hat:
    """A staircase above f, whose blocks are picked by looking 16 random bits up in a table."""

    ratio: float  # r: how many blocks wide the spread is
    square: bool  # f is exp(-y²/2) when true, exp(-y) when not
    unit: int  # M: the height 1 in table entries
    counts: Integers  # n_a, for the blocks before the tail
    blocks: NDArray[np.uint8]  # the table; its last entry is the tail
    lift: NDArray[np.float64]  # M / n_a, and at the tail NaN, which no comparison decides

    @property
    def tail(self) -> int:
        """A: the block at which the tail starts."""
        return len(self.counts)


def _hat(spread: float, square: bool) -> tuple[_Hat, int]:
    """The staircase for a spread r·2^m, and m."""
    if not 0 < spread <= LARGEST:
        raise InputError(f"The spread of the noise must be a number above 0 and at most 2**50, not {spread}.")
    mantissa, exponent = math.frexp(spread)
    ratio = 16 * mantissa
    y = np.arange(256) / ratio
    height = np.exp(-y * y / 2 if square else -y)
    height = height[height > 0.5 / _TABLE]  # so f at the tail is below 1/2^16, with a factor of two to spare
    tail = len(height)
    unit = int((_TABLE - 1 - tail) / height.sum())
    counts = np.floor(unit * height * (1 + 2.0**-40)).astype(np.int64) + 1  # above f in spite of float rounding
    counts[0] += _TABLE - 1 - counts.sum()
    blocks = np.repeat(np.arange(tail + 1, dtype=np.uint8), np.append(counts, 1))
    lift = np.append(unit / counts, np.nan)
    return _Hat(ratio, square, unit, counts, blocks, lift), exponent - 4


def _accepted(hat: _Hat, proposals: int, rng: Generator, band: float) -> tuple[Integers, Integers]:
    """The accepted ones of some proposals: 2^48·(a + w) with its fraction cut off, and a bit for the sign."""
    words = rng.integers(0, 1 << 64, size=(2, proposals), dtype=np.uint64)
    block = hat.blocks[(words[0] & np.uint64(_TABLE - 1)).view(np.int64)]
    position = (words[0] >> np.uint64(64 - _PLACE_BITS)).view(np.int64)
    position |= block.astype(np.int64) << _PLACE_BITS
    coin = (words[1] >> np.uint64(64 - _COIN_BITS)).view(np.int64)

    margin = _margin(hat, block, position, coin)
    keep = margin > band
    for i in np.flatnonzero(~(np.abs(margin) > band)):
        settled = _settled(hat, int(position[i]), int(coin[i]), rng)
        keep[i] = settled is not None
        position[i] = settled or 0
    return position[keep], (words[1][keep] & np.uint64(1)).view(np.int64)


def _margin(hat: _Hat, block: NDArray[np.uint8], position: Integers, coin: Integers) -> NDArray[np.float64]:
    """f·M/n_a − V in doubles, off by less than 2^-44; NaN in the tail."""
    y = position * (2.0**-_PLACE_BITS / hat.ratio)
    margin = np.exp(y * y * -0.5 if hat.square else -y)
    margin *= hat.lift[block]
    margin -= coin * 2.0**-_COIN_BITS
    return np.asarray(margin)


def _settled(hat: _Hat, position: int, coin: int, rng: Generator) -> int | None:
    """The position if the proposal is accepted, None if it is not, with as many more bits as that takes."""
    block, place = position >> _PLACE_BITS, position & ((1 << _PLACE_BITS) - 1)
    tails = 0
    while block == hat.tail:
        tails += 1
        block = int(hat.blocks[rng.integers(_TABLE)])
    lift = Fraction(hat.unit * _TABLE**tails, int(hat.counts[block]))
    block += tails * hat.tail
    accepted = position = (block << _PLACE_BITS) | place
    for more in itertools.count(step=64):
        lowest, highest = _chance(hat, position, _PLACE_BITS + more, lift)
        known = _COIN_BITS + more
        if Fraction(coin + 1, 1 << known) <= lowest:
            return accepted
        if Fraction(coin, 1 << known) >= highest:
            return None
        position = (position << 64) | int(rng.integers(0, 1 << 64, dtype=np.uint64))
        coin = (coin << 64) | int(rng.integers(0, 1 << 64, dtype=np.uint64))
    raise AssertionError("unreachable: the count above has no end")


def _chance(hat: _Hat, position: int, bits: int, lift: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on the probability of acceptance, for every place that begins with the bits known so far."""

    def density(start: int) -> Fraction:
        y = Fraction(start, 1 << bits) / Fraction(hat.ratio)
        power = y * y / 2 if hat.square else y
        return Fraction((-(Decimal(power.numerator) / power.denominator)).exp())

    digits = bits // 3 + 20
    with localcontext(Context(prec=digits)):
        # The quotient is off by 10^-digits of itself, exp by as much again: with an exponent below 10^9 (and f below 1)
        # 10^(10-digits) is more than both together.
        slack = Fraction(10) ** (10 - digits)
        return lift * (density(position + 1) - slack), lift * (density(position) + slack)


def _signed(magnitude: Integers, minus: Integers) -> Integers:
    """The magnitudes with their signs: minus where the bit is 1."""
    return (magnitude ^ -minus) + minus


def _filled(size: Shape, draw: Callable[[int], Integers]) -> Integers:
    """An array of this shape, filled by rounds of `draw`; what the last round has too many is thrown away unread."""
    result = np.empty(size, dtype=np.int64)
    flat, filled = result.reshape(-1), 0
    while filled < flat.size:
        missing = flat.size - filled
        drawn = draw(min(_ROUND, missing + missing // 8 + 16))[:missing]
        flat[filled : filled + len(drawn)] = drawn
        filled += len(drawn)
    return result
