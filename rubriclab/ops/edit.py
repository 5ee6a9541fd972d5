"""Edit a rubric by hand: measure what an edit changes, and save the edited rubric as a child version.

1. The judge rates labelled texts by the new criteria. It rates them by the other criteria too if the aspect has a new
   definition, or if no ratings of a text are recorded.
2. The rubric before the edit (the parent) and the edited rubric are both fitted again to the same labels. The edited
   rubric has the criteria that the person keeps, with weights within the limits that the person sets.
3. Both are cross-validated in the same folds of texts: for each fold, a rubric is fitted to the labels of the other
   folds, and scores the texts of the fold. The effect of the edit is how much better these scores agree with people.

A candidate is a criterion with recorded ratings, which was selected for the rubric (`kept`) or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from pydantic import JsonValue

from rubriclab.display import Displayed
from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.judges.cache import RECORDED_PREFIX
from rubriclab.learning import fitting
from rubriclab.learning.adaptation import rate_parts, rescale
from rubriclab.learning.baselines import best_feature
from rubriclab.learning.candidates import Candidates, all_criteria
from rubriclab.learning.estimate import CallEstimate, DryRun, dry_run, estimate_scoring
from rubriclab.learning.fitting import SelectedRubric
from rubriclab.learning.gate import GateLevel, gate_level, order_difference
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.learning.pass_fail import decision_agreement, two_level_statistic
from rubriclab.learning.train import JointResults, recorded_texts
from rubriclab.learning.weighting import REDUNDANT_R, design_matrix
from rubriclab.methods.catalogue import JOINT, METHODS
from rubriclab.models import evaluation, version as versions
from rubriclab.models.aggregation import Bounds, CallGrouping, hand_set_threshold, weight_bounds
from rubriclab.models.characters import count
from rubriclab.models.rubric import Criterion, Part, Rubric
from rubriclab.models.text import Example, data_digest, text_digest, words_digest
from rubriclab.ops.edit_actions import EditPlan, check_bounds, plan_edits
from rubriclab.ops.inputs import describe_data, labels_on_scale, usable_texts
from rubriclab.ops.options import EditOptions
from rubriclab.ops.workspace import Job, JudgeChoice, Workspace, choose_judge, imported_version, load_version
from rubriclab.stats.correlation import FloatArray, IntArray, floats
from rubriclab.stats.intervals import Interval

# Fitting drops one of two criteria that correlate at least this much: no criterion, since no correlation exceeds 1.
KEEP_ALL = 2.0

# Ratings by the text's id, then by the criterion's id.
Cells = Mapping[str, Mapping[str, versions.Cell]]


@dataclass(frozen=True, slots=True)
class WeightChange:
    """A criterion's weight before and after, with its limits; a weight is `None` if the rubric lacks the criterion."""

    criterion: str
    trait: str
    statement: str
    before: float | None
    after: float | None
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class EditEffect:
    """The cross-validated agreement of the parent (`before`) and of the edited rubric (`after`) with people."""

    level: GateLevel  # whether texts are compared within groups or over the whole data set
    n: int  # texts that both rubrics score
    groups: int
    folds: int  # 0 if nothing is fitted to labels
    before: Interval
    after: Interval
    difference: Interval  # `after` minus `before`, paired by text
    recorded: Interval  # the agreement that the parent's version records
    calls_before: float  # for each text that is scored
    calls_after: float
    weights: tuple[WeightChange, ...]
    optimistic: bool = True  # the agreements are too high: learning, or a person, may have used these labels
    recorded_by: versions.MadeBy = "learning"  # when `recorded` was measured: at learning, transfer or edit
    statistic: versions.EditStatistic = "Pearson"  # of `before`, `after` and `difference`
    verdicts: tuple[evaluation.DecisionAgreement, ...] = ()  # agreement of both rubrics' decisions, the parent's first
    threshold_before: float | None = None
    threshold_after: float | None = None

    def to_row(self) -> dict[str, Any]:
        return {**asdict(self), "verdicts": [each.model_dump(mode="json") for each in self.verdicts]}


@dataclass(frozen=True, repr=False)
class EditResult(Displayed):
    """What an edit does; `saved` is the child version, `None` for a preview."""

    parent: str
    rubric: Rubric
    effect: EditEffect
    saved: versions.Version | None
    effort: versions.Effort  # calls, tokens, money and time that the command used
    notes: tuple[str, ...] = ()

    def to_row(self) -> dict[str, Any]:
        saved = self.saved.ref if self.saved else None
        return {"parent": self.parent, "saved": saved, "notes": list(self.notes), **self.effect.to_row()}


def part_with(
    rubric: Rubric, method: str, settings: Mapping[str, Mapping[str, JsonValue]], criteria: Sequence[Criterion]
) -> Part:
    """Return the rubric's part of a method with these criteria; a new part gets the method's recorded `settings`."""
    for part in rubric.parts:
        if part.method == method:
            return part.model_copy(update={"criteria": tuple(criteria)})
    values = settings.get(method) or METHODS[method].joint_settings
    valid_settings = METHODS[method].settings.model_validate(dict(values))
    return Part(method=method, settings=valid_settings.model_dump(mode="json"), criteria=tuple(criteria))


@dataclass(frozen=True, eq=False)
class RatedRubric:
    """A rubric before it is refitted, and labelled texts with ratings by its criteria and by other candidates."""

    rubric: Rubric
    examples: tuple[Example, ...]  # sorted by id, with labels on the scale of the criteria
    candidates: tuple[versions.Candidate, ...]
    cells: tuple[tuple[versions.Cell, ...], ...]  # ratings, examples x candidates
    settings: Mapping[str, Mapping[str, JsonValue]]  # by method
    bounds: Mapping[str, Bounds] = field(default_factory=dict)  # limits of weights, by the criterion's id
    threshold: float | None = None  # set by a person; `None` if it is learned
    reasons: Mapping[str, str] = field(default_factory=dict)  # why a person removed criteria, by the criterion's id
    direct: FloatArray | None = None  # scores by the judge asked directly; `None` unless recorded for all texts

    @property
    def ask(self) -> CallGrouping:
        """Which criteria the judge is asked about in one call."""
        return self.rubric.aggregation.ask if self.rubric.aggregation else "by method"

    @cached_property
    def fit_settings(self) -> fitting.JointSettings:
        return fitting.JointSettings.from_record({**self.settings.get(JOINT, {}), "ask": self.ask})

    @cached_property
    def rated_candidates(self) -> Candidates:
        aggregation = self.rubric.aggregation
        parts = []
        for method in dict.fromkeys(candidate.method for candidate in self.candidates):
            part = next((part for part in self.rubric.parts if part.method == method), None)
            criteria = [candidate.criterion for candidate in self.candidates if candidate.method == method]
            if part:
                # The part holds its dropped criteria itself, so only candidates that are new to it are added.
                part_ids = {criterion.id for criterion in all_criteria(part)}
                criteria = [*part.criteria, *[criterion for criterion in criteria if criterion.id not in part_ids]]
            parts.append(part_with(self.rubric, method, self.settings, criteria))
        return Candidates(
            examples=self.examples,
            candidates=self.candidates,
            cells=self.cells,
            parts=tuple(parts),
            joint_ratings=self.cells if self.ask == "in one call" else (),
            bounds=self.bounds,
            group_limits=aggregation.rivals if aggregation else None,  # for texts of a group that share a call
            simpler_form=aggregation.form if aggregation else None,
        )

    @cached_property
    def table(self) -> RatingMatrix:
        return self.rated_candidates.table(self.rubric.assignment, self.ask)

    @property
    def kept_columns(self) -> tuple[int, ...]:
        return tuple(column for column, candidate in enumerate(self.candidates) if candidate.kept)


def edited_rubric(
    parent: RatedRubric, plan: EditPlan, new_cells: Sequence[Sequence[versions.Cell]], author_and_reason: str
) -> RatedRubric:
    """Return the edited rubric with its ratings, before it is refitted.

    `new_cells` has for each text a cell for each new criterion; `author_and_reason` is, for example, `by ann: vague`.
    """
    made_from = {candidate.criterion.id: candidate.made_from for candidate in parent.candidates}
    replaced_ids = {change.result: change.criteria for change in plan.changes}
    candidates = []
    for candidate in parent.candidates:
        update = {"kept": False, "by_hand": "removed"} if candidate.criterion.id in plan.removed else {}
        candidates.append(candidate.model_copy(update=update))
    for new_id, candidate in plan.new.items():
        text_ids = {text_id for old_id in replaced_ids[new_id] for text_id in made_from[old_id]}
        candidates.append(candidate.model_copy(update={"made_from": tuple(sorted(text_ids))}))
    return replace(
        parent,
        rubric=parent.rubric.model_copy(update={"aspect": plan.aspect}),
        candidates=tuple(candidates),
        cells=tuple((*row, *cells) for row, cells in zip(parent.cells, new_cells, strict=True)),
        bounds=plan.bounds,
        threshold=plan.threshold,
        reasons={criterion_id: f"{reason} {author_and_reason}" for criterion_id, reason in plan.removed.items()},
    )


@dataclass(frozen=True, eq=False)
class FoldSelection:
    """The folds of cross-validation, and for each the criteria that the labels of the other folds select."""

    folds_by_repetition: IntArray  # the number of each text's fold, shape (repetitions, texts)
    criteria: tuple[tuple[frozenset[str], ...], ...]  # ids, by repetition and fold


def select_in_folds(rated: RatedRubric) -> FoldSelection:
    """Select criteria for each fold by the labels of the other folds, among all candidates that no person added."""
    table = replace(rated.table, weight_bounds=None)
    learned_columns = [column for column, candidate in enumerate(rated.candidates) if candidate.by_hand != "added"]
    if not learned_columns:
        return FoldSelection(fitting.folds_by_repetition(table.groups, rated.fit_settings), ())
    held_out = fitting.select_rubric(table.select_columns(learned_columns), rated.fit_settings, rated.ask).held_out
    ids = [rated.candidates[column].criterion.id for column in learned_columns]
    criteria = []
    for fits in held_out.fits:  # the fits of one repetition, one for each fold
        selected_columns = [fit.columns for fit in fits]
        criteria.append(tuple(frozenset(ids[column] for column in columns) for columns in selected_columns))
    return FoldSelection(held_out.folds_by_repetition, tuple(criteria))


def refit_rubric(rated: RatedRubric, selection: FoldSelection) -> SelectedRubric:
    """Return the rubric fitted to all labels, and for each fold the rubric fitted to the labels of the other folds.

    A fold's rubric is fitted to a pool of criteria: the criteria that labels select and the person has not removed, and
    the criteria that the person has added or limited. If there are no such criteria, the pool has all candidates that
    the person has not removed. Fitting itself leaves out criteria that were made from labels of the fold.
    """
    not_removed = tuple(column for column, each in enumerate(rated.candidates) if each.by_hand != "removed")

    def pool_of(repetition: int, fold: int) -> fitting.CandidatePool:
        learned = selection.criteria[repetition][fold] if selection.criteria else frozenset[str]()
        columns = []
        for column, candidate in enumerate(rated.candidates):
            criterion_id = candidate.criterion.id
            is_selected = criterion_id in learned and candidate.by_hand != "removed"
            is_added_or_limited = candidate.kept and (candidate.by_hand == "added" or criterion_id in rated.bounds)
            if is_selected or is_added_or_limited:
                columns.append(column)
        return fitting.CandidatePool(tuple(columns) or not_removed, keep_weightless=True)

    kept = fitting.CandidatePool(rated.kept_columns, keep_weightless=True)
    return SelectedRubric(
        fitting.fit(rated.table, kept, redundant_r=KEEP_ALL),
        fitting.fit_folds(rated.table, selection.folds_by_repetition, pool_of, redundant_r=KEEP_ALL),
    )


def refit_results(rated: RatedRubric, refit: SelectedRubric) -> JointResults:
    """Return the ratings, validation and training record of the refitted rubric, in the form that training returns."""
    reasons = {dropped.criterion.id: dropped.reason for dropped in rated.rubric.dropped} | dict(rated.reasons)
    assignment, settings = rated.rubric.assignment, rated.fit_settings
    return JointResults(rated.rated_candidates, assignment, settings, refit, reasons, rated.threshold, rated.direct)


def edit_notes(
    plan: EditPlan, parent: RatedRubric, edited: RatedRubric, before: SelectedRubric, after: SelectedRubric
) -> list[str]:
    """Return remarks on an edit; SettingsError if no criterion is left, or limits of weights cannot be kept.

    `before` is the refitted parent, and `after` the refitted edited rubric.
    """
    ids = [candidate.criterion.id for candidate in edited.candidates]
    notes = []
    # Criteria that the person keeps get no weight if, for example, their ratings of all texts are equal.
    for column, drop in after.fit.dropped.items():
        if column in edited.kept_columns:
            criterion_id, reason = ids[column], drop.reason(ids)
            if criterion_id in edited.bounds:
                problem = f"The weight of {criterion_id} cannot be limited: it {reason}."
                raise SettingsError(problem, f"Drop {criterion_id}.")
            notes.append(f"{criterion_id} is left out: it {reason}")
    if not after.fit.columns:
        raise SettingsError("No criterion that is left distinguishes any two of the labelled texts.", "Keep others.")
    check_bounds(edited.bounds, len(after.fit.columns))
    # Two criteria that measure the same are both kept, unlike in learning.
    correlations = design_matrix(edited.table).column_correlations
    weighted = [column for column, weight in zip(after.fit.columns, after.fit.weights, strict=True) if weight]
    for later in weighted:
        for earlier in weighted:
            r = correlations[earlier, later]
            if earlier < later and r >= REDUNDANT_R:
                notes.append(f"{ids[later]} says what {ids[earlier]} says (r = {r:.2f}): the same thing counts twice")
    # Cross-validated scores do not depend on criteria that are in no fold's rubric.
    dropped_ids = [criterion_id for criterion_id, reason in plan.removed.items() if reason == "dropped"]
    limit_changes = [change for change in plan.changes if change.action in ("pin", "bound")]
    limited_ids = [each for change in limit_changes for each in change.criteria if each in plan.bounds]
    new_or_limited_ids = list(dict.fromkeys([*plan.new, *limited_ids]))
    for rated, refit, changed_ids in ((parent, before, dropped_ids), (edited, after, new_or_limited_ids)):
        columns = {column for fits in refit.held_out.fits for fit in fits for column in fit.columns}
        ids_in_folds = {rated.candidates[column].criterion.id for column in columns}
        for criterion_id in changed_ids:
            if criterion_id not in ids_in_folds:
                problem = f"the effect of {criterion_id} on cross-validated agreement is unknown"
                reason = "as it was made from labels in every fold, or the labels of the other folds do not select it"
                notes.append(f"{problem}: it is in no fold's rubric, {reason}")
    unscored = np.isnan(after.held_out.ranking_scores) & ~np.isnan(before.held_out.ranking_scores)
    if unscored.any():
        without_score = f"{count(int(unscored.sum()), 'text')} would have no score"
        notes.append(f"{without_score}, as too few criteria are rated; the figures before and after leave them out")
    return notes


def measure_effect(
    parent: RatedRubric, edited: RatedRubric, refit_before: SelectedRubric, refit_after: SelectedRubric, rubric: Rubric
) -> EditEffect:
    """Return the effect of an edit, measured on the texts that both rubrics score.

    `refit_before` is the refitted parent. `refit_after` is the refitted edited rubric, from which `rubric` is made.
    """
    table = edited.table
    ranking_before, ranking_after = refit_before.held_out.ranking_scores, refit_after.held_out.ranking_scores
    is_compared = ~np.isnan(ranking_before + ranking_after)
    if table.scale.has_two_levels:
        is_compared &= table.labels != 0.5  # a tie of raters is no decision
    level = gate_level(table.labels, table.groups)
    correlations, calls, decisions = [], [], []  # of the parent, then of the edited rubric
    for rated, refit in ((parent, refit_before), (edited, refit_after)):
        compared = replace(refit.held_out, ranking_scores=np.where(is_compared, refit.held_out.ranking_scores, np.nan))
        correlations.append(fitting.refitted_agreement(rated.table, compared, level=level)["pearson"].rounded())
        ids = [rated.candidates[column].criterion.id for column in rated.kept_columns]
        calls.append(round(rated.rated_candidates.calls_per_text(ids, rated.rubric.assignment, rated.ask), 6))
        decisions.append(refit_results(rated, refit).held_out_decisions)
    effect = EditEffect(
        level=level,
        n=int(is_compared.sum()),
        groups=len(set(np.array(table.groups)[is_compared])),
        folds=len(refit_before.held_out.fits[0]),
        before=correlations[0],
        after=correlations[1],
        difference=order_difference(ranking_after, ranking_before, table, level)[0],
        recorded=Interval(None),
        calls_before=calls[0],
        calls_after=calls[1],
        weights=weight_changes(parent.rubric, rubric),
        threshold_before=parent.rubric.threshold,
        threshold_after=rubric.threshold,
    )
    decisions_before, decisions_after = decisions
    if decisions_before is None or decisions_after is None:
        return effect
    labels, groups = table.labels, table.groups
    agreements = []
    for name, refit, decided in (("before", refit_before, decisions_before), ("after", refit_after, decisions_after)):
        scores, ranking = refit.held_out.scores, refit.held_out.ranking_scores
        compared_decisions = np.where(is_compared, decided, np.nan)
        agreements.append(decision_agreement(name, scores, compared_decisions, labels, groups, ranking_scores=ranking))
    # Decisions are compared by balanced accuracy, over all texts instead of within groups.
    return replace(
        effect,
        level="dataset",
        statistic="balanced accuracy",
        before=agreements[0].balanced_accuracy,
        after=agreements[1].balanced_accuracy,
        difference=two_level_statistic("balanced accuracy", [decisions_after, decisions_before], labels, groups),
        verdicts=tuple(each.model_copy(update={"reliability": ()}) for each in agreements),
    )


def weight_changes(before: Rubric, after: Rubric) -> tuple[WeightChange, ...]:
    limits = weight_bounds(after.aggregation)
    ids_after = {criterion.id for criterion in after.criteria}
    removed = [criterion for criterion in before.criteria if criterion.id not in ids_after]
    changes = []
    for each in (*after.criteria, *removed):
        old, new = before.terms.get(each.id), after.terms.get(each.id)
        weights = (old.weight if old else None, new.weight if new else None)
        changes.append(WeightChange(each.id, each.trait, each.statement, *weights, limits.get(each.id)))
    return tuple(changes)


@dataclass(frozen=True, eq=False)
class EditableVersion:
    """A version, and labelled texts to measure edits on."""

    version: versions.Version
    record: versions.TrainingRecord | None
    examples: tuple[Example, ...]  # sorted by id, with labels on the raters' scale
    cells: Cells  # the recorded ratings of these texts

    @property
    def unrated(self) -> tuple[Example, ...]:
        """The texts that lack a rating by at least one of the rubric's criteria."""
        ids = {criterion.id for criterion in self.version.rubric.criteria}
        return tuple(text for text in self.examples if not ids <= self.cells.get(text.id, {}).keys())

    @cached_property
    def rated(self) -> RatedRubric:
        """The rubric with the recorded ratings; candidates without a rating of every text are left out."""
        rubric, label_scale = self.version.rubric, self.version.rubric.score_scale
        training_texts = self.record.texts if self.record else ()
        all_candidates = list(self.record.candidates) if self.record else []
        recorded_ids = {candidate.criterion.id for candidate in all_candidates}
        for part in rubric.parts:
            for criterion in part.criteria:
                if criterion.id not in recorded_ids:
                    new = versions.Candidate(method=part.method, criterion=criterion, kept=True)
                    all_candidates.append(new.model_copy(update={"made_from": criterion.evidence.examples}))
        # Candidates record the ids of the texts that they were made from. The same text may have another id in
        # `examples`; for a text that is not there, one of its group stands in, since a fold has whole groups.
        id_by_digest = {text_digest(text): text.id for text in self.examples}
        first_id_in_group = {text.group: text.id for text in reversed(self.examples)}
        current_ids = {text.id: text.id for text in self.examples}
        for recorded_text in training_texts:
            same_text_id = id_by_digest.get(text_digest(recorded_text.example))
            if current_id := same_text_id or first_id_in_group.get(recorded_text.group):
                current_ids[recorded_text.id] = current_id
        rows = [self.cells.get(text.id, {}) for text in self.examples]
        candidates = []
        for candidate in all_candidates:
            if all(candidate.criterion.id in row for row in rows):
                made_from_ids = {current_ids[text_id] for text_id in candidate.made_from if text_id in current_ids}
                candidates.append(candidate.model_copy(update={"made_from": tuple(sorted(made_from_ids))}))
        direct = None
        direct_by_digest = {text_digest(text.example): text.direct for text in training_texts}
        has_any_direct = any(score is not None for score in direct_by_digest.values())
        if has_any_direct and id_by_digest.keys() <= direct_by_digest.keys():
            scores = floats(direct_by_digest[text_digest(text)] for text in self.examples)
            direct = rescale(scores, label_scale, rubric.scale)
        aspect, to_criteria_scale = rubric.aspect.name, partial(label_scale.moved_to, rubric.scale)
        examples = []
        for text in self.examples:
            label = to_criteria_scale(text.scores[aspect])
            raters = tuple(map(to_criteria_scale, text.annotations.get(aspect, ())))
            examples.append(replace(text, scores={aspect: label}, annotations={aspect: raters}))
        return RatedRubric(
            rubric=rubric,
            examples=tuple(examples),
            candidates=tuple(candidates),
            cells=tuple(tuple(row[candidate.criterion.id] for candidate in candidates) for row in rows),
            settings=self.version.provenance.settings,
            bounds=weight_bounds(rubric.aggregation),
            threshold=hand_set_threshold(rubric.aggregation),
            direct=direct,
        )

    @cached_property
    def selection(self) -> FoldSelection:
        return select_in_folds(self.rated)

    @cached_property
    def refit(self) -> SelectedRubric:
        return refit_rubric(self.rated, self.selection)


def editable_version(workspace: Workspace, rubric: str | versions.Version, options: EditOptions) -> EditableVersion:
    """Return a version with labelled texts to measure an edit on: `options.labels`, or its own training texts."""
    version = load_version(workspace, rubric)
    record = workspace.store.training(version.ref)
    aspect, scale = version.rubric.aspect.name, version.rubric.score_scale
    texts: list[Example] = []
    if options.labels is not None:
        name = describe_data(options.labels)
        labelled_texts = usable_texts(options.labels, options, [(aspect, scale)], workspace.notify)
        texts.extend(labels_on_scale(labelled_texts, aspect, scale, name, workspace.notify))
        if not texts:
            raise DataError(f"{name} has no text with a label for {aspect!r} from {scale.describe()}.")
    elif record is None:
        problem = f"{version.ref} keeps no labelled texts: it was learned by one method, or imported."
        raise DataError(problem, "Give them: `labels=FILE`.")
    else:
        for recorded in record.texts:
            fields: dict[str, Any] = {"scores": {aspect: recorded.label}}
            if recorded.reasons:
                fields["reasons"] = {aspect: recorded.reasons.get("") or dict(recorded.reasons)}  # "": rater unknown
            if recorded.raters:
                fields["annotations"] = {aspect: tuple(recorded.raters.values())}
                fields["raters"] = {aspect: tuple(recorded.raters)}
            texts.append(replace(recorded.example, **fields))
    # The recorded ratings are found by the content of a text, since its id may differ from the recorded one.
    cells = dict[str, Mapping[str, versions.Cell]]()
    if record:
        row_by_digest = {text_digest(text.example): row for text, row in zip(record.texts, record.cells, strict=True)}
        ids = [candidate.criterion.id for candidate in record.candidates]
        for text in texts:
            if row := row_by_digest.get(text_digest(text)):
                cells[text.id] = dict(zip(ids, row, strict=True))
    return EditableVersion(version, record, tuple(sorted(texts, key=lambda text: text.id)), cells)


def edit(
    workspace: Workspace,
    rubric: str | versions.Version,
    options: EditOptions,
    *,
    editable: EditableVersion | None = None,
) -> Job[EditResult]:
    """Return the effect of an edit, and the child version unless it is a preview.

    `editable` is the result of `editable_version` for the same version and labels, if there is one already.
    """
    version = editable.version if editable else load_version(workspace, rubric)
    parent, provenance = version.rubric, version.provenance
    if parent.aggregation is None:
        command = f"`rubriclab transfer {version.ref} --to LABELLED --save`"
        hint = f"Learn it again without `methods`, so that several are combined, or fit weights by {command}"
        raise SettingsError(f"{version.ref} has no learned weights to fit again: it was learned by one method.", hint)
    plan = plan_edits(parent, version.ref, options)
    editable = editable or editable_version(workspace, version, options)
    # All texts are rated by new criteria, and with a new definition also by the criteria that stay.
    criteria_by_method: dict[str, list[Criterion]] = {part.method: [] for part in parent.parts}
    if plan.redefines_aspect:
        for part in parent.parts:
            criteria_by_method[part.method] = [each for each in part.criteria if each.id not in plan.removed]
    for candidate in plan.new.values():
        criteria_by_method.setdefault(candidate.method, []).append(candidate.criterion)
    method_criteria = [(method, criteria) for method, criteria in criteria_by_method.items() if criteria]
    parts = tuple(part_with(parent, method, provenance.settings, criteria) for method, criteria in method_criteria)
    # The ratings to ask the judge for: by which rubric, and of which texts.
    requests = []
    if editable.unrated:
        requests.append((parent, editable.unrated))
    if parts:
        rubric_to_rate_by = parent.model_copy(update={"aspect": plan.aspect, "parts": parts})
        requests.append((rubric_to_rate_by, editable.examples))
    choice = JudgeChoice(provenance.judge, provenance.judge_address)
    if requests:
        judge, learned_with = options.judge, provenance.judge
        if judge and judge != learned_with and not judge.startswith(RECORDED_PREFIX):
            problem = f"The kept ratings of {version.ref} are by {learned_with}; ratings by {judge}"
            command = f"`rubriclab transfer {version.ref} --to LABELLED --judge {judge} --save`"
            hint = f"Leave out `judge`, or first run: {command}"
            raise SettingsError(f"{problem} cannot be combined with them.", hint)
        choice = choose_judge(version, judge, workspace.store, workspace.notify)

    def estimate() -> DryRun:
        total = sum((estimate_scoring(rated_by, texts) for rated_by, texts in requests), CallEstimate())
        return dry_run({"judge": (choice.spec, total)}, workspace.options)

    async def run() -> EditResult:
        if not options.preview and not (options.author and options.because):
            hint = "Give `author=NAME` and `because=REASON`, or `preview` to save nothing."
            raise SettingsError("An edited version must record who edited it and why.", hint)
        connected_judge = workspace.judge(choice) if requests else None
        parent_cells = {text_id: dict(row) for text_id, row in editable.cells.items()}
        new_cells: dict[str, dict[str, versions.Cell]] = {}
        for rated_by, texts in requests:
            assert connected_judge
            rate = partial(rate_parts, rated_by.parts, rated_by, texts, connected_judge, workspace.texts_at_once)
            with workspace.progress(workspace.ledger) as on_progress:
                rated = await rate(on_progress=on_progress)
            ids = [candidate.criterion.id for candidate in rated.candidates]
            for criterion_id, column in zip(ids, zip(*rated.cells, strict=True), strict=True):
                if all(cell.score is None and cell.applies for cell in column):
                    problem = f"No text could be rated by {criterion_id}"
                    raise JudgeError(f"{problem}; the latest reason: {column[-1].reason}")
            cells = parent_cells if rated_by is parent else new_cells
            for text, row in zip(rated.examples, rated.cells, strict=True):
                cells.setdefault(text.id, {}).update(zip(ids, row, strict=True))
        # If `editable` already had all ratings, it is not copied: a copy would lose its computed properties.
        complete = replace(editable, cells=parent_cells) if editable.unrated else editable
        return await workspace.off_event_loop(_finish, workspace, options, plan, complete, new_cells)

    return Job(estimate, run)


def _finish(
    workspace: Workspace, options: EditOptions, plan: EditPlan, editable: EditableVersion, new_cells: Cells
) -> EditResult:
    version, parent = editable.version, editable.rated
    cells = [[new_cells[text.id][new_id] for new_id in plan.new] for text in parent.examples]
    author_and_reason = f"by {options.author or 'hand'}" + (f": {options.because}" if options.because else "")
    edited = edited_rubric(parent, plan, cells, author_and_reason)
    if plan.redefines_aspect:
        # Candidates outside of the rubric, and the judge asked directly, have no ratings by the new definition.
        candidates = tuple(candidate for candidate in edited.candidates if candidate.kept)
        ids = [candidate.criterion.id for candidate in candidates]
        rows = tuple(tuple(new_cells[text.id][criterion_id] for criterion_id in ids) for text in edited.examples)
        edited = replace(edited, candidates=candidates, cells=rows, direct=None)
    before, after = editable.refit, refit_rubric(edited, editable.selection)
    notes = edit_notes(plan, parent, edited, before, after)
    results = refit_results(edited, after)
    rubric, old_aggregation, provenance = results.rubric(), version.rubric.aggregation, version.provenance
    # Refitted scores are on the scale of the ratings. They are mapped to another scale if the parent's scores are.
    if rubric.aggregation and old_aggregation and old_aggregation.onto:
        threshold = old_aggregation.threshold if plan.threshold is None else plan.threshold
        update = {"onto": old_aggregation.onto, "threshold": threshold, "threshold_by_hand": plan.threshold is not None}
        rubric = rubric.model_copy(update={"aggregation": rubric.aggregation.model_copy(update=update)})
    recorded = Interval(None)
    if validation := provenance.validation:
        recorded = validation.rubric.order
        if validation.verdict_agreements:
            recorded = validation.verdict_agreements[0].balanced_accuracy
    effect = measure_effect(parent, edited, before, after, rubric)
    effect = replace(effect, recorded=recorded, recorded_by=provenance.made_by)
    saved = None
    if not options.preview:
        saved = _save(workspace, options, plan, editable, rubric=rubric, effect=effect, results=results)
    return EditResult(version.ref, rubric, effect, saved, workspace.effort(), tuple(notes))


def _save(
    workspace: Workspace,
    options: EditOptions,
    plan: EditPlan,
    editable: EditableVersion,
    *,
    rubric: Rubric,
    effect: EditEffect,
    results: JointResults,
) -> versions.Version:
    version, examples = editable.version, editable.examples
    provenance, aspect = version.provenance, version.rubric.aspect.name
    judge_source = imported_version(version, provenance.judge_from, workspace.store)
    generator_source = imported_version(version, provenance.generator_from, workspace.store)
    update = {
        "data": data_digest(examples, aspect),
        "examples": tuple(sorted({*provenance.examples, *(text.id for text in examples)})),
        "groups": tuple(sorted({*provenance.groups, *(text.group for text in examples)})),
        "texts": tuple(sorted({*provenance.texts, *map(words_digest, examples)})),
        "text_fields": versions.shared_text_fields(provenance, examples),
        "model_versions": tuple(sorted({*provenance.model_versions, *workspace.model_versions()})),
        "judge_from": judge_source.ref if judge_source else None,
        "generator_from": generator_source.ref if generator_source else None,
        "agreement": results.agreement,
        "baseline": best_feature(examples, aspect),
        "validation": results.validation,
        "transfer": None,
        "edit": versions.EditOrigin(
            author=options.author or "",
            because=options.because or "",
            changes=tuple(plan.changes),
            labels=effect.n,
            folds=effect.folds,
            statistic=effect.statistic,
            before=effect.before,
            after=effect.after,
            difference=effect.difference,
        ),
    }
    # The training record has labels and scores on the raters' scale; they were fitted on the scale of the criteria.
    record = results.record(rubric)
    scores = {"thresholds": floats(text.threshold for text in record.texts)}
    for name in ("predicted", "low", "high", "direct"):
        fitted_scores = floats(getattr(text, name) for text in record.texts)
        scores[name] = rescale(fitted_scores, version.rubric.scale, version.rubric.score_scale)
    example_by_id = {text.id: text for text in examples}
    texts = recorded_texts([example_by_id[text.id] for text in record.texts], aspect, **scores)
    return workspace.store.save(
        options.name or version.name,
        rubric,
        provenance.model_copy(update=update),
        workspace.effort(),
        version.ref,
        training=record.model_copy(update={"texts": texts}),
    )
