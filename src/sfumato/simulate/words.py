"""Words: pronounceable names of places that do not exist, and the kinds of calls a dispatcher hears."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

STARTS = (
    "Bre Dra Ve Tel Mor Quin Zel Ost Fa Hal Jo Kes Lu Nar Pel Ri Sa Thre Ul Wen Yar Cor Ed Gla Ist Orl Cath Vi Tam "
    "Bru Dul Fen Gor Hesk Ilv Jas Kor Lam Mer Nith Ock Pry Ros Skel Tov Urd Vask Wil Xan Yel Zan"
)
MIDDLES = "an el or in ar ov il un es am ed ol ir et ul"
ENDS = "mere wick dell holt quay moor stead garth fold rise bank gate combe low thorpe haven fell well nock rath"
REAL = (  # what these parts can spell that exists
    "Cornell Edgate Fallow Farnell Farwell Fengate Fenwick Halcombe Hallow Halstead Halwell Keswick Merrow Roswell "
    "Tamwell Torwell Wendell Wenlow Wilcombe Wilmere Wilstead Yarwell Edmoor Edmere Rosbank Corbank Corfell"
)
CITIES = "Port New Saint Grand"

TYPES: dict[str, str] = {
    "service": "Police assistance requested; Wellness check; Follow-up visit; Lost property; Found property; "
    "Escort; Civil standby; Paper served; Directed patrol; Business check; Foot patrol; Community contact; "
    "Special detail; Vehicle release; Prisoner transport; Message delivery; Unspecified service; Radio check",
    "alarm": "Silent alarm; Burglar alarm, home; Burglar alarm, shop; Hold-up alarm; Panic button; Vehicle alarm; "
    "Alarm, cancelled; Alarm, fault; Bank alarm; School alarm; Emergency line hang-up; Open line; "
    "Emergency line, child playing; Elevator alarm; Water-level alarm; Alarm test; Tower alarm",
    "traffic": "Collision, no injury; Collision, injury; Hit and run; Traffic stop; Disabled vehicle; Road blocked; "
    "Signal out; Parking complaint; Abandoned vehicle; Reckless driving; Drunk driver; Tow request; "
    "Street racing; Pedestrian struck; Cyclist struck; Sign down; Road spill; School crossing",
    "disorder": "Disorderly person; Loud music; Noise, other; Loitering; Group gathering; Fight; Argument; "
    "Intoxicated person; Trespass; Panhandling; Street vending; Fireworks; Ball game in street; Open drinking; "
    "Curfew; Unwanted guest; Animal complaint; Dirt bikes",
    "theft": "Theft; Theft from vehicle; Stolen vehicle; Burglary, home; Burglary, shop; Shoplifting; "
    "Bicycle stolen; Parcel stolen; Pickpocket; Fraud; Stolen plates; Scrap metal stolen; Attempted burglary; "
    "Identity theft; Stolen vehicle found; Fuel drive-off; Theft of service; Forged note",
    "violence": "Common assault; Aggravated assault; Domestic dispute; Domestic assault; Street robbery; "
    "Shop robbery; Carjacking; Armed person; Shots heard; Shooting; Cutting; Threats; Kidnapping; Sexual offence; "
    "Stalking; Protective order breached; Hostage; Suspicious death",
    "medical": "Sick person; Breathing trouble; Chest pain; Fall; Overdose; Unconscious person; Seizure; Bleeding; "
    "Allergic reaction; Childbirth; Heat or cold exposure; Diabetic trouble; Stroke signs; Mental-health crisis; "
    "Burn; Choking; Poisoning; Cardiac arrest",
    "fire": "Smoke smelled; House fire; Vehicle fire; Brush fire; Refuse fire; Gas smell; Wires down; "
    "Carbon monoxide; Elevator rescue; Water rescue; Lock-out; Cooking fire; Chimney fire; Fuel leak; "
    "Building collapse; Electrical fire",
    "damage": "Vandalism; Graffiti; Broken window; Vehicle vandalised; Illegal dumping; Water main break; "
    "Tree down; Street light out; Sinkhole; Fence damaged; Manhole open; Vacant building open; Flooding; "
    "Hydrant open; Meter tampered; Boat adrift",
    "suspicion": "Suspicious person; Suspicious vehicle; Suspicious package; Prowler; Drug sale; Drug use; "
    "Weapon found; Missing adult; Missing child; Runaway; Person found; Wanted person; Warrant check; "
    "Gambling; Soliciting; Counterfeit goods; Bomb threat",
}


def place_names(rng: np.random.Generator, airports: npt.NDArray[np.bool_]) -> list[str]:
    """A different invented name for each area; airports are called so.

    >>> place_names(np.random.default_rng(4), np.array([False, True]))
    ['Wilinnock', 'Setnock Airport']
    """
    short = _spelled("")
    words = list({**short, **_spelled(*MIDDLES.split())})
    likely = np.where(np.arange(len(words)) < len(short), 5.0, 1.0)
    chosen = rng.choice(len(words), len(airports), replace=False, p=likely / likely.sum())
    return [words[w] + " Airport" * bool(a) for w, a in zip(chosen, airports, strict=True)]


def city_name(rng: np.random.Generator) -> str:
    """An invented name for a whole city."""
    return f"{rng.choice(CITIES.split())} {rng.choice(list(_spelled('')))}"


def call_types() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of all types of calls, and the kind of each.

    >>> names, kinds = call_types()
    >>> len(names), len(set(names)), len(set(kinds)), names[0], kinds[0]
    (174, 174, 10, 'Police assistance requested', 'service')
    """
    pairs = [(name, kind) for kind, text in TYPES.items() for name in text.split("; ")]
    return tuple(name for name, _ in pairs), tuple(kind for _, kind in pairs)


def _spelled(*middles: str) -> dict[str, None]:
    """Every name with one of these middles, each once, without those that exist."""
    words = dict.fromkeys(_smooth(f"{a}{b}{c}") for a in STARTS.split() for b in middles for c in ENDS.split())
    return {word: None for word in words if word not in REAL.split()}


def _smooth(word: str) -> str:
    """A word in which no vowel meets another (but "ay" at the end, and "u" after "q")."""
    pairs = zip(word, f"{word[1:]} ", f" {word[:-1]}".lower(), strict=True)
    return "".join(c for c, after, before in pairs if not (c in "aeiou" and after in "aeiou" and before != "q"))
