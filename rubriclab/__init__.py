"""Learns what human raters reward from about thirty labels, writes it down as a rubric, and scores texts with it.

The names below are the public ones; each is imported when it is first used, so that importing the package is quick.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rubriclab.lazy_names import lazy_names

__version__ = "0.1.0"

# An application decides where log messages go.
logging.getLogger(__name__).addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from rubriclab.data.readers import read as read
    from rubriclab.data.write import write_rows as write_rows
    from rubriclab.errors import (
        BudgetReached as BudgetReached,
        DataError as DataError,
        JudgeError as JudgeError,
        JudgeRefused as JudgeRefused,
        JudgeUnavailable as JudgeUnavailable,
        NotInStore as NotInStore,
        PlugInError as PlugInError,
        PromptRejected as PromptRejected,
        RubriclabError as RubriclabError,
        SettingsError as SettingsError,
    )
    from rubriclab.judges.judge import (
        FakeJudge as FakeJudge,
        Judge as Judge,
        Reply as Reply,
        Usage as Usage,
        ask as ask,
    )
    from rubriclab.judges.options import JudgeOptions as JudgeOptions
    from rubriclab.lab import Lab as Lab
    from rubriclab.learning.scoring import Score as Score
    from rubriclab.methods.method import (
        CriterionRating as CriterionRating,
        Learned as Learned,
        LearningCalls as LearningCalls,
        Method as Method,
        TrainingInput as TrainingInput,
        cross_validated as cross_validated,
    )
    from rubriclab.models.rubric import (
        Criterion as Criterion,
        Evidence as Evidence,
        Level as Level,
        Part as Part,
        Question as Question,
        Rubric as Rubric,
    )
    from rubriclab.models.text import (
        Aspect as Aspect,
        Assignment as Assignment,
        Example as Example,
        Scale as Scale,
        find_aspect as find_aspect,
        parse_scale as parse_scale,
        task_words as task_words,
    )
    from rubriclab.models.version import Version as Version
    from rubriclab.ops.evaluate import Evaluation as Evaluation
    from rubriclab.ops.score import TextScorer as TextScorer
    from rubriclab.ops.scores import Scores as Scores
    from rubriclab.prompts.prompt import Prompt as Prompt

_NAMES_BY_MODULE = {
    "data.readers": "read",
    "data.write": "write_rows",
    "errors": "BudgetReached DataError JudgeError JudgeRefused JudgeUnavailable NotInStore PlugInError PromptRejected "
    "RubriclabError SettingsError",
    "judges.judge": "FakeJudge Judge Reply Usage ask",
    "judges.options": "JudgeOptions",
    "lab": "Lab",
    "methods.method": "CriterionRating Learned LearningCalls Method TrainingInput cross_validated",
    "prompts.prompt": "Prompt",
    "models.text": "Aspect Assignment Example Scale find_aspect parse_scale task_words",
    "models.rubric": "Criterion Evidence Level Part Question Rubric",
    "learning.scoring": "Score",
    "ops.evaluate": "Evaluation",
    "ops.scores": "Scores",
    "ops.score": "TextScorer",
    "models.version": "Version",
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}

__all__ = [*_MODULE_OF]

# Type checkers must not see `__getattr__`: with it they accept any name as an attribute of the package.
if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULE_OF)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
