"""Metrics: how faithful a synthetic table is. Each takes a schema and settings, and compares two tables."""

from collections.abc import Callable, Mapping

from sfumato.metrics.aemc import Aemc, Axis, aemc
from sfumato.metrics.base import Metric, Score, Staged
from sfumato.metrics.edges import Edges
from sfumato.metrics.mgd import MGD
from sfumato.metrics.weighing import Weighed, example

METRICS: Mapping[str, Callable[..., Metric]] = {"edges": Edges, "mgd": MGD}
"""Each by the name it has on the command line; heavy libraries stay out of their modules until they score."""

__all__ = ["METRICS", "MGD", "Aemc", "Axis", "Edges", "Metric", "Score", "Staged", "Weighed", "aemc", "example"]
