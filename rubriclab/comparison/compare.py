"""Whether outputs got worse: the paired difference of scores, and the criteria and texts behind it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from rubriclab.comparison.pairing import Outputs, PairingRule, pair_outputs
from rubriclab.comparison.results import CriterionScoreChange, OutputComparison, SideSummary, TextChange
from rubriclab.data import Example, Scale
from rubriclab.rubric import Criterion, Rubric
from rubriclab.scoring import CriterionScore, Score
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval
from rubriclab.stats.paired import NO_SPREAD, PairedMean, adjust_p_values, constant, paired_mean

# A visible change, as a share of the scale's width: 0.2 points from 1 to 5.
VISIBLE = 0.05
# Outputs that are listed, and criteria listed for each.
LISTED, REASONS = 10, 3
# Characters of an output that is listed.
LONGEST = 600

Pair = tuple[Example, Score, Example, Score]


def compare_outputs(
    rubric: Rubric,
    name: str,
    before: Outputs,
    after: Outputs,
    *,
    by: PairingRule | None = None,
    max_drop: float | None = None,
) -> OutputComparison:
    """Return how the scores of two sets of outputs differ.

    Args:
        rubric: that both were scored with; `name` is its reference.
        by: what outputs are paired by; by default id, else group, else the sets are independent.
        max_drop: the largest acceptable drop of the mean, in points.

    Raises:
        DataError: if `by` is given and pairs nothing.
    """
    pairing = pair_outputs(before.examples, after.examples, by)
    pairs = [
        (before.examples[first], before.scores[first], after.examples[second], after.scores[second])
        for first, second in pairing.pairs
        if before.scores[first].score is not None and after.scores[second].score is not None
    ]
    scores = np.array([[pair[1].score, pair[3].score] for pair in pairs], dtype=float).reshape(-1, 2)
    differences = scores[:, 1] - scores[:, 0]
    groups = [pair[0].group for pair in pairs]
    difference = paired_mean(differences, units(groups)) if pairing.rule else _independent(before, after)
    width = rubric.scores_on.width
    visible = VISIBLE * width
    judges = sorted({score.judge for score in (*before.scores, *after.scores)})
    return OutputComparison(
        rubric=name,
        judge=", ".join(judges),
        scale=(rubric.scores_on.low, rubric.scores_on.high),
        before=summary(before, rubric.scores_on),
        after=summary(after, rubric.scores_on),
        pairing=pairing.rule,
        pairs=len(pairs),
        groups=len(set(groups)),
        unpaired_before=pairing.unpaired_before,
        unpaired_after=pairing.unpaired_after,
        other_sources=sum(_of_other_sources(pair[0], pair[2]) for pair in pairs),
        difference=difference.interval.within(-width, width).rounded(),
        p=difference.p,
        visible=visible,
        better=_share(differences >= visible),
        worse=_share(differences <= -visible),
        unchanged=_share(np.abs(differences) < visible),
        max_drop=max_drop,
        criteria=_criteria(rubric, pairs),
        fallen=_fallen(pairs, differences),
    )


def summary(outputs: Outputs, scale: Scale) -> SideSummary:
    """Return the mean of a set of outputs with its interval over groups, and why some have no score."""
    values = np.array([value for _, _, value in outputs.scored])
    groups = [example.group for example, _, _ in outputs.scored]
    return SideSummary(
        name=outputs.name,
        texts=len(outputs.examples),
        scored=len(values),
        groups=len(set(groups)),
        mean=paired_mean(values, units(groups)).interval.within(scale.low, scale.high).rounded(),
        standard_deviation=round(float(values.std(ddof=1)), 6) if len(values) > 1 else None,
        unscored=dict(Counter(score.unscored or "" for score in outputs.scores if score.score is None)),
    )


def _independent(before: Outputs, after: Outputs) -> PairedMean:
    """Return the difference of the means of two sets without pairs, by Welch's test (1947) over group means.

    Without any spread, the p value is that of the permutation test.
    """
    from scipy.stats import ttest_ind

    first, second = (_group_means(outputs) for outputs in (before, after))
    if not len(first) or not len(second):
        return PairedMean(Interval(None), None)
    difference = float(second.mean() - first.mean())
    if min(len(first), len(second)) < 2:
        return PairedMean(Interval(difference), None)
    if max(np.ptp(first), np.ptp(second)) <= NO_SPREAD:
        return constant(difference, min(1.0, 2 / math.comb(len(first) + len(second), len(first))))
    test = ttest_ind(second, first, equal_var=False)
    low, high = test.confidence_interval(0.95)
    return PairedMean(Interval(difference, float(low), float(high)), float(test.pvalue))


def _group_means(outputs: Outputs) -> FloatArray:
    values = np.array([value for _, _, value in outputs.scored])
    unit = units([example.group for example, _, _ in outputs.scored])
    return np.asarray(np.bincount(unit, values) / np.bincount(unit) if len(values) else values, dtype=np.float64)


def _of_other_sources(before: Example, after: Example) -> bool:
    """Return whether two outputs are known to be about different sources or contexts."""
    about = ((before.source, after.source), (before.context, after.context))
    return any(first is not None and second is not None and first != second for first, second in about)


def _share(chosen: np.ndarray) -> float | None:
    return round(float(chosen.mean()), 6) if len(chosen) else None


def _criteria(rubric: Rubric, pairs: Sequence[Pair]) -> tuple[CriterionScoreChange, ...]:
    changes = [_criterion(rubric, criterion, pairs) for criterion in rubric.criteria if criterion.kind != "feature"]
    p_values = adjust_p_values([change.p for change in changes])
    tested = [change.model_copy(update={"adjusted_p": p}) for change, p in zip(changes, p_values, strict=True)]
    return tuple(sorted(tested, key=lambda change: (change.difference.value is None, change.difference.value or 0.0)))


def _criterion(rubric: Rubric, criterion: Criterion, pairs: Sequence[Pair]) -> CriterionScoreChange:
    width = 1.0 if criterion.kind == "question" else rubric.scale.width
    rated = [(first, part, other) for first, part, other in _rated(criterion.id, pairs)]
    differences = np.array([((other.score or 0.0) - (part.score or 0.0)) / width for _, part, other in rated])
    change = paired_mean(differences, units([example.group for example, _, _ in rated]))
    added = [
        other.contribution - part.contribution
        for _, part, other in rated
        if part.contribution is not None and other.contribution is not None
    ]
    return CriterionScoreChange(
        id=criterion.id,
        title=criterion.statement if criterion.question else criterion.trait,
        pairs=len(rated),
        difference=change.interval.within(-1.0, 1.0).rounded(),
        p=change.p,
        adjusted_p=None,
        contribution=round(float(np.mean(added)), 6) if added else None,
    )


def _rated(criterion: str, pairs: Sequence[Pair]) -> list[tuple[Example, CriterionScore, CriterionScore]]:
    """Return the scores by a criterion of the pairs in which both outputs have one."""
    both = ((example, _part(first, criterion), _part(second, criterion)) for example, first, _, second in pairs)
    return [
        (example, before, after)
        for example, before, after in both
        if before and after and before.score is not None and after.score is not None
    ]


def _part(score: Score, criterion: str) -> CriterionScore | None:
    return next((part for part in score.criteria if part.id == criterion), None)


def _fallen(pairs: Sequence[Pair], differences: FloatArray) -> tuple[TextChange, ...]:
    order = np.argsort(differences, kind="stable")[:LISTED].tolist()
    return tuple(_text_change(pairs[place]) for place in order if differences[place] < 0)


def _text_change(pair: Pair) -> TextChange:
    before, first, after, second = pair
    others = {part.id: part for part in second.criteria}
    falls = sorted(
        (((others[part.id].score or 0.0) - (part.score or 0.0), part) for part in first.criteria if part.id in others),
        key=lambda fall: fall[0],
    )
    reasons = tuple((part.id, part.reason, others[part.id].reason) for fall, part in falls[:REASONS] if fall < 0)
    return TextChange(
        id=before.id if before.id == after.id else f"{before.id} -> {after.id}",
        group=before.group,
        before=first.score or 0.0,
        after=second.score or 0.0,
        text_before=before.output[:LONGEST],
        text_after=after.output[:LONGEST],
        reasons=reasons,
    )
