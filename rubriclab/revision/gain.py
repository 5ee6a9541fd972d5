"""The gain of revisions over many texts, by the judge they were made for and by an independent second judge.

A rewriting is made from the judge's reasons and accepted if its score rises, so the judge's own gain is optimistic:
part of it is selected noise. The second judge may reject what it scores lower, so its gain over the final texts cannot
be negative, even if its scores are random. The unbiased figure is its score of what the judge alone would have
accepted, before its veto: of each text the first such rewriting, as later ones exist because it rejected one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from rubriclab.revision.record import Improvement, RevisionOutcome, RevisionRound, value
from rubriclab.revision.rewrite import sentences_changed
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import Score
from rubriclab.sentences import split_sentences
from rubriclab.stats.bootstrap import clustered_mean
from rubriclab.stats.correlation import BoolArray
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval
from rubriclab.stats.missing import float_table

OUTCOMES: tuple[RevisionOutcome, ...] = get_args(RevisionOutcome)

Pair = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class RevisionMetrics:
    """What a summary needs of one text, without its words.

    Attributes:
        group: the input that it shares with other texts.
        scores, second_scores: before and after.
        unselected: the second judge's scores before and after the first rewriting that the judge accepted, if both
            are comparable.
        accepted_by_judge: whether there is such a rewriting.
        criteria: scores before and after by each criterion.
        sentences, changed: of the original text, and how many of them were changed.
    """

    group: str
    outcome: RevisionOutcome
    scores: Pair
    second_scores: Pair
    unselected: Pair
    accepted_by_judge: bool
    criteria: Mapping[str, Pair]
    sentences: int
    changed: int


@dataclass(frozen=True, slots=True)
class ScoreGain:
    """Mean scores before and after, and the mean paired gain with its interval, over the texts with both."""

    name: str
    texts: int
    before: float | None
    after: float | None
    gain: Interval


@dataclass(frozen=True, slots=True)
class RevisionSummary:
    """The revision of many texts.

    Attributes:
        texts: rows, including those without a text.
        outcomes: number of texts by outcome.
        sentences, changed: of all texts that could be compared.
        judge: the gain by the judge that decided.
        second_judge_before_veto: the second judge's gain by the first rewriting of each text that the judge accepted,
            which the second judge had no part in selecting.
        second_judge_after_veto: its gain by the final texts, without the rewritings that it rejected.
        criteria: the judge's gain by each criterion.
        first_rewritings: of those that the judge accepted, how many the second judge scores `higher`, `equal` or
            `lower`, and how many are `unclear`.
    """

    rubric: str
    texts: int
    outcomes: Mapping[RevisionOutcome, int]
    sentences: int
    changed: int
    judge: ScoreGain
    second_judge_before_veto: ScoreGain | None
    second_judge_after_veto: ScoreGain | None
    criteria: tuple[ScoreGain, ...]
    first_rewritings: Mapping[str, int]

    def to_row(self) -> dict[str, Any]:
        """Return all of it as one JSON object."""
        return asdict(self)


def revision_metrics(text: Improvement) -> RevisionMetrics:
    """Return what a summary needs of one text."""
    original, final = (text.example.output if text.example else ""), text.output or ""
    compared = text.unscored is None
    first = next((each for each in text.rounds if each.accepted_by_judge), None)
    return RevisionMetrics(
        group=text.example.group if text.example else text.id,
        outcome=text.outcome,
        scores=(value(text.before), value(text.after)),
        second_scores=(value(text.second_before), value(text.second_after)),
        unselected=_unselected(text, first),
        accepted_by_judge=first is not None,
        criteria=_paired(text.before, text.after),
        sentences=len(split_sentences(original)) if compared else 0,
        changed=sentences_changed(original, final) if compared else 0,
    )


def summarize_revisions(
    rubric: Rubric, ref: str, texts: Sequence[RevisionMetrics], judge: str, second_judge: str | None
) -> RevisionSummary:
    """Return the summary of texts revised by `rubric`, whose version is `ref`, and these judges."""
    outcomes = Counter(text.outcome for text in texts)
    traits = {criterion.id: criterion.trait for criterion in rubric.criteria}
    ids = dict.fromkeys(name for text in texts for name in text.criteria)
    unselected, selected = [text.unselected for text in texts], [text.second_scores for text in texts]
    return RevisionSummary(
        rubric=ref,
        texts=len(texts),
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        sentences=sum(text.sentences for text in texts),
        changed=sum(text.changed for text in texts),
        judge=_gain(judge, [text.scores for text in texts], texts),
        second_judge_before_veto=_gain(second_judge, unselected, texts) if second_judge else None,
        second_judge_after_veto=_gain(second_judge, selected, texts) if second_judge else None,
        criteria=tuple(
            _gain(
                f"{name} {traits.get(name, 'all criteria together')}",
                [text.criteria.get(name, (None, None)) for text in texts],
                texts,
            )
            for name in ids
        ),
        first_rewritings=_directions([text.unselected for text in texts if text.accepted_by_judge and second_judge]),
    )


def _paired(before: Score | None, after: Score | None) -> dict[str, Pair]:
    if before is None or after is None:
        return {}
    scores_after = {criterion.id: criterion.score for criterion in after.criteria}
    return {criterion.id: (criterion.score, scores_after.get(criterion.id)) for criterion in before.criteria}


def _unselected(text: Improvement, first: RevisionRound | None) -> Pair:
    if first is None or first.second_gain is None:
        return None, None
    # Nothing was accepted before the first of them.
    return value(text.second_before), first.second_score


def _directions(pairs: Sequence[Pair]) -> dict[str, int]:
    gains = [after - before for before, after in pairs if before is not None and after is not None]
    return {
        "higher": sum(gain > 0 for gain in gains),
        "equal": sum(gain == 0 for gain in gains),
        "lower": sum(gain < 0 for gain in gains),
        "unclear": len(pairs) - len(gains),
    }


def _gain(name: str, pairs: Sequence[Pair], texts: Sequence[RevisionMetrics]) -> ScoreGain:
    first, second = float_table(pairs, 2).T
    both: BoolArray = ~np.isnan(first) & ~np.isnan(second)
    before, after = first[both], second[both]
    groups = [text.group for text, used in zip(texts, both, strict=True) if used]
    if not groups:
        return ScoreGain(name, 0, None, None, Interval(None))
    return ScoreGain(
        name, len(groups), float(before.mean()), float(after.mean()), clustered_mean(after - before, units(groups))
    )
