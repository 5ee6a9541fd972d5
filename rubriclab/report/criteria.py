"""How far each criterion of a rubric agrees with people by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.report.texts import Judged, criterion_scores, human_scores
from rubriclab.rubric import Criterion, Rubric
from rubriclab.stats import ConstantRule, Estimate, Level, estimate, spearman_rows
from rubriclab.stats.agreement import BATCH_ELEMENTS
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.levels import level_statistic, scored_texts, used_texts

RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """One criterion's Spearman correlation with the labels.

    Attributes:
        id, title: the criterion's id and trait; the id in both for a score by all criteria at once.
        unscored: texts without a score by this criterion.
    """

    id: str
    title: str
    spearman: Estimate
    unscored: int


def criterion_agreements(
    rubric: Rubric, texts: Sequence[Judged], level: Level, constant: ConstantRule
) -> list[CriterionAgreement]:
    """Return the agreement of every criterion that `texts` were scored by, in the rubric's order."""
    by_id: dict[str, Criterion] = {criterion.id: criterion for criterion in rubric.criteria}
    scored = dict.fromkeys(part.id for text in texts for part in text.score.criteria)
    order = [*(name for name in by_id if name in scored), *(name for name in scored if name not in by_id)]
    found = []
    for name in order:
        scores = criterion_scores(texts, name)
        title = by_id[name].trait if name in by_id else name
        missing = int(np.isnan(scores).sum())
        found.append(CriterionAgreement(name, title, _spearman(scores, texts, level, constant), missing))
    return found


def _spearman(scores: FloatArray, texts: Sequence[Judged], level: Level, constant: ConstantRule) -> Estimate:
    """Return what `rubriclab.stats.agreement` gives for Spearman, without the time that Kendall takes."""
    groups = [text.example.group for text in texts]
    systems = [text.example.system or "" for text in texts]
    used = used_texts(scored_texts([scores], human_scores(texts), groups, systems), level, constant)
    return estimate(
        level_statistic(used, 0, spearman_rows, level, constant),
        used.clusters,
        resamples=RESAMPLES,
        confidence=CONFIDENCE,
        seed=0,
        batch=max(1, BATCH_ELEMENTS // max(1, len(used.human))),
    )
