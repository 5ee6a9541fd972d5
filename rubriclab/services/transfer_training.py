"""The training that a transfer compares with: the methods and settings of a version, on other texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rubriclab.checklist import seed_questions
from rubriclab.data import Assignment, Example, task_words
from rubriclab.errors import ChecklistError
from rubriclab.learning.candidates import Plan
from rubriclab.literature import Finding, load_findings
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.names import JOINT
from rubriclab.services.settings import resolve_settings
from rubriclab.services.training import TrainingRun
from rubriclab.services.workspace import Notify, Workspace
from rubriclab.store import Version
from rubriclab.transfer.run import TargetTexts

TrainingOf = Callable[[Sequence[Example]], TrainingRun]


def training_like(version: Version, target: TargetTexts, workspace: Workspace) -> TrainingOf | None:
    """Return the training by the methods and settings that the version was learned with.

    It starts from the checklists and findings that ship, without findings about the raters of data sets that the
    version was learned without. `None`, with a notice, if none of the methods has a checklist for the aspect.
    """
    recorded, task, aspect = version.provenance.settings, version.rubric.task, target.aspect.name
    methods = [METHODS[name] for name in recorded if name != JOINT]
    resolved = resolve_settings(methods, joint=True, configured=workspace.settings, recorded=recorded)
    startable = []
    for method in methods:
        settings = resolved.methods[method.name]
        try:
            needed = method.needs_checklist(settings)
            startable.append((method, settings, seed_questions(method.checklists, task, aspect, needed=needed)))
        except ChecklistError:
            continue
    if not startable:
        _notify_no_checklist(version, aspect, workspace.notify)
        return None
    assignment, findings = Assignment(task_words(task), target.aspect, target.scale), _findings(version, aspect)

    def training(texts: Sequence[Example]) -> TrainingRun:
        plans = [
            Plan(method, TrainingInput(tuple(texts), assignment, findings, checklist), settings)
            for method, settings, checklist in startable
        ]
        return TrainingRun(tuple(plans), resolved.joint)

    return training


def _findings(version: Version, aspect: str) -> tuple[Finding, ...]:
    return load_findings(version.rubric.task, aspect, without=version.provenance.literature_without)


def _notify_no_checklist(version: Version, aspect: str, notify: Notify) -> None:
    notify(f"{version.ref} cannot be relearned: its methods need a checklist, and none ships for {aspect}")
