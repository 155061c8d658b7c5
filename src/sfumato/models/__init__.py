"""What a synthesizer returns: models that hold no raw data, sample records, and are saved without pickle."""

from sfumato.models.base import Model, load_model
from sfumato.models.histogram import HistogramModel
from sfumato.models.records import RecordsModel

__all__ = ["HistogramModel", "Model", "RecordsModel", "load_model"]
