"""Training: `train_method` learns a rubric with one method, `train_joint` with several:

1. The methods propose criteria, and the judge rates the labelled texts by these candidates (`candidates.py`),
   each text in a call of its own, or several texts of one group, which are *rivals*, in one call.
2. Criteria are selected and weighed, and each text gets a held-out score: by a rubric that was fitted in the same way
   without the texts of its fold (`fitting.py`). Correlations use these scores without the folds' means.
3. The gate compares the held-out scores with simpler ways to score, such as asking the judge directly (`gate.py`).

`JointResults` has the results of steps 2 and 3, also for a rubric that a person has edited.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import compress
from typing import Any

import numpy as np
from pydantic import BaseModel

from rubriclab import stats
from rubriclab.errors import JudgeError, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning import candidates as candidate_search, fitting, pass_fail
from rubriclab.learning.baselines import FEATURE_NAMES, best_feature, feature_values
from rubriclab.learning.calibration import held_out_errors, interval_ends
from rubriclab.learning.gate import calibrated_scores, summarize_raters, validate
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.methods.catalogue import JOINT
from rubriclab.methods.method import LearningCalls, Method, Progress, TrainingInput, ignore_progress
from rubriclab.methods.single_call import GROUP_TEMPLATE, TEMPLATE, shared_input
from rubriclab.models import evaluation, text, version
from rubriclab.models.aggregation import Aggregation, CallGrouping, Conformal, Term, bounds_if_weight_within
from rubriclab.models.rubric import DroppedCriterion, Rubric
from rubriclab.prompts.render import prompts_digest
from rubriclab.stats.correlation import FloatArray, floats
from rubriclab.stats.intervals import DIGITS, round_or_none, wilson_interval


@dataclass(frozen=True, slots=True)
class Trained:
    """A learned rubric; the `record` of its training is kept if several methods learned it."""

    rubric: Rubric
    provenance: version.Provenance
    notes: tuple[str, ...] = ()
    record: version.TrainingRecord | None = None


async def train_method(
    method: Method,
    training_input: TrainingInput,
    settings: BaseModel,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    model_versions: Callable[[], Sequence[str]] = tuple,
    on_progress: Progress = ignore_progress,
) -> Trained:
    """Return the rubric that `method` learns alone; `model_versions` returns the versions that providers report."""
    learned = await method.learn(
        training_input, settings, judge=judge, generator=generator, seed=seed, on_progress=on_progress
    )
    assignment, examples = training_input.assignment, training_input.examples
    rubric = Rubric(task=assignment.words.task, aspect=assignment.aspect, scale=assignment.scale, parts=(learned.part,))
    aspect, examples_by_id = assignment.aspect.name, {example.id: example for example in examples}
    rated_examples = [examples_by_id[text_id] for text_id in learned.examples]
    agreement = None
    if rated_examples:
        labels = floats(example.scores[aspect] for example in rated_examples)
        groups = [example.group for example in rated_examples]
        # `reselected` has scores of each group by the criteria that the labels of the other groups select.
        agreement = training_agreement(
            learned.scores, learned.reselected, labels, groups, assignment.scale, optimistic=learned.optimistic
        )
    provenance = version.Provenance(
        **origin_fields(examples, aspect, judge, generator, model_versions()),
        settings={method.name: settings.model_dump(mode="json")},
        prompts=prompts_digest(method.prompts),
        seed=seed,
        agreement=agreement,
        baseline=best_feature(rated_examples, aspect),
    )
    return Trained(rubric, provenance, learned.notes)


def origin_fields(
    examples: Sequence[text.Example], aspect: str, judge: Judge, generator: Judge, model_versions: Iterable[str]
) -> dict[str, Any]:
    from rubriclab import __version__

    return {
        "judge": judge.name,
        "generator": generator.name,
        "judge_address": judge.identity.get("address"),
        "generator_address": generator.identity.get("address"),
        "model_versions": tuple(sorted(model_versions)),
        "data": text.data_digest(examples, aspect),
        "examples": tuple(sorted(example.id for example in examples)),
        "groups": tuple(sorted({example.group for example in examples})),
        "texts": tuple(sorted(text.words_digest(example) for example in examples)),
        "text_fields": text.common_fields(examples),
        "version": __version__,
    }


def training_agreement(
    scores: FloatArray,
    cross_validated: FloatArray,
    labels: FloatArray,
    groups: Sequence[str],
    scale: text.Scale,
    *,
    optimistic: bool = True,
) -> evaluation.TrainingAgreement:
    """Return the agreement of scores with the labels of all training texts; NaN stands for a missing score.

    `cross_validated` are scores of each text by criteria that were selected without the text's group; `optimistic` says
    whether the rubric was learned from these labels. The agreement of `cross_validated` is stored as `reselected`.
    """
    in_sample = stats.agreement(scores, labels, groups, level="dataset")
    held_out = stats.agreement(cross_validated, labels, groups, level="dataset")
    auroc, reselected = None, held_out.spearman.rounded()
    if scale.has_two_levels:
        auroc = pass_fail.two_level_statistic("AUROC", [scores], labels, groups)
        reselected = pass_fail.two_level_statistic("AUROC", [cross_validated], labels, groups)
    return evaluation.TrainingAgreement(
        n=in_sample.n,
        optimistic=optimistic,
        spearman=in_sample.spearman.rounded(),
        pearson=in_sample.pearson.rounded(),
        kendall=in_sample.kendall.rounded(),
        reselected=reselected,
        auroc=auroc,
    )


def recorded_texts(
    examples: Sequence[text.Example],
    aspect: str,
    predicted: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    direct: FloatArray | None = None,
    thresholds: FloatArray | None = None,
) -> tuple[version.RecordedText, ...]:
    """Return the labelled texts of a training record; numbers are NaN where missing.

    `predicted` are held-out scores, `low` and `high` the ends of their intervals, `thresholds` the lowest scores that
    pass, and `direct` the scores by the judge when it is asked directly, without a rubric.
    """
    copied_fields = ("id", "group", "output", "source", "context", "reference", "system")
    passed = None if thresholds is None else pass_fail.decisions_at(predicted, thresholds)
    return tuple(
        version.RecordedText(
            **{name: getattr(example, name) for name in copied_fields},
            label=float(example.scores[aspect]),
            raters=text.named_annotations(example, aspect),
            reasons=text.named_reasons(example, aspect),
            predicted=round_or_none(float(predicted[row])),
            low=round_or_none(float(low[row])),
            high=round_or_none(float(high[row])),
            direct=None if direct is None else round_or_none(float(direct[row])),
            passed=None if passed is None or np.isnan(passed[row]) else bool(passed[row]),
            threshold=None if thresholds is None else round_or_none(float(thresholds[row])),
        )
        for row, example in enumerate(examples)
    )


@dataclass
class JointResults:
    """Results of joint training, each computed from the candidates' ratings and the labels when it is first needed.

    Attributes:
        edited_rubric: a rubric that a person has edited, which replaces the selected rubric.
        reasons: by id, why a criterion is not in the edited rubric; without an entry its former reason stays.
        threshold_by_hand: the lowest score that passes, if a person has set it.
        recorded_direct_scores: scores by the same judge asked directly, from the record of the unedited version.
        notes: messages for the user; computing `fit` and `threshold` adds to them.
    """

    candidates: candidate_search.Candidates
    assignment: text.Assignment
    settings: fitting.JointSettings
    edited_rubric: fitting.SelectedRubric | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    threshold_by_hand: float | None = None
    recorded_direct_scores: FloatArray | None = None
    notes: list[str] = field(default_factory=list, init=False)

    @property
    def grouping(self) -> CallGrouping:
        return "in one call" if self.candidates.joint_ratings else "by method"

    @cached_property
    def table(self) -> RatingMatrix:
        """The ratings by all candidates, from joint calls if there were any."""
        return self.candidates.table(self.assignment, self.grouping)

    @cached_property
    def table_by_method(self) -> RatingMatrix:
        """The ratings by all candidates, from separate calls for each method."""
        return self.candidates.table(self.assignment, "by method")

    @cached_property
    def selected(self) -> fitting.SelectedRubric:
        return self.edited_rubric or fitting.select_rubric(self.table, self.settings, self.grouping)

    @cached_property
    def fit(self) -> fitting.Fit:
        fit = self.selected.fit
        if not fit.columns:
            raise JudgeError(
                "No criterion distinguishes any two of the labelled texts, so there is nothing to weigh.",
                "Try another `judge`, or other methods.",
            )
        values = self.table.values[:, list(fit.columns)]
        if (np.nanmax(values, axis=0) == np.nanmin(values, axis=0)).all():
            self.notes.append(
                "the judge gave all labelled texts the same score for every criterion, so the score of every text "
                "is the mean of the labels"
            )
        return fit

    @cached_property
    def conformal(self) -> Conformal | None:
        if self.assignment.scale.has_two_levels:
            return None
        return held_out_errors(self.selected.held_out.scores, self.table.labels, fitting.INTERVAL_CONFIDENCE)

    @cached_property
    def threshold(self) -> float | None:
        """The lowest score that passes; `None` unless labels have two levels."""
        level_names = self.assignment.scale.names
        if level_names is None or self.threshold_by_hand is not None:
            return self.threshold_by_hand
        goal, scores, labels = self.settings.recall_goal(level_names), self.selected.held_out.scores, self.table.labels
        threshold = pass_fail.choose_threshold(scores, labels, goal)
        if goal:
            is_at_level = ~np.isnan(scores) & ((labels > 0.5) if goal.level else (labels < 0.5))
            is_put_at_level = (scores >= threshold) == bool(goal.level)
            n_found, n_at_level = int((is_at_level & is_put_at_level).sum()), int(is_at_level.sum())
            low = wilson_interval(n_found, n_at_level).low or 0.0
            if low < goal.min_share:
                self.notes.append(
                    f"the threshold finds {n_found} of {n_at_level} labelled texts at {level_names[goal.level]!r}; "
                    f"so few do not ensure a recall of {goal.min_share:g} for new texts: its 95 % interval begins at "
                    f"{low:.2f}"
                )
        return round(threshold, DIGITS)

    def not_assessed_notes(self) -> Iterator[str]:
        """Yield notes on how many texts the judge could not assess; no note unless labels have two levels."""
        if not self.assignment.scale.has_two_levels:
            return
        cells = self.candidates.cells_for(self.grouping)
        for kind, subject, pronoun in (("score", "they", "them"), ("hypothesis", "a criterion", "it")):
            is_of_kind = [candidate.criterion.kind == kind for candidate in self.candidates.candidates]
            count = 0
            for row in cells:
                inapplicable = [cell for cell in compress(row, is_of_kind) if not cell.applies]
                count += any(cell.reason != candidate_search.NOT_RATED_REASON for cell in inapplicable)
            if count:
                texts = f"{count} of {len(cells)} texts"
                yield f"the judge says of {texts} that {subject} cannot be assessed, and does not rate {pronoun}"

    def rubric(self) -> Rubric:
        fit, weight_bounds, ids = self.fit, self.candidates.bounds, self.candidates.ids
        kept_ids = [ids[column] for column in fit.columns]
        shares = fitting.selection_shares(self.selected, self.table)
        rows = np.column_stack((fit.weights, fit.centers, fit.spreads, fit.low, fit.high, shares)).tolist()
        terms = tuple(
            Term(
                criterion=criterion_id,
                weight=weight,
                center=center,
                spread=spread,
                low=round(low, DIGITS),
                high=round(high, DIGITS),
                selected=round(share, DIGITS),
                bounds=bounds_if_weight_within(weight_bounds.get(criterion_id), weight),
            )
            for criterion_id, (weight, center, spread, low, high, share) in zip(kept_ids, rows, strict=True)
        )
        aggregation = Aggregation(
            ask=self.grouping,
            terms=terms,
            calibration=fit.calibration,
            conformal=self.conformal,
            rivals=self.candidates.group_limits if self.grouping == "in one call" else None,
            form=self.candidates.simpler_form,
            threshold=self.threshold,
            threshold_by_hand=self.threshold_by_hand is not None,
        )
        learned_reasons = {ids[column]: dropped.reason(ids) for column, dropped in fit.dropped.items()}
        reasons = self.reasons if self.edited_rubric else learned_reasons
        kept_parts = self.candidates.parts_with(kept_ids, reasons)
        kept_methods = {part.method for part in kept_parts}
        dropped: list[DroppedCriterion] = []
        for part in self.candidates.parts:
            if part.method not in kept_methods:
                dropped += self.candidates.dropped_criteria(part, kept_ids, reasons)
        return Rubric(
            task=self.assignment.words.task,
            aspect=self.assignment.aspect,
            scale=self.assignment.scale,
            parts=kept_parts,
            aggregation=aggregation,
            dropped=tuple(dropped),
        )

    @property
    def direct_scores(self) -> FloatArray | None:
        """The texts' scores by the same judge asked directly; `None` if they are not known."""
        # If calls are joint, the candidates of an edited rubric have no ratings from separate calls of each method.
        if self.edited_rubric and self.grouping != "by method":
            return self.recorded_direct_scores
        table = self.table_by_method
        return table.values[:, table.methods.index(evaluation.DIRECT)] if evaluation.DIRECT in table.methods else None

    @cached_property
    def validation(self) -> evaluation.Validation:
        table, candidates, held_out, assignment = self.table, self.candidates, self.selected.held_out, self.assignment
        kept_ids = [candidates.ids[column] for column in self.fit.columns]
        calls = {JOINT: candidates.calls_per_text(kept_ids, assignment, self.grouping)}
        # Compare the rubric with its holistic criteria alone, if a person who edited it has not dropped them.
        tables = {}
        whole_columns = np.flatnonzero(table.holistic).tolist() if self.grouping == "in one call" else []
        if self.edited_rubric:
            whole_columns = [column for column in whole_columns if column in self.fit.columns]
        if whole_columns:
            whole_ids = [candidates.ids[column] for column in whole_columns]
            tables[evaluation.WHOLE] = table.select_columns(whole_columns)
            calls[evaluation.WHOLE] = candidates.calls_per_text(whole_ids, assignment, self.grouping)
        # Compare it also with each method alone, by the ratings from the method's own calls.
        for part in candidates.parts:
            calls[part.method] = candidates.calls_per_text([each.id for each in part.criteria], assignment, "by method")
        methods = self.table_by_method.methods
        for name in dict.fromkeys(methods):
            if name not in (evaluation.DIRECT, "text_features"):
                columns = [column for column, method in enumerate(methods) if method == name]
                tables[name] = self.table_by_method.select_columns(columns)
        scores = {name: fitting.cross_validate(each, self.settings).ranking_scores for name, each in tables.items()}
        result = validate(
            self.table_by_method,
            feature_values(candidates.examples, FEATURE_NAMES),
            held_out.ranking_scores,
            self.fit.raw_values(table.values),  # the weighted sums of ratings, not calibrated
            held_out.folds_by_repetition[0],
            method_scores=scores,
            calls=calls,
            direct=self.direct_scores,
            predicted_labels=held_out.scores,
        )
        joint, *others = result.evaluators
        # Replace the intervals of the rubric's agreement by intervals that include the variance of learning.
        intervals = fitting.refitted_agreement(table, held_out, level=result.level)
        refitted = joint.model_copy(update={name: interval.rounded() for name, interval in intervals.items()})
        update = {
            "evaluators": (refitted, *others),
            "raters": summarize_raters(candidates.examples, assignment.aspect.name, assignment.scale),
            "verdict_agreements": tuple(self._decision_agreements()),  # decisions: pass or fail
        }
        return result.model_copy(update=update)

    def _decision_agreements(self) -> Iterator[evaluation.DecisionAgreement]:
        """Yield how well pass/fail decisions agree with the labels: by the rubric, by direct scores, and by raters."""
        if self.held_out_decisions is None:
            return
        held_out, groups, direct = self.selected.held_out, self.table.groups, self.direct_scores
        agreement = partial(pass_fail.decision_agreement, labels=self.table.labels, groups=groups)
        yield agreement(JOINT, held_out.scores, self.held_out_decisions, ranking_scores=held_out.ranking_scores)
        if direct is not None:
            yield agreement(evaluation.DIRECT, direct, pass_fail.decisions_at(direct, 0.5))
            calibrated = calibrated_scores(self.table_by_method, held_out.folds_by_repetition[0], direct)
            decided = pass_fail.decisions_at(calibrated, self._thresholds_of(calibrated))
            yield agreement(evaluation.CALIBRATED, calibrated, decided, ranking_scores=direct)
        aspect = self.assignment.aspect.name
        ratings = [example.annotations.get(aspect, ()) for example in self.candidates.examples]
        if by_raters := pass_fail.rater_decision_agreement(ratings, groups):
            yield by_raters

    @cached_property
    def held_out_decisions(self) -> FloatArray | None:
        """Each text's decision by its held-out score: 1 passes, 0 fails, NaN without a score."""
        thresholds = self.held_out_thresholds
        return None if thresholds is None else pass_fail.decisions_at(self.selected.held_out.scores, thresholds)

    @cached_property
    def held_out_thresholds(self) -> FloatArray | None:
        """Each text's threshold, learned without its fold or set by hand; `None` unless labels have two levels."""
        if not self.assignment.scale.has_two_levels:
            return None
        return self._thresholds_of(self.selected.held_out.scores, self.threshold_by_hand)

    def _thresholds_of(self, scores: FloatArray, by_hand: float | None = None) -> FloatArray:
        level_names, fold_numbers = self.assignment.scale.names, self.selected.held_out.folds_by_repetition[0]
        goal = self.settings.recall_goal(level_names) if level_names else None
        return pass_fail.held_out_thresholds(scores, self.table.labels, fold_numbers, goal, by_hand)

    @property
    def agreement(self) -> evaluation.TrainingAgreement:
        table, scale = self.table, self.assignment.scale
        fitted, held_out = self.fit.scores(table.values, scale), self.selected.held_out.ranking_scores
        result = training_agreement(fitted, held_out, table.labels, table.groups, scale)
        # At level `dataset`, the validation has the same figure, with the variance of learning in its interval.
        rubric = self.validation.evaluators[0]
        reselected = rubric.spearman if self.validation.level == "dataset" else result.reselected
        return result.model_copy(update={"reselected": rubric.auroc or reselected})

    def record(self, rubric: Rubric) -> version.TrainingRecord:
        aspect, scores = self.assignment.aspect.name, self.selected.held_out.scores
        low, high = interval_ends(scores, self.conformal, self.assignment.scale)
        direct, thresholds, examples = self.direct_scores, self.held_out_thresholds, self.candidates.examples
        texts = recorded_texts(examples, aspect, scores, low, high, direct=direct, thresholds=thresholds)
        kept_ids = {criterion.id for criterion in rubric.criteria}
        candidates = tuple(
            each.model_copy(update={"kept": each.criterion.id in kept_ids}) for each in self.candidates.candidates
        )
        cells = self.candidates.cells_for(self.grouping)
        return version.TrainingRecord(texts=texts, candidates=candidates, cells=cells)


# The share of the work that is reported as done when criteria are proposed, and when texts are rated by them.
SHARE_AT_PROPOSED, SHARE_AT_RATED = 0.25, 0.95


async def train_joint(
    plans: Sequence[candidate_search.Plan],
    settings: fitting.JointSettings,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    earlier: candidate_search.EarlierRubric | None = None,
    model_versions: Callable[[], Sequence[str]] = tuple,
    on_progress: Progress = ignore_progress,
) -> Trained:
    """Return a validated rubric, with criteria selected from the candidates of the plans' methods and of `earlier`."""
    # Propose criteria, and rate the labelled texts by them.
    plans, notes, calls_are_joint = _runnable_plans(plans, settings)
    assignment = plans[0].training_input.assignment
    share_at_proposed = SHARE_AT_PROPOSED if calls_are_joint else SHARE_AT_RATED
    rating_share = SHARE_AT_RATED - share_at_proposed
    candidates = await candidate_search.find_candidates(
        plans,
        judge=judge,
        generator=generator,
        seed=seed,
        proposals_only=calls_are_joint,
        on_progress=lambda stage, share: on_progress(stage, share_at_proposed * share),
    )
    if earlier:
        candidates = candidate_search.add_earlier(candidates, earlier)
    if calls_are_joint:
        candidates = await candidate_search.rate_in_joint_calls(
            candidates,
            plans,
            judge=judge,
            generator=generator,
            group_limits=settings.group_limits,
            on_progress=lambda stage, share: on_progress(stage, share_at_proposed + rating_share * share),
        )
    # Select, weigh, cross-validate and validate: `JointResults` computes each result when it is used below.
    results = JointResults(candidates, assignment, settings)
    on_progress(f"selecting from {len(candidates.candidates)} criteria", SHARE_AT_RATED)
    rubric = results.rubric()
    on_progress(f"{len(rubric.criteria)} of {len(candidates.candidates)} criteria kept", 1.0)
    templates = {name for plan in plans for name in plan.method.prompts} | {TEMPLATE}
    if candidates.group_limits:
        templates.add(GROUP_TEMPLATE)
    provenance = version.Provenance(
        **origin_fields(candidates.examples, assignment.aspect.name, judge, generator, model_versions()),
        settings={
            **{plan.method.name: plan.settings.model_dump(mode="json") for plan in plans},
            "joint": settings.model_dump(mode="json"),
        },
        prompts=prompts_digest(sorted(templates)),
        seed=seed,
        agreement=results.agreement,
        baseline=best_feature(candidates.examples, assignment.aspect.name),
        validation=results.validation,
    )
    notes = (*notes, *candidates.notes, *results.not_assessed_notes(), *results.notes)
    return Trained(rubric, provenance, notes, results.record(rubric))


def joint_learning_calls(plans: Sequence[candidate_search.Plan], settings: fitting.JointSettings) -> LearningCalls:
    """Return the estimated calls of `train_joint` with the same arguments."""
    plans, _, calls_are_joint = _runnable_plans(plans, settings)
    to_run = map(candidate_search.leave_rating_to_joint_calls, plans) if calls_are_joint else plans
    calls = [plan.method.learning_calls(plan.training_input, plan.settings) for plan in to_run]
    n_jointly_rated, calls_per_text = sum(each.jointly_rated_criteria for each in calls), 0
    if calls_are_joint:
        calls_per_text = max(1, math.ceil(n_jointly_rated / candidate_search.MAX_CRITERIA_PER_CALL))
        # Criteria that `extend` proposes from the first ratings are rated in a further call.
        if any(plan.method.extend and plan.method.leaves_rating_to_joint_training(plan.settings) for plan in plans):
            calls_per_text = max(calls_per_text, 2)
        if any(plan.method.name == evaluation.DIRECT for plan in plans):
            calls_per_text += 1
    return LearningCalls(
        judge=sum(each.judge for each in calls) + len(plans[0].training_input.examples) * calls_per_text,
        generator=sum(each.generator for each in calls),
        shown=max(each.shown for each in calls),  # labelled texts in a prompt to the generator
        jointly_rated_criteria=n_jointly_rated,
    )


def _runnable_plans(
    plans: Sequence[candidate_search.Plan], settings: fitting.JointSettings
) -> tuple[Sequence[candidate_search.Plan], tuple[str, ...], bool]:
    """Return the plans to run, notes on plans that are left out, and whether all judged criteria share calls."""
    group_sizes = Counter(shared_input(example) for example in plans[0].training_input.examples)
    if settings.group_limits and max(group_sizes.values(), default=0) < 2:
        raise SettingsError(
            "A call about several texts needs texts of one group with the same source and context, but every labelled "
            "text is the only one of its group.",
            "Give the group or the source of each text, or leave `settings=joint.ask=with rivals` out.",
        )
    notes: tuple[str, ...] = ()
    # A reply about ten texts has no room for the many questions of a checklist, so checklist methods are left out.
    if settings.group_limits:
        sharing_methods = [plan.method for plan in plans if plan.method.shares_call(plan.settings.model_dump())]
        left_out = sorted(method.name for method in sharing_methods if method.criterion_kind == "question")
        if 0 < len(left_out) < len(sharing_methods):
            plans = [plan for plan in plans if plan.method.name not in left_out]
            notes = (f"{', '.join(left_out)} left out: a call about several texts has no room for many questions",)
    judged_plans = [plan for plan in plans if plan.method.criterion_kind != "feature"]
    all_share = all(plan.method.shares_call(plan.settings.model_dump()) for plan in judged_plans)
    # A single method rates by its own calls, unless calls are to be about several texts.
    min_methods = 1 if settings.group_limits else 2
    return plans, notes, settings.ask != "by method" and all_share and len(judged_plans) >= min_methods
