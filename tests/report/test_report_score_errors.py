"""Errors of scores in points, and the labels that their intervals cover."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from joint_samples import joint_version
from report_samples import version

from rubriclab.report.model import spans
from rubriclab.report.score_errors import error_sentence


def said(one: Any, *texts: tuple[float, float | None, tuple[float, float] | None]) -> str:
    judged: Any = [
        SimpleNamespace(human=label, score=SimpleNamespace(score=score, interval=ends)) for label, score, ends in texts
    ]
    return "".join(span.words for span in spans(error_sentence(one, judged)))


def test_error_bias_and_coverage_are_stated_with_the_number_of_texts() -> None:
    words = said(joint_version(), (3, 4, (3, 5)), (2, 2.5, (2.2, 3)), (5, None, None))
    assert "mean absolute error 0.75 points, bias +0.75" in words
    assert "on 2 texts; 1 of 2 labels (50 %) lie in the 90 % intervals" in words


def test_without_intervals_coverage_is_not_stated_and_without_scores_nothing_is() -> None:
    assert said(version(), (3, 4, None)).endswith("on 1 text.")
    assert said(version(), (3, None, None)) == ""
