"""What a synthesizer returns: models that hold no raw data, sample records, and are saved without pickle."""

from sfumato.models.archetypes import Archetypes
from sfumato.models.base import Model, load_model
from sfumato.models.graphical import GraphicalModel
from sfumato.models.histogram import HistogramModel
from sfumato.models.learning import learn as learn_archetypes
from sfumato.models.records import RecordsModel

__all__ = [
    "Archetypes",
    "GraphicalModel",
    "HistogramModel",
    "Model",
    "RecordsModel",
    "learn_archetypes",
    "load_model",
]
