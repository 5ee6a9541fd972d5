"""How far judges agree with each other when they score the same texts by one rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from rubriclab.display import Displayed
from rubriclab.errors import SettingsError
from rubriclab.learning.scoring import Score
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Effort, Version
from rubriclab.ops import workspace as work
from rubriclab.ops.inputs import Data
from rubriclab.ops.options import AgreeOptions
from rubriclab.ops.scores import ColumnScoring
from rubriclab.stats.correlation import FloatArray, IntArray, floats, spearman_rows
from rubriclab.stats.intervals import Interval, cluster_numbers, estimate, paired_mean, renumber
from rubriclab.stats.rater_agreement import Metric, krippendorff_alpha
from rubriclab.stats.score_agreement import Unit

Reliability = Literal["unreliable", "tentative", "reliable"]
Kind = Literal["yes/no", "graded"]

# Alpha from which conclusions are tentative, and from which data are reliable. Krippendorff 2004, "Reliability in
# content analysis", Human Communication Research 30(3).
TENTATIVE, RELIABLE = 0.667, 0.8


@dataclass(frozen=True, slots=True)
class JudgeScores:
    judge: str
    scored: int
    unscored: int
    mean: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Two judges on the `n` texts that both scored; `difference` is the mean score by `first` less that by `second`."""

    first: str
    second: str
    n: int
    spearman: Interval
    difference: Interval


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    texts: int  # with scores of two judges or more
    missing: int
    alpha: Interval

    @property
    def reliability(self) -> tuple[Reliability, Reliability] | None:
        """The reliability that alpha has at each end of its interval; `None` without an interval."""
        if self.alpha.low is None or self.alpha.high is None:
            return None
        return _reliability(self.alpha.low), _reliability(self.alpha.high)


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Agreement on one criterion, or on a number of `criteria` pooled; pooled criteria have their kind as `id`.

    `answers` counts texts with answers of two judges or more; such a text counts once for each pooled criterion.
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
    unit: Unit
    judges: tuple[JudgeScores, ...]
    pairs: tuple[JudgePair, ...]
    scores: ScoreAgreement
    criteria: tuple[CriterionAgreement, ...]
    pooled: tuple[CriterionAgreement, ...]

    def to_row(self) -> dict[str, Any]:
        scores = {**asdict(self.scores), "reliability": self.scores.reliability}
        return asdict(self) | {"scale": self.scale.model_dump(mode="json"), "scores": scores}


def interrater_agreement(
    rubric: Rubric, examples: Sequence[Example], scored: Mapping[str, Sequence[Score]]
) -> InterraterAgreement:
    """Return how far the judges agree; `scored` holds each judge's scores of `examples`, in their order.

    For yes/no questions, one by one and pooled, agreement is nominal alpha; for graded criteria and scores, alpha for
    interval data. CheckEval (section 5.2) pools the single answers too, but reports Fleiss' kappa. Alpha is higher than
    kappa by at most 0.0001 in CheckEval's tables 10, 19 and 21. Pooled figures tend to be higher, as they also reward
    judges for knowing which criteria most texts meet. Intervals are over groups if texts share groups, else over texts.
    """
    groups = [example.group for example in examples]
    unit_numbers = cluster_numbers(groups)
    scores = {judge: floats(score.score for score in judge_scores) for judge, judge_scores in scored.items()}
    table = np.stack(list(scores.values()))
    by_id = {criterion.id: criterion for criterion in rubric.criteria}
    ids: dict[str, None] = {}
    ratings_by_judge = []
    for judge_scores in scored.values():
        text_ratings = [{rating.id: rating for rating in score.criteria} for score in judge_scores]
        ids |= dict.fromkeys(name for ratings in text_ratings for name in ratings)
        ratings_by_judge.append(text_ratings)
    # A method may give one rating for all criteria, under an id that is not a criterion of the rubric.
    other_ids = [name for name in ids if name not in by_id]
    criterion_ids = [name for name in by_id if name in ids]
    agreements = []
    for name in criterion_ids + other_ids:
        cells = [[ratings.get(name) for ratings in text_ratings] for text_ratings in ratings_by_judge]
        values = np.stack([floats(rating.score if rating else None for rating in row) for row in cells])
        inapplicable = sum(rating is not None and not rating.applies for row in cells for rating in row)
        is_question = name in by_id and by_id[name].kind == "question"
        is_binary = np.isin(values[~np.isnan(values)], (0, 1)).all()
        kind: Kind = "yes/no" if is_question and is_binary else "graded"
        trait = by_id[name].trait if name in by_id else "all criteria as one"
        agreements.append((values, _agreement_on(values, unit_numbers, kind, name, trait, inapplicable=inapplicable)))
    pooled = []
    for kind in get_args(Kind):
        tables = [values for values, agreement in agreements if agreement.kind == kind]
        if len(tables) > 1:
            inapplicable = sum(agreement.inapplicable for _, agreement in agreements if agreement.kind == kind)
            values = np.concatenate(tables, axis=1)
            tiled_units = np.tile(unit_numbers, len(tables))
            agreement = _agreement_on(values, tiled_units, kind, kind, "all of them pooled", inapplicable=inapplicable)
            pooled.append(replace(agreement, criteria=len(tables)))
    judges = []
    for judge, values in scores.items():
        present = values[~np.isnan(values)]
        mean = float(present.mean()) if len(present) else None
        deviation = float(present.std(ddof=1)) if len(present) > 1 else None
        judges.append(JudgeScores(judge, len(present), len(values) - len(present), mean, deviation))
    return InterraterAgreement(
        aspect=rubric.aspect.name,
        scale=rubric.scores_on,
        texts=len(examples),
        groups=len(set(groups)),
        unit="groups" if len(np.unique(unit_numbers)) < len(examples) else "texts",
        judges=tuple(judges),
        pairs=tuple(_judge_pair(*names, scores, unit_numbers) for names in combinations(scores, 2)),
        scores=ScoreAgreement(
            texts=_count_with_two_judges(table),
            missing=int(np.isnan(table).sum()),
            alpha=krippendorff_alpha(table, "interval", unit_numbers),
        ),
        criteria=tuple(agreement for _, agreement in agreements),
        pooled=tuple(pooled),
    )


def _agreement_on(
    values: FloatArray, unit_numbers: IntArray, kind: Kind, name: str, trait: str, *, inapplicable: int
) -> CriterionAgreement:
    """Return the agreement on `values`, shape (judges, texts), NaN where a judge gave no answer on a text."""
    metric: Metric = "nominal" if kind == "yes/no" else "interval"
    answers = _count_with_two_judges(values)
    missing = int(np.isnan(values).sum()) - inapplicable
    alpha = krippendorff_alpha(values, metric, unit_numbers)
    return CriterionAgreement(
        name, trait, kind, criteria=1, answers=answers, missing=missing, inapplicable=inapplicable, alpha=alpha
    )


def _judge_pair(first: str, second: str, scores: Mapping[str, FloatArray], unit_numbers: IntArray) -> JudgePair:
    both_scored = ~np.isnan(scores[first]) & ~np.isnan(scores[second])
    x, y = scores[first][both_scored], scores[second][both_scored]
    unit_numbers = renumber(unit_numbers[both_scored])

    def statistic(counts: FloatArray) -> FloatArray:
        return spearman_rows(x, y, np.take(counts, unit_numbers, axis=1))

    unit_count = int(unit_numbers.max(initial=-1)) + 1
    spearman = estimate(statistic, unit_count, elements=len(x), is_correlation=True)
    return JudgePair(first, second, len(x), spearman, paired_mean(x - y, unit_numbers))


def _count_with_two_judges(table: FloatArray) -> int:
    """Return how many texts have answers of two judges or more; `table` has the shape (judges, texts)."""
    answers_per_text = (~np.isnan(table)).sum(axis=0)
    return int((answers_per_text >= 2).sum())


def _reliability(alpha: float) -> Reliability:
    if alpha < TENTATIVE:
        return "unreliable"
    return "tentative" if alpha < RELIABLE else "reliable"


@dataclass(frozen=True, repr=False)
class AgreeResult(work.Answered, Displayed):
    """How far judges agree; `unanswered` names a judge that never replied."""

    version: Version
    agreement: InterraterAgreement
    effort: Effort
    unanswered: str | None = None


def agree(workspace: work.Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> work.Job[AgreeResult]:
    """Return how far judges agree when each scores the texts by one rubric."""
    names = options.judges
    if len(names) < 2:
        named = names[0] if names else "none"
        raise SettingsError(f"Agreement takes two judges or more, and {named} was named;", "name each with `judges`.")
    if repeated := [name for name in names if names.count(name) > 1]:
        raise SettingsError(f"The judge {repeated[0]} is named twice;", "a judge cannot be compared with itself.")
    version = work.load_version(workspace, rubric)
    scorers = [(version, work.JudgeChoice(work.judge_or_offline(name, workspace.notify))) for name in names]
    scoring = ColumnScoring(workspace, scorers, data, options)

    async def run() -> AgreeResult:
        rows = [row async for row in scoring.stream()]
        scores = {name: [row[index] for _, row in rows] for index, name in enumerate(names)}
        agreement = interrater_agreement(version.rubric, [example for example, _ in rows], scores)
        return AgreeResult(version, agreement, workspace.effort(), scoring.unanswered)

    roles = [f"judge {number}" for number in range(1, len(names) + 1)]
    return work.Job(lambda: scoring.estimate(roles), run)
