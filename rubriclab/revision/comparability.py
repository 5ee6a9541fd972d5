"""Whether the scores of a text before and after a rewriting are based on the same questions.

A score is a mean over the verdicts that exist, so it rises if a bad one goes missing; and a score by sentences is not
comparable with one of the whole text, as SEAL gives to a text that has become too short.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rubriclab.scoring.score import CriterionScore, Score

Origins = Sequence[Collection[int]]
"""For each sentence of a rewritten text, the indices of the sentences that it was before, from 0."""


def judged_by_sentence(criterion: CriterionScore) -> bool:
    """Return whether some verdict of the criterion names the sentences that it is about."""
    return any(unit.sentences for unit in criterion.units)


def incomparable(before: Score, after: Score, origins: Origins) -> str | None:
    """Return why the score of a rewritten text cannot be compared with the one before; `None` if it can."""
    scores_after = {criterion.id: criterion for criterion in after.criteria}
    for criterion in before.criteria:
        if criterion.id not in scores_after:
            return f"{criterion.id} was judged before only"
        if reason := _incomparable(criterion, scores_after[criterion.id], origins):
            return f"{criterion.id} {reason}"
    return None


def _incomparable(before: CriterionScore, after: CriterionScore, origins: Origins) -> str | None:
    if (lost := _unanswered(after) - _unanswered(before)) > 0:
        return f"lacks {lost} more of its verdicts on the whole text"
    kinds = ["by sentence" if judged_by_sentence(score) else "as a whole" for score in (before, after)]
    if kinds[0] != kinds[1]:
        return f"judged the text {kinds[0]} before and {kinds[1]} after"
    verdicts_before, verdicts_after = _by_sentence(before), _by_sentence(after)
    for sentence, origin in enumerate(origins):
        old = [verdict for index in origin for verdict in verdicts_before.get(index, ())]
        if _lost(old, verdicts_after.get(sentence, [])):
            return f"lacks a verdict on sentence {sentence + 1}, which had one before"
    return None


def _unanswered(criterion: CriterionScore) -> int:
    """Return the number of missing answers about the whole text."""
    if criterion.units:
        return sum(unit.value is None for unit in criterion.units if not unit.sentences)
    return criterion.answers_missing


def _by_sentence(criterion: CriterionScore) -> Mapping[int, list[float | None]]:
    verdicts: dict[int, list[float | None]] = {}
    for unit in criterion.units:
        for sentence in unit.sentences:
            verdicts.setdefault(sentence, []).append(unit.value)
    return verdicts


def _lost(old: Sequence[float | None], new: Sequence[float | None]) -> bool:
    answered_before, answered_after = len(old) > old.count(None), len(new) > new.count(None)
    return (answered_before and not answered_after) or new.count(None) > old.count(None)
