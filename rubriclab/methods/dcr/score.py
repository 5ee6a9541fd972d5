"""A text's score by DCR: reasons for its sentences, their marks, and equation 3 on the rubric's scale."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.dcr.evaluate import (
    ReferenceComparison,
    comparisons,
    convert_reasons,
    evaluate_prompts,
    judge_sentences,
    listed_checks,
    reference_field,
)
from rubriclab.methods.dcr.replies import Mark, Reason, SentenceVerdict, Sign
from rubriclab.methods.dcr.settings import DCRScoringSettings
from rubriclab.methods.method import MISSING_SHARE, CriterionRating, UnitVerdict
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Part
from rubriclab.segmentation import Material
from rubriclab.stats.interval import DIGITS


def consistency(marks: Sequence[Sign]) -> float:
    """Return the share of positive marks: Z = sum of marks / number of marks, then (Z + 1) / 2 (equation 3).

    The equation's alpha and beta, which discount reasons about the whole text (appendix E.4), are 0: here every reason
    is about a sentence.
    """
    return (sum(marks) / len(marks) + 1) / 2


def usable_marks(marks: Sequence[Sign | None]) -> tuple[Sign, ...]:
    """Return the marks that are not missing; none if half of them or more are missing."""
    present = tuple(mark for mark in marks if mark is not None)
    return present if len(marks) - len(present) < MISSING_SHARE * len(marks) else ()


# Sentences whose reasons are repeated in the reason of a score.
REPEATED = 3


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """The mark of a sentence or a whole text with its reason, or no mark and what went wrong."""

    mark: Sign | None
    reason: str


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A comparison, and the result for each of its pieces, in order."""

    comparison: ReferenceComparison
    judged: tuple[JudgedSentence, ...]

    @property
    def marks(self) -> tuple[Sign, ...]:
        """The marks, without missing ones; none if too many are missing."""
        return usable_marks([each.mark for each in self.judged])

    @property
    def verdicts(self) -> tuple[UnitVerdict, ...]:
        """The verdicts; only those on single sentences of the scored text have the index of the sentence."""
        shown = self.comparison
        placed = not (shown.turned or shown.whole)
        side = f"(from the {shown.called}, held against the {shown.label}) " if shown.turned else ""
        return tuple(
            UnitVerdict(piece, (place,) if placed else (), _value(each.mark), f"{side}{each.reason}")
            for place, (piece, each) in enumerate(zip(shown.pieces, self.judged, strict=True))
        )

    @property
    def summary(self) -> str:
        """The number of consistent sentences, and the reasons of the first inconsistent ones."""
        shown, marks = self.comparison, [each.mark for each in self.judged]
        if shown.whole:
            verb = "is consistent" if marks == [1] else "is not consistent"
            return f"The {shown.called} {verb} with the {shown.label}. {self.judged[0].reason}"
        good, bad = marks.count(1), [at for at, mark in enumerate(marks) if mark == -1]
        parts = [f"{good} of {len(marks)} sentences of the {shown.called} are consistent with the {shown.label}."]
        parts += [f"Sentence {at + 1}: {self.judged[at].reason}" for at in bad[:REPEATED]]
        parts += [f"{len(bad) - REPEATED} more are not."] if len(bad) > REPEATED else []
        parts += [f"{marks.count(None)} without a usable mark."] if None in marks else []
        return " ".join(parts)

    @property
    def incomplete(self) -> str | None:
        """Why there are too few marks for a score; `None` if there are enough."""
        if self.marks:
            return None
        lacking = [each.reason for each in self.judged if each.mark is None]
        of = f"{len(self.judged)} sentences of the {self.comparison.called}"
        return f"{len(lacking)} of {of} without a usable mark; the first: {lacking[0]}"


def _value(mark: Sign | None) -> float | None:
    return None if mark is None else float(mark == 1)


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the text's score on the assignment's scale, and its rating with a verdict on each sentence.

    The score is `None` if the text or its reference has no sentence, or if half of the marks or more are missing.

    Raises:
        ChecklistError: if the part does not name the text to compare with.
    """
    settings = DCRScoringSettings.model_validate(part.settings)
    rating = await rate(example, part.criteria[0], reference_field(part.units), assignment, judge, settings=settings)
    return rating.score, (rating,)


async def rate(
    example: Example,
    criterion: Criterion,
    material: Material,
    assignment: Assignment,
    judge: Judge,
    *,
    settings: DCRScoringSettings,
) -> CriterionRating:
    """Return the text's rating by the checks of `criterion`, compared with its field `material`."""
    compared = comparisons(example, material, assignment, settings)
    if isinstance(compared, str):
        return CriterionRating(criterion.id, None, compared)
    shown = listed_checks(criterion)
    results = await asyncio.gather(*(_compare(each, shown, assignment, judge, settings) for each in compared))
    units = tuple(chain.from_iterable(each.verdicts for each in results))
    share, reason = _share(results)
    if share is None:
        return CriterionRating(criterion.id, None, reason, units=units)
    scale = assignment.scale
    return CriterionRating(criterion.id, round(scale.low + share * scale.width, DIGITS), reason, units=units)


def _share(results: Sequence[ComparedText]) -> tuple[float | None, str]:
    """Return the mean score of the comparisons in [0, 1] with its reason; or why there is none."""
    incomplete = next((result.incomplete for result in results if result.incomplete), None)
    if incomplete:
        return None, incomplete
    return sum(consistency(each.marks) for each in results) / len(results), " ".join(each.summary for each in results)


async def _compare(
    comparison: ReferenceComparison,
    shown: Sequence[str],
    assignment: Assignment,
    judge: Judge,
    settings: DCRScoringSettings,
) -> ComparedText:
    prompts = evaluate_prompts(comparison, shown, assignment, settings)
    portions = await asyncio.gather(*(_judge_chunk(prompt, judge) for prompt in prompts))
    return ComparedText(comparison, tuple(chain.from_iterable(portions)))


async def _judge_chunk(prompt: Prompt[Any], judge: Judge) -> list[JudgedSentence]:
    """Return the result for each of the sentences of `prompt`, in order."""
    reasons_or_faults = await judge_sentences(prompt, judge)
    marks: Mapping[int, Mark | str] = {}
    if not prompt.fields["verdict"]:
        reasons = {number: each.reason for number, each in reasons_or_faults.items() if isinstance(each, Reason)}
        marks = await convert_reasons(reasons, judge)
    return [_judged(each, marks.get(number)) for number, each in reasons_or_faults.items()]


def _judged(reason: Reason | str, mark: Mark | str | None) -> JudgedSentence:
    if isinstance(reason, str):
        return JudgedSentence(None, reason)
    if isinstance(reason, SentenceVerdict):
        return JudgedSentence(1 if reason.consistent == "yes" else -1, reason.reason)
    if isinstance(mark, Mark):
        return JudgedSentence(mark.mark, reason.reason)
    return JudgedSentence(None, f"{reason.reason} (This reason has no mark: {mark})")
