"""Learns what human raters reward from about thirty labels, writes it down as a rubric, and scores texts with it.

The names below are the public ones; each is imported when it is first used, so that importing the package is quick.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rubriclab.lazy_names import home_of, lazy_getattr

__version__ = "0.1.0"

# An application decides where log messages go.
logging.getLogger(__name__).addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from rubriclab.checklist import (
        Checklist as Checklist,
    )
    from rubriclab.data import (
        Aspect as Aspect,
        Assignment as Assignment,
        Comparison as Comparison,
        Example as Example,
        FieldMap as FieldMap,
        RowError as RowError,
        Rows as Rows,
        Scale as Scale,
        TaskWords as TaskWords,
        find_aspect as find_aspect,
        from_rows as from_rows,
        parse_scale as parse_scale,
        read as read,
        split_by_group as split_by_group,
        task_words as task_words,
        training_examples as training_examples,
    )
    from rubriclab.data.reading import (
        ReadingOptions as ReadingOptions,
        SourceFormat as SourceFormat,
    )
    from rubriclab.data.tables import (
        write_rows as write_rows,
    )
    from rubriclab.errors import (
        BatchCancelled as BatchCancelled,
        BelowThreshold as BelowThreshold,
        BudgetReached as BudgetReached,
        ChecklistError as ChecklistError,
        DamagedAnswer as DamagedAnswer,
        DataError as DataError,
        JudgeError as JudgeError,
        JudgeRefused as JudgeRefused,
        JudgeUnavailable as JudgeUnavailable,
        LiteratureError as LiteratureError,
        NoStore as NoStore,
        NotConfirmed as NotConfirmed,
        NotInStore as NotInStore,
        PackError as PackError,
        PlugInError as PlugInError,
        PromptRejected as PromptRejected,
        ProviderDown as ProviderDown,
        ReplayMiss as ReplayMiss,
        ReplyTooLarge as ReplyTooLarge,
        RubriclabError as RubriclabError,
        SettingsError as SettingsError,
        StoreError as StoreError,
        StoreUnavailable as StoreUnavailable,
        UnknownMethod as UnknownMethod,
        UserError as UserError,
    )
    from rubriclab.estimate import (
        DryRun as DryRun,
        JudgeEstimate as JudgeEstimate,
    )
    from rubriclab.evaluation import (
        Evaluator as Evaluator,
        Result as Result,
    )
    from rubriclab.judges import (
        FakeJudge as FakeJudge,
        JudgeOptions as JudgeOptions,
    )
    from rubriclab.judges.ask import (
        JudgeAnswer as JudgeAnswer,
        ask as ask,
    )
    from rubriclab.judges.judge import (
        Judge as Judge,
        Reply as Reply,
        Token as Token,
        Usage as Usage,
    )
    from rubriclab.judges.price import (
        Price as Price,
    )
    from rubriclab.lab import (
        Lab as Lab,
    )
    from rubriclab.literature import (
        Finding as Finding,
        load_findings as load_findings,
    )
    from rubriclab.methods.catalogue import (
        METHODS as METHODS,
    )
    from rubriclab.methods.method import (
        CriterionRating as CriterionRating,
        Learned as Learned,
        LearnFunction as LearnFunction,
        LearningCalls as LearningCalls,
        Method as Method,
        ScoreFunction as ScoreFunction,
        TrainingInput as TrainingInput,
        UnitVerdict as UnitVerdict,
        cross_validated as cross_validated,
    )
    from rubriclab.prompts import (
        Prompt as Prompt,
        Repair as Repair,
    )
    from rubriclab.provenance import (
        Effort as Effort,
        Provenance as Provenance,
    )
    from rubriclab.revision import (
        ImproveSettings as ImproveSettings,
    )
    from rubriclab.rubric import (
        Criterion as Criterion,
        Demonstration as Demonstration,
        DroppedCriterion as DroppedCriterion,
        Evidence as Evidence,
        Level as Level,
        Part as Part,
        Question as Question,
        Rubric as Rubric,
    )
    from rubriclab.scoring import (
        CriterionScore as CriterionScore,
        Score as Score,
    )
    from rubriclab.segmentation import (
        Units as Units,
    )
    from rubriclab.services.agree import (
        AgreeOptions as AgreeOptions,
        AgreeResult as AgreeResult,
    )
    from rubriclab.services.aspect_check import (
        AspectCheck as AspectCheck,
    )
    from rubriclab.services.batches import Batches as Batches, BatchesOptions as BatchesOptions
    from rubriclab.services.check import (
        CheckOptions as CheckOptions,
        CheckResult as CheckResult,
        ColumnUse as ColumnUse,
    )
    from rubriclab.services.compare import (
        CompareOptions as CompareOptions,
        CompareResult as CompareResult,
    )
    from rubriclab.services.disagreements import (
        Disagreements as Disagreements,
        DisagreementsOptions as DisagreementsOptions,
    )
    from rubriclab.services.drift import (
        DriftOptions as DriftOptions,
    )
    from rubriclab.services.edit_options import (
        EditOptions as EditOptions,
        EditResult as EditResult,
    )
    from rubriclab.services.evaluate import (
        EvaluateOptions as EvaluateOptions,
        Evaluation as Evaluation,
    )
    from rubriclab.services.explain import (
        ExplainOptions as ExplainOptions,
        ScoreExplanation as ScoreExplanation,
    )
    from rubriclab.services.improve import (
        ImproveOptions as ImproveOptions,
        ImproveResult as ImproveResult,
    )
    from rubriclab.services.label_options import (
        LabelOptions as LabelOptions,
        LabelResult as LabelResult,
    )
    from rubriclab.services.labels import (
        LabelsOptions as LabelsOptions,
        LabelsResult as LabelsResult,
    )
    from rubriclab.services.learn import (
        LearnOptions as LearnOptions,
    )
    from rubriclab.services.lint import (
        LintResult as LintResult,
    )
    from rubriclab.services.literature_add import (
        LiteratureAdded as LiteratureAdded,
        LiteratureAddOptions as LiteratureAddOptions,
    )
    from rubriclab.services.literature_files import (
        FindingList as FindingList,
        LiteratureOptions as LiteratureOptions,
        LiteratureShowOptions as LiteratureShowOptions,
    )
    from rubriclab.services.plan import (
        PlanOptions as PlanOptions,
        PlanResult as PlanResult,
    )
    from rubriclab.services.sample import (
        SampleFiles as SampleFiles,
    )
    from rubriclab.services.score import (
        ScoreOptions as ScoreOptions,
    )
    from rubriclab.services.scores import (
        Scores as Scores,
    )
    from rubriclab.services.split import (
        SplitOptions as SplitOptions,
        SplitResult as SplitResult,
    )
    from rubriclab.services.storage import (
        PruneOptions as PruneOptions,
        PruneResult as PruneResult,
        StoreSize as StoreSize,
        VacuumResult as VacuumResult,
    )
    from rubriclab.services.text_scorer import (
        TextScorer as TextScorer,
    )
    from rubriclab.services.transfer import (
        TransferOptions as TransferOptions,
        TransferResult as TransferResult,
    )
    from rubriclab.services.versions import (
        GateResult as GateResult,
        VerifyResult as VerifyResult,
    )
    from rubriclab.store import (
        Version as Version,
        VersionDiff as VersionDiff,
    )
    from rubriclab.training_record import (
        TrainingRecord as TrainingRecord,
    )

_HOMES = {
    "checklist": ("Checklist",),
    "data": (
        "Aspect",
        "Assignment",
        "Comparison",
        "Example",
        "FieldMap",
        "RowError",
        "Rows",
        "Scale",
        "TaskWords",
        "find_aspect",
        "from_rows",
        "parse_scale",
        "read",
        "split_by_group",
        "task_words",
        "training_examples",
    ),
    "estimate": ("DryRun", "JudgeEstimate"),
    "errors": (
        "BelowThreshold",
        "BatchCancelled",
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
        "PlugInError",
        "PromptRejected",
        "ProviderDown",
        "ReplayMiss",
        "ReplyTooLarge",
        "RubriclabError",
        "SettingsError",
        "StoreError",
        "StoreUnavailable",
        "UnknownMethod",
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
    "judges.ask": (
        "JudgeAnswer",
        "ask",
    ),
    "judges.judge": (
        "Judge",
        "Reply",
        "Token",
        "Usage",
    ),
    "judges.price": ("Price",),
    "lab": ("Lab",),
    "literature": (
        "Finding",
        "load_findings",
    ),
    "methods.catalogue": ("METHODS",),
    "methods.method": (
        "CriterionRating",
        "LearnFunction",
        "LearningCalls",
        "Learned",
        "Method",
        "ScoreFunction",
        "TrainingInput",
        "UnitVerdict",
        "cross_validated",
    ),
    "prompts": (
        "Prompt",
        "Repair",
    ),
    "provenance": (
        "Effort",
        "Provenance",
    ),
    "revision": ("ImproveSettings",),
    "rubric": (
        "Criterion",
        "Demonstration",
        "DroppedCriterion",
        "Evidence",
        "Level",
        "Part",
        "Question",
        "Rubric",
    ),
    "scoring": (
        "CriterionScore",
        "Score",
    ),
    "segmentation": ("Units",),
    "services.agree": (
        "AgreeOptions",
        "AgreeResult",
    ),
    "services.compare": ("CompareOptions", "CompareResult"),
    "services.disagreements": ("Disagreements", "DisagreementsOptions"),
    "services.drift": ("DriftOptions",),
    "services.edit_options": ("EditOptions", "EditResult"),
    "services.evaluate": (
        "EvaluateOptions",
        "Evaluation",
    ),
    "services.explain": ("ExplainOptions", "ScoreExplanation"),
    "services.improve": (
        "ImproveOptions",
        "ImproveResult",
    ),
    "services.label_options": ("LabelOptions", "LabelResult"),
    "services.labels": ("LabelsOptions", "LabelsResult"),
    "services.learn": ("LearnOptions",),
    "services.aspect_check": ("AspectCheck",),
    "services.batches": ("Batches", "BatchesOptions"),
    "services.check": ("CheckOptions", "CheckResult", "ColumnUse"),
    "services.lint": ("LintResult",),
    "services.literature_add": ("LiteratureAddOptions", "LiteratureAdded"),
    "services.literature_files": (
        "FindingList",
        "LiteratureOptions",
        "LiteratureShowOptions",
    ),
    "services.split": ("SplitOptions", "SplitResult"),
    "data.reading": ("ReadingOptions", "SourceFormat"),
    "data.tables": ("write_rows",),
    "services.plan": (
        "PlanOptions",
        "PlanResult",
    ),
    "services.sample": ("SampleFiles",),
    "services.score": ("ScoreOptions",),
    "services.text_scorer": ("TextScorer",),
    "services.scores": ("Scores",),
    "services.storage": (
        "PruneOptions",
        "PruneResult",
        "StoreSize",
        "VacuumResult",
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
    "training_record": ("TrainingRecord",),
}
_HOME_OF = home_of(_HOMES)

__all__ = [*_HOME_OF]

# Hidden from type checkers, which would take any name for one of the package.
if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(__name__, _HOME_OF)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
