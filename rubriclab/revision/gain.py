"""What was gained over many texts, by the judge that the rewritings were made for and by one that saw none of it.

A rewriting is made from the judge's reasons and taken where its score rises, so the judge's own gain flatters: part of
it is noise that was selected. The second judge may refuse what it scores lower, so its gain over the texts as they are
in the end cannot be negative, even if it tosses coins. The figure to trust is how it scores what the judge alone would
have taken, before it has a say: of each text the first such rewriting, as later ones are there because it refused one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from rubriclab.revision.record import Improvement, RevisionOutcome, RevisionRound, value
from rubriclab.revision.word_diff import sentences_changed
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import Score
from rubriclab.sentences import split_sentences
from rubriclab.stats.bootstrap import IntervalEstimate, estimate
from rubriclab.stats.correlation import FloatArray

RESAMPLES = 1000
CONFIDENCE = 0.95
BATCH_ELEMENTS = 2**20

OUTCOMES: tuple[RevisionOutcome, ...] = get_args(RevisionOutcome)

Pair = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class RevisionMetrics:
    """What a summary needs to know of one text; its words are not kept.

    Attributes:
        group: the input that it shares with rivals.
        outcome: what became of it.
        scores, second_scores: before and after.
        unselected: the second judge's scores before and after the first rewriting that the judge would have taken,
            where both can be compared.
        judge_took: whether there is such a rewriting, by the judge's word alone.
        criteria: scores before and after by each criterion.
        sentences, changed: in the text as it came, and how many of them were changed.
    """

    group: str
    outcome: RevisionOutcome
    scores: Pair
    second_scores: Pair
    unselected: Pair
    judge_took: bool
    criteria: Mapping[str, Pair]
    sentences: int
    changed: int


@dataclass(frozen=True, slots=True)
class ScoreGain:
    """Mean scores before and after, and the mean gain with its interval: paired, over the texts that have both."""

    name: str
    texts: int
    before: float | None
    after: float | None
    gain: IntervalEstimate


@dataclass(frozen=True, slots=True)
class RevisionSummary:
    """What came of improving many texts.

    Attributes:
        texts: rows, those among them that hold no text too.
        outcomes: how many texts had each of them.
        sentences, changed: of all texts that could be compared.
        judge: its gain, which decided what was taken.
        second_judge_before_veto: the second judge's gain with the first rewriting of each text that the judge would
            have taken; nothing in it was selected by the second judge.
        second_judge_after_veto: its gain over all texts as they are in the end, so without what it refused.
        criteria: the judge's gain by each criterion.
        first_rewritings: of those that the judge would have taken, how many the second judge scores `higher`, `equal`
            or `lower`, and of how many it cannot be told (`unclear`).
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


def figures(done: Improvement) -> RevisionMetrics:
    """Return what a summary needs to know of one text."""
    before, after = (done.example.output if done.example else ""), done.output or ""
    compared = done.unscored is None
    return RevisionMetrics(
        group=done.example.group if done.example else done.id,
        outcome=done.outcome,
        scores=(value(done.before), value(done.after)),
        second_scores=(value(done.second_before), value(done.second_after)),
        unselected=_unselected(done),
        judge_took=_first(done) is not None,
        criteria=_paired(done.before, done.after),
        sentences=len(split_sentences(before)) if compared else 0,
        changed=sentences_changed(before, after) if compared else 0,
    )


def summary(
    rubric: Rubric, name: str, texts: Sequence[RevisionMetrics], judge: str, second_judge: str | None
) -> RevisionSummary:
    """Return what came of texts that were improved by `rubric`, known as `name`, and these judges."""
    outcomes = Counter(text.outcome for text in texts)
    traits = {criterion.id: criterion.trait for criterion in rubric.criteria}
    ids = dict.fromkeys(known for text in texts for known in text.criteria)
    unselected, selected = [text.unselected for text in texts], [text.second_scores for text in texts]
    return RevisionSummary(
        rubric=name,
        texts=len(texts),
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        sentences=sum(text.sentences for text in texts),
        changed=sum(text.changed for text in texts),
        judge=_gain(judge, [text.scores for text in texts], texts),
        second_judge_before_veto=_gain(second_judge, unselected, texts) if second_judge else None,
        second_judge_after_veto=_gain(second_judge, selected, texts) if second_judge else None,
        criteria=tuple(
            _gain(
                f"{known} {traits.get(known, 'all criteria as one')}",
                [text.criteria.get(known, (None, None)) for text in texts],
                texts,
            )
            for known in ids
        ),
        first_rewritings=_counted([text.unselected for text in texts if text.judge_took] if second_judge else []),
    )


def _paired(before: Score | None, after: Score | None) -> dict[str, Pair]:
    if before is None or after is None:
        return {}
    found = {criterion.id: criterion.score for criterion in after.criteria}
    return {criterion.id: (criterion.score, found.get(criterion.id)) for criterion in before.criteria}


def _first(done: Improvement) -> RevisionRound | None:
    return next((each for each in done.rounds if each.taken_by_judge), None)


def _unselected(done: Improvement) -> Pair:
    first = _first(done)
    if first is None or first.second_change is None:
        return None, None
    # Nothing was taken before the first of them.
    return value(done.second_before), first.second_score


def _counted(pairs: Sequence[Pair]) -> dict[str, int]:
    rises = [after - before for before, after in pairs if before is not None and after is not None]
    return {
        "higher": sum(rise > 0 for rise in rises),
        "equal": sum(rise == 0 for rise in rises),
        "lower": sum(rise < 0 for rise in rises),
        "unclear": len(pairs) - len(rises),
    }


def _gain(name: str, pairs: Sequence[Pair], texts: Sequence[RevisionMetrics]) -> ScoreGain:
    table = np.array([[np.nan if score is None else score for score in pair] for pair in pairs], dtype=float)
    both = ~np.isnan(table.reshape(-1, 2)).any(axis=1)
    before, after = table.reshape(-1, 2)[both].T
    groups = [text.group for text, used in zip(texts, both, strict=True) if used]
    if not groups:
        return ScoreGain(name, 0, None, None, IntervalEstimate(None, None, None))
    return ScoreGain(name, len(groups), float(before.mean()), float(after.mean()), _mean(after - before, groups))


def _mean(values: FloatArray, groups: Sequence[str]) -> IntervalEstimate:
    """Return the mean with its interval, drawing groups of texts; the texts themselves, where there is one group."""
    names, cluster = np.unique(groups, return_inverse=True)
    if len(names) == 1:
        names, cluster = np.array(groups), np.arange(len(groups))
    sums, sizes = np.bincount(cluster, values), np.bincount(cluster)

    def mean(counts: FloatArray) -> FloatArray:
        return np.asarray((counts @ sums) / (counts @ sizes), dtype=float)

    batch = max(1, BATCH_ELEMENTS // len(names))
    return estimate(mean, len(names), resamples=RESAMPLES, confidence=CONFIDENCE, seed=0, batch=batch)
