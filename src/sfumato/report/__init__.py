"""The report: a page that a person looks at, in one file that needs nothing else."""

from sfumato.report.owner import OwnersReport
from sfumato.report.publishable import Report

__all__ = ["OwnersReport", "Report"]
