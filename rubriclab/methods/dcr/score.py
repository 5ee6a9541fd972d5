"""A text's score by DCR: reasons for its sentences, their marks, and equation 3 on the rubric's scale."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.dcr.checks import checks, compared
from rubriclab.methods.dcr.evaluate import ReferenceComparison, comparisons, converted, evaluate_prompts, evaluated
from rubriclab.methods.dcr.replies import Mark, Reason, SentenceVerdict, Sign
from rubriclab.methods.dcr.settings import DCRScoringSettings
from rubriclab.methods.method import MISSING, CriterionRating, UnitVerdict
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Part
from rubriclab.segmentation import Material
from rubriclab.stats.interval import DIGITS


def consistency(marks: Sequence[Sign], alpha: float = 0.0, beta: float = 0.0) -> float | None:
    """Return the score in [0, 1] that k marks come to: Z = (sum of marks + alpha) / (k + beta), then (Z + 1) / 2.

    It is `None` where there is no mark, or k + beta is not above zero. With alpha or beta other than 0 it can fall
    outside [0, 1], and is clipped; with both 0 it is the share of positive marks.
    """
    length = len(marks) + beta
    if not marks or length <= 0:
        return None
    return min(1.0, max(0.0, ((sum(marks) + alpha) / length + 1) / 2))


def known(marks: Sequence[Sign | None]) -> tuple[Sign, ...]:
    """Return the marks that are there; none at all where half of them or more are missing."""
    there = tuple(mark for mark in marks if mark is not None)
    return there if len(marks) - len(there) < MISSING * len(marks) else ()


# A score's own reason repeats those of so many sentences; the verdicts have them all.
REPEATED = 3


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """The mark of one sentence, or of a whole text, with its reason; without a mark the reason says what went wrong."""

    mark: Sign | None
    reason: str


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A comparison, and what came of each of its pieces, in their order."""

    comparison: ReferenceComparison
    judged: tuple[JudgedSentence, ...]

    @property
    def marks(self) -> tuple[Sign, ...]:
        """The marks that count; none where too many are missing."""
        return known([each.mark for each in self.judged])

    @property
    def verdicts(self) -> tuple[UnitVerdict, ...]:
        """The verdicts; only those on single sentences of the text that is scored say where these stand."""
        shown = self.comparison
        placed = not (shown.turned or shown.whole)
        side = f"(from the {shown.called}, held against the {shown.label}) " if shown.turned else ""
        return tuple(
            UnitVerdict(piece, (place,) if placed else (), _value(each.mark), f"{side}{each.reason}")
            for place, (piece, each) in enumerate(zip(shown.pieces, self.judged, strict=True))
        )

    @property
    def summary(self) -> str:
        """How many sentences are consistent, and what is wrong with the first that are not."""
        shown, marks = self.comparison, [each.mark for each in self.judged]
        if shown.whole:
            found = "is consistent" if marks == [1] else "is not consistent"
            return f"The {shown.called} {found} with the {shown.label}. {self.judged[0].reason}"
        good, bad = marks.count(1), [at for at, mark in enumerate(marks) if mark == -1]
        told = [f"{good} of {len(marks)} sentences of the {shown.called} are consistent with the {shown.label}."]
        told += [f"Sentence {at + 1}: {self.judged[at].reason}" for at in bad[:REPEATED]]
        told += [f"{len(bad) - REPEATED} more are not."] if len(bad) > REPEATED else []
        told += [f"{marks.count(None)} without a usable mark."] if None in marks else []
        return " ".join(told)

    @property
    def incomplete(self) -> str | None:
        """Why the marks are too few for a score; `None` if they are enough."""
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
