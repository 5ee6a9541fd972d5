"""A text's score from the verdicts on its units, and each question's share of it (SEAL, section 3.5, equations 5 to 7).

Verdicts are arrays of shape (units, questions): 1 for the good answer, 0 for the other, a share of the scale if the
unit was rated, NaN without a usable verdict. A mean is over the verdicts that are present, and missing if half of them
or more are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rubriclab.judges.judge import Judge
from rubriclab.methods.method import MISSING_SHARE, CriterionRating, UnitVerdict
from rubriclab.methods.seal.prompts import VerificationPlan
from rubriclab.methods.seal.settings import UNPACKED, SealScoringSettings
from rubriclab.methods.seal.verify import TextVerdicts, judge_text
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Assignment, Example, Scale
from rubriclab.stats.correlation import FloatArray, float_table
from rubriclab.stats.intervals import DIGITS


def normalised(weights: Sequence[float]) -> FloatArray:
    """Return weights in shares that sum to 1, shape (questions,).

    Equation 5 wants every weight above zero; the prompts of the paper's appendix D allow zero, and so does this.

    Raises:
        ValueError: if one is not a number of zero or more, or none is above zero.
    """
    raw = np.asarray(weights, dtype=float)
    if not ((np.isfinite(raw) & (raw >= 0)).all() and raw.any()):
        raise ValueError(f"weights are numbers of zero or more, at least one of them above zero; got {list(weights)}")
    # Divided by the largest first, since the sum of large numbers may overflow.
    relative = raw / raw.max()
    shares: FloatArray = relative / relative.sum()
    return shares


def unit_scores(verdicts: FloatArray, weights: Sequence[float]) -> FloatArray:
    """Return each unit's weighted share of good verdicts (equation 6) in [0, 1], shape (units,).

    NaN for a unit whose missing verdicts have half of the weight or more.
    """
    shares, present = normalised(weights), ~np.isnan(verdicts)
    # Rounded, so that half is half whatever the order of the sum.
    weight = np.round(present @ shares, 9)
    good = np.where(present, verdicts, 0.0) @ shares
    enough = weight > 1 - MISSING_SHARE
    scores: FloatArray = np.divide(good, present @ shares, out=np.full(len(verdicts), np.nan), where=enough)
    return scores


def dimension_score(verdicts: FloatArray, weights: Sequence[float]) -> float | None:
    """Return the mean over a text's units (equation 7) in [0, 1]; `None` if half of them or more are missing."""
    return _mean(unit_scores(verdicts, weights))


def question_share(verdicts: FloatArray) -> float | None:
    """Return the mean of one question's verdicts over the units; `None` if half of them or more are missing."""
    mean = _mean(verdicts)
    return None if mean is None else round(mean, DIGITS)


def on_scale(share: float, scale: Scale) -> float:
    """Return a share in [0, 1] as a score on `scale`; rounded, so that equal shares stay equal."""
    return round(scale.low + share * scale.width, DIGITS)


def _mean(values: FloatArray) -> float | None:
    present = values[~np.isnan(values)]
    if not len(values) or len(values) - len(present) >= MISSING_SHARE * len(values):
        return None
    return float(np.clip(present.mean(), 0.0, 1.0))


# Units whose reasons are repeated in the reason of a question, and characters of a unit that are quoted there.
TOLD = 3
EXCERPT = 80


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the text's score on the assignment's scale, and each question's rating with its verdicts and reason.

    It is `None` if the text is empty, if half of its units or more have no usable verdicts, or if requested weights are
    unusable. The ratings then have the reason.
    """
    settings = SealScoringSettings.model_validate(part.settings)
    plan = VerificationPlan(part.criteria, part.dimensions or {}, part.units or UNPACKED, assignment, settings)
    return score_verdicts(await judge_text(example, plan, judge), part.criteria, assignment.scale)


def score_verdicts(
    verdicts: TextVerdicts, questions: Sequence[Criterion], scale: Scale
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the text's score on `scale` by the verdicts on these questions, and each question's rating."""
    weights = [(verdicts.weights or {}).get(question.id, question.weight) for question in questions]
    fault = verdicts.fault or (None if any(weights) else "the judge gives none of these questions any weight")
    share = dimension_score(verdict_matrix(verdicts, questions), weights) if verdicts.units and not fault else None
    ratings = rate_questions(verdicts, questions)
    if not fault and (verdicts.weights or len(set(weights)) > 1):
        shares = normalised(weights).tolist()
        ratings = tuple(replace(each, weight=round(w, DIGITS)) for each, w in zip(ratings, shares, strict=True))
    if share is not None:
        return on_scale(share, scale), ratings
    return None, _unscored(ratings, fault)


def rate_questions(verdicts: TextVerdicts, questions: Sequence[Criterion]) -> tuple[CriterionRating, ...]:
    """Return each question's rating, whether or not the text has a score."""
    if not verdicts.units:
        return tuple(CriterionRating(question.id, None, verdicts.fault or "") for question in questions)
    return tuple(_rated(question, verdicts) for question in questions)


def verdict_matrix(verdicts: TextVerdicts, questions: Sequence[Criterion]) -> FloatArray:
    """Return the verdicts as numbers, NaN if missing; shape (units, questions)."""
    rows = [[verdicts.verdicts[unit.id, question.id].value for question in questions] for unit in verdicts.units]
    return float_table(rows, len(questions))


def share(verdicts: TextVerdicts, question: Criterion) -> float | None:
    """Return the mean of a question's verdicts over the text's units; `None` if half of them or more are missing."""
    return question_share(verdict_matrix(verdicts, [question])[:, 0])


def _rated(question: Criterion, text_verdicts: TextVerdicts) -> CriterionRating:
    """Return a question's rating: the share of units that pass, or their mean rating."""
    verdicts = [text_verdicts.verdicts[unit.id, question.id] for unit in text_verdicts.units]
    units = tuple(
        UnitVerdict(unit.words, unit.sentences, verdict.value, verdict.reason, verdict.support)
        for unit, verdict in zip(text_verdicts.units, verdicts, strict=True)
    )
    return CriterionRating(
        question.id, share(text_verdicts, question), _reason(units, rated=text_verdicts.rated), units=units
    )


def _reason(units: Sequence[UnitVerdict], *, rated: bool) -> str:
    """Return a summary: how many units pass, and why the others do not."""
    if len(units) < 2:
        return units[0].reason if units else ""
    present = [unit.value for unit in units if unit.value is not None]
    if rated and present:
        summary = f"{np.mean(present):.0%} of the scale on average over {len(present)} of {len(units)} units"
    else:
        summary = f"{present.count(1.0)} of {len(units)} units pass"
    if missing := len(units) - len(present):
        summary += f", {missing} without a verdict"
    worst = sorted(units, key=lambda unit: 1.0 if unit.value is None else unit.value)
    reasons = [f"{_excerpt(unit.unit)}: {unit.reason.rstrip('.')}" for unit in worst if unit.value != 1.0][:TOLD]
    return f"{summary}: {'; '.join(reasons)}." if reasons else f"{summary}."


def _excerpt(words: str) -> str:
    plain = " ".join(words.split())
    return f"“{plain}”" if len(plain) <= EXCERPT else f"“{plain[:EXCERPT]}…”"


def _unscored(ratings: tuple[CriterionRating, ...], fault: str | None) -> tuple[CriterionRating, ...]:
    """Return the ratings of a text without a score, with the reason: the fault, or what is missing."""
    if fault is None and any(rating.score is None for rating in ratings):
        return ratings
    why = fault or "half or more of its units lack verdicts with half of the weight or more"
    return tuple(replace(rating, score=None, reason=why) for rating in ratings)
