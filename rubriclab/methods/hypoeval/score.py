"""Ratings and scores by hypotheses (HypoEval, section 2, "Hypothesis-guided text evaluation").

Ratings are requested one by one, all in one call, or as one overall rating.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.settings import Ask, HypoEvalScoringSettings
from rubriclab.methods.method import CriterionRating, scores_of
from rubriclab.methods.prompting import gathered
from rubriclab.methods.replies import Rating, score_entry, why_missing
from rubriclab.models.rubric import (
    Criterion,
    Part,
    by_id,
    criterion_payload,
)
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts import Prompt
from rubriclab.prompts.keyed import AskedEntry, KeyedReply, keyed_reply
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import DIGITS

# The id of a single overall rating by all criteria.
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
    return tuple(await gathered(ratings))


def rate_prompt(example: Example, criteria: Sequence[Criterion], assignment: Assignment) -> Prompt[Rating]:
    """Return the prompt for one rating of `example` by `criteria`."""
    return Prompt("hypoeval/rate", _fields(example, criteria, assignment), Rating, max_tokens=512)


def rate_together_prompt(example: Example, criteria: Sequence[Criterion], assignment: Assignment) -> Prompt[KeyedReply]:
    """Return the prompt for one rating by each of `criteria`, which are listed in the order of ids."""
    longest = 256 + 128 * len(criteria)
    fields = _fields(example, by_id(criteria), assignment)
    score = score_entry(fields)
    form = keyed_reply(tuple(AskedEntry(each["id"], score, names=(each["trait"],)) for each in fields["criteria"]))
    return Prompt("hypoeval/rate_together", fields, form, max_tokens=longest)


async def _once(
    example: Example, criteria: Sequence[Criterion], name: str, assignment: Assignment, judge: Judge
) -> CriterionRating:
    answer = await ask(judge, rate_prompt(example, criteria, assignment))
    if answer.value is None:
        return CriterionRating(name, None, answer.missing)
    return CriterionRating(name, answer.value.score, answer.value.reasoning)


async def _together(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment, judge: Judge
) -> tuple[CriterionRating, ...]:
    prompt = rate_together_prompt(example, criteria, assignment)
    answer = await ask(judge, prompt)
    found = answer.value.entries if answer.value else {}
    missing = why_missing(prompt, answer, "rating") if len(found) < len(criteria) else ""
    return tuple(
        CriterionRating(each.id, entry.score, entry.reason)
        if (entry := found.get(each.id))
        else CriterionRating(each.id, None, missing)
        for each in criteria
    )


def _fields(example: Example, criteria: Sequence[Criterion], assignment: Assignment) -> dict[str, Any]:
    payload = [criterion_payload(criterion) for criterion in criteria]
    return {**assignment.fields(), **assignment.text_fields(example), "criteria": payload}


NEVER_ASKED = "the judge was never asked about this text by this criterion"


class RatingTable:
    """Ratings of training texts by hypotheses. Only missing ones are requested; failed ones are not requested again."""

    def __init__(self, assignment: Assignment, judge: Judge, ask_how: Ask) -> None:
        self._assignment = assignment
        self._judge = judge
        # One overall rating does not distinguish hypotheses, so learning requests a rating by each.
        self._ask_how: Ask = "separately" if ask_how == "concatenated" else ask_how
        # By criterion, then by example.
        self._ratings: dict[str, dict[str, CriterionRating]] = {}

    async def fill(self, criteria: Sequence[Criterion], examples: Sequence[Example]) -> None:
        """Request the ratings of all `examples` by all `criteria` that are not stored yet."""
        await asyncio.gather(*(self._fill_one(example, criteria) for example in examples))

    async def _fill_one(self, example: Example, criteria: Sequence[Criterion]) -> None:
        new = [criterion for criterion in criteria if example.id not in self._ratings.get(criterion.id, {})]
        if new:
            for rated in await rate(example, new, self._assignment, self._judge, self._ask_how):
                self._ratings.setdefault(rated.criterion, {})[example.id] = rated

    def get(self, criterion: str, example: str) -> CriterionRating:
        """Return a stored rating, without a score if it failed.

        Raises:
            KeyError: if it was never requested.
        """
        return self._ratings[criterion][example]

    def rows(self, criteria: Sequence[str], examples: Sequence[str]) -> tuple[tuple[CriterionRating, ...], ...]:
        """Return a row for each example with a rating for each criterion; those never requested have no score."""
        return tuple(tuple(self._rating(criterion, example) for criterion in criteria) for example in examples)

    def matrix(self, criteria: Sequence[str], examples: Sequence[str]) -> FloatArray:
        """Return scores, shape (examples, criteria); NaN if missing or not requested."""
        return scores_of(self.rows(criteria, examples), len(criteria))

    def of(self, criterion: str) -> Mapping[str, CriterionRating]:
        """Return the stored ratings of `criterion`, by example."""
        return self._ratings.get(criterion, {})

    def _rating(self, criterion: str, example: str) -> CriterionRating:
        return self.of(criterion).get(example) or CriterionRating(criterion, None, NEVER_ASKED)


# The least share of the hypotheses' weight with a rating.
LEAST_WEIGHT = 0.5


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the weighted mean over the part's hypotheses, and each rating with its reason.

    The mean is rounded, so that equal means are equal whatever the order of the sum. It is `None` if hypotheses with
    less than half of the weight have a rating.
    """
    settings = HypoEvalScoringSettings.model_validate(part.settings)
    ratings = await rate(example, part.criteria, assignment, judge, settings.ask)
    weights = {criterion.id: criterion.weight for criterion in part.criteria} | {OVERALL: 1.0}
    rated = [(weights[r.criterion], r.score) for r in ratings if r.score is not None]
    weight, total = sum(w for w, _ in rated), sum(weights[r.criterion] for r in ratings)
    if not rated or weight < LEAST_WEIGHT * total:
        return None, ratings
    return round(sum(w * value for w, value in rated) / weight, DIGITS), ratings
