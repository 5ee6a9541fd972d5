"""A text's score by DCR: reasons for its sentences, their marks, and equation 3 on the rubric's scale."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.dcr.aggregate import consistency
from rubriclab.methods.dcr.checks import checks, compared
from rubriclab.methods.dcr.convert import converted
from rubriclab.methods.dcr.evaluate import ReferenceComparison, comparisons, evaluate_prompts, evaluated
from rubriclab.methods.dcr.replies import Mark, Reason, SentenceVerdict
from rubriclab.methods.dcr.settings import DCRScoringSettings
from rubriclab.methods.dcr.verdicts import ComparedText, JudgedSentence
from rubriclab.methods.method import CriterionRating
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Part
from rubriclab.segmentation import Material
from rubriclab.stats.interval import DIGITS


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the text's score on the assignment's scale, and the rating it is, with a verdict on each sentence.

    It is `None` where the text or what it is held against has no sentence, where half of the marks or more are missing,
    and where equation 3 divides by nothing.

    Raises:
        ChecklistError: if the part does not say what the sentences are held against.
    """
    settings = DCRScoringSettings.model_validate(part.settings)
    found = await rate(example, part.criteria[0], compared(part.units), assignment, judge, settings=settings)
    return found.score, (found,)


async def rate(
    example: Example,
    criterion: Criterion,
    material: Material,
    assignment: Assignment,
    judge: Judge,
    *,
    settings: DCRScoringSettings,
) -> CriterionRating:
    """Return the text's rating by the checks of `criterion`, held against its `material`."""
    given = comparisons(example, material, assignment, settings)
    if isinstance(given, str):
        return CriterionRating(criterion.id, None, given)
    shown = checks(criterion)
    found = await asyncio.gather(*(_compared(each, shown, assignment, judge, settings) for each in given))
    units = tuple(chain.from_iterable(each.verdicts for each in found))
    share, reason = _share(found, settings)
    if share is None:
        return CriterionRating(criterion.id, None, reason, units=units)
    scale = assignment.scale
    return CriterionRating(criterion.id, round(scale.low + share * scale.width, DIGITS), reason, units=units)


def _share(found: Sequence[ComparedText], settings: DCRScoringSettings) -> tuple[float | None, str]:
    """Return the mean score of the comparisons, in [0, 1], with its reason; or why there is none."""
    shares = []
    for each in found:
        if each.incomplete:
            return None, each.incomplete
        share = consistency(each.marks, settings.alpha, settings.beta)
        if share is None:
            return None, f"equation 3 divides by marks + beta = {len(each.marks) + settings.beta:g}, not above zero"
        shares.append(share)
    return sum(shares) / len(shares), " ".join(each.summary for each in found)


async def _compared(
    comparison: ReferenceComparison,
    shown: Sequence[str],
    assignment: Assignment,
    judge: Judge,
    settings: DCRScoringSettings,
) -> ComparedText:
    prompts = evaluate_prompts(comparison, shown, assignment, settings)
    portions = await asyncio.gather(*(_portion(prompt, judge) for prompt in prompts))
    return ComparedText(comparison, tuple(chain.from_iterable(portions)))


async def _portion(prompt: Prompt[Any], judge: Judge) -> list[JudgedSentence]:
    """Return what was found of each of the sentences that `prompt` asks about, in their order."""
    found = await evaluated(prompt, judge)
    marks: Mapping[int, Mark | str] = {}
    if not prompt.fields["verdict"]:
        reasons = {number: each.reason for number, each in found.items() if isinstance(each, Reason)}
        marks = await converted(reasons, judge)
    return [_judged(each, marks.get(number)) for number, each in found.items()]


def _judged(found: Reason | str, mark: Mark | str | None) -> JudgedSentence:
    if isinstance(found, str):
        return JudgedSentence(None, found)
    if isinstance(found, SentenceVerdict):
        return JudgedSentence(1 if found.consistent == "yes" else -1, found.reason)
    if isinstance(mark, Mark):
        return JudgedSentence(mark.mark, found.reason)
    return JudgedSentence(None, f"{found.reason} (This reason has no mark: {mark})")
