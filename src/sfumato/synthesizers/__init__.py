"""The synthesizers, each by the name it has on the command line."""

from collections.abc import Callable, Mapping

from sfumato.synthesizers.adagrid import AdaGrid
from sfumato.synthesizers.base import Synthesizer
from sfumato.synthesizers.nmd import NMD
from sfumato.synthesizers.uniform import Uniform

METHODS: Mapping[str, Callable[..., Synthesizer]] = {"adagrid": AdaGrid, "nmd": NMD, "uniform": Uniform}
"""Frozen dataclasses of settings; each keeps heavy libraries out of its module until it fits."""

__all__ = ["METHODS", "NMD", "AdaGrid", "Synthesizer", "Uniform"]
