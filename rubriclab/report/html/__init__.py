"""Reports as one HTML file each: readable without network, scripts or anything beside it."""

from rubriclab.report.html.evaluation import evaluation_report
from rubriclab.report.html.training import training_report
from rubriclab.report.html.transfer import transfer_report

__all__ = ["evaluation_report", "training_report", "transfer_report"]
