"""Transfer of a rubric to target texts: to texts that it was not learned from, perhaps scored by another judge.

If the target texts have labels, three actions are tried, each with a rubric of its own: `reuse` the rubric as it is,
`recalibrate` the map from its ratings to scores, or `relearn` a rubric (see `rubriclab.learning.adaptation`). The
agreement of each with the labels is measured, one action is recommended, and its rubric may be saved as a version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

import numpy as np
from pydantic import Field

from rubriclab import errors
from rubriclab.data.check import MIN_LABELS, label_limitations, verdict_words
from rubriclab.data.reading_options import changed_options
from rubriclab.display import Displayed
from rubriclab.judges.judge import Judge
from rubriclab.learning import adaptation
from rubriclab.learning.adaptation import AdaptedRubric, LabelledTarget, RatedTexts
from rubriclab.learning.baselines import FEATURE_NAMES, best_feature, feature_values
from rubriclab.learning.calibration import interval_ends
from rubriclab.learning.candidates import EarlierRubric, Plan
from rubriclab.learning.estimate import CallEstimate, DryRun, dry_run, estimate_scoring
from rubriclab.learning.evaluation import baseline_evaluators, unseen_examples
from rubriclab.learning.fitting import JointSettings
from rubriclab.learning.gate import GateLevel, gate_level, validate
from rubriclab.learning.pass_fail import decision_agreement, decisions_at, held_out_thresholds, two_level_statistic
from rubriclab.learning.train import Trained, origin_fields, recorded_texts, training_agreement
from rubriclab.methods.catalogue import JOINT, METHODS
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.sources import find_checklist, load_findings
from rubriclab.models import evaluation, text as text_model, version as versions
from rubriclab.models.aggregation import hand_set_threshold, raw_value
from rubriclab.models.base import FrozenModel
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Aspect, Assignment, Example, Scale
from rubriclab.models.version import Action, Provenance, TrainingRecord, Version
from rubriclab.ops import workspace as work
from rubriclab.ops.inputs import Data, describe_data, labels_on_scale, propose_label_mapping, usable_texts
from rubriclab.ops.learn import TrainingRun, resolve_settings
from rubriclab.ops.options import TransferOptions
from rubriclab.ops.workspace import Job, Notify, Workspace
from rubriclab.stats import intervals
from rubriclab.stats.correlation import BoolArray, FloatArray, floats
from rubriclab.stats.intervals import DIGITS, MIN_GROUPS, Interval, mean_interval, predict_folds, round_defined
from rubriclab.stats.score_agreement import agreement

ACTIONS: tuple[Action, ...] = get_args(Action)  # from the cheapest to the most expensive


class ActionEvaluation(FrozenModel):
    """The agreement with the labels after one action; `skipped` says why the action was not possible.

    `error` is the mean absolute error in points of the labels' scale or, for labels of two levels, the Brier score.
    `gain` is the error of `reuse` minus the error of this action, on the texts that all actions scored.
    """

    action: Action
    criteria: int = 0
    level: GateLevel = "dataset"
    n: int = 0
    groups: int = 0
    spearman: Interval = Interval(None)
    pearson: Interval = Interval(None)
    auroc: Interval | None = Field(None, exclude_if=lambda value: value is None)
    error: Interval = Interval(None)
    gain: Interval = Interval(None)
    skipped: str | None = None


class FreeBaseline(FrozenModel):
    """A baseline that needs no judge (one or several text features), and its agreement with the labels."""

    name: str
    spearman: Interval
    pearson: Interval
    auroc: Interval | None = Field(None, exclude_if=lambda value: value is None)


class Transfer(Displayed, FrozenModel):
    """The evaluation of a rubric on target texts.

    Attributes:
        calibrated_for: the judge that the version was fitted to.
        aspect, scale: of the target's labels; `source_aspect` and `source_scale` are the version's.
        outside: the share of texts whose weighted sum of ratings is outside the range of the training texts' sums.
        mean_error: the `error` if each text's score is the mean label of the other folds.
        too_few_groups: whether the actions cannot be compared, as there are too few groups or the labels are constant.
    """

    rubric: str
    judge: str
    calibrated_for: str
    target: str
    aspect: str
    source_aspect: str
    scale: Scale
    source_scale: Scale
    texts: int
    unscored: int
    unscored_reason: str | None = None
    outside: Interval | None = None
    labels: int = 0
    groups: int = 0
    mean_error: Interval = Interval(None)
    baselines: tuple[FreeBaseline, ...] = ()
    actions: tuple[ActionEvaluation, ...] = ()
    recommended: Action | None = None
    too_few_groups: bool = False

    @property
    def best(self) -> ActionEvaluation | None:
        return next((each for each in self.actions if each.action == self.recommended), None)


@dataclass(frozen=True, repr=False)
class TransferResult(Displayed):
    """A transfer, and the saved version or the reason why there is none."""

    transfer: Transfer
    saved: Version | None
    effort: versions.Effort  # calls, tokens, money and time that the command used
    not_saved: str | None = None

    def raise_if_not_saved(self) -> None:
        if self.not_saved:
            raise errors.SettingsError(self.not_saved)


@dataclass(frozen=True)
class Target:
    """Texts that a rubric is transferred to; the `labelled` texts have a label for `aspect` on `scale`."""

    name: str
    examples: tuple[Example, ...]
    labelled: tuple[Example, ...]
    aspect: Aspect
    scale: Scale


@dataclass(frozen=True, eq=False)
class FittedTransfer:
    """A transfer and, with labels, the rubric of each action and the target that these rubrics were fitted to."""

    transfer: Transfer
    adapted: Mapping[Action, AdaptedRubric] = field(default_factory=dict)
    target: LabelledTarget | None = None
    trained: Trained | None = None  # if the rubric was learned again


def transfer(workspace: Workspace, rubric: str | Version, to: Data, options: TransferOptions) -> Job[TransferResult]:
    """Return the agreement of a rubric on the texts of `to`: as it is, recalibrated, and learned again."""
    if options.action and not options.save:
        raise errors.SettingsError("`action` says what to save.", "Give `save` with it.")
    if options.action == "relearn" and options.no_relearn:
        raise errors.SettingsError("`action=relearn` is not tried with `no_relearn`.", "Leave one of them out.")
    version = work.load_version(workspace, rubric)
    target = target_texts(to, version, options, workspace.notify)
    if options.save and not target.labelled:
        problem = "There are no labels to fit the rubric to, so there is nothing to save."
        raise errors.SettingsError(problem, "Give labels.")
    training = prepare_relearning(version, target, workspace) if target.labelled and not options.no_relearn else None
    judge_choice = work.choose_judge(version, options.judge, workspace.store, workspace.notify)
    generator_choice = judge_choice
    if training:
        generator_choice = work.choose_generator(version, workspace.store, workspace.notify) or judge_choice

    def estimate() -> DryRun:
        total = estimate_scoring(version.rubric, target.examples)
        if training:
            total += sum(training.estimate(), CallEstimate())
        return dry_run({"judge": (judge_choice.spec, total)}, workspace.options)

    async def run() -> TransferResult:
        judge = workspace.judge(judge_choice)
        generator = workspace.generator(generator_choice, judge_choice, judge)
        fitted = await measure_transfer(workspace, version, target, judge, training, generator=generator)
        if not options.save:
            return TransferResult(fitted.transfer, None, workspace.effort())
        action = options.action or fitted.transfer.recommended or "reuse"
        if action not in fitted.adapted:
            skipped = fitted.transfer.actions[ACTIONS.index(action)].skipped
            return TransferResult(fitted.transfer, None, workspace.effort(), f"{action} cannot be saved: {skipped}.")
        trained = as_trained(version, fitted, action, judge, workspace.model_versions())
        # The provenance also records how the data was read, and from which imported version the judge or generator is.
        generator_from = generator_choice.chosen_by
        if action != "relearn":  # the version keeps its criteria, which its generator made
            recorded_ref = version.provenance.generator_from
            imported = await workspace.off_event_loop(work.imported_version, version, recorded_ref, workspace.store)
            generator_from = imported.ref if imported else None
        source_fields = {"judge_from": judge_choice.chosen_by, "generator_from": generator_from}
        data_fields = {"grades": options.grades or version.provenance.grades, "reading": changed_options(options)}
        limitations = label_limitations(target.labelled, target.aspect.name, target.scale if options.scale else None)
        provenance = trained.provenance.model_copy(update={**source_fields, **data_fields, "limits": limitations})
        save = partial(workspace.store.save, options.name or version.name, trained.rubric, provenance)
        saved = await workspace.off_event_loop(save, workspace.effort(), version.ref, training=trained.record)
        return TransferResult(fitted.transfer, saved, workspace.effort())

    return Job(estimate, run)


def target_texts(data: Data, version: Version, options: TransferOptions, notify: Notify) -> Target:
    """Return the usable texts of `data` that the version was not learned from; without labels if these are too few."""
    rubric, name = version.rubric, describe_data(data)
    aspect = rubric.aspect
    if options.definition or options.aspect not in (None, aspect.name):
        aspect = text_model.find_aspect(rubric.task, options.aspect or aspect.name, options.definition)
    examples = usable_texts(data, options, [(aspect.name, rubric.score_scale)], notify)
    texts = unseen_examples(examples, [version])
    if left_out := len(examples) - len(texts):
        notify(f"{left_out} of {len(examples)} texts left out: {version.ref} was learned from them or their groups")
    if not texts:
        problem = f"{name} has no usable text that {version.ref} was not learned from."
        raise errors.DataError(problem, "Give other texts.")
    labelled_texts = text_model.with_label(texts, aspect.name)
    scale = _label_scale(labelled_texts, aspect.name, version, options, notify)
    on_scale = labels_on_scale(labelled_texts, aspect.name, scale, name, notify)
    if len(on_scale) < MIN_LABELS or len({text.scores[aspect.name] for text in on_scale}) == 1:
        too_few = f"{name}: {len(on_scale)} usable labels for {aspect.name!r} are too few to measure agreement"
        notify(f"{too_few} (at least {MIN_LABELS}, not all equal); the transfer goes on without labels")
        if not labelled_texts and (mapping := propose_label_mapping(data, options, aspect.name)):
            notify(f"if people scored these texts, map the labels: `mapping={mapping}`")
        on_scale = ()
    labelled_by_id = {text.id: text for text in on_scale}
    return Target(name, tuple(labelled_by_id.get(text.id, text) for text in texts), on_scale, aspect, scale)


def _label_scale(
    texts: Sequence[Example], aspect: str, version: Version, options: TransferOptions, notify: Notify
) -> Scale:
    """Return the labels' scale: the given one, else the rubric's if all labels lie on it, else an inferred scale."""
    rubric_scale = version.rubric.score_scale
    labels = [text.scores[aspect] for text in texts]
    rater_labels = [score for text in texts for score in text.annotations.get(aspect, ())]
    if options.scale:
        scale = text_model.parse_scale(options.scale, labels)
        # If the rubric or the labels have two levels, `0:1` means these two levels, and `0:1:any` allows decimals.
        two_levels = rubric_scale if rubric_scale.has_two_levels else text_model.two_level_scale(rater_labels or labels)
        if two_levels and two_levels.same_ends(scale) and not options.scale.endswith(":any"):
            return two_levels
        return scale
    if not labels:
        return rubric_scale
    scale = text_model.infer_scale(labels, rater_labels)
    between = f"the labels lie between {scale.low:g} and {scale.high:g}"
    rubric_ends = f"{rubric_scale.low:g} to {rubric_scale.high:g}"
    has_verdict_words = bool(verdict_words([*rater_labels, *labels]))  # such as `pass` and `fail`
    only_rubric_is_graded = has_verdict_words and scale.has_two_levels and not rubric_scale.has_two_levels
    if only_rubric_is_graded or not (rubric_scale.low <= scale.low and scale.high <= rubric_scale.high):
        mapped = f"scores of {version.ref} are mapped linearly to it from {rubric_ends}"
        notify(f"{between}, which is taken as their scale (`scale` overrides it); {mapped}")
        return scale
    if scale.width <= rubric_scale.width / 2:
        notify(f"{between} and are taken to be on the rubric's scale, {rubric_ends} (`scale` overrides it)")
    return rubric_scale


def prepare_relearning(version: Version, target: Target, workspace: Workspace) -> TrainingRun | None:
    """Return a training with the version's methods, settings and findings; `None` if every method lacks a checklist."""
    recorded_settings, task, aspect = version.provenance.settings, version.rubric.task, target.aspect.name
    methods = [METHODS[name] for name in recorded_settings if name != JOINT]
    resolved = resolve_settings(methods, joint=True, configured=workspace.settings, recorded=recorded_settings)
    findings = load_findings(task, aspect, excluded=version.provenance.literature_without)
    assignment = Assignment(text_model.task_words(task), target.aspect, target.scale)
    training_input = TrainingInput(target.labelled, assignment, findings)
    plans = []
    for method in methods:
        settings = resolved.methods[method.name]
        with suppress(errors.ChecklistError):  # a method without the checklist that it needs is left out
            checklist = find_checklist(method.checklists, task, aspect, is_required=method.needs_checklist(settings))
            plans.append(Plan(method, replace(training_input, checklist=checklist), settings))
    if plans:
        return TrainingRun(tuple(plans), resolved.joint)
    reason = f"its methods need a checklist; rubriclab has none for {aspect}"
    workspace.notify(f"{version.ref} cannot be relearned: {reason}")
    return None


def text_errors(scores: FloatArray, labels: FloatArray, scale: Scale, label_scale: Scale) -> FloatArray:
    """Return the error of each score, NaN for a text without a score; scores and mapped labels are on `scale`.

    It is the absolute difference from the label in points of `label_scale`. For labels of two levels, it is the squared
    distance from the raters' majority decision (its mean is the Brier score), and NaN if the raters are tied.
    """
    if not label_scale.has_two_levels:
        return label_scale.width / scale.width * np.abs(scores - labels)
    probabilities = adaptation.rescale(scores, scale, label_scale)
    passing_shares = adaptation.rescale(labels, scale, label_scale).round(DIGITS)  # of the raters
    return np.where(passing_shares == 0.5, np.nan, np.square(probabilities - (passing_shares > 0.5)))


def mean_over_groups(values: FloatArray, groups: Sequence[str], mean_range: intervals.MeanRange = None) -> Interval:
    """Return the mean of the values that are not NaN, with its 95 % confidence interval by groups."""
    has_value = ~np.isnan(values)
    group_numbers = intervals.cluster_numbers(np.array(groups)[has_value].tolist())
    return mean_interval(values[has_value], group_numbers, mean_range).rounded()


def recommend(
    action_errors: Mapping[Action, FloatArray], labels: FloatArray, groups: Sequence[str], default: Action
) -> tuple[Action, dict[Action, Interval], bool]:
    """Return the recommended action, the gain of each action over `reuse`, and whether there are too few groups.

    `action_errors` are the `text_errors` of each action's held-out scores. The action with the smallest mean error is
    recommended; if errors are equal, the cheapest. The difference need not be significant: waiting for significance
    gave worse results in our measurements. There are too few groups if they are fewer than `MIN_GROUPS` or all labels
    are equal; then `default` is recommended.
    """
    actions = [action for action in ACTIONS if action in action_errors]
    scored_by_all: BoolArray = np.array(~np.isnan([action_errors[action] for action in actions]).any(axis=0))
    gains = {}
    if "reuse" in action_errors:
        for action in actions:
            differences = np.where(scored_by_all, action_errors["reuse"] - action_errors[action], np.nan)
            gains[action] = mean_over_groups(differences, groups)
    if len(set(np.array(groups)[scored_by_all])) < MIN_GROUPS or np.ptp(labels[scored_by_all]) == 0:
        return default, gains, True
    means = {action: round_defined(action_errors[action][scored_by_all].mean()) for action in actions}
    return min(actions, key=lambda action: means[action]), gains, False


async def measure_transfer(
    workspace: Workspace,
    source: Version,
    target: Target,
    judge: Judge,
    training: TrainingRun | None,
    *,
    generator: Judge,
) -> FittedTransfer:
    # The judge rates the target texts by the version's criteria.
    record = await workspace.off_event_loop(workspace.store.training, source.ref)
    rubric = source.rubric.model_copy(update={"aspect": target.aspect})
    with workspace.progress(workspace.ledger) as on_progress:
        on_progress(f"rating {len(target.examples)} texts by the rubric", 0.0)
        rated = await adaptation.rate_by_version(rubric, source.ref, target.examples, judge, workspace.texts_at_once)
    if np.isnan(rated.scores).all():
        problem = f"None of {len(rated.examples)} texts could be scored"
        raise errors.JudgeError(f"{problem}; the latest reason: {rated.unscored_reason}")
    transfer_without_labels = Transfer(
        rubric=source.ref,
        judge=judge.name,
        calibrated_for=source.provenance.judge,
        target=target.name,
        aspect=target.aspect.name,
        source_aspect=source.rubric.aspect.name,
        scale=target.scale,
        source_scale=source.rubric.score_scale,
        texts=len(rated.examples),
        unscored=int(np.isnan(rated.scores).sum()),
        unscored_reason=rated.unscored_reason,
        outside=outside_training_range(source.rubric, record, rated),
    )
    if not target.labelled:
        return FittedTransfer(transfer_without_labels)
    # Each action gives a rubric and held-out scores of the labelled texts.
    seed, settings = source.provenance.seed, JointSettings.from_record(source.provenance.settings.get(JOINT, {}))
    rated_labelled = rated.select(target.labelled)
    labelled_target = LabelledTarget(rubric, rated_labelled, target.aspect.name, target.scale, settings, seed)
    adapted: dict[Action, AdaptedRubric] = {
        "reuse": adaptation.reuse_rubric(labelled_target),
        "recalibrate": adaptation.recalibrate_rubric(labelled_target),
    }
    trained, skipped = None, "not requested"
    if training:
        try:
            ids = [candidate.criterion.id for candidate in rated_labelled.candidates]
            rows = zip(rated_labelled.examples, rated_labelled.cells, strict=True)
            earlier_cells = {example.id: dict(zip(ids, row, strict=True)) for example, row in rows}
            with workspace.progress(workspace.ledger) as on_progress:
                on_progress(f"learning again from {len(target.labelled)} labels", 0.3)
                earlier, model_versions = EarlierRubric(rubric.parts, earlier_cells), workspace.model_versions
                trained = await training.run(
                    judge=judge, generator=generator, seed=seed, earlier=earlier, model_versions=model_versions
                )
            adapted["relearn"] = adaptation.relearned_rubric(labelled_target, trained)
        except (errors.BudgetReached, errors.JudgeRefused, errors.ProviderDown):
            raise
        except (errors.DataError, errors.JudgeError, errors.ReplayMiss, errors.SettingsError) as error:
            skipped = error.text
    update = _evaluate_actions(source, labelled_target, adapted, judge, skipped)
    return FittedTransfer(transfer_without_labels.model_copy(update=update), adapted, labelled_target, trained)


def _evaluate_actions(
    source: Version, target: LabelledTarget, adapted: Mapping[Action, AdaptedRubric], judge: Judge, skipped: str
) -> dict[str, Any]:
    """Return the fields of a transfer that need labels; `skipped` says why an action is not in `adapted`."""
    table, label_scale = target.table, target.label_scale
    labels, groups, rating_scale = table.labels, table.groups, table.scale
    level = gate_level(labels, groups)
    all_errors = {action: text_errors(fit.scores, labels, rating_scale, label_scale) for action, fit in adapted.items()}
    # The Brier score, the error for labels of two levels, needs probabilities: scores on a scale of two levels.
    can_measure_reuse = not label_scale.has_two_levels or target.rubric.score_scale.has_two_levels
    usable_errors = {name: values for name, values in all_errors.items() if can_measure_reuse or name != "reuse"}
    # Another judge uses the scale differently, even if labels are too few to show it: so recalibrate by default.
    default: Action = "reuse" if can_measure_reuse and judge.name == source.provenance.judge else "recalibrate"
    recommended, gains, has_too_few_groups = recommend(usable_errors, labels, groups, default)

    def label_agreement(scores: FloatArray) -> dict[str, Interval | None]:
        coefficients = agreement(scores, labels, groups, level=level)
        passing_shares = adaptation.rescale(labels, rating_scale, label_scale).round(DIGITS)
        auroc = two_level_statistic("AUROC", [scores], passing_shares, groups) if label_scale.has_two_levels else None
        return {"spearman": coefficients.spearman.rounded(), "pearson": coefficients.pearson.rounded(), "auroc": auroc}

    evaluations = []
    for action in ACTIONS:
        if action not in adapted:
            evaluations.append(ActionEvaluation(action=action, skipped=skipped))
            continue
        has_error = ~np.isnan(all_errors[action])
        evaluations.append(
            ActionEvaluation(
                action=action,
                criteria=len(adapted[action].rubric.criteria),
                level=level,
                n=int(has_error.sum()),
                groups=len(set(np.array(groups)[has_error])),
                error=mean_over_groups(usable_errors[action], groups) if action in usable_errors else Interval(None),
                gain=gains.get(action, Interval(None)),
                **label_agreement(adapted[action].ranking_scores),  # unlike `scores`, comparable between folds
            )
        )
    free_baselines = baseline_evaluators(target.rated.examples, {source.ref: source.provenance.baseline})
    mean_labels = predict_folds(target.fold_numbers, lambda rest, in_fold: np.full(in_fold.sum(), labels[rest].mean()))
    return {
        "labels": len(labels),
        "groups": len(set(groups)),
        "mean_error": mean_over_groups(text_errors(mean_labels, labels, rating_scale, label_scale), groups),
        "baselines": tuple(FreeBaseline(name=each.name, **label_agreement(each.scores)) for each in free_baselines),
        "actions": tuple(evaluations),
        "recommended": recommended,
        "too_few_groups": has_too_few_groups,
    }


def outside_training_range(rubric: Rubric, record: TrainingRecord | None, texts: RatedTexts) -> Interval | None:
    """Return the share of texts whose weighted sum is outside the training texts' range, `None` if unknown."""
    aggregation = rubric.aggregation
    if aggregation is None or record is None:
        return None
    ids = [candidate.criterion.id for candidate in record.candidates]
    values_or_none = []
    for row in record.cells:
        ratings = {name: cell.score for name, cell in zip(ids, row, strict=True) if cell.applies}
        values_or_none.append(raw_value(aggregation, ratings))
    training_values = floats(value for value in values_or_none if value is not None)
    values = adaptation.raw_values(aggregation, texts)
    if not len(training_values) or np.isnan(values).all():
        return None
    is_outside = (values < training_values.min()) | (values > training_values.max())
    shares = np.where(np.isnan(values), np.nan, is_outside)
    return mean_over_groups(shares, [example.group for example in texts.examples], (0, 1))


def as_trained(
    source: Version, fitted: FittedTransfer, action: Action, judge: Judge, model_versions: Sequence[str]
) -> Trained:
    """Return the rubric of `action`, its training record, and its provenance, which includes the source's texts."""
    assert fitted.target
    adapted, target, earlier = fitted.adapted[action], fitted.target, source.provenance
    rated = target.rated
    trained = fitted.trained if action == "relearn" else None
    if trained:
        provenance, record, notes = trained.provenance, trained.record, trained.notes
    else:
        provenance, notes = _make_provenance(earlier, adapted, target, judge, model_versions), ()
        low = high = np.full(len(adapted.scores), np.nan)
        if aggregation := adapted.rubric.aggregation:
            low, high = interval_ends(adapted.scores, aggregation.conformal, target.table.scale)
        scales = target.table.scale, target.label_scale  # of the ratings, and of the labels
        scores, low, high = (adaptation.rescale(values, *scales) for values in (adapted.scores, low, high))
        thresholds = _held_out_thresholds(adapted, target)
        texts = recorded_texts(rated.examples, target.aspect, scores, low, high, thresholds=thresholds)
        record = TrainingRecord(texts=texts, candidates=rated.candidates, cells=rated.cells)
    learned_from = {}
    for field_name in ("examples", "groups", "texts"):
        learned_from[field_name] = tuple(sorted({*getattr(provenance, field_name), *getattr(earlier, field_name)}))
    aspect = source.rubric.aspect.name
    origin = versions.TransferOrigin(
        action=action, judge=earlier.judge, aspect=aspect, data=earlier.data, labels=len(rated.examples)
    )
    return Trained(adapted.rubric, provenance.model_copy(update={**learned_from, "transfer": origin}), notes, record)


def _held_out_thresholds(adapted: AdaptedRubric, target: LabelledTarget) -> FloatArray | None:
    """Return the threshold for each text's score, learned without the text's fold; `None` without two levels."""
    threshold, level_names = adapted.rubric.threshold, target.table.scale.names
    if level_names is None or threshold is None:
        return None
    goal = target.settings.recall_goal(level_names)
    fixed_threshold = threshold if adapted.action == "reuse" else hand_set_threshold(adapted.rubric.aggregation)
    return held_out_thresholds(adapted.scores, target.table.labels, target.fold_numbers, goal, fixed_threshold)


def _make_provenance(
    source: Provenance, adapted: AdaptedRubric, target: LabelledTarget, judge: Judge, model_versions: Sequence[str]
) -> Provenance:
    examples, table, aggregation = target.rated.examples, target.table, adapted.rubric.aggregation
    fields: dict[str, Any] = origin_fields(examples, target.aspect, judge, judge, model_versions)
    fields |= {"generator": source.generator, "generator_address": source.generator_address}
    fields["text_fields"] = versions.shared_text_fields(source, examples)
    # `scores` are what the saved rubric gives each text. `adapted.scores` are held out, except after `reuse`.
    is_reused = adapted.action == "reuse"
    scores = adapted.scores if is_reused else adaptation.aggregate_scores(adapted.rubric, target.rated)
    # Compare with direct judging if calls ask for its ratings alone, and if the rubric is not itself direct judging.
    has_calls_by_method = aggregation is not None and aggregation.ask == "by method"
    has_direct = evaluation.DIRECT in table.methods and has_calls_by_method and not adapted.rubric.asks_directly
    validation = validate(
        table,
        feature_values(examples, FEATURE_NAMES),
        adapted.ranking_scores,
        scores,
        target.fold_numbers,
        method_scores={},
        predicted_labels=adapted.scores if table.scale.has_two_levels else None,
        calls={JOINT: estimate_scoring(adapted.rubric, examples).calls / len(examples)},
        direct=table.values[:, table.methods.index(evaluation.DIRECT)] if has_direct else None,
    )
    decisions: tuple[evaluation.DecisionAgreement, ...] = ()
    thresholds = _held_out_thresholds(adapted, target)
    if thresholds is not None:
        passed = decisions_at(adapted.scores, thresholds)
        labels, groups, ranking_scores = table.labels, table.groups, adapted.ranking_scores
        decisions = (decision_agreement(JOINT, adapted.scores, passed, labels, groups, ranking_scores=ranking_scores),)
    return Provenance(
        **fields,
        settings=source.settings,
        prompts=source.prompts,
        seed=target.seed,
        agreement=training_agreement(
            scores, adapted.ranking_scores, table.labels, table.groups, table.scale, optimistic=not is_reused
        ),
        baseline=best_feature(examples, target.aspect),
        validation=validation.model_copy(update={"verdict_agreements": decisions}),
    )
