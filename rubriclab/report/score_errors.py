"""How far scores are from labels in points of the scale, and how many labels lie in the scores' intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rubriclab.report.describe import percent
from rubriclab.report.model import Words, quoted
from rubriclab.report.texts import JudgedText
from rubriclab.report.wording import count

if TYPE_CHECKING:
    from rubriclab.store.version import Version


def error_sentence(version: Version, texts: Sequence[JudgedText]) -> Words:
    """Return a version's mean absolute error, bias and coverage in one sentence; empty if no text has a score.

    Args:
        texts: with labels and scores, on the scale of the rubric's scores.
    """
    scored = [text for text in texts if text.score.score is not None]
    if not scored:
        return ""
    errors = np.array([(text.score.score or 0.0) - text.human for text in scored])
    error, bias = float(np.abs(errors).mean()), float(errors.mean())
    return (
        quoted(version.ref),
        f": mean absolute error {error:.2f} points, bias {bias:+.2f} (mean of score minus label), on "
        f"{count(len(scored), 'text')}{_coverage(version, scored)}.",
    )


def _coverage(version: Version, texts: Sequence[JudgedText]) -> str:
    conformal = version.rubric.aggregation and version.rubric.aggregation.conformal
    known = [(text.human, text.score.interval) for text in texts if text.score.interval]
    if not conformal or not known:
        return ""
    inside = sum(low <= label <= high for label, (low, high) in known)
    return (
        f"; {inside:,} of {count(len(known), 'label')} ({percent(inside / len(known))}) lie in the "
        f"{percent(conformal.confidence)} intervals of the scores"
    )
