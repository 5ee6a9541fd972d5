"""Edits of a rubric by a person: refit it to its labels, compare the agreement, and save a child version."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from rubriclab.learning.decisions import decision_agreement, two_level_statistic
from rubriclab.learning.estimate import CallEstimate, DryRun, dry_run, estimate_scoring
from rubriclab.learning.gate import EvaluatorComparison, GateLevel, gate_level
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.learning.train import JointResults, recorded_texts
from rubriclab.learning.weighting import REDUNDANT_R, design_matrix
from rubriclab.methods.catalogue import JOINT, METHODS
from rubriclab.models import evaluation, version as stored
from rubriclab.models.aggregation import Bounds, CallGrouping, hand_set_threshold, weight_bounds
from rubriclab.models.characters import count
from rubriclab.models.rubric import Criterion, Part, Rubric
from rubriclab.models.text import Example, data_digest, text_digest, words_digest
from rubriclab.ops.edits import EditPlan, check_bounds, plan_edits
from rubriclab.ops.inputs import describe_data, labels_on_scale, usable_texts
from rubriclab.ops.options import EditOptions
from rubriclab.ops.workspace import Job, JudgeChoice, Workspace, choose_judge, imported_source, load_version
from rubriclab.stats.correlation import FloatArray, IntArray, floats
from rubriclab.stats.intervals import Interval

# The correlation from which fitting drops criteria as redundant: none reaches 2, so only the person drops criteria.
KEEP_ALL = 2.0

# Ratings by the text's id, then by the criterion's id.
Cells = Mapping[str, Mapping[str, stored.Cell]]


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
    """The cross-validated agreement of an edited rubric beside its parent's, with the same labels and folds.

    Attributes:
        folds: 0 if nothing is fitted to labels.
        statistic: Pearson, whose intervals include the variance of learning, or balanced accuracy.
        difference: after less before, paired.
        calls_before, calls_after: calls for each text that is scored.
        recorded, recorded_by: the parent's agreement as recorded, and how the parent was made.
        optimistic: whether the rubric was learned from these labels, or a person may have known them.
    """

    level: GateLevel
    n: int
    groups: int
    folds: int
    before: Interval
    after: Interval
    difference: Interval
    recorded: Interval
    calls_before: float
    calls_after: float
    weights: tuple[WeightChange, ...]
    optimistic: bool = True
    recorded_by: stored.HeldOutBy = "learning"
    statistic: stored.EditStatistic = "Pearson"
    verdicts: tuple[evaluation.DecisionAgreement, ...] = ()
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
    saved: stored.Version | None
    effort: stored.Effort
    notes: tuple[str, ...] = ()

    def to_row(self) -> dict[str, Any]:
        saved = self.saved.ref if self.saved else None
        return {"parent": self.parent, "saved": saved, "notes": list(self.notes), **self.effect.to_row()}


@dataclass(frozen=True, eq=False)
class RatedRubric:
    """A rubric before it is refitted, and the labelled texts with ratings by its criteria and other candidates.

    `examples` are sorted by id, with labels on the scale of the criteria; `candidates` are the columns of `cells`.
    `threshold` is set by a person, `None` if it is learned. `reasons` says why a person removed criteria, by id.
    `direct` has the scores by the same judge asked directly; `None` unless all texts are of the parent's record.
    """

    rubric: Rubric
    examples: tuple[Example, ...]
    candidates: tuple[stored.Candidate, ...]
    cells: tuple[tuple[stored.Cell, ...], ...]
    settings: Mapping[str, Mapping[str, JsonValue]]
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    threshold: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    direct: FloatArray | None = None

    @property
    def ask(self) -> CallGrouping:
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
            joint_cells=self.cells if self.ask == "in one call" else (),
            bounds=self.bounds,
            rivals=aggregation.rivals if aggregation else None,
            form=aggregation.form if aggregation else None,
        )

    @cached_property
    def table(self) -> RatingMatrix:
        return self.rated_candidates.table(self.rubric.assignment, self.ask)

    @property
    def kept_columns(self) -> tuple[int, ...]:
        return tuple(column for column, candidate in enumerate(self.candidates) if candidate.kept)


def edited_rubric(
    parent: RatedRubric, plan: EditPlan, new_cells: Sequence[Sequence[stored.Cell]], author: str
) -> RatedRubric:
    """Return the edited rubric with its ratings, before it is refitted.

    `new_cells` has a row for each text, with a cell for each new criterion. `author` made the edit.
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
        reasons={criterion_id: f"{reason} {author}" for criterion_id, reason in plan.removed.items()},
    )


@dataclass(frozen=True, eq=False)
class FoldSelection:
    """Folds, shape (repetitions, texts), and for each fold the ids of criteria that the other folds' labels select."""

    folds: IntArray
    criteria: tuple[tuple[frozenset[str], ...], ...]


def select_in_folds(rated: RatedRubric) -> FoldSelection:
    """Return the criteria that labels select in each fold, among all candidates but those added by people."""
    unlimited = replace(rated.table, weight_bounds=None)
    learned_columns = [column for column, candidate in enumerate(rated.candidates) if candidate.by_hand != "added"]
    if not learned_columns:
        return FoldSelection(fitting.folds_by_repetition(unlimited.groups, rated.fit_settings), ())
    held_out = fitting.select_rubric(unlimited.select_columns(learned_columns), rated.fit_settings, rated.ask).held_out
    ids = [rated.candidates[column].criterion.id for column in learned_columns]
    selected_ids = (tuple(frozenset(ids[column] for column in fit.columns) for fit in fits) for fits in held_out.fits)
    return FoldSelection(held_out.folds, tuple(selected_ids))


def refit_rubric(rated: RatedRubric, selection: FoldSelection) -> fitting.SelectedRubric:
    """Return the rubric fitted to all labels, and the rubrics of all folds with cross-validated scores."""

    def pool_of(repetition: int, fold: int) -> fitting.CandidatePool:
        learned = selection.criteria[repetition][fold] if selection.criteria else frozenset[str]()
        columns = []
        for column, candidate in enumerate(rated.candidates):
            criterion_id = candidate.criterion.id
            is_selected = criterion_id in learned and candidate.by_hand != "removed"
            is_set_by_hand = candidate.kept and (candidate.by_hand == "added" or criterion_id in rated.bounds)
            if is_selected or is_set_by_hand:
                columns.append(column)
        return fitting.CandidatePool(tuple(columns) or rated.kept_columns, keep_weightless=True)

    kept = fitting.CandidatePool(rated.kept_columns, keep_weightless=True)
    return fitting.SelectedRubric(
        fitting.fit(rated.table, kept, redundant_r=KEEP_ALL),
        fitting.fit_folds(rated.table, selection.folds, pool_of, redundant_r=KEEP_ALL),
    )


def refit_results(rated: RatedRubric, refit: fitting.SelectedRubric) -> JointResults:
    """Return the refitted rubric as training returns a rubric: with its ratings, validation and record."""
    reasons = {dropped.criterion.id: dropped.reason for dropped in rated.rubric.dropped} | dict(rated.reasons)
    assignment, settings = rated.rubric.assignment, rated.fit_settings
    return JointResults(rated.rated_candidates, assignment, settings, refit, reasons, rated.threshold, rated.direct)


def unweighted_reasons(rated: RatedRubric, refit: fitting.SelectedRubric) -> dict[str, str]:
    """Return why criteria that the person keeps get no weight, by id; SettingsError if their weights are limited."""
    ids = [candidate.criterion.id for candidate in rated.candidates]
    dropped = {column: drop for column, drop in refit.fit.dropped.items() if column in rated.kept_columns}
    reasons = {ids[column]: drop.reason(ids) for column, drop in dropped.items()}
    for limited_id in rated.bounds:
        if reason := reasons.get(limited_id):
            raise SettingsError(f"The weight of {limited_id} cannot be limited: it {reason}.", f"Drop {limited_id}.")
    if not refit.fit.columns:
        raise SettingsError("No criterion that is left distinguishes any two of the labelled texts.", "Keep others.")
    check_bounds(rated.bounds, len(refit.fit.columns))
    return reasons


def unmeasured_ids(rated: RatedRubric, refit: fitting.SelectedRubric, ids: Collection[str]) -> tuple[str, ...]:
    """Return the `ids` of criteria that are in no fold's rubric: cross-validated scores do not depend on them."""
    columns = {column for fits in refit.held_out.fits for fit in fits for column in fit.columns}
    ids_in_folds = {rated.candidates[column].criterion.id for column in columns}
    return tuple(criterion_id for criterion_id in ids if criterion_id not in ids_in_folds)


def redundant_pairs(rated: RatedRubric, refit: fitting.SelectedRubric) -> tuple[tuple[str, str, float], ...]:
    """Return pairs of weighted criteria that measure the same, the later criterion first, with their correlation."""
    ids = [candidate.criterion.id for candidate in rated.candidates]
    correlations = design_matrix(rated.table).column_correlations
    weighted = [column for column, weight in zip(refit.fit.columns, refit.fit.weights, strict=True) if weight]
    pairs = [(earlier, later) for later in weighted for earlier in weighted if earlier < later]
    redundant = [(earlier, later) for earlier, later in pairs if correlations[earlier, later] >= REDUNDANT_R]
    return tuple((ids[later], ids[earlier], float(correlations[earlier, later])) for earlier, later in redundant)


def measure_effect(
    parent: RatedRubric, edited: RatedRubric, refits: Sequence[fitting.SelectedRubric], rubric: Rubric
) -> EditEffect:
    """Return the effect of an edit on the texts that both rubrics score, in balanced accuracy for verdicts.

    `refits` holds the refitted parent, then the refitted edited rubric, which `rubric` is made from.
    """
    table = edited.table
    before, after = (refit.held_out for refit in refits)
    is_compared = ~np.isnan(after.ranking_scores + before.ranking_scores)
    if table.scale.names:
        is_compared &= table.labels != 0.5  # ties are no decisions
    level = gate_level(table.labels, table.groups)
    correlations, calls, decisions = [], [], []
    for rated, refit in zip((parent, edited), refits, strict=True):
        compared = replace(refit.held_out, ranking_scores=np.where(is_compared, refit.held_out.ranking_scores, np.nan))
        correlations.append(fitting.refitted_agreement(rated.table, compared, level=level)["pearson"].rounded())
        ids = [rated.candidates[column].criterion.id for column in rated.kept_columns]
        calls.append(round(rated.rated_candidates.calls_per_text(ids, rated.rubric.assignment, rated.ask), 6))
        decisions.append(refit_results(rated, refit).held_out_decisions)
    effect = EditEffect(
        level=level,
        n=int(is_compared.sum()),
        groups=len(set(np.array(table.groups)[is_compared])),
        folds=len(before.fits[0]),
        before=correlations[0],
        after=correlations[1],
        difference=EvaluatorComparison(table).order_difference(after.ranking_scores, before.ranking_scores)[0],
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
    verdicts = []
    for name, held_out, all_decided in (("before", before, decisions_before), ("after", after, decisions_after)):
        decided, ranks = np.where(is_compared, all_decided, np.nan), held_out.ranking_scores
        verdicts.append(decision_agreement(name, held_out.scores, decided, labels, groups, ranking_scores=ranks))
    return replace(
        effect,
        level="dataset",
        statistic="balanced accuracy",
        before=verdicts[0].balanced_accuracy,
        after=verdicts[1].balanced_accuracy,
        difference=two_level_statistic("balanced accuracy", [decisions_after, decisions_before], labels, groups),
        verdicts=tuple(each.model_copy(update={"reliability": ()}) for each in verdicts),
    )


def weight_changes(before: Rubric, after: Rubric) -> tuple[WeightChange, ...]:
    old = {criterion_id: term.weight for criterion_id, term in before.terms.items()}
    new = {criterion_id: term.weight for criterion_id, term in after.terms.items()}
    limits = weight_bounds(after.aggregation)
    ids_after = {criterion.id for criterion in after.criteria}
    removed = (criterion for criterion in before.criteria if criterion.id not in ids_after)
    return tuple(
        WeightChange(each.id, each.trait, each.statement, old.get(each.id), new.get(each.id), limits.get(each.id))
        for each in (*after.criteria, *removed)
    )


@dataclass(frozen=True, eq=False)
class EditableVersion:
    """A version, texts with labels on the raters' scale, sorted by id, and the ratings that the version keeps."""

    version: stored.Version
    record: stored.TrainingRecord | None
    examples: tuple[Example, ...]
    cells: Cells

    @property
    def unrated(self) -> tuple[Example, ...]:
        """The texts without ratings by all of the rubric's criteria."""
        ids = {criterion.id for criterion in self.version.rubric.criteria}
        return tuple(text for text in self.examples if not ids <= self.cells.get(text.id, {}).keys())

    @cached_property
    def rated(self) -> RatedRubric:
        """The rubric with the kept ratings; candidates without a rating of every text are left out."""
        rubric, provenance = self.version.rubric, self.version.provenance
        aspect, label_scale, criteria_scale = rubric.aspect.name, rubric.scores_on, rubric.scale
        recorded = self.record.candidates if self.record else ()
        texts = self.record.texts if self.record else ()
        recorded_ids = {candidate.criterion.id for candidate in recorded}
        unrecorded = [
            stored.Candidate(method=part.method, criterion=criterion, kept=True, made_from=criterion.evidence.examples)
            for part in rubric.parts
            for criterion in part.criteria
            if criterion.id not in recorded_ids
        ]
        id_by_digest = {text_digest(text): text.id for text in self.examples}
        first_id_in_group = {text.group: text.id for text in reversed(self.examples)}
        # By recorded id: a text's id in `examples`, or that of the first text of its group if `examples` lacks it.
        current_ids = {text.id: text.id for text in self.examples}
        for text in texts:
            if current_id := id_by_digest.get(text_digest(text.example)) or first_id_in_group.get(text.group):
                current_ids[text.id] = current_id
        direct_by_digest = {text_digest(text.example): text.direct for text in texts}
        direct = None
        if id_by_digest.keys() <= direct_by_digest.keys() and set(direct_by_digest.values()) != {None}:
            scores = floats(direct_by_digest[text_digest(text)] for text in self.examples)
            direct = rescale(scores, label_scale, criteria_scale)
        rows = [self.cells.get(text.id, {}) for text in self.examples]
        candidates = []
        for candidate in (*recorded, *unrecorded):
            if all(candidate.criterion.id in row for row in rows):
                made_from = {current_ids[text_id] for text_id in candidate.made_from if text_id in current_ids}
                candidates.append(candidate.model_copy(update={"made_from": tuple(sorted(made_from))}))
        to_criteria_scale = partial(label_scale.moved_to, criteria_scale)
        examples = (
            replace(
                example,
                scores={aspect: to_criteria_scale(example.scores[aspect])},
                annotations={aspect: tuple(map(to_criteria_scale, example.annotations.get(aspect, ())))},
            )
            for example in self.examples
        )
        return RatedRubric(
            rubric=rubric,
            examples=tuple(examples),
            candidates=tuple(candidates),
            cells=tuple(tuple(row[candidate.criterion.id] for candidate in candidates) for row in rows),
            settings=provenance.settings,
            bounds=weight_bounds(rubric.aggregation),
            threshold=hand_set_threshold(rubric.aggregation),
            direct=direct,
        )

    @cached_property
    def selection(self) -> FoldSelection:
        return select_in_folds(self.rated)

    @cached_property
    def refit(self) -> fitting.SelectedRubric:
        return refit_rubric(self.rated, self.selection)

    def on_label_scale(self, record: stored.TrainingRecord) -> stored.TrainingRecord:
        """Return the record with labels and scores on the raters' scale instead of the scale of the criteria."""
        example_by_id, rubric = {text.id: text for text in self.examples}, self.version.rubric
        scores = {"thresholds": floats(text.threshold for text in record.texts)}
        for name in ("predicted", "low", "high", "direct"):
            scores[name] = rescale(floats(getattr(text, name) for text in record.texts), rubric.scale, rubric.scores_on)
        texts = recorded_texts([example_by_id[text.id] for text in record.texts], rubric.aspect.name, **scores)
        return record.model_copy(update={"texts": texts})


def editable_version(workspace: Workspace, rubric: str | stored.Version, options: EditOptions) -> EditableVersion:
    """Return a version with labelled texts to measure an edit on: `options.labels`, or its own training texts."""
    version = load_version(workspace, rubric)
    record = workspace.store.training(version.ref)
    if options.labels is not None:
        aspect, scale, name = version.rubric.aspect.name, version.rubric.scores_on, describe_data(options.labels)
        labelled_texts = usable_texts(options.labels, options, [(aspect, scale)], workspace.notify)
        texts = labels_on_scale(labelled_texts, aspect, scale, name, workspace.notify)
        if not texts:
            raise DataError(f"{name} has no text with a label for {aspect!r} from {scale.describe()}.")
    elif record is None:
        problem = f"{version.ref} keeps no labelled texts: it was learned by one method, or imported."
        raise DataError(problem, "Give them: `labels=FILE`.")
    else:
        texts = tuple(_labelled_example(text, version.rubric.aspect.name) for text in record.texts)
    cells = dict[str, Mapping[str, stored.Cell]]()
    if record:
        row_by_digest = {text_digest(text.example): row for text, row in zip(record.texts, record.cells, strict=True)}
        ids = [candidate.criterion.id for candidate in record.candidates]
        for text in texts:
            if row := row_by_digest.get(text_digest(text)):
                cells[text.id] = dict(zip(ids, row, strict=True))
    return EditableVersion(version, record, tuple(sorted(texts, key=lambda text: text.id)), cells)


def _labelled_example(text: stored.RecordedText, aspect: str) -> Example:
    fields: dict[str, Any] = {"scores": {aspect: text.label}}
    if text.reasons:
        fields["reasons"] = {aspect: text.reasons.get("") or dict(text.reasons)}
    if text.raters:
        fields |= {"annotations": {aspect: tuple(text.raters.values())}, "raters": {aspect: tuple(text.raters)}}
    return replace(text.example, **fields)


def edit(
    workspace: Workspace, rubric: str | stored.Version, options: EditOptions, *, editable: EditableVersion | None = None
) -> Job[EditResult]:
    """Return the effect of an edit, and the child version unless it is a preview.

    `editable` is the result of `editable_version` for the same version and labels, if it has been computed already.
    """
    version = editable.version if editable else load_version(workspace, rubric)
    parent, provenance = version.rubric, version.provenance
    if parent.aggregation is None:
        transfer = f"`rubriclab transfer {version.ref} --to LABELLED --save`"
        hint = f"Learn it again without `methods`, which combines several, or fit weights: {transfer}"
        raise SettingsError(f"{version.ref} has no learned weights to fit again: it was learned by one method.", hint)
    plan = plan_edits(parent, version.ref, options)
    before = editable or editable_version(workspace, version, options)
    # All texts are rated by new criteria, and with a new definition also by the criteria that stay.
    criteria_by_method: dict[str, list[Criterion]] = {part.method: [] for part in parent.parts}
    if plan.redefined:
        for part in parent.parts:
            criteria_by_method[part.method] = [each for each in part.criteria if each.id not in plan.removed]
    for candidate in plan.new.values():
        criteria_by_method.setdefault(candidate.method, []).append(candidate.criterion)
    methods, settings = [method for method, each in criteria_by_method.items() if each], provenance.settings
    parts = tuple(part_with(parent, method, settings, criteria_by_method[method]) for method in methods)
    rubric_to_rate = parent.model_copy(update={"aspect": plan.aspect, "parts": parts})
    # The ratings to ask for: by which rubric, and of which texts.
    requests = []
    if before.unrated:
        requests.append((parent, before.unrated))
    if parts:
        requests.append((rubric_to_rate, before.examples))
    choice = JudgeChoice(provenance.judge, provenance.judge_address)
    if requests:
        judge, learned_with = options.judge, provenance.judge
        if judge and judge != learned_with and not judge.startswith(RECORDED_PREFIX):
            kept_by = f"The kept ratings of {version.ref} are by {learned_with}"
            transfer = f"`rubriclab transfer {version.ref} --to LABELLED --judge {judge} --save`"
            hint = f"Leave out `judge`, or first run: {transfer}"
            raise SettingsError(f"{kept_by}; ratings by {judge} cannot be combined with them.", hint)
        choice = choose_judge(version, judge, workspace.store, workspace.notify)

    def estimate() -> DryRun:
        total = sum((estimate_scoring(scored_by, texts) for scored_by, texts in requests), CallEstimate())
        return dry_run({"judge": (choice.spec, total)}, workspace.options)

    async def run() -> EditResult:
        if not options.preview and not (options.author and options.because):
            hint = "Give `author=NAME` and `because=REASON`, or `preview` to save nothing."
            raise SettingsError("A version that a person makes records who made it and why.", hint)
        connected_judge = workspace.judge(choice) if requests else None
        parent_cells: dict[str, dict[str, stored.Cell]] = {text_id: dict(row) for text_id, row in before.cells.items()}
        new_cells: dict[str, dict[str, stored.Cell]] = {}
        for scored_by, texts in requests:
            assert connected_judge
            rate = partial(rate_parts, scored_by.parts, scored_by, texts, connected_judge, workspace.max_under_way)
            with workspace.progress(workspace.ledger) as on_progress:
                rated = await rate(on_progress=on_progress)
            ids = [candidate.criterion.id for candidate in rated.candidates]
            for criterion_id, column in zip(ids, zip(*rated.cells, strict=True), strict=True):
                if all(cell.score is None and cell.applies for cell in column):
                    problem = f"No text could be rated by {criterion_id}"
                    raise JudgeError(f"{problem}; the latest reason: {column[-1].reason}")
            cells = parent_cells if scored_by is parent else new_cells
            for text, row in zip(rated.examples, rated.cells, strict=True):
                cells.setdefault(text.id, {}).update(zip(ids, row, strict=True))
        # A copy would lose what `before` has computed already.
        complete = replace(before, cells=parent_cells) if before.unrated else before
        return await workspace.off_event_loop(_finish, workspace, options, plan, complete, new_cells)

    return Job(estimate, run)


def _finish(
    workspace: Workspace, options: EditOptions, plan: EditPlan, editable: EditableVersion, new_cells: Cells
) -> EditResult:
    version, parent = editable.version, editable.rated
    cells = [[new_cells[text.id][new_id] for new_id in plan.new] for text in parent.examples]
    edited = edited_rubric(parent, plan, cells, options.author_and_reason)
    if plan.redefined:
        # Candidates outside of the rubric, and the judge asked directly, have no ratings by the new definition.
        candidates = tuple(candidate for candidate in edited.candidates if candidate.kept)
        ids = [candidate.criterion.id for candidate in candidates]
        rows = tuple(tuple(new_cells[text.id][criterion_id] for criterion_id in ids) for text in edited.examples)
        edited = replace(edited, candidates=candidates, cells=rows, direct=None)
    refit_before, refit_after = editable.refit, refit_rubric(edited, editable.selection)
    dropped_ids = [criterion_id for criterion_id, reason in plan.removed.items() if reason == "dropped"]
    limits = [change for change in plan.changes if change.action in ("pin", "bound")]
    limited_ids = [each for change in limits for each in change.criteria if each in plan.bounds]
    limited_or_new = dict.fromkeys([*plan.new, *limited_ids])
    notes = [f"{name} is left out: it {reason}" for name, reason in unweighted_reasons(edited, refit_after).items()]
    for later_id, earlier_id, correlation in redundant_pairs(edited, refit_after):
        notes.append(f"{later_id} says what {earlier_id} says (r = {correlation:.2f}): the same thing counts twice")
    unmeasured = unmeasured_ids(parent, refit_before, dropped_ids) + unmeasured_ids(edited, refit_after, limited_or_new)
    why = "as it was made from labels in every fold, or the labels of the other folds do not select it"
    unknown = f"on cross-validated agreement is unknown: it is in no fold's rubric, {why}"
    notes += [f"the effect of {criterion_id} {unknown}" for criterion_id in unmeasured]
    unscored = np.isnan(refit_after.held_out.ranking_scores) & ~np.isnan(refit_before.held_out.ranking_scores)
    if unscored.any():
        without_score = f"{count(int(unscored.sum()), 'text')} would have no score"
        notes.append(f"{without_score}, as too few criteria are rated; the figures before and after leave them out")
    results = refit_results(edited, refit_after)
    rubric, old_aggregation, provenance = results.rubric(), version.rubric.aggregation, version.provenance
    # The refitted scores are on the scale of the ratings; they are mapped to another scale if the parent's are.
    if rubric.aggregation and old_aggregation and old_aggregation.onto:
        threshold = old_aggregation.threshold if plan.threshold is None else plan.threshold
        update = {"onto": old_aggregation.onto, "threshold": threshold, "threshold_by_hand": plan.threshold is not None}
        rubric = rubric.model_copy(update={"aggregation": rubric.aggregation.model_copy(update=update)})
    recorded = Interval(None)
    if validation := provenance.validation:
        verdicts = validation.verdict_agreements
        recorded = verdicts[0].balanced_accuracy if verdicts else validation.rubric.order
    effect = measure_effect(parent, edited, (refit_before, refit_after), rubric)
    effect = replace(effect, recorded=recorded, recorded_by=provenance.held_out_by)
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
) -> stored.Version:
    version, examples = editable.version, editable.examples
    before, aspect = version.provenance, version.rubric.aspect.name
    judge = imported_source(version, before.judge_from, workspace.store)
    generator = imported_source(version, before.generator_from, workspace.store)
    update = {
        "data": data_digest(examples, aspect),
        "examples": tuple(sorted({*before.examples, *(text.id for text in examples)})),
        "groups": tuple(sorted({*before.groups, *(text.group for text in examples)})),
        "texts": tuple(sorted({*before.texts, *map(words_digest, examples)})),
        "text_fields": stored.shared_text_fields(before, examples),
        "model_versions": tuple(sorted({*before.model_versions, *workspace.model_versions()})),
        "judge_from": judge.ref if judge else None,
        "generator_from": generator.ref if generator else None,
        "agreement": results.agreement,
        "baseline": best_feature(examples, aspect),
        "validation": results.validation,
        "transfer": None,
        "edit": stored.EditOrigin(
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
    return workspace.store.save(
        options.name or version.name,
        rubric,
        before.model_copy(update=update),
        workspace.effort(),
        version.ref,
        training=editable.on_label_scale(results.record(rubric)),
    )


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
