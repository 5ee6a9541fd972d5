"""Reports: a module for each subject builds views of `report.model`; `report.terminal` and `report.html` draw them.

Text from users, models and data is shown as text: nothing in it can style, script or hide.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubriclab.display import Displayed
    from rubriclab.report.render import View

# By class of result: the module and the function that make its view, and the attributes that the function takes, or
# else the result itself.
VIEWS: Mapping[str, tuple[str, ...]] = {
    "AgreeResult": ("interrater", "interrater_view", "version.ref", "agreement"),
    "Batches": ("model", "lines_view", "lines"),
    "CheckResult": ("data_check", "check_view"),
    "CompareResult": ("comparison", "result_view", "result", "version"),
    "Disagreements": ("recorded", "disagreements_view", "version", "record", "texts"),
    "DryRun": ("model", "lines_view", "lines"),
    "EditResult": ("edit", "edit_view"),
    "Evaluation": ("evaluation", "brief_view"),
    "FindingList": ("lists", "findings_view"),
    "GateResult": ("training", "gate_view", "version", "validation"),
    "ImproveResult": ("revision", "improvement_view", "summary", "effort"),
    "LabelResult": ("lists", "labeling_view"),
    "LintResult": ("model", "quoted_lines_view", "lines"),
    "LiteratureAdded": ("lists", "added_view"),
    "PlanResult": ("planning", "plan_view", "plan", "version"),
    "PruneResult": ("lists", "prune_view"),
    "Rubric": ("version", "rubric_view"),
    "ScoreExplanation": ("explanation", "explanation_view"),
    "Scores": ("lists", "scores_view"),
    "SplitResult": ("model", "lines_view", "lines"),
    "StoreSize": ("lists", "size_view"),
    "Transfer": ("transfer", "transfer_view"),
    "TransferResult": ("transfer", "transfer_view", "transfer"),
    "VacuumResult": ("lists", "vacuum_view"),
    "VerifyResult": ("lists", "verify_view"),
    "Version": ("version", "version_view"),
    "VersionDiff": ("difference", "difference_view"),
}


def view_of(result: Displayed) -> View:
    """Return what is shown of a result."""
    module, function, *attributes = VIEWS[type(result).__name__]
    arguments = [attrgetter(name)(result) for name in attributes] or [result]
    view: View = getattr(importlib.import_module(f"rubriclab.report.{module}"), function)(*arguments)
    return view
