"""What a synthesizer returns: models that hold no raw data, sample records, and are saved without pickle."""

from sfumato.models.base import Model, load_model
from sfumato.models.graphical import GraphicalModel
from sfumato.models.histogram import HistogramModel

__all__ = ["GraphicalModel", "HistogramModel", "Model", "load_model"]
