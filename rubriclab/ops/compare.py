"""The commands `compare` and `drift`.

- `compare` scores two sets of outputs by one version and judge. Two outputs with the same id, or in the same group,
  form a pair; the mean difference of their scores is compared with a limit. If texts have human scores (labels), the
  difference of the mean human scores is estimated too.
- `drift` scores each text twice, by two versions or by two judges, and compares the two columns of scores.
- With the option `anchor`, `drift` looks at an anchor, a file of labelled texts: one version and judge score it again
  at each look, and the errors (score less label) are compared with those at earlier looks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError

from rubriclab.data.write import name_in_errors, replacing
from rubriclab.display import Displayed
from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.judges.cache import short_judge_name
from rubriclab.learning import paired_scores as score_pairs
from rubriclab.learning.estimate import DryRun
from rubriclab.learning.scoring import Score
from rubriclab.models.base import FrozenModel, digest
from rubriclab.models.characters import count
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example, Scale, format_score, is_labelled, text_digest, with_label
from rubriclab.models.version import Effort, Version
from rubriclab.ops import inputs
from rubriclab.ops.options import CompareOptions, DriftOptions
from rubriclab.ops.scores import ScoringBySeveral, parse_score, scored_training_labels
from rubriclab.ops.workspace import Job, JudgedResult, Workspace, choose_judge, load_version, rubric_ref
from rubriclab.stats import intervals, prediction_powered as ppi
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, float_table
from rubriclab.stats.intervals import Interval, cluster_numbers, mean_interval, renumber, round_defined
from rubriclab.stats.score_agreement import agreement, score_errors

VISIBLE = 0.05  # the smallest visible change, as a share of the scale's width: 0.2 points on a scale from 1 to 5
UNCHANGED = Interval(0.0, 0.0, 0.0)  # the difference of two sets if no text and no score changed
# Limits of a result: texts listed, criteria listed with reasons for each text, and characters shown of each text.
MAX_TEXTS_LISTED, MAX_CRITERIA_LISTED, MAX_CHARACTERS_SHOWN = 10, 3, 600

ScoredOutputs = Sequence[tuple[Example, float]]
Pairs = Sequence[score_pairs.PairedScore]
# An output, and its score if its row has a usable score from an earlier run.
OutputRow = tuple[Example, Score | None]


@dataclass(frozen=True, repr=False)
class CompareResult(JudgedResult, Displayed):
    """What `compare` or `drift` found; `version` is the version that scored the outputs, `None` for `drift`."""

    result: score_pairs.Comparison | score_pairs.AnchorLook
    effort: Effort  # calls, tokens, money and time that the command used
    version: Version | None = None
    unanswered: str | None = None  # the message that all replies of a judge failed

    @property
    def outcome(self) -> score_pairs.LimitOutcome:
        """`within` all limits, `beyond` a limit, or `inconclusive`."""
        return self.result.outcome


def compare(
    workspace: Workspace, before: inputs.Data, after: inputs.Data, rubric: str | Version | None, options: CompareOptions
) -> Job[CompareResult]:
    version = load_version(workspace, rubric)
    check_limit("max_drop", options.max_drop, version)
    choice = choose_judge(version, options.judge, workspace.store, workspace.notify)
    scoring = ScoringBySeveral(workspace, [(version, choice)], before, options)

    def estimate() -> DryRun:
        sides = _read_sides(scoring, before, after)
        unscored = [example for rows in sides.values() for example, score in rows if score is None]
        return scoring.estimate(unscored, scorer_names=["judge"])

    async def run() -> CompareResult:
        sides = await workspace.off_event_loop(_read_sides, scoring, before, after)
        outputs = []
        for name, rows in sides.items():
            unscored = [example for example, score in rows if score is None]
            new_scores = [scores[0] async for _, scores in scoring.stream(unscored)] if unscored else []
            if scoring.unanswered:
                raise JudgeError(scoring.unanswered)
            # The outputs without a score get the new scores, in the same order.
            next_scores = iter(new_scores)
            scores = tuple(score or next(next_scores) for _, score in rows)
            outputs.append(score_pairs.Outputs(name, tuple(example for example, _ in rows), scores))
        training_groups = frozenset(version.provenance.groups)
        training_texts = [each for side in outputs for each in side.examples if each.group in training_groups]
        if ignored := len(with_label(training_texts, version.rubric.aspect.name)):
            workspace.notify(f"{count(ignored, 'label')} left out: {version.ref} was learned from the same groups")
        comparison = compare_outputs(
            version.rubric,
            version.ref,
            *outputs,
            by=options.pair_by,
            max_drop=options.max_drop,
            training_labels=await workspace.off_event_loop(scored_training_labels, workspace, version, choice.spec),
            training_groups=training_groups,
        )
        return CompareResult(comparison, workspace.effort(), version)

    return Job(estimate, run)


def check_limit(name: str, points: float | None, version: Version) -> None:
    """Raise SettingsError if no difference on the rubric's scale can exceed the limit that the option `name` sets."""
    scale = version.rubric.score_scale  # if it has two levels, scores are probabilities
    if points is not None and points >= scale.width:
        share = "a share below 1: 0.05 is 5 percentage points"
        valid = share if scale.has_two_levels else f"less than {scale.width:g} points"
        limit = f"`{name}={format_score(points)}` cannot be exceeded on the scale of {version.ref}"
        raise SettingsError(f"{limit}, {scale.describe()};", f"give {valid}.")


def _read_sides(scoring: ScoringBySeveral, before: inputs.Data, after: inputs.Data) -> dict[str, list[OutputRow]]:
    """Return the outputs of each set by its name; DataError if scores of the sets cannot be compared."""
    version, judge = scoring.scorers[0]
    notify, options = scoring.workspace.notify, scoring.options
    name_before, name_after = inputs.describe_data(before), inputs.describe_data(after)
    if name_before == name_after:
        name_before, name_after = "before", "after"
    sides: dict[str, list[OutputRow]] = {}
    for name, data in ((name_before, before), (name_after, after)):
        rows = inputs.rows_of(data, options, notify)
        examples = inputs.read_texts(rows, notify, name)
        output_rows = [(example, carried_score(rows.raw_row, example, version, judge.spec)) for example in examples]
        sides[name] = output_rows
        # Texts that already have a score are not sent to the judge, so only texts without a score are checked.
        unscored = [example for example, score in output_rows if score is None]
        inputs.check_text_fields(version, unscored, data, options, notify=notify, name=name)
        if n_carried := len(output_rows) - len(unscored):
            notify(f"{name}: {count(n_carried, 'score')} by {version.ref} taken from the rows")
        aspect = version.rubric.aspect.name
        labels = [text.scores[aspect] for text in with_label([example for example, _ in output_rows], aspect)]
        inputs.check_labels(labels, version.rubric, version.ref)
        if not (n_carried or labels) and (mapping := inputs.propose_label_mapping(data, options, aspect)):
            notify(f"{name}: no labels of {aspect!r}; if people scored these outputs, map them: `mapping={mapping}`")
    aggregation = version.rubric.aggregation
    asks_together = bool(aggregation and aggregation.rivals)  # for outputs without a score
    together = [score.rivals == "together" if score else asks_together for rows in sides.values() for _, score in rows]
    n_together, n_outputs = sum(together), len(together)
    if 0 < n_together < n_outputs:
        mixed = f"{n_together:,} of {n_outputs:,} outputs are rated together with their group, the rest alone."
        raise DataError(mixed, "Such scores are not comparable: score all with `rivals=together` or all without it.")
    return sides


def carried_score(row: Any, example: Example, version: Version, judge: str) -> Score | None:
    """Return the score that `version` and `judge` gave the text in an earlier run, if its row has it, else `None`.

    A recording of a judge counts as this judge. Scores off the scale or with other criteria are not usable.
    """
    rubric = version.rubric
    try:
        score = parse_score(row if isinstance(row, Mapping) else {})
    except ValidationError:
        return None
    origin = score.id, score.rubric, short_judge_name(score.judge), score.aspect
    expected_origin = example.id, version.ref, short_judge_name(judge), rubric.aspect.name
    if origin != expected_origin or score.score is None:
        return None
    numbers = [number for each in score.criteria for number in (each.score, each.contribution) if number is not None]
    same_criteria = {rating.id for rating in score.criteria} == {criterion.id for criterion in rubric.criteria}
    is_usable = same_criteria and rubric.score_scale.contains(score.score) and all(map(math.isfinite, numbers))
    return score if is_usable else None


def compare_outputs(
    rubric: Rubric,
    ref: str,
    before: score_pairs.Outputs,
    after: score_pairs.Outputs,
    *,
    by: score_pairs.PairingRule | None = None,
    max_drop: float | None = None,
    training_labels: ppi.LabelledScores | None = None,
    training_groups: Collection[str] = (),
) -> score_pairs.Comparison:
    """Compare two sets of outputs, paired by the rule `by`, by their scores; `ref` names the rubric's version.

    `max_drop` limits the drop of the mean score, in points. Labels of outputs in `training_groups` are ignored, since
    the rubric was learned from them; `training_labels` are used if too few other labels remain.
    """
    rule, index_pairs = score_pairs.pair_outputs(before.examples, after.examples, by)
    # The pairs whose outputs both have a score: old output, its score, new output, its score.
    scored_pairs = []
    for i, j in index_pairs:
        if before.scores[i].score is not None and after.scores[j].score is not None:
            scored_pairs.append((before.examples[i], before.scores[i], after.examples[j], after.scores[j]))
    # Compare means over the pairs; without pairs, over the groups that are in both sets; without these, over all texts.
    old_scored, new_scored = before.scored, after.scored
    if index_pairs:
        # Both scores of these pairs are known: 0.0 is never used.
        old_scored = [(old, score.score or 0.0) for old, score, _, _ in scored_pairs]
        new_scored = [(new, score.score or 0.0) for _, _, new, score in scored_pairs]
    elif rule:  # the sets share groups, but these could not be paired
        shared_groups = {old.group for old, _ in old_scored} & {new.group for new, _ in new_scored}
        old_scored = [(old, score) for old, score in old_scored if old.group in shared_groups]
        new_scored = [(new, score) for new, score in new_scored if new.group in shared_groups]
    sets = scored_sets(rubric.aspect.name, old_scored, new_scored, training_groups, in_pairs=bool(index_pairs))
    # Both sets are scored by one rubric, so every criterion is kept.
    kept_criteria = tuple(score_pairs.CriterionPair(each, each, "kept") for each in rubric.criteria)
    rubrics = score_pairs.RubricPair(rubric, rubric, kept_criteria)
    pairs = [rubrics.pair_scores(old.group, old_score, new_score) for old, old_score, _, new_score in scored_pairs]
    differences = [(pair.after or 0.0) - (pair.before or 0.0) for pair in pairs]
    lowest_first = np.argsort(differences, kind="stable").tolist()
    fallen_indices = [index for index in lowest_first[:MAX_TEXTS_LISTED] if differences[index] < 0]
    sources_and_contexts = [({old.source, new.source}, {old.context, new.context}) for old, _, new, _ in scored_pairs]
    is_same_text = np.array([old.output == new.output for old, _, new, _ in scored_pairs], dtype=bool)
    unpaired_difference = None if index_pairs else _unpaired_difference(*sets, rubric.score_scale)
    nothing_changed = bool(pairs and is_same_text.all() and not any(differences))
    comparison = score_pairs.Comparison(
        rubric=ref,
        judge=", ".join(sorted({score.judge for score in (*before.scores, *after.scores)})),
        before=_labelled_summary(before, sets[0].labelled, rubric, training_groups),
        after=_labelled_summary(after, sets[1].labelled, rubric, training_groups),
        pairing=rule,
        unpaired_before=len(before.examples) - len(index_pairs),
        unpaired_after=len(after.examples) - len(index_pairs),
        other_sources=sum(any(len(values - {None}) == 2 for values in of_pair) for of_pair in sources_and_contexts),
        max_drop=max_drop,
        human=human_difference(rubric.score_scale, *sets, is_same_text, training_labels),
        same_texts=int(is_same_text.sum()),
        fallen=tuple(_fallen_output(pairs[index], *scored_pairs[index]) for index in fallen_indices),
        **_differences(rubrics, pairs, unpaired_difference, nothing_changed=nothing_changed),
    )
    return comparison.model_copy(update={"checks": (score_pairs.drop_check(comparison),)})


def scored_sets(
    aspect: str, before: ScoredOutputs, after: ScoredOutputs, training_groups: Collection[str], *, in_pairs: bool
) -> tuple[ppi.ScoredSet, ppi.ScoredSet]:
    """Return the scores and labels of two sets; paired outputs have equal weights, else groups have equal weights."""
    groups_before = [example.group for example, _ in before]
    if in_pairs:
        # Both outputs of a pair belong to the group of its first output.
        group_numbers = [cluster_numbers(groups_before)] * 2
    else:
        groups_after = [example.group for example, _ in after]
        group_numbers = np.split(cluster_numbers(groups_before + groups_after), [len(before)])
    sets = []
    for side, numbers in zip((before, after), group_numbers, strict=True):
        labels = []
        for example, _ in side:
            has_usable_label = example.group not in training_groups and is_labelled(example, aspect)
            labels.append(with_label([example], aspect)[0].scores[aspect] if has_usable_label else np.nan)
        weights = np.ones(len(side)) if in_pairs else 1 / np.bincount(numbers)[numbers]
        scores = np.array([score for _, score in side])
        systems = ppi.number_systems([example.system for example, _ in side])
        sets.append(ppi.ScoredSet(scores, np.array(labels), numbers, weights / max(weights.sum(), 1.0), systems))
    return sets[0], sets[1]


def _labelled_summary(
    outputs: score_pairs.Outputs, labelled_scores: ppi.LabelledScores, rubric: Rubric, training_groups: Collection[str]
) -> score_pairs.SideSummary:
    """Return the summary of a set of outputs, with the errors of the scores that have labels."""
    scale, group_names = rubric.score_scale, [str(number) for number in labelled_scores.group]
    errors = score_errors(labelled_scores.scores, labelled_scores.labels, group_names, scale.width)
    n_labels = sum(each.group not in training_groups for each in with_label(outputs.examples, rubric.aspect.name))
    n_used = len(labelled_scores.labels)
    update = {"labelled": n_used, "unused_labels": n_labels - n_used, "errors": errors}
    return summarize_outputs(outputs, scale).model_copy(update=update)


def summarize_outputs(outputs: score_pairs.Outputs, scale: Scale) -> score_pairs.SideSummary:
    scores = [(score.score, score.unscored) for score in outputs.scores]
    return _side_summary(outputs.name, [example.group for example in outputs.examples], scores, scale)


def _side_summary(
    name: str, groups: Sequence[str], scores: Sequence[tuple[float | None, str | None]], scale: Scale
) -> score_pairs.SideSummary:
    scored = [(group, score) for group, (score, _) in zip(groups, scores, strict=True) if score is not None]
    values = np.array([score for _, score in scored])
    scored_groups = [group for group, _ in scored]
    # If all scores are equal, `mean_range` gives the interval of the rule of three, far too wide for graded scores.
    mean_range = (0.0, 1.0) if scale.has_two_levels else None
    return score_pairs.SideSummary(
        name=name,
        texts=len(scores),
        scored=len(values),
        groups=len(set(scored_groups)),
        mean=mean_interval(values, cluster_numbers(scored_groups), mean_range).within(scale.low, scale.high).rounded(),
        standard_deviation=round_defined(values.std(ddof=1)) if len(values) > 1 else None,
        unscored=dict(Counter(reason or "" for score, reason in scores if score is None)),
    )


def human_difference(
    scale: Scale, before: ppi.ScoredSet, after: ppi.ScoredSet, is_same: BoolArray, fallback: ppi.LabelledScores | None
) -> score_pairs.HumanDifference | None:
    """Return the difference of the mean human scores of two sets, `None` if there are too few labels.

    It is estimated from the labels of both sets. If these are too few, it is estimated from the labels of the set that
    has labels in more groups; if these are too few as well, from the labels in `fallback`. `is_same` says for each
    pair whether its two outputs are the same text; it is empty without pairs.
    """
    if not len(before.scores) or not len(after.scores):
        return None
    labels_of: score_pairs.LabelSource = "both"
    share_changed = 1.0 - float(is_same.mean()) if len(is_same) else 1.0
    difference = ppi.difference_by_own_labels(before, after, width=scale.width)
    n_labels = len(before.labelled.labels) + len(after.labelled.labels)
    if len(is_same):  # a text with the same label in both sets counts once
        n_labels -= int((before.labels[is_same] == after.labels[is_same]).sum())
    if difference.value is None:
        labels_of = "after" if after.labelled.group_count > before.labelled.group_count else "before"
        labelled_scores = after.labelled if labels_of == "after" else before.labelled
        if labelled_scores.group_count < intervals.MIN_GROUPS:
            if fallback is None:
                return None
            labelled_scores, labels_of = fallback, "learning"
        n_labels = len(labelled_scores.labels)
        sizes = {"width": scale.width, "changed_share": share_changed}
        difference = ppi.difference_by_other_labels(before, after, labelled_scores, **sizes)
        if difference.value is None:
            return None
    if not share_changed and not difference.value:
        difference = UNCHANGED
    interval = difference.within(-scale.width, scale.width).rounded()
    return score_pairs.HumanDifference(difference=interval, labels=n_labels, labels_of=labels_of)


def _unpaired_difference(before: ppi.ScoredSet, after: ppi.ScoredSet, scale: Scale) -> Interval:
    """Return the difference between the group means of two sets whose outputs are not paired.

    If both sets have the same groups, the groups are paired. Else the interval is from Welch's test (1947). The test
    is undefined if the group means are equal within each set: then the rule of three gives the interval.
    """
    from scipy.stats import ttest_ind

    old_groups, new_groups = np.unique(before.group), np.unique(after.group)
    if not len(old_groups) or not len(new_groups):
        return Interval(None)
    old = np.bincount(before.group, before.scores)[old_groups] / np.bincount(before.group)[old_groups]
    new = np.bincount(after.group, after.scores)[new_groups] / np.bincount(after.group)[new_groups]
    if np.array_equal(old_groups, new_groups):
        return mean_interval(new - old, np.arange(len(old)), (-scale.width, scale.width))
    difference = float(new.mean() - old.mean())
    if min(len(old), len(new)) < 2:
        return Interval(difference)
    if max(np.ptp(old), np.ptp(new)) <= intervals.NO_SPREAD:
        return intervals.mean_without_spread(difference, min(len(old), len(new)), (-scale.width, scale.width))
    low, high = ttest_ind(new, old, equal_var=False).confidence_interval(0.95)
    return Interval(difference, float(low), float(high))


def _fallen_output(
    pair: score_pairs.PairedScore, old: Example, old_score: Score, new: Example, new_score: Score
) -> score_pairs.FallenText:
    """Return a pair whose score fell, with the judge's reasons for the ratings that fell most."""
    new_ratings = {rating.id: rating for rating in new_score.criteria}
    rated_by_both = [(rating, new_ratings[rating.id]) for rating in old_score.criteria if rating.id in new_ratings]
    changes = [((after.score or 0.0) - (before.score or 0.0), before) for before, after in rated_by_both]
    fallen = sorted((each for each in changes if each[0] < 0), key=lambda change_and_rating: change_and_rating[0])
    return score_pairs.FallenText(
        id=pair.id,
        group=pair.group,
        before=old_score.score or 0.0,
        after=new_score.score or 0.0,
        text_before=old.output[:MAX_CHARACTERS_SHOWN],
        text_after=new.output[:MAX_CHARACTERS_SHOWN],
        reasons=tuple((each.id, each.reason, new_ratings[each.id].reason) for _, each in fallen[:MAX_CRITERIA_LISTED]),
    )


def _differences(
    rubrics: score_pairs.RubricPair, pairs: Pairs, unpaired: Interval | None = None, *, nothing_changed: bool = False
) -> dict[str, Any]:
    """Return the fields of a comparison that its pairs of scores give; `unpaired` is its difference without pairs."""
    scale = rubrics.scale
    groups = [pair.group for pair in pairs]
    differences = np.array([(pair.after or 0.0) - (pair.before or 0.0) for pair in pairs])
    mean_difference = mean_interval(differences, cluster_numbers(groups), (-scale.width, scale.width))
    difference = UNCHANGED if nothing_changed else unpaired or mean_difference
    visible = VISIBLE * scale.width
    values_of_pairs = {
        "better": differences >= visible,
        "worse": differences <= -visible,
        "unchanged": np.abs(differences) < visible,
        "mean_absolute": np.abs(differences),
    }
    means = {name: round_defined(values.mean()) if pairs else None for name, values in values_of_pairs.items()}
    return means | {
        "scale": (scale.low, scale.high),
        "verdicts": scale.has_two_levels,
        "pairs": len(pairs),
        "groups": len(set(groups)),
        "difference": difference.within(-scale.width, scale.width).rounded(),
        "visible": visible,
        "criteria": _criterion_changes(rubrics.criteria, pairs, nothing_changed=nothing_changed),
    }


def _criterion_changes(
    criteria: Sequence[score_pairs.CriterionPair], pairs: Pairs, *, nothing_changed: bool
) -> tuple[score_pairs.CriterionScoreChange, ...]:
    # Shape (criteria, 2, pairs): for each criterion, the changes of its rating and the changes of its contribution.
    all_changes = np.reshape([pair.changes for pair in pairs], (len(pairs), len(criteria), 2)).transpose(1, 2, 0)
    groups = np.array([pair.group for pair in pairs], dtype=str)
    changes = []
    for criterion_pair, (rating_changes, contribution_changes) in zip(criteria, all_changes, strict=True):
        is_rated = ~np.isnan(rating_changes)
        rated_changes, group_numbers = rating_changes[is_rated], cluster_numbers(groups[is_rated].tolist())
        is_unchanged = nothing_changed and is_rated.any() and not rated_changes.any()
        contributions = contribution_changes[~np.isnan(contribution_changes)]
        criterion = criterion_pair.after or criterion_pair.before
        assert criterion
        change = score_pairs.CriterionScoreChange(
            id=criterion_pair.name,
            state=criterion_pair.state,
            title=criterion.statement if criterion.question else criterion.trait,
            pairs=int(is_rated.sum()),
            difference=UNCHANGED if is_unchanged else mean_interval(rated_changes, group_numbers, (-1, 1)).rounded(),
            p=intervals.mean_p_value(rated_changes, group_numbers),
            adjusted_p=None,
            contribution=round_defined(contributions.mean()) if len(contributions) else None,
        )
        changes.append(change)
    adjusted = intervals.adjust_p_values([change.p for change in changes])
    changes = [change.model_copy(update={"adjusted_p": p}) for change, p in zip(changes, adjusted, strict=True)]
    # The criteria whose ratings fell most come first, those without a difference last.
    return tuple(sorted(changes, key=lambda change: (change.difference.value is None, change.difference.value or 0.0)))


def drift(
    workspace: Workspace,
    data: inputs.Data,
    before: str | Version,
    after: str | Version | None,
    options: DriftOptions,
    *,
    on_row: Callable[[dict[str, Any]], None] | None = None,
) -> Job[CompareResult]:
    """Compare the scores of `data` by the versions `before` and `after`, or by two judges if `after` is `None`.

    With the option `anchor`, `data` is an anchor. `on_row` is called with each text's two scores.
    """
    if options.anchor:
        return _look_job(workspace, data, before, after, options)
    judges = options.judges
    if len(judges) > 2:
        raise SettingsError(f"Drift compares at most two judges, got {len(judges)}.", "Leave the others out.")
    if after is None and len(set(judges)) < 2:
        problem = f"Drift compares two versions or two judges, and {rubric_ref(before)} is one version;"
        raise SettingsError(problem, "name a second version, or two judges with `judges`.")
    first = load_version(workspace, before)
    check_limit("max_shift", options.max_shift, first)
    second = first if after is None else load_version(workspace, after)
    # If only one judge is named, it scores by both versions.
    judge_names = (judges[0], judges[-1]) if judges else (None, None)
    version_judges = zip((first, second), judge_names, strict=True)
    scorers = [(each, choose_judge(each, judge, workspace.store, workspace.notify)) for each, judge in version_judges]
    rubrics = score_pairs.pair_rubrics(first.rubric, second.rubric)
    middle = rubrics.scale.low + rubrics.scale.width / 2
    threshold = middle if options.flip_at is None else options.flip_at
    if not rubrics.scale.contains(threshold):
        problem = f"`flip_at={format_score(threshold)}` is not on the scale of {first.ref}"
        raise SettingsError(f"{problem}, {rubrics.scale.describe()};", "no text could cross it.")
    notify = workspace.notify
    first_aspect, second_aspect = first.rubric.aspect.name, second.rubric.aspect.name
    if first_aspect != second_aspect:
        notify(f"{first.ref} and {second.ref} judge different aspects, {first_aspect} and {second_aspect}")
    if rubrics.has_two_scales:
        scales = f"{second.rubric.score_scale.describe()} to {rubrics.scale.describe()}"
        notify(f"scores of {second.ref} are mapped linearly from {scales}")
    if options.flip_at is None:
        notify(f"texts flip at {format_score(middle)}, the middle of the scale (`flip_at` sets another score)")
    scoring = ScoringBySeveral(workspace, scorers, data, options)

    async def run() -> CompareResult:
        pairs: list[score_pairs.PairedScore] = []
        async for example, (old, new) in scoring.stream():
            pair = rubrics.pair_scores(example.group, old, new)
            pairs.append(pair)
            if on_row:
                on_row(rubrics.to_row(pair, old, new, threshold))
        names_before, names_after = ((version.ref, judge.spec) for version, judge in scoring.scorers)
        limits = score_pairs.DriftLimits(options.max_shift, options.max_flips, options.min_rank)
        comparison = compare_columns(rubrics, pairs, (names_before, names_after), threshold, limits)
        return CompareResult(comparison, workspace.effort(), unanswered=scoring.unanswered)

    return Job(lambda: scoring.estimate(scorer_names=["before", "after"]), run)


def compare_columns(
    rubrics: score_pairs.RubricPair,
    pairs: Pairs,
    names: tuple[tuple[str, str], tuple[str, str]],
    threshold: float,
    limits: score_pairs.DriftLimits = score_pairs.DriftLimits(),  # noqa: B008 (immutable)
) -> score_pairs.Comparison:
    """Compare two columns of scores of the same texts; a text that lacks one of its scores is only counted.

    `names` has the rubric and the judge of each column. A text flips if only one of its scores reaches `threshold`.
    """
    (rubric_before, judge_before), (rubric_after, judge_after) = names
    all_groups = [pair.group for pair in pairs]
    column_before = [(pair.before, pair.unscored_before) for pair in pairs]
    column_after = [(pair.after, pair.unscored_after) for pair in pairs]
    complete = [pair for pair in pairs if pair.before is not None and pair.after is not None]
    groups = [pair.group for pair in complete]
    scores_before = np.array([pair.before for pair in complete], dtype=float)
    scores_after = np.array([pair.after for pair in complete], dtype=float)
    can_rank_within_groups = 1 < len(set(groups)) < len(groups)
    levels: tuple[Literal["group", "dataset"], ...] = ("group", "dataset") if can_rank_within_groups else ("dataset",)
    ranks = []
    for level in levels:
        measures = agreement(scores_after, scores_before, groups, level=level)
        correlations = {"spearman": measures.spearman.rounded(), "kendall": measures.kendall.rounded()}
        ranks.append(score_pairs.RankAgreement(level=level, texts=measures.n, groups=measures.groups, **correlations))
    shifts = scores_after - scores_before
    flipped = (scores_before >= threshold) != (scores_after >= threshold)
    farthest_first = np.argsort(-np.abs(shifts), kind="stable").tolist()
    flipped_indices = [index for index in farthest_first if flipped[index]]
    flipped_texts = []
    for index in flipped_indices[:MAX_TEXTS_LISTED]:
        before, after = scores_before[index], scores_after[index]
        text = score_pairs.ChangedText(id=complete[index].id, group=groups[index], before=before, after=after)
        flipped_texts.append(text)
    comparison = score_pairs.Comparison(
        rubric=" to ".join(dict.fromkeys((rubric_before, rubric_after))),
        judge=" to ".join(dict.fromkeys((judge_before, judge_after))),
        before=_side_summary(f"{rubric_before} with {judge_before}", all_groups, column_before, rubrics.scale),
        after=_side_summary(f"{rubric_after} with {judge_after}", all_groups, column_after, rubrics.scale),
        pairing="text",
        ranks=tuple(ranks),
        flips=score_pairs.FlipSummary(
            threshold=threshold,
            texts=int(flipped.sum()),
            up=int((shifts[flipped] > 0).sum()),
            down=int((shifts[flipped] < 0).sum()),
            share=mean_interval(flipped.astype(float), cluster_numbers(groups), (0, 1)).rounded(),
            largest=tuple(flipped_texts),
        ),
        **_differences(rubrics, complete),
    )
    return limits.with_checks(comparison)


# The probability of a false alarm over all looks at an anchor. The bias and the absolute error have half of it each.
ERROR_RATE = 0.05
MIN_ANCHOR_GROUPS = 10  # with fewer groups, a false alarm would be more probable
BEST_NUMBER_OF_LOOKS = 10  # the bounds are tuned to be the tightest possible at this number of looks


def _look_job(
    workspace: Workspace, data: inputs.Data, rubric: str | Version, after: str | Version | None, options: DriftOptions
) -> Job[CompareResult]:
    conflicts = {"a second version": after is not None, "several judges": len(options.judges) > 1}
    conflicts["data that is not a file"] = not isinstance(data, str | Path)
    for name in ("flip_at", "max_shift", "max_flips", "min_rank"):
        conflicts[f"`{name}`"] = getattr(options, name) is not None
    if conflicting := [name for name, is_given in conflicts.items() if is_given]:
        hint = "Name one file, one version and at most one judge."
        raise SettingsError(f"`anchor` cannot be combined with {' or '.join(conflicting)}.", hint)
    version = load_version(workspace, rubric)
    choice = choose_judge(version, options.judges[0] if options.judges else None, workspace.store, workspace.notify)
    scoring = ScoringBySeveral(workspace, [(version, choice)], data, options, fresh=True)

    async def run() -> CompareResult:
        return CompareResult(await look(scoring, str(data)), workspace.effort())

    return Job(lambda: scoring.estimate(scorer_names=["judge"]), run)


class _Looks(FrozenModel):
    """The file beside an anchor. Each look has the error of each text, by a digest of the text and its label."""

    rubric: str  # the digest of the version
    judge: str
    looks: tuple[Mapping[str, float], ...] = ()


def _read_looks(file: Path, version: Version, judge: str) -> _Looks:
    if not file.exists():
        return _Looks(rubric=version.digest, judge=judge)
    hint = "Give a copy of the texts under another name, or delete this file to begin again."
    try:
        looks = _Looks.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise DataError(f"{file} is not a record of looks.", hint) from error
    if (looks.rubric, looks.judge) != (version.digest, judge):
        raise DataError(f"{file} is not of {version.ref} and {judge}, but of another rubric or judge.", hint)
    return looks


async def look(scoring: ScoringBySeveral, anchor: str) -> score_pairs.AnchorLook:
    """Score the texts of the file `anchor` once more, and compare the errors with those at earlier looks."""
    version, choice = scoring.scorers[0]
    file = Path(f"{anchor}.looks.json")
    looks = _read_looks(file, version, choice.spec)
    aspect = version.rubric.aspect.name
    examples = with_label(scoring.read_texts(), aspect)
    texts = {digest([text_digest(text), text.scores[aspect]]): text for text in examples}
    labels = [text.scores[aspect] for text in texts.values()]
    inputs.check_labels(labels, version.rubric, version.ref)
    group_numbers = renumber(np.array([text.group for text in texts.values()]))
    groups = int(group_numbers.max(initial=-1)) + 1
    if groups < MIN_ANCHOR_GROUPS:
        mapping = None if texts else inputs.propose_label_mapping(anchor, scoring.options, aspect)
        hint = f"Map the column of the labels: `mapping={mapping}`." if mapping else "Label more texts."
        problem = f"{anchor} has labels of {aspect} in {groups} groups, expected at least {MIN_ANCHOR_GROUPS} groups."
        raise DataError(problem, hint)
    scores = [score.score async for _, (score,) in scoring.stream(tuple(texts.values()))]
    errors = {key: score - label for key, label, score in zip(texts, labels, scores, strict=True) if score is not None}
    outcome: score_pairs.LimitOutcome = "inconclusive"
    if len(errors) >= (1 - score_pairs.MAX_UNSCORED) * len(texts):
        outcome = "within"
        with name_in_errors(file), replacing(file) as draft:
            looks = _read_looks(file, version, choice.spec)  # once more: another run may have added a look since
            looks = looks.model_copy(update={"looks": (*looks.looks, errors)})
            draft.write_text(looks.model_dump_json(), "utf-8")
    error_table = float_table(([at_look.get(key) for key in texts] for at_look in looks.looks), len(texts))
    changes, mean_range = {}, (-version.rubric.score_scale.width, version.rubric.score_scale.width)
    for name, table in (("bias_change", error_table), ("error_change", np.abs(error_table))):
        group_changes, tightest_at = _group_changes(table, group_numbers), BEST_NUMBER_OF_LOOKS * groups
        sequence = intervals.confidence_sequence(group_changes, mean_range, ERROR_RATE / 2, tightest_at=tightest_at)
        changes[name] = sequence[-1].rounded()
        if any((change.low or 0.0) > 0 or (change.high or 0.0) < 0 for change in sequence):  # 0 is outside of it
            outcome = "beyond"
    errors_now = np.array([*errors.values()])
    return score_pairs.AnchorLook(
        rubric=version.ref,
        judge=choice.spec,
        looks=len(looks.looks),
        texts=len(texts),
        groups=groups,
        bias=float(errors_now.mean()) if errors else None,
        absolute_error=float(np.abs(errors_now).mean()) if errors else None,
        outcome=outcome,
        **changes,
    )


def _group_changes(errors: FloatArray, group_numbers: IntArray) -> list[FloatArray]:
    """Return each group's mean change of errors at each look after the first.

    A text's change is its error less the mean of its errors at earlier looks. `errors` has shape (looks, texts), NaN
    where a text has no score. Looks with changes of fewer than two groups are left out.
    """
    n_earlier = np.cumsum(~np.isnan(errors), axis=0)[:-1]
    earlier_means = np.nancumsum(errors, axis=0)[:-1] / np.where(n_earlier, n_earlier, np.nan)
    group_changes = []
    for changes in errors[1:] - earlier_means:
        is_defined = ~np.isnan(changes)
        groups = renumber(group_numbers[is_defined])
        if groups.max(initial=0) > 0:
            group_changes.append(np.bincount(groups, changes[is_defined]) / np.bincount(groups))
    return group_changes
