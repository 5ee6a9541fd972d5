"""Reports. `TEMPLATES` and `VIEWS` say how each result is shown; `report.render` explains views."""

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

# For each class of result: its template, and the attributes that the template gets; without attributes, it gets
# `result` itself. A class that is neither here nor in `VIEWS` is shown by its `lines()`.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "AgreeResult": ("interrater", "version", "agreement"),
    "EditResult": ("edit",),
    "FindingList": ("findings",),
    "GateResult": ("gate", "version"),
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
    "VerifyResult": ("verify",),
}
# For each class of result whose view needs more than its attributes: the module and the function that makes the view.
VIEWS: Mapping[str, tuple[str, str]] = {
    "CheckResult": ("results", "check_view"),
    "CompareResult": ("results", "compare_view"),
    "Disagreements": ("rubrics", "disagreements_view"),
    "Evaluation": ("evaluation", "evaluation_view"),
    "ScoreExplanation": ("rubrics", "explanation_view"),
    "Version": ("rubrics", "version_view"),
    "VersionDiff": ("results", "difference_view"),
}


def view_of(result: Displayed) -> View:
    from rubriclab.report.render import view

    name = type(result).__name__
    if name in VIEWS:
        module, function = VIEWS[name]
        result_view: View = getattr(importlib.import_module(f"rubriclab.report.{module}"), function)(result)
        return result_view
    template, *attributes = TEMPLATES.get(name, ("lines",))
    data = {each: getattr(result, each) for each in attributes} if attributes else {"result": result}
    return view(template, **data)
