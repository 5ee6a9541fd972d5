"""Whether the scores of a text before and after a rewriting come from the same questions.

A score is a mean over the verdicts that are there, so it rises when a bad one goes missing; and one over sentences has
little to do with one of the whole, as SEAL gives to a text that has become too short.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rubriclab.scoring.score import CriterionScore, Score

Origins = Sequence[Collection[int]]
"""For each sentence of a rewritten text, in order, the places of the sentences that it was before, from 0."""


def judged_by_sentence(criterion: CriterionScore) -> bool:
    """Return whether some verdict of the criterion names the sentences that it is about."""
    return any(unit.sentences for unit in criterion.units)


def incomparable(before: Score, after: Score, origins: Origins) -> str | None:
    """Return why the score of a rewritten text cannot be held against the one before; `None` where it can."""
    now = {criterion.id: criterion for criterion in after.criteria}
    for criterion in before.criteria:
        if criterion.id not in now:
            return f"{criterion.id} was judged before and is no more"
        if why := _incomparable(criterion, now[criterion.id], origins):
            return f"{criterion.id} {why}"
    return None


def _incomparable(before: CriterionScore, after: CriterionScore, origins: Origins) -> str | None:
    if (lost := _unanswered(after) - _unanswered(before)) > 0:
        return f"lacks {lost} more of its verdicts on the whole"
    ways = ["sentence by sentence" if judged_by_sentence(each) else "as a whole" for each in (before, after)]
    if ways[0] != ways[1]:
        return f"judged the text {ways[0]} before and {ways[1]} after, which cannot be compared"
    verdicts, found = _by_sentence(before), _by_sentence(after)
    for place, came_from in enumerate(origins):
        old = [value for origin in came_from for value in verdicts.get(origin, ())]
        if _is_lost(old, found.get(place, [])):
            return f"lacks a verdict on sentence {place + 1}, which had one before"
    return None


def _unanswered(criterion: CriterionScore) -> int:
    """Return how many answers about the whole text are missing."""
    if criterion.units:
        return sum(unit.value is None for unit in criterion.units if not unit.sentences)
    return criterion.answers_missing


def _by_sentence(criterion: CriterionScore) -> Mapping[int, list[float | None]]:
    found: dict[int, list[float | None]] = {}
    for unit in criterion.units:
        for place in unit.sentences:
            found.setdefault(place, []).append(unit.value)
    return found


def _is_lost(old: Sequence[float | None], new: Sequence[float | None]) -> bool:
    answered = len(new) > new.count(None)
    return (len(old) > old.count(None) and not answered) or new.count(None) > old.count(None)
