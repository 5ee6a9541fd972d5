"""The public names of the package, and the modules that define them; `rubriclab/__init__.py` reads them here."""

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
from rubriclab.judges.judge import FakeJudge as FakeJudge, Judge as Judge, ask as ask
from rubriclab.judges.options import JudgeOptions as JudgeOptions
from rubriclab.judges.replies import Reply as Reply, Usage as Usage
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

__all__: list[str]
__version__: str
