"""Learns what human raters reward from about thirty labels, writes it down as a rubric, and scores texts with it.

The names below are the public ones; each is imported when it is first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# An application decides where log messages go.
logging.getLogger(__name__).addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from rubriclab.data import (
        Aspect,
        Assignment,
        Example,
        FieldMap,
        Rows,
        Scale,
        find_aspect,
        from_rows,
        parse_scale,
        read,
        split_by_group,
        task_words,
        training_examples,
    )
    from rubriclab.errors import (
        BelowThreshold,
        BudgetReached,
        ChecklistError,
        DamagedAnswer,
        DataError,
        JudgeError,
        JudgeRefused,
        JudgeUnavailable,
        LiteratureError,
        NoStore,
        NotConfirmed,
        NotInStore,
        PackError,
        PromptRejected,
        ProviderDown,
        ReplayMiss,
        ReplyTooLarge,
        RubriclabError,
        SettingsError,
        StoreError,
        UserError,
    )
    from rubriclab.evaluation import Evaluator, Result
    from rubriclab.judges import FakeJudge, JudgeOptions
    from rubriclab.judges.judge import Judge, Reply, Token, Usage
    from rubriclab.judges.price import Price
    from rubriclab.lab import Lab
    from rubriclab.literature import load_findings
    from rubriclab.methods.catalogue import METHODS
    from rubriclab.methods.estimate import CallEstimate
    from rubriclab.methods.method import CriterionRating, Learned, Method, TrainingInput
    from rubriclab.prompts import Prompt
    from rubriclab.provenance import Effort, Provenance
    from rubriclab.revision import ImproveSettings
    from rubriclab.rubric import Criterion, Part, Rubric
    from rubriclab.scoring import CriterionScore, Score
    from rubriclab.services.agree import AgreeOptions, AgreeResult
    from rubriclab.services.drift import DriftOptions, DriftResult
    from rubriclab.services.dry_run import DryRun
    from rubriclab.services.evaluate import EvaluateOptions, Evaluation
    from rubriclab.services.improve import ImproveOptions, ImproveResult
    from rubriclab.services.learn import LearnOptions
    from rubriclab.services.lint import LintResult
    from rubriclab.services.plan import PlanOptions, PlanResult
    from rubriclab.services.score import ScoreOptions, Scores
    from rubriclab.services.transfer import TransferOptions, TransferResult
    from rubriclab.services.versions import GateResult, VerifyResult
    from rubriclab.store import Version, VersionDiff

_HOMES = {
    "data": (
        "Aspect",
        "Assignment",
        "Example",
        "FieldMap",
        "Rows",
        "Scale",
        "find_aspect",
        "from_rows",
        "parse_scale",
        "read",
        "split_by_group",
        "task_words",
        "training_examples",
    ),
    "errors": (
        "BelowThreshold",
        "BudgetReached",
        "ChecklistError",
        "DamagedAnswer",
        "DataError",
        "JudgeError",
        "JudgeRefused",
        "JudgeUnavailable",
        "LiteratureError",
        "NoStore",
        "NotConfirmed",
        "NotInStore",
        "PackError",
        "PromptRejected",
        "ProviderDown",
        "ReplayMiss",
        "ReplyTooLarge",
        "RubriclabError",
        "SettingsError",
        "StoreError",
        "UserError",
    ),
    "evaluation": (
        "Evaluator",
        "Result",
    ),
    "judges": (
        "FakeJudge",
        "JudgeOptions",
    ),
    "judges.judge": (
        "Judge",
        "Reply",
        "Token",
        "Usage",
    ),
    "judges.price": ("Price",),
    "lab": ("Lab",),
    "literature": ("load_findings",),
    "methods.catalogue": ("METHODS",),
    "methods.estimate": ("CallEstimate",),
    "methods.method": (
        "CriterionRating",
        "Learned",
        "Method",
        "TrainingInput",
    ),
    "prompts": ("Prompt",),
    "provenance": (
        "Effort",
        "Provenance",
    ),
    "revision": ("ImproveSettings",),
    "rubric": (
        "Criterion",
        "Part",
        "Rubric",
    ),
    "scoring": (
        "CriterionScore",
        "Score",
    ),
    "services.agree": (
        "AgreeOptions",
        "AgreeResult",
    ),
    "services.dry_run": ("DryRun",),
    "services.drift": (
        "DriftOptions",
        "DriftResult",
    ),
    "services.evaluate": (
        "EvaluateOptions",
        "Evaluation",
    ),
    "services.improve": (
        "ImproveOptions",
        "ImproveResult",
    ),
    "services.learn": ("LearnOptions",),
    "services.lint": ("LintResult",),
    "services.plan": (
        "PlanOptions",
        "PlanResult",
    ),
    "services.score": (
        "ScoreOptions",
        "Scores",
    ),
    "services.transfer": (
        "TransferOptions",
        "TransferResult",
    ),
    "services.versions": (
        "GateResult",
        "VerifyResult",
    ),
    "store": (
        "Version",
        "VersionDiff",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME_OF]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
