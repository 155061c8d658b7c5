"""The approximate earth mover cost (AEMC): exact, by the structure of the table."""

from sfumato.metrics.aemc.axis import Axis
from sfumato.metrics.aemc.cost import aemc
from sfumato.metrics.aemc.result import Aemc, Certificate, Flows

__all__ = ["Aemc", "Axis", "Certificate", "Flows", "aemc"]
