"""Metrics: how faithful a synthetic table is. Each takes a schema and settings, and compares two tables."""

from collections.abc import Callable, Mapping

from sfumato.metrics.base import Metric, Score
from sfumato.metrics.conjunction import Conjunction
from sfumato.metrics.density import Density
from sfumato.metrics.edges import Edges
from sfumato.metrics.inequality import Gini, PayRank
from sfumato.metrics.kmarginal import KMarginal
from sfumato.metrics.pie import Pie
from sfumato.metrics.queries import Queries
from sfumato.metrics.ranges import Ranges

METRICS: Mapping[str, Callable[..., Metric]] = {
    "edges": Edges,
    "kmarginal": KMarginal,
    "conjunction": Conjunction,
    "pie": Pie,
    "density": Density,
    "queries": Queries,
    "ranges": Ranges,
    "gini": Gini,
    "payrank": PayRank,
}
"""Each by the name it has on the command line; heavy libraries stay out of their modules until they score."""

__all__ = [
    "METRICS",
    "Conjunction",
    "Density",
    "Edges",
    "Gini",
    "KMarginal",
    "Metric",
    "PayRank",
    "Pie",
    "Queries",
    "Ranges",
    "Score",
]
