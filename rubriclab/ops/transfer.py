"""Transfer of a rubric to other texts or another judge: measure its agreement, adapt the rubric, save the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
from pydantic import Field

from rubriclab import errors
from rubriclab.data.check import MIN_LABELS, label_limits, verdict_words
from rubriclab.data.reading_options import changed_options
from rubriclab.display import Displayed
from rubriclab.judges.judge import Judge
from rubriclab.learning import adaptation
from rubriclab.learning.adaptation import AdaptedRubric, LabelledTarget, RatedTexts
from rubriclab.learning.baselines import FEATURE_NAMES, best_feature, feature_values
from rubriclab.learning.calibration import interval_ends
from rubriclab.learning.candidates import EarlierRubric, Plan
from rubriclab.learning.estimate import CallEstimate, DryRun, dry_run, estimate_scoring
from rubriclab.learning.fitting import JointSettings
from rubriclab.learning.gate import GateLevel, gate_level, validate
from rubriclab.learning.train import Trained, origin_fields, recorded_texts, training_agreement
from rubriclab.learning.verdicts import held_out_thresholds, verdict_agreement, verdict_statistic, verdicts_at
from rubriclab.methods.catalogue import JOINT, METHODS
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.sources import find_checklist, load_findings
from rubriclab.models import evaluation, text as text_model, version as stored
from rubriclab.models.aggregation import hand_set_threshold, raw_value
from rubriclab.models.base import FrozenModel
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Aspect, Assignment, Example, Scale
from rubriclab.models.version import Action, Provenance, TrainingRecord, Version
from rubriclab.ops import workspace as work
from rubriclab.ops.evaluate import baseline_evaluators, unseen_examples
from rubriclab.ops.inputs import Data, describe_data, labels_on_scale, propose_label_mapping, usable_texts
from rubriclab.ops.learn import TrainingRun, resolve_settings
from rubriclab.ops.options import TransferOptions
from rubriclab.ops.workspace import Job, Notify, Workspace
from rubriclab.stats import intervals
from rubriclab.stats.correlation import BoolArray, FloatArray, floats
from rubriclab.stats.intervals import DIGITS, MIN_GROUPS, Interval, paired_mean, predict_folds, round_defined
from rubriclab.stats.score_agreement import agreement

# From the cheapest to the most expensive.
ACTIONS: tuple[Action, ...] = get_args(Action)


@dataclass(frozen=True, repr=False)
class TransferResult(Displayed):
    """A transfer, and the saved version or the reason why it could not be saved."""

    transfer: Transfer
    saved: Version | None
    effort: stored.Effort
    not_saved: str | None = None

    def raise_if_not_saved(self) -> None:
        if self.not_saved:
            raise errors.SettingsError(self.not_saved)


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
    training = relearning(version, target, workspace) if target.labelled and not options.no_relearn else None
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
        # Only learning again changes the recorded generator, and the imported version that named it, if any.
        generator_from = generator_choice.named_by
        if action != "relearn":
            recorded = version.provenance.generator_from
            source = await workspace.off_event_loop(work.imported_source, version, recorded, workspace.store)
            generator_from = source.ref if source else None
        named_by = {"judge_from": judge_choice.named_by, "generator_from": generator_from}
        data_fields = {"grades": options.grades or version.provenance.grades, "reading": changed_options(options)}
        given_scale = target.scale if options.scale else None
        limits = label_limits(target.labelled, target.aspect.name, given_scale)
        saved = await workspace.off_event_loop(
            workspace.store.save,
            options.name or version.name,
            trained.rubric,
            trained.provenance.model_copy(update={**named_by, **data_fields, "limits": limits}),
            workspace.effort(),
            version.ref,
            training=trained.record,
        )
        return TransferResult(fitted.transfer, saved, workspace.effort())

    return Job(estimate, run)


def target_texts(data: Data, version: Version, options: TransferOptions, notify: Notify) -> TargetTexts:
    """Return the usable texts of `data` that the version was not learned from, with their usable labels."""
    rubric, name = version.rubric, describe_data(data)
    aspect = rubric.aspect
    if options.definition or options.aspect not in (None, aspect.name):
        aspect = text_model.find_aspect(rubric.task, options.aspect or aspect.name, options.definition)
    examples = usable_texts(data, options, [(aspect.name, rubric.scores_on)], notify)
    texts = unseen_examples(examples, [version])
    if left_out := len(examples) - len(texts):
        notify(f"{left_out} of {len(examples)} texts left out: {version.ref} was learned from them or their groups")
    if not texts:
        problem = f"{name} has no usable text that {version.ref} was not learned from."
        raise errors.DataError(problem, "Give other texts.")
    labelled_texts = text_model.labelled(texts, aspect.name)
    scale = _scale(labelled_texts, aspect.name, version, options, notify)
    on_scale = labels_on_scale(labelled_texts, aspect.name, scale, name, notify)
    if len(on_scale) < MIN_LABELS or len({text.scores[aspect.name] for text in on_scale}) == 1:
        notify(
            f"{name}: {len(on_scale)} usable labels for {aspect.name!r} are too few to measure agreement (at least "
            f"{MIN_LABELS}, not all equal); the transfer goes on without labels"
        )
        likely = None if labelled_texts else propose_label_mapping(data, options, aspect.name)
        if likely:
            notify(f"if people scored these texts, map the labels: `mapping={likely}`")
        on_scale = ()
    by_id = {text.id: text for text in on_scale}
    return TargetTexts(name, tuple(by_id.get(text.id, text) for text in texts), on_scale, aspect, scale)


def _scale(texts: Sequence[Example], aspect: str, version: Version, options: TransferOptions, notify: Notify) -> Scale:
    """Return the scale of the target's labels: the rubric's if all labels lie on it."""
    source = version.rubric.scores_on
    labels = [text.scores[aspect] for text in texts]
    single_raters = [score for text in texts for score in text.annotations.get(aspect, ())]
    two_levels = source if source.names else text_model.two_level_scale(single_raters or labels)
    if options.scale:
        scale = text_model.parse_scale(options.scale, labels)
        has_two_levels = two_levels and two_levels.same_ends(scale) and not options.scale.endswith(":any")
        return two_levels if two_levels and has_two_levels else scale
    if not labels:
        return source
    scale = text_model.infer_scale(labels, single_raters)
    between = f"the labels lie between {scale.low:g} and {scale.high:g}"
    ends = f"{source.low:g} to {source.high:g}"
    are_words = scale.names and not source.names and verdict_words([*single_raters, *labels])
    if are_words or not (source.low <= scale.low and scale.high <= source.high):
        mapped = f"scores of {version.ref} are mapped linearly to it from {ends}"
        notify(f"{between}, which is taken as their scale (`scale` overrides it); {mapped}")
        return scale
    if scale.width <= source.width / 2:
        notify(f"{between} and are taken to be on the rubric's scale, {ends} (`scale` overrides it)")
    return source


def relearning(version: Version, target: TargetTexts, workspace: Workspace) -> TrainingRun | None:
    """Return a training with the version's methods, settings and findings; `None` if no method has its checklist."""
    recorded, task, aspect = version.provenance.settings, version.rubric.task, target.aspect.name
    methods = [METHODS[name] for name in recorded if name != JOINT]
    resolved = resolve_settings(methods, joint=True, configured=workspace.settings, recorded=recorded)
    findings = load_findings(task, aspect, excluded=version.provenance.literature_without)
    training_input = TrainingInput(
        target.labelled, Assignment(text_model.task_words(task), target.aspect, target.scale), findings
    )
    plans = []
    for method in methods:
        settings = resolved.methods[method.name]
        # A method without the checklist that it needs is left out.
        with suppress(errors.ChecklistError):
            needed = method.needs_checklist(settings)
            checklist = find_checklist(method.checklists, task, aspect, is_required=needed)
            plans.append(Plan(method, replace(training_input, checklist=checklist), settings))
    if plans:
        return TrainingRun(tuple(plans), resolved.joint)
    lacking = f"its methods need a checklist; rubriclab has none for {aspect}"
    workspace.notify(f"{version.ref} cannot be relearned: {lacking}")
    return None


class ActionEvaluation(FrozenModel):
    """The agreement of the rubric with the labels after one action; `skipped` says why the action was not possible.

    `error` is the mean absolute error in points of the labels' scale, or the Brier score for labels of two levels.
    `gain` is the error of the unchanged rubric less that of this action, on the texts that all actions scored.
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
    """The agreement of a text feature, or a model of them, with the labels; it is on no scale, so it has no error."""

    name: str
    spearman: Interval
    pearson: Interval
    auroc: Interval | None = Field(None, exclude_if=lambda value: value is None)


class Transfer(Displayed, FrozenModel):
    """The evaluation of a rubric on target texts.

    Attributes:
        calibrated_for: the judge that the version was fitted to.
        outside: the share of texts whose weighted ratings lie outside the training texts' range; `None` if unknown.
        mean_error: the `error` if every text gets the mean label of the other folds as its score.
        baselines: the free baselines of an evaluation, which need no judge.
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


def text_errors(scores: FloatArray, labels: FloatArray, scale: Scale, label_scale: Scale) -> FloatArray:
    """Return the error of each score on `scale`, shape (texts,), NaN for unscored texts.

    For labels of two levels, it is the squared distance from people's decision (the mean is the Brier score), and NaN
    for ties. Otherwise it is the absolute difference in points of `label_scale`.
    """
    if label_scale.names is None:
        return label_scale.width / scale.width * np.abs(scores - labels)
    shares = adaptation.rescale(labels, scale, label_scale).round(DIGITS)
    return np.where(shares == 0.5, np.nan, np.square(adaptation.rescale(scores, scale, label_scale) - (shares > 0.5)))


def mean_over_groups(values: FloatArray, groups: Sequence[str]) -> Interval:
    """Return the mean of the values that are not NaN, with its 95 % interval over groups."""
    is_known = ~np.isnan(values)
    return paired_mean(values[is_known], intervals.cluster_numbers(np.array(groups)[is_known].tolist())).rounded()


def recommend(
    errors_of: Mapping[Action, FloatArray], labels: FloatArray, groups: Sequence[str], default: Action
) -> tuple[Action, dict[Action, Interval], bool]:
    """Return the action with the smallest mean error, gains over `reuse`, and whether the choice is undecided.

    `errors_of` holds each measured action's `text_errors`, whose scores were fitted without the text's own label. Of
    actions with equal errors, the cheapest is chosen. The difference need not be significant: waiting for significance
    gave worse results in our measurements. With fewer than `MIN_GROUPS` groups, or constant labels, the choice is
    undecided, and `default` is returned.
    """
    actions = [action for action in ACTIONS if action in errors_of]
    has_no_error = np.isnan([errors_of[action] for action in actions])
    scored_by_all: BoolArray = np.array(~has_no_error.any(axis=0))
    gains = {}
    for action in actions if "reuse" in errors_of else ():
        differences = np.where(scored_by_all, errors_of["reuse"] - errors_of[action], np.nan)
        gains[action] = mean_over_groups(differences, groups)
    if len(set(np.array(groups)[scored_by_all])) < MIN_GROUPS or np.ptp(labels[scored_by_all]) == 0:
        return default, gains, True
    means = {action: round_defined(errors_of[action][scored_by_all].mean()) for action in actions}
    return min(actions, key=lambda action: means[action]), gains, False


@dataclass(frozen=True)
class TargetTexts:
    """Texts that a rubric is transferred to; those `labelled` have a score for `aspect` on `scale`."""

    name: str
    examples: tuple[Example, ...]
    labelled: tuple[Example, ...]
    aspect: Aspect
    scale: Scale


@dataclass(frozen=True, eq=False)
class FittedTransfer:
    """A transfer and, with labels, the rubric of each action and the texts that these rubrics were fitted to."""

    transfer: Transfer
    adapted: Mapping[Action, AdaptedRubric] = field(default_factory=dict)
    labelled: LabelledTarget | None = None
    trained: Trained | None = None


async def measure_transfer(
    workspace: Workspace,
    source: Version,
    target: TargetTexts,
    judge: Judge,
    training: TrainingRun | None,
    *,
    generator: Judge,
) -> FittedTransfer:
    seed = source.provenance.seed
    record = await workspace.off_event_loop(workspace.store.training, source.ref)
    rubric = source.rubric.model_copy(update={"aspect": target.aspect})
    with workspace.progress(workspace.ledger) as on_progress:
        on_progress(f"rating {len(target.examples)} texts by the rubric", 0.0)
        rated = await adaptation.rate_by_version(rubric, source.ref, target.examples, judge, workspace.max_under_way)
    if np.isnan(rated.scores).all():
        problem = f"None of {len(rated.examples)} texts could be scored"
        raise errors.JudgeError(f"{problem}; the latest reason: {rated.unscored_reason}")
    unlabelled = Transfer(
        rubric=source.ref,
        judge=judge.name,
        calibrated_for=source.provenance.judge,
        target=target.name,
        aspect=target.aspect.name,
        source_aspect=source.rubric.aspect.name,
        scale=target.scale,
        source_scale=source.rubric.scores_on,
        texts=len(rated.examples),
        unscored=int(np.isnan(rated.scores).sum()),
        unscored_reason=rated.unscored_reason,
        outside=outside_training_range(source.rubric, record, rated),
    )
    if not target.labelled:
        return FittedTransfer(unlabelled)
    settings = JointSettings.from_record(source.provenance.settings.get(JOINT, {}))
    labelled_target = LabelledTarget(
        rubric, rated.select(target.labelled), target.aspect.name, target.scale, settings, seed
    )
    adapted: dict[Action, AdaptedRubric] = {
        "reuse": adaptation.reuse_rubric(labelled_target),
        "recalibrate": adaptation.recalibrate_rubric(labelled_target),
    }
    trained, skipped = None, "not requested"
    if training:
        try:
            ids = [candidate.criterion.id for candidate in labelled_target.rated.candidates]
            rows = zip(labelled_target.rated.examples, labelled_target.rated.cells, strict=True)
            earlier_cells = {example.id: dict(zip(ids, row, strict=True)) for example, row in rows}
            with workspace.progress(workspace.ledger) as on_progress:
                on_progress(f"learning again from {len(target.labelled)} labels", 0.3)
                trained = await training.run(
                    judge=judge,
                    generator=generator,
                    seed=seed,
                    earlier=EarlierRubric(rubric.parts, earlier_cells),
                    model_versions=workspace.model_versions,
                )
            adapted["relearn"] = adaptation.relearned_rubric(labelled_target, trained)
        except (errors.BudgetReached, errors.JudgeRefused, errors.ProviderDown):
            raise
        except (errors.DataError, errors.JudgeError, errors.ReplayMiss, errors.SettingsError) as error:
            skipped = error.text
    labels, groups, scale = labelled_target.table.labels, labelled_target.table.groups, labelled_target.label_scale
    level, scales = gate_level(labels, groups), (rubric.scale, scale)
    errors_of = {action: text_errors(each.scores, labels, *scales) for action, each in adapted.items()}
    # Graded scores are no probabilities of a level until they are calibrated to decisions.
    is_probability = scale.names is None or rubric.scores_on.names is not None
    measured = {action: errors for action, errors in errors_of.items() if is_probability or action != "reuse"}
    # Another judge uses the scale differently, even if the labels are too few to show it.
    default: Action = "reuse" if is_probability and judge.name == source.provenance.judge else "recalibrate"
    recommended, gains, undecided = recommend(measured, labels, groups, default)

    def agreement_in_order(scores: FloatArray) -> dict[str, Interval | None]:
        measures = agreement(scores, labels, groups, level=level)
        shares = adaptation.rescale(labels, *scales).round(DIGITS)
        auroc = verdict_statistic("AUROC", [scores], shares, groups) if scale.names else None
        return {"spearman": measures.spearman.rounded(), "pearson": measures.pearson.rounded(), "auroc": auroc}

    evaluations = []
    for action in ACTIONS:
        if action not in adapted:
            evaluations.append(ActionEvaluation(action=action, skipped=skipped))
            continue
        has_error = ~np.isnan(errors_of[action])
        evaluations.append(
            ActionEvaluation(
                action=action,
                criteria=len(adapted[action].rubric.criteria),
                level=level,
                n=int(has_error.sum()),
                groups=len(set(np.array(groups)[has_error])),
                error=mean_over_groups(errors_of[action], groups) if action in measured else Interval(None),
                gain=gains.get(action, Interval(None)),
                **agreement_in_order(adapted[action].ranking_scores),
            )
        )
    free_baselines = baseline_evaluators(labelled_target.rated.examples, {source.ref: source.provenance.baseline})
    fold = labelled_target.fold
    mean_labels = predict_folds(fold, lambda others, in_fold: np.full(in_fold.sum(), labels[others].mean()))
    update = {
        "labels": len(labels),
        "groups": len(set(groups)),
        "mean_error": mean_over_groups(text_errors(mean_labels, labels, *scales), groups),
        "baselines": tuple(FreeBaseline(name=each.name, **agreement_in_order(each.scores)) for each in free_baselines),
        "actions": tuple(evaluations),
        "recommended": recommended,
        "too_few_groups": undecided,
    }
    return FittedTransfer(unlabelled.model_copy(update=update), adapted, labelled_target, trained)


def outside_training_range(rubric: Rubric, record: TrainingRecord | None, texts: RatedTexts) -> Interval | None:
    """Return the share of texts whose weighted ratings lie outside the training texts' range, `None` if unknown."""
    aggregation = rubric.aggregation
    if aggregation is None or record is None:
        return None
    ids = [candidate.criterion.id for candidate in record.candidates]
    all_training_values = []
    for row in record.cells:
        ratings = {name: cell.score for name, cell in zip(ids, row, strict=True) if cell.applies}
        all_training_values.append(raw_value(aggregation, ratings))
    training_values = floats(value for value in all_training_values if value is not None)
    values = adaptation.raw_values(aggregation, texts)
    if not len(training_values) or np.isnan(values).all():
        return None
    is_outside = (values < training_values.min()) | (values > training_values.max())
    shares = np.where(np.isnan(values), np.nan, is_outside)
    return mean_over_groups(shares, [example.group for example in texts.examples]).within(0, 1)


def as_trained(
    source: Version, fitted: FittedTransfer, action: Action, judge: Judge, model_versions: Sequence[str]
) -> Trained:
    """Return the rubric of `action` as the result of a training; its provenance lists the source's texts too."""
    assert fitted.labelled
    adapted, target, before = fitted.adapted[action], fitted.labelled, source.provenance
    rated = target.rated
    trained = fitted.trained if action == "relearn" else None
    if trained:
        provenance, record, notes = trained.provenance, trained.record, trained.notes
    else:
        provenance, notes = _provenance(before, adapted, target, judge, model_versions), ()
        low = high = np.full(len(adapted.scores), np.nan)
        if aggregation := adapted.rubric.aggregation:
            low, high = interval_ends(adapted.scores, aggregation.conformal, target.rubric.scale)
        scales = target.rubric.scale, target.label_scale
        mapped = [adaptation.rescale(values, *scales) for values in (adapted.scores, low, high)]
        texts = recorded_texts(rated.examples, target.aspect, *mapped, thresholds=_held_out_thresholds(adapted, target))
        record = TrainingRecord(texts=texts, candidates=rated.candidates, cells=rated.cells)
    learned_from = {}
    for field_name in ("examples", "groups", "texts"):
        learned_from[field_name] = tuple(sorted({*getattr(provenance, field_name), *getattr(before, field_name)}))
    aspect = source.rubric.aspect.name
    origin = stored.TransferOrigin(
        action=action, judge=before.judge, aspect=aspect, data=before.data, labels=len(rated.examples)
    )
    return Trained(adapted.rubric, provenance.model_copy(update={**learned_from, "transfer": origin}), notes, record)


def _held_out_thresholds(adapted: AdaptedRubric, target: LabelledTarget) -> FloatArray | None:
    """Return the threshold of each cross-validated score, learned without its text's fold; `None` without levels."""
    threshold, names = adapted.rubric.threshold, target.table.scale.names
    if names is None or threshold is None:
        return None
    recall = target.settings.recall(names)
    fixed_threshold = threshold if adapted.action == "reuse" else hand_set_threshold(adapted.rubric.aggregation)
    return held_out_thresholds(adapted.scores, target.table.labels, target.fold, recall, fixed_threshold)


def _provenance(
    before: Provenance, adapted: AdaptedRubric, target: LabelledTarget, judge: Judge, model_versions: Sequence[str]
) -> Provenance:
    examples, table, aggregation = target.rated.examples, target.table, adapted.rubric.aggregation
    fields: dict[str, Any] = origin_fields(examples, target.aspect, judge, judge, model_versions)
    fields |= {
        "text_fields": stored.shared_text_fields(before, examples),
        "generator": before.generator,
        "generator_address": before.generator_address,
    }
    # `adapted.scores` are cross-validated unless the rubric is reused; `scores` are by the rubric that is saved.
    reused = adapted.action == "reuse"
    scores = adapted.scores if reused else adaptation.aggregate_scores(adapted.rubric, target.rated)
    # A rating given in one call with other criteria does not measure direct judging. No judge is compared with itself.
    is_asked_alone = aggregation is not None and aggregation.ask == "by method"
    has_direct = evaluation.DIRECT in table.methods and is_asked_alone and not adapted.rubric.asks_directly
    measured = validate(
        table,
        feature_values(examples, FEATURE_NAMES),
        adapted.ranking_scores,
        scores,
        target.fold,
        method_scores={},
        predicted_labels=adapted.scores if table.scale.names else None,
        calls={JOINT: estimate_scoring(adapted.rubric, examples).calls / len(examples)},
        direct=table.values[:, table.methods.index(evaluation.DIRECT)] if has_direct else None,
    )
    verdicts: tuple[evaluation.VerdictAgreement, ...] = ()
    thresholds = _held_out_thresholds(adapted, target)
    if thresholds is not None:
        passed = verdicts_at(adapted.scores, thresholds)
        labels, groups, ranking_scores = table.labels, table.groups, adapted.ranking_scores
        verdicts = (verdict_agreement(JOINT, adapted.scores, passed, labels, groups, ranking_scores=ranking_scores),)
    return Provenance(
        **fields,
        settings=before.settings,
        prompts=before.prompts,
        seed=target.seed,
        agreement=training_agreement(
            scores, adapted.ranking_scores, table.labels, table.groups, table.scale, optimistic=not reused
        ),
        baseline=best_feature(examples, target.aspect),
        validation=measured.model_copy(update={"verdict_agreements": verdicts}),
    )
