"""The findings of a transfer, in the order of their importance."""

from __future__ import annotations

import pytest

from rubriclab.data.scale import Scale
from rubriclab.report.transfer import sentences
from rubriclab.stats.interval import Interval
from rubriclab.transfer.recommendation import ActionAdvice, ActionComparison
from rubriclab.transfer.results import ActionEvaluation, Transfer


def first_sentence(reuse: Interval, *, held_out: int = 40) -> str:
    """Return the first finding, where `reuse` has this error on held-out labels, less that of the advised action."""
    compared = tuple(
        ActionComparison(action=action, gain=Interval(gain), excess_error=Interval(excess))
        for action, gain, excess in (("reuse", 0.0, 0.3), ("relearn", 0.3, 0.0))
    )
    actions = (
        ActionEvaluation(action="reuse", excess_error=reuse),
        ActionEvaluation(action="relearn", excess_error=Interval(0.0, 0.0, 0.0)),
    )
    scale = Scale(low=1, high=5, whole=True)
    transfer = Transfer(
        rubric="news@1",
        judge="embedded",
        calibrated_for="embedded",
        target="blog.jsonl",
        aspect="coherence",
        source_aspect="coherence",
        scale=scale,
        source_scale=scale,
        texts=80,
        unscored=0,
        labels=40,
        held_out_labels=held_out,
        actions=actions,
        advice=ActionAdvice(action="relearn", compared=compared),
    )
    return next(sentences(transfer))


def test_held_out_labels_that_contradict_the_advice_come_first() -> None:
    assert first_sentence(Interval(-0.2, -0.3, -0.1)) == (
        "Check failed: on the 40 labels held out to check this, reuse has smaller errors than relearn, by 0.20 "
        "[0.10, 0.30], which contradicts the recommendation below. Prefer reuse."
    )


def test_a_contradiction_that_may_be_chance_is_said_to_be_one() -> None:
    assert first_sentence(Interval(-0.2, -0.5, 0.1)).startswith("The check does not confirm the recommendation below: ")
    assert first_sentence(Interval(-0.2, -0.5, 0.1)).endswith("which may be due to chance.")


@pytest.mark.parametrize("reuse", [Interval(0.2, 0.1, 0.3), Interval(None)])
def test_without_a_contradiction_the_advice_comes_first(reuse: Interval) -> None:
    assert first_sentence(reuse).startswith("Relearn it: ")
