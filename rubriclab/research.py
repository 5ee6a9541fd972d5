"""Building blocks for research: the parts that `Lab` is made of, for studies that need more than its operations.

`experiments/` uses nothing else of rubriclab than this module, the package itself, `rubriclab.stats` and
`rubriclab.report.model`. Each name is documented where it is defined, and imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.lazy_names import home_of, lazy_getattr

if TYPE_CHECKING:
    from rubriclab.active_learning.learning_curve import (
        learning_curve as learning_curve,
    )
    from rubriclab.aggregation import (
        disagreement as disagreement,
    )
    from rubriclab.base_models import (
        FrozenModel as FrozenModel,
    )
    from rubriclab.checklist import (
        seed_questions as seed_questions,
        shipped_checklists as shipped_checklists,
    )
    from rubriclab.data.aspect import (
        Words as Words,
    )
    from rubriclab.data.cells import TYPED as TYPED, UNTYPED as UNTYPED, CellRules as CellRules
    from rubriclab.data.delimited import delimited_rows as delimited_rows
    from rubriclab.data.example import (
        named_annotations as named_annotations,
    )
    from rubriclab.data.fields import (
        FieldError as FieldError,
        Fields as Fields,
    )
    from rubriclab.data.formats import (
        Numbered as Numbered,
        json_lines as json_lines,
        lines_of as lines_of,
    )
    from rubriclab.data.mapping import (
        ABSENT as ABSENT,
        NATIVE as NATIVE,
    )
    from rubriclab.data.scale import (
        show as show,
    )
    from rubriclab.descriptions import describe as describe
    from rubriclab.digest import (
        canonical as canonical,
        digest as digest,
    )
    from rubriclab.documents import (
        Unreadable as Unreadable,
        parse_json as parse_json,
        read_file as read_file,
        read_toml as read_toml,
        text_of as text_of,
    )
    from rubriclab.evaluation import (
        baseline_evaluators as baseline_evaluators,
        evaluate as evaluate,
    )
    from rubriclab.interrater import (
        CriterionAgreement as CriterionAgreement,
        Figure as Figure,
        InterraterAgreement as InterraterAgreement,
        Kind as Kind,
        interrater_agreement as interrater_agreement,
    )
    from rubriclab.judges.connect import (
        connect as connect,
    )
    from rubriclab.judges.ledger import (
        Ledger as Ledger,
    )
    from rubriclab.judges.recording import (
        Recording as Recording,
    )
    from rubriclab.learning import (
        joint as joint,
    )
    from rubriclab.learning.baselines import (
        FEATURE_NAMES as FEATURE_NAMES,
        best_feature as best_feature,
        feature_values as feature_values,
        held_out_baselines as held_out_baselines,
    )
    from rubriclab.learning.calibration import (
        conformal as conformal,
    )
    from rubriclab.learning.candidates import (
        Candidates as Candidates,
        Plan as Plan,
        find_candidates as find_candidates,
    )
    from rubriclab.learning.cross_validation import (
        held_out_hardness as held_out_hardness,
    )
    from rubriclab.learning.fitting import (
        CandidatePool as CandidatePool,
        Fit as Fit,
        HeldOut as HeldOut,
        fit as fit,
        held_out as held_out,
    )
    from rubriclab.learning.gate import (
        validation as validation,
    )
    from rubriclab.learning.jackknife import (
        agreement_errors as agreement_errors,
        fisher_interval as fisher_interval,
    )
    from rubriclab.learning.rating_matrix import (
        RatingMatrix as RatingMatrix,
        centers_and_spreads as centers_and_spreads,
        standardised as standardised,
    )
    from rubriclab.learning.selection_path import (
        ONE_CALL as ONE_CALL,
        select_rubric as select_rubric,
    )
    from rubriclab.learning.settings import (
        JointSettings as JointSettings,
    )
    from rubriclab.learning.single_method import (
        Trained as Trained,
        train as train,
    )
    from rubriclab.learning.weighting import (
        FURTHEST as FURTHEST,
        design as design,
        posterior as posterior,
    )
    from rubriclab.methods.checkeval.settings import (
        CheckEvalSettings as CheckEvalSettings,
    )
    from rubriclab.methods.dcr import (
        DCRSettings as DCRSettings,
    )
    from rubriclab.methods.dcr.learn import (
        learning_criterion as learning_criterion,
    )
    from rubriclab.methods.hypoeval.settings import (
        HypoEvalSettings as HypoEvalSettings,
    )
    from rubriclab.methods.method import (
        Progress as Progress,
        chosen_settings as chosen_settings,
        silent as silent,
    )
    from rubriclab.methods.names import (
        DEFAULT_METHODS as DEFAULT_METHODS,
        JOINT as JOINT,
        has_settings as has_settings,
        settings_names as settings_names,
    )
    from rubriclab.methods.seeval.settings import (
        SEEvalSettings as SEEvalSettings,
    )
    from rubriclab.pydantic_errors import (
        first_fault as first_fault,
    )
    from rubriclab.report import (
        wording as wording,
    )
    from rubriclab.report.wording import (
        count as count,
    )
    from rubriclab.revision import (
        Improvement as Improvement,
        improve_stream as improve_stream,
        rewriting_at_most as rewriting_at_most,
    )
    from rubriclab.scoring import (
        score_stream as score_stream,
        score_text as score_text,
    )
    from rubriclab.scoring.estimate import (
        scoring_at_most as scoring_at_most,
    )
    from rubriclab.sentences import (
        sentence_spans as sentence_spans,
    )
    from rubriclab.services.dry_run import (
        dry_run as dry_run,
    )
    from rubriclab.services.judge_choice import (
        JudgeChoice as JudgeChoice,
        judge_named as judge_named,
    )
    from rubriclab.services.running import (
        finish as finish,
    )
    from rubriclab.services.settings import (
        parse_settings as parse_settings,
        resolve_settings as resolve_settings,
    )
    from rubriclab.services.workspace import (
        Workspace as Workspace,
    )
    from rubriclab.store.store import (
        open_store as open_store,
    )
    from rubriclab.text_features import (
        WORD_COUNT as WORD_COUNT,
    )
    from rubriclab.text_features.prior import (
        prior_directions as prior_directions,
        usual_directions as usual_directions,
    )
    from rubriclab.validation import (
        Validation as Validation,
    )

_HOMES = {
    "active_learning.learning_curve": ("learning_curve",),
    "aggregation": ("disagreement",),
    "base_models": ("FrozenModel",),
    "checklist": (
        "seed_questions",
        "shipped_checklists",
    ),
    "data.aspect": ("Words",),
    "data.example": ("named_annotations",),
    "data.cells": ("TYPED", "UNTYPED", "CellRules"),
    "data.delimited": ("delimited_rows",),
    "descriptions": ("describe",),
    "data.fields": (
        "FieldError",
        "Fields",
    ),
    "data.formats": (
        "Numbered",
        "json_lines",
        "lines_of",
    ),
    "data.mapping": (
        "ABSENT",
        "NATIVE",
    ),
    "data.scale": ("show",),
    "digest": (
        "canonical",
        "digest",
    ),
    "documents": (
        "Unreadable",
        "parse_json",
        "read_file",
        "read_toml",
        "text_of",
    ),
    "evaluation": (
        "baseline_evaluators",
        "evaluate",
    ),
    "interrater": (
        "CriterionAgreement",
        "Figure",
        "InterraterAgreement",
        "Kind",
        "interrater_agreement",
    ),
    "judges.connect": ("connect",),
    "judges.ledger": ("Ledger",),
    "judges.recording": ("Recording",),
    "learning.baselines": (
        "FEATURE_NAMES",
        "best_feature",
        "held_out_baselines",
        "feature_values",
    ),
    "learning.calibration": ("conformal",),
    "learning.candidates": (
        "Candidates",
        "Plan",
        "find_candidates",
    ),
    "learning.cross_validation": ("held_out_hardness",),
    "learning.fitting": (
        "CandidatePool",
        "Fit",
        "HeldOut",
        "fit",
        "held_out",
    ),
    "learning.gate": ("validation",),
    "learning.jackknife": (
        "agreement_errors",
        "fisher_interval",
    ),
    "learning.rating_matrix": (
        "RatingMatrix",
        "centers_and_spreads",
        "standardised",
    ),
    "learning.selection_path": (
        "ONE_CALL",
        "select_rubric",
    ),
    "learning.settings": ("JointSettings",),
    "learning.single_method": (
        "Trained",
        "train",
    ),
    "learning.weighting": (
        "FURTHEST",
        "design",
        "posterior",
    ),
    "methods.checkeval.settings": ("CheckEvalSettings",),
    "methods.dcr": ("DCRSettings",),
    "methods.dcr.learn": ("learning_criterion",),
    "methods.hypoeval.settings": ("HypoEvalSettings",),
    "methods.method": (
        "Progress",
        "chosen_settings",
        "silent",
    ),
    "methods.names": (
        "DEFAULT_METHODS",
        "JOINT",
        "has_settings",
        "settings_names",
    ),
    "methods.seeval.settings": ("SEEvalSettings",),
    "pydantic_errors": ("first_fault",),
    "report.wording": ("count",),
    "revision": (
        "Improvement",
        "improve_stream",
        "rewriting_at_most",
    ),
    "scoring": (
        "score_stream",
        "score_text",
    ),
    "scoring.estimate": ("scoring_at_most",),
    "sentences": ("sentence_spans",),
    "services.dry_run": ("dry_run",),
    "services.judge_choice": (
        "JudgeChoice",
        "judge_named",
    ),
    "services.running": ("finish",),
    "services.settings": (
        "parse_settings",
        "resolve_settings",
    ),
    "services.workspace": ("Workspace",),
    "store.store": ("open_store",),
    "text_features": ("WORD_COUNT",),
    "text_features.prior": (
        "prior_directions",
        "usual_directions",
    ),
    "validation": ("Validation",),
    # Modules whose functions are used by the module's name, as in `joint.train`.
    "learning.": ("joint",),
    "report.": ("wording",),
}
_HOME_OF = home_of(_HOMES)

__all__ = [*_HOME_OF]

# Hidden from type checkers, which would take any name for one of the package.
if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(__name__, _HOME_OF)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
