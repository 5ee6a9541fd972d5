"""How far several judges agree when each scores the same texts by one rubric.

CheckEval (section 5.2) calls this inter-evaluator agreement and reports Krippendorff's alpha and Fleiss' kappa without
saying what a unit is. In its tables 10, 19 and 21 the two of a checklist differ by 0.0001 at most; on complete nominal
data they differ by (1 - kappa) / n for n answers, so its units are the single yes/no answers, pooled over texts and
questions. Reported here are:

- yes/no questions, one by one and pooled, by nominal alpha and kappa. Pooling also rewards judges for knowing which
  criteria most texts meet, so pooled figures tend to lie above the single ones;
- graded criteria, and questions answered by the share of a text's parts, by alpha for interval data;
- the scores, by alpha for interval data.

Missing answers and those that do not apply are left out, and counted apart. Intervals are over the groups of texts that
share an input, or over texts if there are no such groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from rubriclab.base_options import Texts
from rubriclab.data.mapping import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import SettingsError
from rubriclab.learning.estimate import DryRun
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Effort, Version
from rubriclab.ops.inputs import Data
from rubriclab.ops.scores import ColumnScorer, ColumnScoring
from rubriclab.ops.workspace import Answered, JudgeChoice, Workspace, judge_named, version_of
from rubriclab.option_names import option
from rubriclab.stats.agreement import Unit
from rubriclab.stats.correlation import FloatArray, IntArray, floats, spearman_rows
from rubriclab.stats.intervals import Interval, estimate, paired_mean, renumbered, units
from rubriclab.stats.reliability import fleiss_kappa, krippendorff_alpha

if TYPE_CHECKING:
    from rubriclab.learning.scoring import Score
    from rubriclab.report.model import View


Figure = Literal["alpha_interval", "alpha_nominal", "fleiss_kappa"]
Reliability = Literal["unreliable", "tentative", "reliable"]
Kind = Literal["yes/no", "graded"]
Figures = Mapping[Figure, Interval]

# Alpha from which conclusions are tentative, and from which data are reliable. Krippendorff 2004, "Reliability in
# content analysis", Human Communication Research 30(3).
TENTATIVE, RELIABLE = 0.667, 0.8


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """One judge's scores: how many texts it scored and left unscored, their mean and standard deviation."""

    judge: str
    scored: int
    unscored: int
    mean: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Two judges, on the `n` texts that both scored; `difference` is the first's mean score less the second's."""

    first: str
    second: str
    n: int
    spearman: Interval
    difference: Interval


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """Agreement of the overall scores; it rests on `texts` with two scores or more."""

    texts: int
    missing: int
    alpha: Interval

    @property
    def reliability(self) -> tuple[Reliability, Reliability] | None:
        """The reliability at both ends of alpha's interval; `None` without an interval."""
        low, high = self.alpha.low, self.alpha.high
        return None if low is None or high is None else (_reliability(low), _reliability(high))


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Agreement on one criterion, or on `criteria` of a kind pooled.

    Attributes:
        id: the criterion's; the kind where several are pooled.
        answers: texts with two answers or more; where pooled, pairs of text and criterion.
        missing: answers that no reply gave.
        inapplicable: answers that the criterion cannot be asked of the text.
    """

    id: str
    trait: str
    kind: Kind
    criteria: int
    answers: int
    missing: int
    inapplicable: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class InterraterAgreement:
    """What several judges made of the same `texts` by one rubric.

    Attributes:
        groups: how many groups the texts belong to.
        unit: what intervals are over.
    """

    aspect: str
    scale: Scale
    texts: int
    groups: int
    unit: Unit
    judges: tuple[JudgeScores, ...]
    pairs: tuple[JudgePair, ...]
    scores: ScoreAgreement
    criteria: tuple[CriterionAgreement, ...]
    pooled: tuple[CriterionAgreement, ...]

    def to_row(self) -> dict[str, Any]:
        """Return all of it as one JSON object, with the reliability that the summary states."""
        scores = {**asdict(self.scores), "reliability": self.scores.reliability}
        return asdict(self) | {"scale": self.scale.model_dump(mode="json"), "scores": scores}


def interrater_agreement(
    rubric: Rubric,
    examples: Sequence[Example],
    scored: Mapping[str, Sequence[Score]],
) -> InterraterAgreement:
    """Return how far the judges agree: `scored` holds the scores of `examples`, in their order, by judge."""
    groups = [example.group for example in examples]
    cluster = units(groups)
    scores = {judge: floats(row.score for row in rows) for judge, rows in scored.items()}
    answers = _answers(rubric, scored)
    kinds = [[answer for answer in answers if answer.kind == kind] for kind in get_args(Kind)]
    return InterraterAgreement(
        aspect=rubric.aspect.name,
        scale=rubric.scores_on,
        texts=len(examples),
        groups=len(set(groups)),
        unit="groups" if 1 < len(set(groups)) < len(groups) else "texts",
        judges=tuple(_judge(judge, values) for judge, values in scores.items()),
        pairs=tuple(_pair(*names, scores, cluster) for names in combinations(scores, 2)),
        scores=_score_agreement(np.stack(list(scores.values())), cluster),
        criteria=tuple(_criterion(answer, cluster) for answer in answers),
        pooled=tuple(_criterion(_pooled(some), cluster) for some in kinds if len(some) > 1),
    )


class _Answers(NamedTuple):
    """All judges' answers to one criterion, or to several that are pooled: judges x units, nan where there is none."""

    id: str
    trait: str
    kind: Kind
    criteria: int
    values: FloatArray
    inapplicable: int


def _answers(rubric: Rubric, scored: Mapping[str, Sequence[Score]]) -> list[_Answers]:
    known = {criterion.id: criterion for criterion in rubric.criteria}
    rated = [[{rating.id: rating for rating in score.criteria} for score in rows] for rows in scored.values()]
    # What the judges rated: where a method asks for all criteria as one, that is no criterion of the rubric.
    ids = dict.fromkeys(rating for rows in rated for row in rows for rating in row)
    answers = []
    for name in (*(name for name in known if name in ids), *(name for name in ids if name not in known)):
        ratings = [[row.get(name) for row in rows] for rows in rated]
        values = np.stack([floats(rating.score if rating else None for rating in rows) for rows in ratings])
        inapplicable = sum(r is not None and not r.applies for rows in ratings for r in rows)
        criterion = known.get(name)
        asked = criterion is not None and criterion.kind == "question"
        kind: Kind = "yes/no" if asked and np.isin(values[~np.isnan(values)], (0, 1)).all() else "graded"
        trait = criterion.trait if criterion else "all criteria as one"
        answers.append(_Answers(name, trait, kind, 1, values, inapplicable))
    return answers


def _pooled(answers: Sequence[_Answers]) -> _Answers:
    kind, values = answers[0].kind, np.concatenate([answer.values for answer in answers], axis=1)
    inapplicable = sum(answer.inapplicable for answer in answers)
    return _Answers(kind, "all of them pooled", kind, len(answers), values, inapplicable)


def _criterion(answers: _Answers, cluster: IntArray) -> CriterionAgreement:
    values = answers.values
    # Pooled answers hold the texts once for each criterion.
    clusters = np.tile(cluster, answers.criteria)
    figures: dict[Figure, Interval] = (
        {"alpha_interval": krippendorff_alpha(values, "interval", clusters)}
        if answers.kind == "graded"
        else {
            "alpha_nominal": krippendorff_alpha(values, "nominal", clusters),
            "fleiss_kappa": fleiss_kappa(values, clusters),
        }
    )
    return CriterionAgreement(
        id=answers.id,
        trait=answers.trait,
        kind=answers.kind,
        criteria=answers.criteria,
        answers=_compared(values),
        missing=int(np.isnan(values).sum()) - answers.inapplicable,
        inapplicable=answers.inapplicable,
        figures=figures,
    )


def _score_agreement(table: FloatArray, cluster: IntArray) -> ScoreAgreement:
    alpha = krippendorff_alpha(table, "interval", cluster)
    return ScoreAgreement(_compared(table), int(np.isnan(table).sum()), alpha)


def _compared(table: FloatArray) -> int:
    return int(((~np.isnan(table)).sum(axis=0) >= 2).sum())


def _judge(judge: str, scores: FloatArray) -> JudgeScores:
    given = scores[~np.isnan(scores)]
    mean = float(given.mean()) if len(given) else None
    deviation = float(given.std(ddof=1)) if len(given) > 1 else None
    return JudgeScores(judge, len(given), len(scores) - len(given), mean, deviation)


def _reliability(alpha: float) -> Reliability:
    if alpha < TENTATIVE:
        return "unreliable"
    return "tentative" if alpha < RELIABLE else "reliable"


def _pair(first: str, second: str, scores: Mapping[str, FloatArray], cluster: IntArray) -> JudgePair:
    both = ~np.isnan(scores[first]) & ~np.isnan(scores[second])
    x, y, unit = scores[first][both], scores[second][both], renumbered(cluster[both])
    spearman = estimate(
        lambda counts: spearman_rows(x, y, np.take(counts, unit, axis=1)),
        int(unit.max(initial=-1)) + 1,
        elements=len(x),
        correlation=True,
    )
    return JudgePair(first, second, len(x), spearman, paired_mean(x - y, unit).interval)


class AgreeOptions(ReadingOptions):
    """Which judges are compared, and how."""

    judges: Texts = ()
    """Two judges or more: litellm model strings, `embedded` or `recorded:PATH#JUDGE`."""


@dataclass(frozen=True, repr=False)
class AgreeResult(Answered, Displayed):
    """How far judges agree on the scores and on each criterion; `unanswered` names a judge that never replied."""

    version: Version
    agreement: InterraterAgreement
    effort: Effort
    unanswered: str | None = None

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.interrater import interrater_view

        return interrater_view(self.version.ref, self.agreement)


async def agree(workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> AgreeResult:
    """Return how far judges agree when each scores the texts by one rubric; the texts need no human scores.

    Raises:
        SettingsError: unless two different judges are named.
        DataError: if no text can be used.
    """
    scoring = await workspace.off_event_loop(_prepare, workspace, data, rubric, options)
    rows = [row async for row in scoring.stream()]
    scores = {name: [row[place] for _, row in rows] for place, name in enumerate(options.judges)}
    version = scoring.scorers[0].version
    agreement = interrater_agreement(version.rubric, [example for example, _ in rows], scores)
    return AgreeResult(version, agreement, workspace.effort(), scoring.unanswered)


def agree_estimate(workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> DryRun:
    """Return an estimate of what `agree` asks of each judge."""
    roles = [f"judge {number}" for number in range(1, len(options.judges) + 1)]
    return _prepare(workspace, data, rubric, options).estimate(roles)


def _prepare(workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> ColumnScoring:
    names = options.judges
    if len(names) < 2:
        named = f"only {names[0]} was named" if names else "none was named"
        raise SettingsError(f"Agreement takes two judges or more, and {named};", f"name each with {option('judges')}.")
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise SettingsError(f"The judge {twice[0]} is named twice;", "a judge cannot be compared with itself.")
    version = version_of(workspace, rubric)
    scorers = [ColumnScorer(version, JudgeChoice(judge_named(name, workspace.notify))) for name in names]
    return ColumnScoring(workspace, scorers, data, options)
