"""Reports: views give templates their data, and `report.render` makes pages, terminal views and files of them.

Text from users, models and data is shown as text: nothing in it can style, script or hide.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from rubriclab.lazy_names import lazy_modules

if TYPE_CHECKING:
    from rubriclab.display import Displayed
    from rubriclab.report.render import View
else:
    __getattr__ = lazy_modules(__name__)

# By class of result: the module and the function that make its view, and the attributes that the function takes, or
# else the result itself.
VIEWS: Mapping[str, tuple[str, ...]] = {
    "AgreeResult": ("results", "interrater_view", "version.ref", "agreement"),
    "Batches": ("render", "lines_view", "lines"),
    "CheckResult": ("results", "check_view"),
    "CompareResult": ("results", "result_view", "result", "version"),
    "Disagreements": ("rubrics", "disagreements_view", "version", "record", "texts"),
    "DryRun": ("render", "lines_view", "lines"),
    "EditResult": ("results", "edit_view"),
    "Evaluation": ("evaluation", "evaluation_view"),
    "FindingList": ("results", "findings_view"),
    "GateResult": ("rubrics", "gate_view", "version", "validation"),
    "ImproveResult": ("results", "improvement_view", "summary", "effort"),
    "LabelResult": ("results", "labeling_view"),
    "LintResult": ("render", "quoted_lines_view", "lines"),
    "LiteratureAdded": ("results", "added_view"),
    "PlanResult": ("results", "plan_view"),
    "PruneResult": ("results", "store_view"),
    "Rubric": ("rubrics", "rubric_view"),
    "ScoreExplanation": ("rubrics", "explanation_view"),
    "Scores": ("results", "scores_view"),
    "SplitResult": ("render", "lines_view", "lines"),
    "StoreSize": ("results", "store_view"),
    "Transfer": ("results", "transfer_view"),
    "TransferResult": ("results", "transfer_view", "transfer"),
    "VacuumResult": ("results", "store_view"),
    "VerifyResult": ("results", "verify_view"),
    "Version": ("rubrics", "version_view"),
    "VersionDiff": ("results", "difference_view"),
}


def view_of(result: Displayed) -> View:
    """Return what is shown of a result."""
    module, function, *attributes = VIEWS[type(result).__name__]
    arguments = [attrgetter(name)(result) for name in attributes] or [result]
    view: View = getattr(importlib.import_module(f"rubriclab.report.{module}"), function)(*arguments)
    return view
