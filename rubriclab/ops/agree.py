"""How far judges agree with each other when they score the same texts by one rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, compress
from typing import Any, Literal, get_args

import numpy as np

from rubriclab.display import Displayed
from rubriclab.errors import SettingsError
from rubriclab.learning.scoring import Score
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Effort, Version
from rubriclab.ops.inputs import Data
from rubriclab.ops.options import AgreeOptions
from rubriclab.ops.scores import ScoringBySeveral
from rubriclab.ops.workspace import Job, JudgeChoice, JudgedResult, Workspace, judge_or_offline, load_version
from rubriclab.stats.correlation import FloatArray, floats, spearman_rows
from rubriclab.stats.intervals import Interval, cluster_numbers, mean_interval
from rubriclab.stats.rater_agreement import Metric, krippendorff_alpha
from rubriclab.stats.score_agreement import Unit, coefficient_interval, scored_texts

Reliability = Literal["unreliable", "tentative", "reliable"]
Kind = Literal["yes/no", "graded"]  # how a criterion is answered

# The smallest alpha for tentative conclusions, and the smallest of reliable data. Krippendorff 2004, "Reliability in
# content analysis", Human Communication Research 30(3).
TENTATIVE, RELIABLE = 0.667, 0.8


@dataclass(frozen=True, slots=True)
class JudgeScores:
    judge: str
    scored: int
    unscored: int
    mean: float | None
    deviation: float | None  # standard deviation of the scores


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Two judges on the `n` texts that both scored; `difference`: the mean by `first` minus the mean by `second`."""

    first: str
    second: str
    n: int
    spearman: Interval
    difference: Interval


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    texts: int  # number of texts with scores by two judges or more
    missing: int  # number of scores that judges did not give
    alpha: Interval

    @property
    def reliability(self) -> tuple[Reliability, Reliability] | None:
        """The reliability that alpha has at each end of its interval; `None` without an interval."""
        if self.alpha.low is None or self.alpha.high is None:
            return None
        return _reliability(self.alpha.low), _reliability(self.alpha.high)


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Agreement on one criterion, or on all criteria of a kind pooled (`id` is then the kind); `criteria` counts them.

    `answers` counts texts with answers by two judges or more; a text counts once for each pooled criterion. `missing`
    counts answers that judges did not give, and `inapplicable` counts the answers "does not apply".
    """

    id: str
    trait: str
    kind: Kind
    criteria: int
    answers: int
    missing: int
    inapplicable: int
    alpha: Interval


@dataclass(frozen=True, slots=True)
class InterraterAgreement:
    aspect: str
    scale: Scale
    texts: int
    groups: int
    unit: Unit  # what the jackknife leaves out as one cluster
    judges: tuple[JudgeScores, ...]
    pairs: tuple[JudgePair, ...]
    scores: ScoreAgreement
    criteria: tuple[CriterionAgreement, ...]
    pooled: tuple[CriterionAgreement, ...]

    def to_row(self) -> dict[str, Any]:
        scores = {**asdict(self.scores), "reliability": self.scores.reliability}
        return asdict(self) | {"scale": self.scale.model_dump(mode="json"), "scores": scores}


def interrater_agreement(
    rubric: Rubric, examples: Sequence[Example], scores_by_judge: Mapping[str, Sequence[Score]]
) -> InterraterAgreement:
    """Return how far the judges agree; `scores_by_judge` holds scores of all `examples`, in their order.

    Agreement is Krippendorff's alpha: nominal for yes/no questions, and with squared differences for graded criteria
    and scores. Criteria of a kind are also pooled, as in CheckEval (section 5.2). Its tables 10, 19 and 21 have Fleiss'
    kappa, which is lower than alpha by at most 0.0001. Pooled alpha tends to exceed the alpha of single criteria, since
    judges also agree on which criteria most texts meet. Intervals are over groups if texts share them, else over texts.
    """
    groups = [example.group for example in examples]
    scores = {judge: floats(score.score for score in judge_scores) for judge, judge_scores in scores_by_judge.items()}
    score_table = np.stack(list(scores.values()))
    judges = []
    for judge, with_missing in scores.items():
        present = with_missing[~np.isnan(with_missing)]
        mean = float(present.mean()) if len(present) else None
        deviation = float(present.std(ddof=1)) if len(present) > 1 else None
        judges.append(JudgeScores(judge, len(present), len(with_missing) - len(present), mean, deviation))
    criteria, pooled = _criterion_agreements(rubric, list(scores_by_judge.values()), groups)
    return InterraterAgreement(
        aspect=rubric.aspect.name,
        scale=rubric.score_scale,
        texts=len(examples),
        groups=len(set(groups)),
        unit="groups" if 1 < len(set(groups)) < len(examples) else "texts",
        judges=tuple(judges),
        pairs=tuple(_judge_pair(*names, scores, groups, rubric.score_scale.width) for names in combinations(scores, 2)),
        scores=ScoreAgreement(
            texts=int(((~np.isnan(score_table)).sum(axis=0) >= 2).sum()),
            missing=int(np.isnan(score_table).sum()),
            alpha=krippendorff_alpha(score_table, "interval", groups),
        ),
        criteria=tuple(criteria),
        pooled=tuple(pooled),
    )


def _criterion_agreements(
    rubric: Rubric, scores_by_judge: Sequence[Sequence[Score]], groups: Sequence[str]
) -> tuple[list[CriterionAgreement], list[CriterionAgreement]]:
    """Return the agreement on each criterion, and that on all criteria of a kind if there are several."""
    criterion_by_id = {criterion.id: criterion for criterion in rubric.criteria}
    # For each judge, a row with one mapping per text: from a rating's id to the rating.
    ratings_by_judge = [[{rating.id: rating for rating in score.criteria} for score in row] for row in scores_by_judge]
    rated_ids = dict.fromkeys(rating_id for row in ratings_by_judge for ratings in row for rating_id in ratings)
    # A method may give one rating for all criteria, under an id that is not a criterion of the rubric.
    ids_of_no_criterion = [rating_id for rating_id in rated_ids if rating_id not in criterion_by_id]
    criterion_ids = [criterion_id for criterion_id in criterion_by_id if criterion_id in rated_ids]
    agreements: list[CriterionAgreement] = []
    answers_by_kind: dict[Kind, list[FloatArray]] = {kind: [] for kind in get_args(Kind)}
    for rating_id in criterion_ids + ids_of_no_criterion:
        ratings = [[text_ratings.get(rating_id) for text_ratings in row] for row in ratings_by_judge]
        answers = np.stack([floats(rating.score if rating else None for rating in row) for row in ratings])
        inapplicable = sum(rating is not None and not rating.applies for row in ratings for rating in row)
        criterion = criterion_by_id.get(rating_id)
        is_binary = np.isin(answers[~np.isnan(answers)], (0, 1)).all()
        kind: Kind = "yes/no" if criterion and criterion.kind == "question" and is_binary else "graded"
        trait = criterion.trait if criterion else "all criteria as one"
        agreements.append(_agreement_on(answers, groups, kind, rating_id, trait, inapplicable=inapplicable))
        answers_by_kind[kind].append(answers)
    pooled = []
    for kind, answers_of_kind in answers_by_kind.items():
        if len(answers_of_kind) > 1:
            inapplicable = sum(agreement.inapplicable for agreement in agreements if agreement.kind == kind)
            answers = np.concatenate(answers_of_kind, axis=1)
            agreement = _agreement_on(answers, groups, kind, kind, "all of them pooled", inapplicable=inapplicable)
            pooled.append(replace(agreement, criteria=len(answers_of_kind)))
    return agreements, pooled


def _agreement_on(
    answers: FloatArray, groups: Sequence[str], kind: Kind, criterion_id: str, trait: str, *, inapplicable: int
) -> CriterionAgreement:
    """Return the agreement of `answers`, shape (judges, texts); NaN stands for missing and `inapplicable` answers."""
    metric: Metric = "nominal" if kind == "yes/no" else "interval"
    alpha = krippendorff_alpha(answers, metric, groups)
    is_missing = np.isnan(answers)
    n_texts, missing = int(((~is_missing).sum(axis=0) >= 2).sum()), int(is_missing.sum()) - inapplicable
    return CriterionAgreement(
        criterion_id, trait, kind, criteria=1, answers=n_texts, missing=missing, inapplicable=inapplicable, alpha=alpha
    )


def _judge_pair(
    first: str, second: str, scores: Mapping[str, FloatArray], groups: Sequence[str], width: float
) -> JudgePair:
    both_scored = ~np.isnan(scores[first]) & ~np.isnan(scores[second])
    x, y = scores[first][both_scored], scores[second][both_scored]
    used_groups = list(compress(groups, both_scored))
    spearman = coefficient_interval(scored_texts([x], y, used_groups), spearman_rows)
    difference = mean_interval(x - y, cluster_numbers(used_groups), (-width, width))
    return JudgePair(first, second, len(x), spearman, difference)


def _reliability(alpha: float) -> Reliability:
    if alpha < TENTATIVE:
        return "unreliable"
    return "tentative" if alpha < RELIABLE else "reliable"


@dataclass(frozen=True, repr=False)
class AgreeResult(JudgedResult, Displayed):
    """How far judges agree; `unanswered` is the error's message if a judge gave no usable reply."""

    version: Version
    agreement: InterraterAgreement
    effort: Effort  # calls, tokens, money and time that the command used
    unanswered: str | None = None


def agree(workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> Job[AgreeResult]:
    """Return how far judges agree when each scores the texts by one rubric."""
    judges = options.judges
    if len(judges) < 2:
        got = judges[0] if judges else "none"
        raise SettingsError(f"Expected two judges or more to compare, got {got};", "name each with `judges`.")
    if repeated := [judge for judge in judges if judges.count(judge) > 1]:
        raise SettingsError(f"The judge {repeated[0]} is named twice;", "a judge cannot be compared with itself.")
    version = load_version(workspace, rubric)
    scorers = [(version, JudgeChoice(judge_or_offline(judge, workspace.notify))) for judge in judges]
    scoring = ScoringBySeveral(workspace, scorers, data, options)

    async def run() -> AgreeResult:
        rows = [row async for row in scoring.stream()]
        scores = {judge: [text_scores[index] for _, text_scores in rows] for index, judge in enumerate(judges)}
        agreement = interrater_agreement(version.rubric, [example for example, _ in rows], scores)
        return AgreeResult(version, agreement, workspace.effort(), scoring.unanswered)

    return Job(lambda: scoring.estimate(scorer_names=[f"judge {i}" for i in range(1, len(judges) + 1)]), run)
