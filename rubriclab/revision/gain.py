"""The gain of revisions over many texts.

A rewriting is made from the judge's reasons and accepted if its score rises, so the gain is optimistic: part of it is
selected noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from rubriclab.revision.record import Improvement, RevisionOutcome, value
from rubriclab.revision.rewrite import sentences_changed
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import Score
from rubriclab.sentences import split_sentences
from rubriclab.stats.correlation import BoolArray, float_table
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval
from rubriclab.stats.paired import paired_mean

OUTCOMES: tuple[RevisionOutcome, ...] = get_args(RevisionOutcome)

Pair = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class RevisionMetrics:
    """What a summary needs of one text, without its words.

    Attributes:
        group: the input that it shares with other texts.
        scores: before and after.
        criteria: scores before and after by each criterion.
        sentences, changed: of the original text, and how many of them were changed.
    """

    group: str
    outcome: RevisionOutcome
    scores: Pair
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
        judge: the gain.
        criteria: the gain by each criterion.
    """

    rubric: str
    texts: int
    outcomes: Mapping[RevisionOutcome, int]
    sentences: int
    changed: int
    judge: ScoreGain
    criteria: tuple[ScoreGain, ...]

    def to_row(self) -> dict[str, Any]:
        """Return all of it as one JSON object."""
        return asdict(self)


def revision_metrics(text: Improvement) -> RevisionMetrics:
    """Return what a summary needs of one text."""
    original, final = (text.example.output if text.example else ""), text.output or ""
    compared = text.unscored is None
    return RevisionMetrics(
        group=text.example.group if text.example else text.id,
        outcome=text.outcome,
        scores=(value(text.before), value(text.after)),
        criteria=_paired(text.before, text.after),
        sentences=len(split_sentences(original)) if compared else 0,
        changed=sentences_changed(original, final) if compared else 0,
    )


def summarize_revisions(rubric: Rubric, ref: str, texts: Sequence[RevisionMetrics], judge: str) -> RevisionSummary:
    """Return the summary of texts revised by `rubric`, whose version is `ref`, and this judge."""
    outcomes = Counter(text.outcome for text in texts)
    traits = {criterion.id: criterion.trait for criterion in rubric.criteria}
    ids = dict.fromkeys(name for text in texts for name in text.criteria)
    return RevisionSummary(
        rubric=ref,
        texts=len(texts),
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        sentences=sum(text.sentences for text in texts),
        changed=sum(text.changed for text in texts),
        judge=_gain(judge, [text.scores for text in texts], texts),
        criteria=tuple(
            _gain(
                f"{name} {traits.get(name, 'all criteria together')}",
                [text.criteria.get(name, (None, None)) for text in texts],
                texts,
            )
            for name in ids
        ),
    )


def _paired(before: Score | None, after: Score | None) -> dict[str, Pair]:
    if before is None or after is None:
        return {}
    scores_after = {criterion.id: criterion.score for criterion in after.criteria}
    return {criterion.id: (criterion.score, scores_after.get(criterion.id)) for criterion in before.criteria}


def _gain(name: str, pairs: Sequence[Pair], texts: Sequence[RevisionMetrics]) -> ScoreGain:
    first, second = float_table(pairs, 2).T
    both: BoolArray = ~np.isnan(first) & ~np.isnan(second)
    before, after = first[both], second[both]
    groups = [text.group for text, used in zip(texts, both, strict=True) if used]
    if not groups:
        return ScoreGain(name, 0, None, None, Interval(None))
    gain = paired_mean(after - before, units(groups)).interval
    return ScoreGain(name, len(groups), float(before.mean()), float(after.mean()), gain)
