"""Metrics: how faithful a synthetic table is. Each takes a schema and settings, and compares two tables."""

from collections.abc import Callable, Mapping

from sfumato.metrics.base import Metric, Score
from sfumato.metrics.edges import Edges

METRICS: Mapping[str, Callable[..., Metric]] = {"edges": Edges}
"""Each by the name it has on the command line; heavy libraries stay out of their modules until they score."""

__all__ = ["METRICS", "Edges", "Metric", "Score"]
