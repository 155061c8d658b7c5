"""The promise, and what it does not say, in words for people who have never heard of ε."""

from __future__ import annotations

import math

from sfumato.privacy.ledger import Account, rounded_up
from sfumato.privacy.provenance import Provenance

COVERS = (
    "Each person in the data: it matters little to what can be learned from this release whether that person's "
    "records were among them or not.",
    "Everything made from the release: copies, joins with other data, pictures, models. Nothing that is done with "
    "it afterwards weakens the promise.",
    "Any attacker: whatever else they know, however much they compute, now or later.",
)
COVERS_NOT = (
    "Groups. Several people who act alike, a household, or one person under two ids are protected less: "
    "k of them together by k times the ε.",
    "Facts about everyone. If a street is busy at night, the release shows it, with or without any one "
    "of its visitors.",
    "The schema and the map. They are taken for public knowledge.",
    "Other releases. What is published of the same people from another ledger adds up with this one.",
)


def odds(epsilon: float) -> str:
    """The factor by which odds may change."""
    factor = math.exp(min(epsilon, 700))
    if factor >= 1e6:
        return f"e^{epsilon:g}"
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"


def certainty(epsilon: float) -> str:
    """How sure one can become who was at evens before."""
    share = 1 / (1 + math.exp(-epsilon))
    digits = 0 if share < 0.985 else 2
    text = f"{share:.{digits}%}".replace("%", " %")
    return "almost 100 %" if text.startswith("100") else text


def unit(provenance: Provenance) -> str:
    """Whom the promise protects, in a few words."""
    if provenance.unit == "record":
        return "any one record"
    return f"all records of any one {provenance.unit.replace('_', ' ')}"


def promise(provenance: Provenance, account: Account | None = None) -> list[str]:
    """The guarantee in sentences; with the account's other releases, where there are some."""
    epsilon, delta = provenance.epsilon, provenance.delta
    verb = "was" if provenance.unit == "record" else "were"
    rare = f" This may fail with a chance of about {delta:.2g} (δ)." if delta else ""
    more = []
    if account is not None and account.releases > 1:
        more.append(
            f"This is one of {account.releases} releases from the same data. For all of them together it is ε = "
            f"{rounded_up(account.spent)} at δ = {account.cap.delta:g}, a factor of at most {odds(account.spent)}."
        )
    return [
        f"Whether {unit(provenance)} {verb} in the data or not changes the odds of any outcome of this release by a "
        f"factor of at most {odds(epsilon)} (e^ε with ε = {epsilon:g}).{rare}",
        f"Whoever held even odds that someone is in the data, 50 to 50, can be brought to {certainty(epsilon)} "
        "at most by seeing the release, whatever else they know.",
        *more,
    ]
