"""How two columns of scores differ: the paired difference, and the criteria and texts behind it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np

from rubriclab.comparison.columns import CriterionPair, PairedScore, RubricPair
from rubriclab.comparison.human_difference import human_difference, scored_sets
from rubriclab.comparison.pairing import Outputs, PairingRule, pair_outputs
from rubriclab.comparison.results import (
    Comparison,
    CriterionScoreChange,
    DriftLimits,
    FlippedText,
    FlipSummary,
    RankAgreement,
    SideSummary,
    TextChange,
    drop_check,
)
from rubriclab.data import Example, Scale
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.stats.agreement import agreement
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.errors import score_errors
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval, rounded_number
from rubriclab.stats.paired import NO_SPREAD, PairedMean, adjust_p_values, constant, paired_mean
from rubriclab.stats.prediction_powered import LabelledScores, ScoredSet

# A visible change, as a share of the scale's width: 0.2 points from 1 to 5.
VISIBLE = 0.05
# Texts that are listed, and criteria listed for each.
LISTED, REASONS = 10, 3
# Characters of an output that is listed.
LONGEST = 600


def compare_outputs(
    rubric: Rubric,
    name: str,
    before: Outputs,
    after: Outputs,
    *,
    by: PairingRule | None = None,
    max_drop: float | None = None,
    learned: LabelledScores | None = None,
    learned_from: Collection[str] = (),
) -> Comparison:
    """Return how the scores of two sets of outputs differ.

    Args:
        rubric: that both were scored with; `name` is its reference.
        by: what outputs are paired by; by default id, else group, else the sets are independent.
        max_drop: the largest acceptable drop of the mean, in points.
        learned: the labels of learning, used unless the outputs themselves have labels.
        learned_from: groups whose labels are not used, as the rubric was fitted to them.

    Raises:
        DataError: if `by` is given and pairs nothing.
    """
    rule, places = pair_outputs(before.examples, after.examples, by)
    both = [
        (before.examples[first], before.scores[first], after.examples[second], after.scores[second])
        for first, second in places
        if before.scores[first].score is not None and after.scores[second].score is not None
    ]
    first, second = before.scored, after.scored
    if places:
        first, second = (
            [(old, score.score or 0.0) for old, score, _, _ in both],
            [(new, score.score or 0.0) for _, _, new, score in both],
        )
    elif rule:
        shared = {each.group for each, _ in first} & {each.group for each, _ in second}
        first, second = ([each for each in side if each[0].group in shared] for side in (first, second))
    sets = scored_sets(rubric.aspect.name, first, second, paired=bool(places), learned_from=learned_from)
    changed = [not places or old.output != new.output for (old, _), (new, _) in zip(first, second, strict=bool(places))]
    rubrics = RubricPair(rubric, rubric, tuple(CriterionPair(each, each, "kept") for each in rubric.criteria))
    pairs = [rubrics.pair(old.group, first, second) for old, first, _, second in both]
    differences = np.array([(pair.after or 0.0) - (pair.before or 0.0) for pair in pairs])
    lowest = [place for place in np.argsort(differences, kind="stable")[:LISTED].tolist() if differences[place] < 0]
    comparison = Comparison(
        rubric=name,
        judge=", ".join(sorted({score.judge for score in (*before.scores, *after.scores)})),
        before=_with_errors(summary(before, rubric.scores_on), sets[0], rubric.scores_on),
        after=_with_errors(summary(after, rubric.scores_on), sets[1], rubric.scores_on),
        pairing=rule,
        unpaired_before=len(before.examples) - len(places),
        unpaired_after=len(after.examples) - len(places),
        other_sources=sum(_of_other_sources(old, new) for old, _, new, _ in both),
        max_drop=max_drop,
        human=human_difference(rubric.scores_on, *sets, np.array(changed), learned),
        fallen=tuple(_text_change(pairs[place], *both[place]) for place in lowest),
        **_differences(rubrics, pairs, None if places else _by_groups(*sets)),
    )
    return comparison.model_copy(update={"checks": (drop_check(comparison),)})


def compare_columns(
    rubrics: RubricPair,
    pairs: Sequence[PairedScore],
    names: tuple[tuple[str, str], tuple[str, str]],
    threshold: float,
    limits: DriftLimits = DriftLimits(),  # noqa: B008 (immutable)
) -> Comparison:
    """Return how the scores of the same texts differ; texts without both scores are counted.

    Args:
        names: of the rubric and the judge, before and after.
        threshold: a text flips if only one of its scores is at or above it; on the scale before.
    """
    groups = [pair.group for pair in pairs]
    columns = [(pair.before, pair.unscored_before) for pair in pairs], [(p.after, p.unscored_after) for p in pairs]
    before, after = (
        _side(f"{rubric} with {judge}", groups, column, rubrics.scale)
        for (rubric, judge), column in zip(names, columns, strict=True)
    )
    rubric, judge = (" to ".join(dict.fromkeys(both)) for both in zip(*names, strict=True))
    compared = [pair for pair in pairs if pair.before is not None and pair.after is not None]
    comparison = Comparison(
        rubric=rubric,
        judge=judge,
        before=before,
        after=after,
        pairing="text",
        ranks=_ranks(compared),
        flips=_flips(compared, threshold),
        **_differences(rubrics, compared),
    )
    return limits.checked(comparison)


def summary(outputs: Outputs, scale: Scale) -> SideSummary:
    """Return the mean of a set of outputs with its interval over groups, and why some have no score."""
    scores = [(score.score, score.unscored) for score in outputs.scores]
    return _side(outputs.name, [example.group for example in outputs.examples], scores, scale)


def _with_errors(side: SideSummary, texts: ScoredSet, scale: Scale) -> SideSummary:
    """Return the side with the errors of its labelled texts."""
    found = texts.labelled
    errors = score_errors(found.scores, found.labels, [str(unit) for unit in found.unit], scale.width)
    return side.model_copy(update={"labelled": len(found.labels), "errors": errors})


def _side(
    name: str, groups: Sequence[str], scores: Sequence[tuple[float | None, str | None]], scale: Scale
) -> SideSummary:
    scored = [(group, score) for group, (score, _) in zip(groups, scores, strict=True) if score is not None]
    values, given = np.array([score for _, score in scored]), [group for group, _ in scored]
    return SideSummary(
        name=name,
        texts=len(scores),
        scored=len(values),
        groups=len(set(given)),
        mean=paired_mean(values, units(given)).interval.within(scale.low, scale.high).rounded(),
        standard_deviation=rounded_number(values.std(ddof=1)) if len(values) > 1 else None,
        unscored=dict(Counter(reason or "" for score, reason in scores if score is None)),
    )


def _differences(
    rubrics: RubricPair, pairs: Sequence[PairedScore], independent: PairedMean | None = None
) -> dict[str, Any]:
    """Return the fields of a comparison that rest on the pairs; all of them have both scores."""
    scale, groups = rubrics.scale, [pair.group for pair in pairs]
    differences = np.array([(pair.after or 0.0) - (pair.before or 0.0) for pair in pairs])
    difference = independent or paired_mean(differences, units(groups))
    visible = VISIBLE * scale.width
    return {
        "scale": (scale.low, scale.high),
        "pairs": len(pairs),
        "groups": len(set(groups)),
        "difference": difference.interval.within(-scale.width, scale.width).rounded(),
        "p": difference.p,
        "mean_absolute": rounded_number(np.abs(differences).mean()) if len(pairs) else None,
        "visible": visible,
        "better": _share(differences >= visible),
        "worse": _share(differences <= -visible),
        "unchanged": _share(np.abs(differences) < visible),
        "criteria": _criteria(rubrics.criteria, pairs),
    }


def _by_groups(before: ScoredSet, after: ScoredSet) -> PairedMean:
    """Return the difference of the means of groups of two sets without pairs of outputs.

    It is paired if both have the same groups; else by Welch's test (1947), or without any spread the permutation test.
    """
    from scipy.stats import ttest_ind

    (groups, first), (others, second) = (
        (present, (np.bincount(side.unit, side.scores)[present] / np.bincount(side.unit)[present]))
        for side, present in ((side, np.unique(side.unit)) for side in (before, after))
    )
    if not len(first) or not len(second):
        return PairedMean(Interval(None), None)
    if np.array_equal(groups, others):
        return paired_mean(second - first, np.arange(len(first)))
    difference = float(second.mean() - first.mean())
    if min(len(first), len(second)) < 2:
        return PairedMean(Interval(difference), None)
    if max(np.ptp(first), np.ptp(second)) <= NO_SPREAD:
        return constant(difference, min(1.0, 2 / math.comb(len(first) + len(second), len(first))))
    test = ttest_ind(second, first, equal_var=False)
    low, high = test.confidence_interval(0.95)
    return PairedMean(Interval(difference, float(low), float(high)), float(test.pvalue))


def _of_other_sources(before: Example, after: Example) -> bool:
    """Return whether two outputs are known to be about different sources or contexts."""
    about = ((before.source, after.source), (before.context, after.context))
    return any(first is not None and second is not None and first != second for first, second in about)


def _share(chosen: np.ndarray) -> float | None:
    return rounded_number(chosen.mean()) if len(chosen) else None


def _criteria(criteria: Sequence[CriterionPair], pairs: Sequence[PairedScore]) -> tuple[CriterionScoreChange, ...]:
    all_changes = np.array([pair.changes for pair in pairs]).reshape(len(pairs), len(criteria), 2)
    groups = [pair.group for pair in pairs]
    found = [_criterion(criterion, all_changes[:, row], groups) for row, criterion in enumerate(criteria)]
    p_values = adjust_p_values([change.p for change in found])
    tested = [change.model_copy(update={"adjusted_p": p}) for change, p in zip(found, p_values, strict=True)]
    return tuple(sorted(tested, key=lambda change: (change.difference.value is None, change.difference.value or 0.0)))


def _criterion(pair: CriterionPair, changes: FloatArray, groups: Sequence[str]) -> CriterionScoreChange:
    rated = ~np.isnan(changes[:, 0])
    change = paired_mean(changes[rated, 0], units([group for group, both in zip(groups, rated, strict=True) if both]))
    contributions = changes[~np.isnan(changes[:, 1]), 1]
    criterion = pair.after or pair.before
    assert criterion
    return CriterionScoreChange(
        id=pair.name,
        state=pair.state,
        title=criterion.statement if criterion.question else criterion.trait,
        pairs=int(rated.sum()),
        difference=change.interval.within(-1.0, 1.0).rounded(),
        p=change.p,
        adjusted_p=None,
        contribution=rounded_number(contributions.mean()) if len(contributions) else None,
    )


def _text_change(pair: PairedScore, before: Example, first: Score, after: Example, second: Score) -> TextChange:
    others = {part.id: part for part in second.criteria}
    falls = sorted(
        (((others[part.id].score or 0.0) - (part.score or 0.0), part) for part in first.criteria if part.id in others),
        key=lambda fall: fall[0],
    )
    return TextChange(
        id=pair.id,
        group=pair.group,
        before=first.score or 0.0,
        after=second.score or 0.0,
        text_before=before.output[:LONGEST],
        text_after=after.output[:LONGEST],
        reasons=tuple((part.id, part.reason, others[part.id].reason) for fall, part in falls[:REASONS] if fall < 0),
    )


def _ranks(pairs: Sequence[PairedScore]) -> tuple[RankAgreement, ...]:
    scores, groups = np.array([(pair.before, pair.after) for pair in pairs]).reshape(-1, 2), [p.group for p in pairs]
    levels: tuple[Literal["group", "dataset"], ...] = ("dataset",)
    if 1 < len(set(groups)) < len(groups):
        levels = ("group", "dataset")
    found = [(level, agreement(scores[:, 1], scores[:, 0], groups, level=level)) for level in levels]
    return tuple(
        RankAgreement(
            level=level,
            texts=each.n,
            groups=each.groups,
            spearman=each.spearman.rounded(),
            kendall=each.kendall.rounded(),
        )
        for level, each in found
    )


def _flips(pairs: Sequence[PairedScore], threshold: float) -> FlipSummary:
    flipped = np.array([bool(pair.crosses(threshold)) for pair in pairs], dtype=float)
    moved = [(pair, pair.before or 0.0, pair.after or 0.0) for pair in pairs if pair.crosses(threshold)]
    largest = sorted(moved, key=lambda each: -abs(each[2] - each[1]))[:LISTED]
    return FlipSummary(
        threshold=threshold,
        texts=len(moved),
        up=sum(after > before for _, before, after in moved),
        down=sum(after < before for _, before, after in moved),
        share=paired_mean(flipped, units([pair.group for pair in pairs])).interval.within(0, 1).rounded(),
        largest=tuple(FlippedText(id=p.id, group=p.group, before=before, after=after) for p, before, after in largest),
    )
