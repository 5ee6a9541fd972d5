"""A text's score by the verdicts on its units, and each question's part in it (SEAL, equations 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges.judge import Judge
from rubriclab.methods.method import MISSING, CriterionRating, UnitVerdict
from rubriclab.methods.seal.inquiry import Examination
from rubriclab.methods.seal.settings import UNPACKED, SealScoringSettings
from rubriclab.methods.seal.verify import JudgedUnit, judge_text
from rubriclab.rubric import Criterion, Part
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS


def normalised(weights: Sequence[float]) -> FloatArray:
    """Return weights in shares that sum to 1, shape (questions,).

    Equation 5 wants every weight above zero; the prompts of the paper's appendix D allow zero, and so does this.

    Raises:
        ValueError: if one is not a number of zero or more, or none is above zero.
    """
    raw = np.asarray(weights, dtype=float)
    if not ((np.isfinite(raw) & (raw >= 0)).all() and raw.any()):
        raise ValueError(f"weights are numbers of zero or more, at least one of them above zero; got {list(weights)}")
    # By the largest first: the sum of large numbers may be none.
    relative = raw / raw.max()
    shares: FloatArray = relative / relative.sum()
    return shares


def unit_scores(values: FloatArray, weights: Sequence[float]) -> FloatArray:
    """Return each unit's weighted share of good verdicts (equation 6) in [0, 1], shape (units,).

    NaN for a unit whose missing verdicts have half of the weight or more.
    """
    shares, given = normalised(weights), ~np.isnan(values)
    # Rounded, so that half is half whatever the order of the sum.
    weight = np.round(given @ shares, 9)
    good = np.where(given, values, 0.0) @ shares
    enough = weight > 1 - MISSING
    scores: FloatArray = np.divide(good, given @ shares, out=np.full(len(values), np.nan), where=enough)
    return scores


def dimension_score(values: FloatArray, weights: Sequence[float]) -> float | None:
    """Return the mean over a text's units (equation 7) in [0, 1]; `None` where half of them or more are missing."""
    return _mean(unit_scores(values, weights))


def question_share(verdicts: FloatArray) -> float | None:
    """Return the mean of one question's verdicts over the units; `None` where half of them or more are missing."""
    found = _mean(verdicts)
    return None if found is None else round(found, DIGITS)


def on_scale(share: float, scale: Scale) -> float:
    """Return a share in [0, 1] as a score on `scale`; rounded, so that equal shares stay equal."""
    return round(scale.low + share * scale.width, DIGITS)


def _mean(values: FloatArray) -> float | None:
    given = values[~np.isnan(values)]
    if not len(values) or len(values) - len(given) >= MISSING * len(values):
        return None
    return float(np.clip(given.mean(), 0.0, 1.0))


# A question's reason tells so many of its units' reasons, and of a unit so many characters.
TOLD = 3
EXCERPT = 80


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the text's score on the assignment's scale, and each question's rating with its verdicts and reason.

    It is `None` where the text is empty, where half of its units or more have no usable verdicts, or where the judge
    was to weigh the questions and gave no usable weights. The reason then stands in the ratings.
    """
    settings = SealScoringSettings.model_validate(part.settings)
    exam = Examination(part.criteria, part.dimensions or {}, part.units or UNPACKED, assignment, settings)
    return scored(await judge_text(example, exam, judge), part.criteria, assignment.scale)


def scored(
    found: JudgedUnit, questions: Sequence[Criterion], scale: Scale
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return what the verdicts on these questions come to: the text's score on `scale`, and each question's rating."""
    weights = [(found.weights or {}).get(question.id, question.weight) for question in questions]
    fault = found.fault or (None if any(weights) else "the judge gives none of these questions any weight")
    share = dimension_score(values(found, questions), weights) if found.units and not fault else None
    ratings = rated(found, questions)
    if not fault and (found.weights or len(set(weights)) > 1):
        shares = normalised(weights).tolist()
        ratings = tuple(replace(each, weight=round(w, DIGITS)) for each, w in zip(ratings, shares, strict=True))
    if share is not None:
        return on_scale(share, scale), ratings
    return None, _unscored(ratings, fault)


def rated(found: JudgedUnit, questions: Sequence[Criterion]) -> tuple[CriterionRating, ...]:
    """Return each question's rating by itself, whether or not the text has a score."""
    if not found.units:
        return tuple(CriterionRating(question.id, None, found.fault or "") for question in questions)
    return tuple(_rated(question, found) for question in questions)


def values(found: JudgedUnit, questions: Sequence[Criterion]) -> FloatArray:
    """Return the verdicts as numbers, NaN where there is none; shape (units, questions)."""
    rows = [[found.verdicts[unit.id, question.id].value for question in questions] for unit in found.units]
    return np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=float).reshape(
        len(found.units), len(questions)
    )


def share(found: JudgedUnit, question: Criterion) -> float | None:
    """Return the mean of a question's verdicts over the text's units; `None` where half of them or more are missing."""
    return question_share(values(found, [question])[:, 0])


def _rated(question: Criterion, found: JudgedUnit) -> CriterionRating:
    """Return a question's rating: the share of units that pass, or what they were rated on average."""
    verdicts = [found.verdicts[unit.id, question.id] for unit in found.units]
    units = tuple(
        UnitVerdict(unit.words, unit.sentences, verdict.value, verdict.reason, verdict.support)
        for unit, verdict in zip(found.units, verdicts, strict=True)
    )
    return CriterionRating(question.id, share(found, question), _reason(units, rated=found.rated), units=units)


def _reason(units: Sequence[UnitVerdict], *, rated: bool) -> str:
    """Return what was found in short: how many units pass, and why the others do not."""
    if len(units) < 2:
        return units[0].reason if units else ""
    given = [unit.value for unit in units if unit.value is not None]
    if rated and given:
        told = f"{np.mean(given):.0%} of the scale on average over {len(given)} of {len(units)} units"
    else:
        told = f"{given.count(1.0)} of {len(units)} units pass"
    if missing := len(units) - len(given):
        told += f", {missing} without a verdict"
    worst = sorted(units, key=lambda unit: 1.0 if unit.value is None else unit.value)
    reasons = [f"{_excerpt(unit.unit)}: {unit.reason.rstrip('.')}" for unit in worst if unit.value != 1.0][:TOLD]
    return f"{told}: {'; '.join(reasons)}." if reasons else f"{told}."


def _excerpt(words: str) -> str:
    plain = " ".join(words.split())
    return f"“{plain}”" if len(plain) <= EXCERPT else f"“{plain[:EXCERPT]}…”"


def _unscored(ratings: tuple[CriterionRating, ...], fault: str | None) -> tuple[CriterionRating, ...]:
    """Return the ratings of a text without a score, in which the reason stands: the fault, or what is missing."""
    if fault is None and any(rating.score is None for rating in ratings):
        return ratings
    why = fault or "half or more of its units lack verdicts with half of the weight or more"
    return tuple(replace(rating, score=None, reason=why) for rating in ratings)
