"""Scoring by hypotheses (HypoEval, section 2, "Hypothesis-guided text evaluation")."""

from __future__ import annotations

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.rate import OVERALL, rate
from rubriclab.methods.hypoeval.settings import HypoEvalScoringSettings
from rubriclab.methods.method import CriterionRating
from rubriclab.rubric import Part
from rubriclab.stats.interval import DIGITS

# A mean over less than half of the weight would be a score by another rubric.
LEAST_WEIGHT = 0.5


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the weighted mean over the part's hypotheses, and each rating with its reason.

    The mean is rounded, so that equal means stay equal whatever the order of the sum. It is `None` if hypotheses with
    less than half of the weight could be rated.
    """
    settings = HypoEvalScoringSettings.model_validate(part.settings)
    ratings = await rate(example, part.criteria, assignment, judge, settings.ask)
    weights = {criterion.id: criterion.weight for criterion in part.criteria} | {OVERALL: 1.0}
    rated = [(weights[r.criterion], r.score) for r in ratings if r.score is not None]
    weight, whole = sum(w for w, _ in rated), sum(weights[r.criterion] for r in ratings)
    if not rated or weight < LEAST_WEIGHT * whole:
        return None, ratings
    return round(sum(w * value for w, value in rated) / weight, DIGITS), ratings
