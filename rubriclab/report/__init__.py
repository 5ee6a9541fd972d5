"""Reports: views give templates their data, and `report.render` makes pages, terminal views and files of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rubriclab.lazy_names import lazy_modules

if TYPE_CHECKING:
    from rubriclab.display import Displayed
    from rubriclab.report.render import View
else:
    __getattr__ = lazy_modules(__name__)

# By class of result: the template that shows it as `found`, or that shows these attributes by their names. Others that
# have `lines()` are shown by these.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "AgreeResult": ("interrater", "version", "agreement"),
    "EditResult": ("edit",),
    "FindingList": ("findings",),
    "GateResult": ("gate", "version", "validation"),
    "ImproveResult": ("revision", "summary", "effort"),
    "LabelResult": ("labels",),
    "LintResult": ("quoted_lines",),
    "LiteratureAdded": ("added",),
    "PlanResult": ("plan",),
    "PruneResult": ("store",),
    "Rubric": ("rubric",),
    "Scores": ("scores",),
    "StoreSize": ("store",),
    "Transfer": ("transfer",),
    "TransferResult": ("transfer", "transfer"),
    "VacuumResult": ("store",),
    "VerifyResult": ("verify",),
}
# The module and the function that make the view of any other result.
VIEWS: Mapping[str, tuple[str, str]] = {
    "CheckResult": ("results", "check_view"),
    "CompareResult": ("results", "result_view"),
    "Disagreements": ("rubrics", "disagreements_view"),
    "Evaluation": ("evaluation", "evaluation_view"),
    "ScoreExplanation": ("rubrics", "explanation_view"),
    "Version": ("rubrics", "version_view"),
    "VersionDiff": ("results", "difference_view"),
}


def view_of(result: Displayed) -> View:
    """Return what is shown of a result."""
    from rubriclab.report.render import view

    name = type(result).__name__
    if name in TEMPLATES or name not in VIEWS:
        template, *attributes = TEMPLATES.get(name, ("lines",))
        return view(template, **({each: getattr(result, each) for each in attributes} or {"found": result}))
    module, function = VIEWS[name]
    shown: View = getattr(importlib.import_module(f"rubriclab.report.{module}"), function)(result)
    return shown
