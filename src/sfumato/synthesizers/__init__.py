"""The synthesizers, each by the name it has on the command line."""

from collections.abc import Mapping

from sfumato.synthesizers.base import Synthesizer
from sfumato.synthesizers.nmd import NMD

METHODS: Mapping[str, type[NMD]] = {"nmd": NMD}

__all__ = ["METHODS", "NMD", "Synthesizer"]
