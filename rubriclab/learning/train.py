"""Training with one method, or with several and the gate."""

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
from rubriclab.learning import candidates as candidate_search, fitting, verdicts
from rubriclab.learning.baselines import FEATURE_NAMES, best_feature, feature_values
from rubriclab.learning.calibration import bounds, conformal
from rubriclab.learning.gate import calibrated_scores, raters, validation
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.methods.catalogue import JOINT
from rubriclab.methods.method import LearningCalls, Method, Progress, TrainingInput, ignore_progress
from rubriclab.methods.single_call import GROUP_TEMPLATE, TEMPLATE, shared_input
from rubriclab.models import evaluation, text, version
from rubriclab.models.aggregation import Aggregation, CallGrouping, Conformal, Term, bounds_if_met
from rubriclab.models.rubric import Rubric
from rubriclab.prompts.render import prompts_digest
from rubriclab.stats.correlation import FloatArray, floats
from rubriclab.stats.intervals import DIGITS, rounded, wilson_interval


@dataclass(frozen=True, slots=True)
class Trained:
    """The rubric, its provenance, notes to the user, and for several methods the record of each text."""

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
    """Return the rubric that `method` learns, with its provenance; `model_versions` are as providers reported them.

    Raises DataError if the method needs labelled texts and has none, JudgeError if nothing could be learned.
    """
    learned = await method.learn(
        training_input, settings, judge=judge, generator=generator, seed=seed, on_progress=on_progress
    )
    assignment, examples = training_input.assignment, training_input.examples
    rubric = Rubric(task=assignment.words.task, aspect=assignment.aspect, scale=assignment.scale, parts=(learned.part,))
    aspect, by_id = assignment.aspect.name, {example.id: example for example in examples}
    rated = [by_id[name] for name in learned.examples]
    agreement = None
    if rated:
        labels, groups = floats(example.scores[aspect] for example in rated), [example.group for example in rated]
        agreement = training_agreement(
            learned.scores, learned.reselected, labels, groups, assignment.scale, optimistic=learned.optimistic
        )
    provenance = version.Provenance(
        **origin_fields(examples, aspect, judge, generator, model_versions()),
        settings={method.name: settings.model_dump(mode="json")},
        prompts=prompts_digest(method.prompts),
        seed=seed,
        agreement=agreement,
        baseline=best_feature(rated, aspect) if rated else None,
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
    """Return the agreement of the rubric's scores of the training texts with their labels, over all texts.

    Scores have shape (texts,), NaN where missing. `cross_validated` are by criteria selected without the text's group.
    """
    in_sample = stats.agreement(scores, labels, groups, level="dataset")
    held_out = stats.agreement(cross_validated, labels, groups, level="dataset")
    auroc, reselected = None, held_out.spearman.rounded()
    if scale.names:
        auroc = verdicts.verdict_statistic("AUROC", [scores], labels, groups)
        reselected = verdicts.verdict_statistic("AUROC", [cross_validated], labels, groups)
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
    """Return labelled texts for a training record; held-out scores, intervals and thresholds are NaN where missing."""
    copied = ("id", "group", "output", "source", "context", "reference", "system")
    passed = None if thresholds is None else verdicts.verdicts_at(predicted, thresholds)
    return tuple(
        version.RecordedText(
            **{name: getattr(example, name) for name in copied},
            label=float(example.scores[aspect]),
            raters=text.named_annotations(example, aspect),
            reasons=text.named_reasons(example, aspect),
            predicted=rounded(float(predicted[row])),
            low=rounded(float(low[row])),
            high=rounded(float(high[row])),
            direct=None if direct is None else rounded(float(direct[row])),
            passed=None if passed is None or np.isnan(passed[row]) else bool(passed[row]),
            threshold=None if thresholds is None else rounded(float(thresholds[row])),
        )
        for row, example in enumerate(examples)
    )


@dataclass
class Study:
    """Candidates with everything computed from them and the labels.

    Attributes:
        refit: a rubric that a person has edited; it replaces the selected rubric.
        reasons: by id, why the edited rubric's criteria were dropped; criteria not in it keep their former reason.
        threshold_by_hand: the threshold of verdicts, if a person has set it.
        asked_directly: scores by the same judge asked directly, from the record of an edited rubric's parent.
        notes: messages for the user; computing `fit` and `threshold` adds to them.
    """

    candidates: candidate_search.Candidates
    assignment: text.Assignment
    settings: fitting.JointSettings
    refit: fitting.SelectedRubric | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    threshold_by_hand: float | None = None
    asked_directly: FloatArray | None = None
    notes: list[str] = field(default_factory=list, init=False)

    @cached_property
    def table_by_method(self) -> RatingMatrix:
        """The rating matrix of all candidates, from calls by method."""
        return self.candidates.table(self.assignment, "by method")

    @cached_property
    def table(self) -> RatingMatrix:
        """The rating matrix of all candidates, for the rubric's way of asking."""
        return self.candidates.table(self.assignment, self.ask)

    @cached_property
    def selected(self) -> fitting.SelectedRubric:
        return self.refit or fitting.select_rubric(self.table, self.settings, self.ask)

    @property
    def ask(self) -> CallGrouping:
        return "in one call" if self.candidates.together else "by method"

    @cached_property
    def fit(self) -> fitting.Fit:
        fit = self.selected.fit
        if not fit.columns:
            raise JudgeError(
                "No criterion distinguishes any two of the labelled texts, so there is nothing to weigh.",
                "Try another `judge`, or other methods.",
            )
        judged = self.table.values[:, list(fit.columns)]
        if (np.nanmax(judged, axis=0) == np.nanmin(judged, axis=0)).all():
            self.notes.append(
                "the judge gave all labelled texts the same score for every criterion, so the score of every text "
                "is the mean of the labels"
            )
        return fit

    @cached_property
    def scores_by_method(self) -> dict[str, FloatArray]:
        """Held-out scores by the candidates of each method alone, shape (texts,), NaN where missing."""
        methods = np.array(self.table_by_method.methods)
        tables = {
            name: self.table_by_method.columns(np.flatnonzero(methods == name).tolist())
            for name in dict.fromkeys(self.table_by_method.methods)
            if name not in ("direct", "text_features")
        }
        return {name: fitting.cross_validate(table, self.settings).raw for name, table in tables.items()}

    @cached_property
    def conformal(self) -> Conformal | None:
        if self.assignment.scale.names:
            return None
        return conformal(self.selected.held_out.scores, self.table.labels, fitting.INTERVAL_CONFIDENCE)

    @cached_property
    def threshold(self) -> float | None:
        """The lowest score that passes; `None` unless labels have two levels."""
        names = self.assignment.scale.names
        if names is None or self.threshold_by_hand is not None:
            return self.threshold_by_hand
        recall, scores, labels = self.settings.recall(names), self.selected.held_out.scores, self.table.labels
        threshold = verdicts.choose_threshold(scores, labels, recall)
        if recall:
            has_level = ~np.isnan(scores) & ((labels > 0.5) if recall.level else (labels < 0.5))
            is_found = has_level & ((scores >= threshold) == recall.level)
            n_found, n_at_level = int(is_found.sum()), int(has_level.sum())
            lowest_recall = wilson_interval(n_found, n_at_level).low or 0.0
            if lowest_recall < recall.least:
                self.notes.append(
                    f"the threshold finds {n_found} of {n_at_level} labelled texts at {names[recall.level]!r}; so few "
                    f"do not ensure a recall of {recall.least:g} for new texts: its 95 % interval begins at "
                    f"{lowest_recall:.2f}"
                )
        return round(threshold, DIGITS)

    def not_assessed_notes(self) -> Iterator[str]:
        """Yield for each kind of criterion how many texts the judge cannot assess, if labels have two levels."""
        if self.assignment.scale.names is None:
            return
        cells = self.candidates.cells_for(self.ask)
        for kind, noun in (("score", "the whole"), ("hypothesis", "a criterion")):
            is_of_kind = [candidate.criterion.kind == kind for candidate in self.candidates.candidates]
            count = 0
            for row in cells:
                inapplicable = [cell for cell in compress(row, is_of_kind) if not cell.applies]
                count += any(cell.reason != candidate_search.NOT_JUDGED for cell in inapplicable)
            if count:
                yield f"the judge says of {count} of {len(cells)} texts that {noun} cannot be assessed: no scores"

    def rubric(self) -> Rubric:
        fit, limits, ids = self.fit, self.candidates.bounds, self.candidates.ids
        kept_ids = [ids[column] for column in fit.columns]
        shares = fitting.selection_shares(self.selected, self.table)
        rows = np.column_stack((fit.weights, fit.centers, fit.spreads, fit.low, fit.high, shares)).tolist()
        terms = tuple(
            Term(
                criterion=name,
                weight=weight,
                center=center,
                spread=spread,
                low=round(low, DIGITS),
                high=round(high, DIGITS),
                selected=round(share, DIGITS),
                bounds=bounds_if_met(limits.get(name), weight),
            )
            for name, (weight, center, spread, low, high, share) in zip(kept_ids, rows, strict=True)
        )
        aggregation = Aggregation(
            ask=self.ask,
            terms=terms,
            calibration=fit.calibration,
            conformal=self.conformal,
            rivals=self.candidates.rivals if self.ask == "in one call" else None,
            form=self.candidates.form,
            threshold=self.threshold,
            threshold_by_hand=self.threshold_by_hand is not None,
        )
        reasons = self.reasons if self.refit else {ids[column]: why.reason(ids) for column, why in fit.dropped.items()}
        return Rubric(
            task=self.assignment.words.task,
            aspect=self.assignment.aspect,
            scale=self.assignment.scale,
            parts=self.candidates.parts_with(kept_ids, reasons),
            aggregation=aggregation,
            dropped=self.candidates.dropped_with_parts(kept_ids, reasons),
        )

    @property
    def direct(self) -> FloatArray | None:
        """The texts' scores by the same judge asked directly; `None` if they are not known."""
        if self.refit and self.ask != "by method":  # The ratings in its parent's record are from joint calls only.
            return self.asked_directly
        table = self.table_by_method
        return table.values[:, table.methods.index(evaluation.DIRECT)] if evaluation.DIRECT in table.methods else None

    @cached_property
    def validation(self) -> evaluation.Validation:
        table, candidates, held_out, assignment = self.table, self.candidates, self.selected.held_out, self.assignment
        ids_by_method = {part.method: [criterion.id for criterion in part.criteria] for part in candidates.parts}
        ids = candidates.ids
        kept_ids = [ids[column] for column in self.fit.columns]
        whole = [] if self.ask == "by method" else np.flatnonzero(table.holistic).tolist()
        if self.refit:  # An edited rubric may have dropped scores of the whole text, which are then not asked for.
            whole = [column for column in whole if column in self.fit.columns]
        scores = {evaluation.WHOLE: fitting.cross_validate(table.columns(whole), self.settings).raw} if whole else {}
        result = validation(
            self.table_by_method,
            feature_values(candidates.examples, FEATURE_NAMES),
            held_out.raw,
            self.fit.raw(table.values),
            held_out.folds[0],
            method_scores={**scores, **self.scores_by_method},
            calls={
                JOINT: candidates.calls(kept_ids, assignment, self.ask),
                evaluation.WHOLE: candidates.calls([ids[column] for column in whole], assignment, self.ask),
                **{name: candidates.calls(own_ids, assignment, "by method") for name, own_ids in ids_by_method.items()},
            },
            direct=self.direct,
            predicted_labels=held_out.scores,
        )
        joint, *others = result.evaluators
        # Intervals of the rubric's agreement include the variance of learning.
        intervals = fitting.refitted_agreement(table, held_out, level=result.level)
        refitted = joint.model_copy(update={name: interval.rounded() for name, interval in intervals.items()})
        update = {
            "evaluators": (refitted, *others),
            "raters": raters(candidates.examples, assignment.aspect.name, assignment.scale),
            "verdict_agreements": tuple(self._verdict_agreements()),
        }
        return result.model_copy(update=update)

    def _verdict_agreements(self) -> Iterator[evaluation.VerdictAgreement]:
        if self.verdicts is None:
            return
        held_out, groups, direct = self.selected.held_out, self.table.groups, self.direct
        agreement = partial(verdicts.verdict_agreement, labels=self.table.labels, groups=groups)
        yield agreement(JOINT, held_out.scores, self.verdicts, order=held_out.raw)
        if direct is not None:
            yield agreement(evaluation.DIRECT, direct, verdicts.verdicts_at(direct, 0.5))
            calibrated = calibrated_scores(self.table_by_method, held_out.folds[0], direct)
            decided = verdicts.verdicts_at(calibrated, self._held_out_thresholds(calibrated))
            yield agreement(evaluation.CALIBRATED, calibrated, decided, order=direct)
        aspect = self.assignment.aspect.name
        ratings = [example.annotations.get(aspect, ()) for example in self.candidates.examples]
        by_raters = verdicts.raters_verdicts(ratings, groups)
        if by_raters:
            yield by_raters

    @cached_property
    def verdicts(self) -> FloatArray | None:
        """The held-out verdicts, 0 or 1, NaN without a score; `None` unless labels have two levels."""
        thresholds = self.thresholds
        return None if thresholds is None else verdicts.verdicts_at(self.selected.held_out.scores, thresholds)

    @cached_property
    def thresholds(self) -> FloatArray | None:
        """The threshold of each text, learned without its fold or set by hand; `None` unless labels have two levels."""
        if self.assignment.scale.names is None:
            return None
        return self._held_out_thresholds(self.selected.held_out.scores, self.threshold_by_hand)

    def _held_out_thresholds(self, scores: FloatArray, by_hand: float | None = None) -> FloatArray:
        names, fold = self.assignment.scale.names, self.selected.held_out.folds[0]
        recall = self.settings.recall(names) if names else None
        return verdicts.held_out_thresholds(scores, self.table.labels, fold, recall, by_hand)

    @property
    def agreement(self) -> evaluation.TrainingAgreement:
        table, scale = self.table, self.assignment.scale
        fitted, held_out = self.fit.scores(table.values, scale), self.selected.held_out.raw
        result = training_agreement(fitted, held_out, table.labels, table.groups, scale)
        rubric = self.validation.evaluators[0]
        # If the gate correlates over all texts, its figure and interval are used.
        reselected = rubric.auroc or (rubric.spearman if self.validation.level == "dataset" else result.reselected)
        return result.model_copy(update={"reselected": reselected})

    def record(self, rubric: Rubric) -> version.TrainingRecord:
        aspect, scores = self.assignment.aspect.name, self.selected.held_out.scores
        ends = bounds(scores, self.conformal, self.assignment.scale)
        texts = recorded_texts(
            self.candidates.examples, aspect, scores, *ends, direct=self.direct, thresholds=self.thresholds
        )
        kept_ids = {criterion.id for criterion in rubric.criteria}
        candidates = tuple(
            each.model_copy(update={"kept": each.criterion.id in kept_ids}) for each in self.candidates.candidates
        )
        return version.TrainingRecord(texts=texts, candidates=candidates, cells=self.candidates.cells_for(self.ask))


# Progress after criteria have been proposed and after they have been rated, as shares of the work.
PROPOSED, RATED = 0.25, 0.95


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
    """Return a validated rubric of criteria that the methods of `plans` propose, and of those of `earlier`.

    Raises DataError without labelled texts, SettingsError if the settings exclude every candidate, and JudgeError if a
    method could learn nothing or no criterion distinguishes any two labelled texts.
    """
    plans, notes, together = _runnable_plans(plans, settings)
    assignment = plans[0].training_input.assignment
    proposed_share = PROPOSED if together else RATED
    candidates = await candidate_search.find_candidates(
        plans,
        judge=judge,
        generator=generator,
        seed=seed,
        proposals_only=together,
        on_progress=lambda stage, share: on_progress(stage, proposed_share * share),
    )
    if earlier:
        candidates = candidate_search.add_earlier(candidates, earlier)
    if together:
        candidates = await candidate_search.rate_in_one_call(
            candidates,
            plans,
            judge=judge,
            generator=generator,
            rivals=settings.rivals,
            on_progress=lambda stage, share: on_progress(stage, proposed_share + (RATED - proposed_share) * share),
        )
    study = Study(candidates, assignment, settings)
    templates = {name for plan in plans for name in plan.method.prompts} | {TEMPLATE}
    if candidates.rivals:
        templates.add(GROUP_TEMPLATE)
    on_progress(f"selecting from {len(candidates.candidates)} criteria", RATED)
    rubric = study.rubric()
    on_progress(f"{len(rubric.criteria)} of {len(candidates.candidates)} criteria kept", 1.0)
    provenance = version.Provenance(
        **origin_fields(candidates.examples, assignment.aspect.name, judge, generator, model_versions()),
        settings={
            **{plan.method.name: plan.settings.model_dump(mode="json") for plan in plans},
            "joint": settings.model_dump(mode="json"),
        },
        prompts=prompts_digest(sorted(templates)),
        seed=seed,
        agreement=study.agreement,
        baseline=best_feature(candidates.examples, assignment.aspect.name),
        validation=study.validation,
    )
    notes = (*notes, *candidates.notes, *study.not_assessed_notes(), *study.notes)
    return Trained(rubric, provenance, notes, study.record(rubric))


def learning_calls(plans: Sequence[candidate_search.Plan], settings: fitting.JointSettings) -> LearningCalls:
    """Return the estimated calls of `train_joint`."""
    plans, _, together = _runnable_plans(plans, settings)
    to_run = candidate_search.plans_to_run(plans, proposals_only=together)
    calls = [plan.method.learning_calls(plan.training_input, plan.settings) for plan in to_run]
    unrated, calls_per_text = sum(each.unrated for each in calls), 0
    if together:
        # Each criterion takes an entry of a reply. Without proposals, each method has one: its score of the whole.
        entries = unrated or len(candidate_search.joining_methods(plans))
        # Criteria that `extend` proposes from the first ratings are rated in a further call.
        extended = any(plan.method.extend and plan.method.rated_by_later_step(plan.settings) for plan in plans)
        rounds = max(1 + extended, math.ceil(entries / candidate_search.MAX_ENTRIES))
        calls_per_text = rounds + any(plan.method.name == evaluation.DIRECT for plan in plans)
    return LearningCalls(
        judge=sum(each.judge for each in calls) + len(plans[0].training_input.examples) * calls_per_text,
        generator=sum(each.generator for each in calls),
        shown=max(each.shown for each in calls),
        unrated=unrated,
    )


def _runnable_plans(
    plans: Sequence[candidate_search.Plan], settings: fitting.JointSettings
) -> tuple[Sequence[candidate_search.Plan], tuple[str, ...], bool]:
    """Return the plans to run, a note on plans that are left out, and whether all judged criteria share a call."""
    groups = Counter(shared_input(example) for example in plans[0].training_input.examples)
    if settings.rivals and max(groups.values(), default=0) < 2:
        raise SettingsError(
            "A call about several texts needs texts of one group with the same source and context; every labelled text "
            "is the only one of its group;",
            "give the group or the source of each text, or leave `settings=joint.ask=with rivals` out.",
        )
    notes: tuple[str, ...] = ()
    # A reply about ten texts has no room for the many questions of a checklist, which agreed least with people.
    joined = set(candidate_search.joining_methods(plans)) if settings.rivals else set[str]()
    questions = {plan.method.name for plan in plans if plan.method.criterion_kind == "question"} & joined
    if questions and questions != joined:
        plans = [plan for plan in plans if plan.method.name not in questions]
        notes = (f"{', '.join(sorted(questions))} left out: a call about several texts has no room for many questions",)
    judged_plans = [plan for plan in plans if plan.method.criterion_kind != "feature"]
    can_share = settings.ask != "by method" and len(candidate_search.joining_methods(judged_plans)) == len(judged_plans)
    # A single method has nothing to share, except a call about several texts.
    fewest_methods = 1 if settings.rivals else 2
    return plans, notes, can_share and len(judged_plans) >= fewest_methods
