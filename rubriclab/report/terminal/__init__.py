"""Views for a terminal: each function returns a rich renderable that whoever owns the console prints.

They read well at 80 columns, and as plain text where no terminal is. Whatever comes from outside goes through
`text`, never through rich's markup, and no control character of it reaches the terminal.
"""

from rubriclab.report.terminal.difference import difference_view
from rubriclab.report.terminal.improvement import improvement_view, rewriting_view
from rubriclab.report.terminal.interrater import concordance_view
from rubriclab.report.terminal.lists import log_view, names_view, problems_view
from rubriclab.report.terminal.matrix import matrix_view
from rubriclab.report.terminal.results import results_view
from rubriclab.report.terminal.training import training_view
from rubriclab.report.terminal.version import version_view

__all__ = [
    "concordance_view",
    "difference_view",
    "improvement_view",
    "log_view",
    "matrix_view",
    "names_view",
    "problems_view",
    "results_view",
    "rewriting_view",
    "training_view",
    "version_view",
]
