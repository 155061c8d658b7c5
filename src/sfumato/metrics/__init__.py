"""Metrics: how faithful a synthetic table is. Each takes a schema and settings, and compares two tables."""

from sfumato.metrics.base import Metric, Score

__all__ = ["Metric", "Score"]
