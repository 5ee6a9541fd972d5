"""Scoring by hypotheses (HypoEval, section 2, "Hypothesis-guided text evaluation")."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.replies import HypothesisRatings
from rubriclab.methods.hypoeval.settings import Ask, HypoEvalScoringSettings
from rubriclab.methods.method import CriterionRating, scores_of
from rubriclab.methods.replies import Rating
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Part, by_id, criterion_payload
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS

# The id under which a single overall rating by all criteria is reported.
OVERALL = "overall"


async def rate(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment, judge: Judge, ask_how: Ask
) -> tuple[CriterionRating, ...]:
    """Return one rating for each criterion, in order; for `concatenated` a single one with the id `overall`."""
    if ask_how == "together" and len(criteria) > 1:
        return await _together(example, criteria, assignment, judge)
    if ask_how == "concatenated":
        return (await _once(example, criteria, OVERALL, assignment, judge),)
    ratings = (_once(example, [criterion], criterion.id, assignment, judge) for criterion in criteria)
    return tuple(await asyncio.gather(*ratings))


def rate_prompt(example: Example, criteria: Sequence[Criterion], assignment: Assignment) -> Prompt[Rating]:
    """Return the prompt for one rating of `example` by `criteria`."""
    return Prompt("hypoeval/rate", _fields(example, criteria, assignment), Rating, max_tokens=512)


def rate_together_prompt(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment
) -> Prompt[HypothesisRatings]:
    """Return the prompt for one rating by each of `criteria` in a single call; it lists them in the order of ids."""
    longest = 256 + 128 * len(criteria)
    fields = _fields(example, by_id(criteria), assignment)
    return Prompt("hypoeval/rate_together", fields, HypothesisRatings, max_tokens=longest)


async def _once(
    example: Example, criteria: Sequence[Criterion], name: str, assignment: Assignment, judge: Judge
) -> CriterionRating:
    answer = await ask(judge, rate_prompt(example, criteria, assignment))
    if answer.value is None:
        return CriterionRating(name, None, answer.missing or "")
    return CriterionRating(name, answer.value.score, answer.value.reasoning)


async def _together(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment, judge: Judge
) -> tuple[CriterionRating, ...]:
    answer = await ask(judge, rate_together_prompt(example, criteria, assignment))
    if answer.value is None:
        return tuple(CriterionRating(criterion.id, None, answer.missing or "") for criterion in criteria)
    given = {rating.criterion: rating for rating in answer.value.ratings}
    return tuple(CriterionRating(c.id, given[c.id].score, given[c.id].reasoning) for c in criteria)


def _fields(example: Example, criteria: Sequence[Criterion], assignment: Assignment) -> dict[str, Any]:
    payload = [criterion_payload(criterion) for criterion in criteria]
    return {**assignment.fields(), **assignment.text_fields(example), "criteria": payload}


NEVER_ASKED = "the judge was never asked about this text by this criterion"


class RatingTable:
    """Ratings of training texts by hypotheses; asks the judge only for what it does not hold.

    A failed rating is held too, not asked again: the judge has tried what it could.
    """

    def __init__(self, assignment: Assignment, judge: Judge, ask_how: Ask) -> None:
        self._assignment = assignment
        self._judge = judge
        # One overall rating cannot tell hypotheses apart, so learning asks for each one even where scoring will not.
        self._ask_how: Ask = "separately" if ask_how == "concatenated" else ask_how
        # By criterion, then by example.
        self._held: dict[str, dict[str, CriterionRating]] = {}

    async def fill(self, criteria: Sequence[Criterion], examples: Sequence[Example]) -> None:
        """Ask for the ratings of all `examples` by all `criteria` that are not held yet."""
        await asyncio.gather(*(self._fill_one(example, criteria) for example in examples))

    async def _fill_one(self, example: Example, criteria: Sequence[Criterion]) -> None:
        new = [criterion for criterion in criteria if example.id not in self._held.get(criterion.id, {})]
        if new:
            for rated in await rate(example, new, self._assignment, self._judge, self._ask_how):
                self._held.setdefault(rated.criterion, {})[example.id] = rated

    def get(self, criterion: str, example: str) -> CriterionRating:
        """Return a rating held, which has no score where it failed.

        Raises:
            KeyError: if it was never asked for.
        """
        return self._held[criterion][example]

    def rows(self, criteria: Sequence[str], examples: Sequence[str]) -> tuple[tuple[CriterionRating, ...], ...]:
        """Return a row for each example with a rating for each criterion; those never asked for have no score."""
        return tuple(tuple(self._rating(criterion, example) for criterion in criteria) for example in examples)

    def matrix(self, criteria: Sequence[str], examples: Sequence[str]) -> FloatArray:
        """Return scores, shape (examples, criteria); NaN where missing or not asked."""
        return scores_of(self.rows(criteria, examples), len(criteria))

    def of(self, criterion: str) -> Mapping[str, CriterionRating]:
        """Return the ratings of `criterion` that are held, by example."""
        return self._held.get(criterion, {})

    def _rating(self, criterion: str, example: str) -> CriterionRating:
        return self.of(criterion).get(example) or CriterionRating(criterion, None, NEVER_ASKED)


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
