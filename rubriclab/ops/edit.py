"""Change of a rubric by hand: options, prepared edit, and the child version with its effect."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rubriclab.display import Displayed
from rubriclab.errors import DataError, JudgeError, NotInStore, SettingsError
from rubriclab.judges.stack import PREFIX
from rubriclab.learning.adaptation import rate_parts
from rubriclab.learning.baselines import best_feature
from rubriclab.learning.estimate import CallEstimate, DryRun, dry_run, estimate_scoring
from rubriclab.learning.fitting import SelectedRubric
from rubriclab.learning.train import Study
from rubriclab.models.aggregation import bounds_of, threshold_by_hand
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example, data_digest, named_annotations, text_digest
from rubriclab.models.version import (
    Candidate,
    Cell,
    EditOrigin,
    Effort,
    RecordedText,
    TrainingRecord,
    Version,
    fields_of_both,
)
from rubriclab.ops.edits import (
    EditEffect,
    EditPlan,
    FoldSelection,
    RatedRubric,
    check_kept,
    edited_rubric,
    effect_of,
    parts_to_rate,
    plan_edits,
    refitted,
    repeating,
    select_in_folds,
    study_of,
    unmeasured,
)
from rubriclab.ops.inputs import describe, labels_on_scale, usable_texts
from rubriclab.ops.options import EditOptions
from rubriclab.ops.workspace import Job, JudgeChoice, Workspace, imported_source, judge_of, version_of
from rubriclab.stats.intervals import DIGITS, Interval
from rubriclab.store.store import Store


@dataclass(frozen=True, repr=False)
class EditResult(Displayed):
    """What an edit does.

    Attributes:
        saved: the child version; `None` for a preview.
    """

    parent: str
    rubric: Rubric
    effect: EditEffect
    saved: Version | None
    effort: Effort
    notes: tuple[str, ...] = ()

    def to_row(self) -> dict[str, Any]:
        """Return the effect as one JSON object, without the rubric."""
        saved = self.saved.ref if self.saved else None
        return {"parent": self.parent, "saved": saved, "notes": list(self.notes), **self.effect.to_row()}


# Ratings by text and by criterion.
Cells = Mapping[str, Mapping[str, Cell]]


@dataclass(frozen=True, eq=False)
class EditableVersion:
    """A version with its labelled texts and their ratings.

    Attributes:
        examples: sorted by id, with labels on the raters' scale.
        cells: the ratings that the version keeps, by text and criterion.
    """

    version: Version
    record: TrainingRecord | None
    examples: tuple[Example, ...]
    cells: Cells

    @property
    def unknown(self) -> tuple[Example, ...]:
        """The texts without ratings by all of the rubric's criteria."""
        ids = {criterion.id for criterion in self.version.rubric.criteria}
        return tuple(text for text in self.examples if not ids <= self.cells.get(text.id, {}).keys())

    @cached_property
    def rated(self) -> RatedRubric:
        """The rubric with the kept ratings; candidates that do not rate every text are left out.

        There are no unknown texts.
        """
        rubric, provenance = self.version.rubric, self.version.provenance
        aspect, scale, onto = rubric.aspect.name, rubric.scores_on, rubric.scale
        recorded, texts = (self.record.candidates, self.record.texts) if self.record else ((), ())
        known = {each.criterion.id for each in recorded}
        own = [
            Candidate(method=part.method, criterion=criterion, kept=True, made_from=criterion.evidence.examples)
            for part in rubric.parts
            for criterion in part.criteria
            if criterion.id not in known
        ]
        # The ids here of the texts that criteria were made from; for one that is absent, another of its group.
        id_of = {text_digest(text): text.id for text in self.examples}
        first = {text.group: text.id for text in reversed(self.examples)}
        here = {text.id: text.id for text in self.examples}
        for text in texts:
            if found := id_of.get(text_digest(text.example)) or first.get(text.group):
                here[text.id] = found
        rows = [self.cells.get(text.id, {}) for text in self.examples]
        candidates = tuple(
            each.model_copy(
                update={"made_from": tuple(sorted({here[name] for name in each.made_from if name in here}))}
            )
            for each in (*recorded, *own)
            if all(each.criterion.id in row for row in rows)
        )
        examples = (
            replace(
                example,
                scores={aspect: scale.moved_to(onto, example.scores[aspect])},
                annotations={aspect: tuple(scale.moved_to(onto, each) for each in example.annotations.get(aspect, ()))},
            )
            for example in self.examples
        )
        return RatedRubric(
            rubric=rubric,
            examples=tuple(examples),
            candidates=candidates,
            cells=tuple(tuple(row[each.criterion.id] for each in candidates) for row in rows),
            settings=provenance.settings,
            bounds=bounds_of(rubric.aggregation),
            threshold=threshold_by_hand(rubric.aggregation),
        )

    @cached_property
    def selection(self) -> FoldSelection:
        """The criteria that labels select in each fold."""
        return select_in_folds(self.rated)

    @cached_property
    def refit(self) -> SelectedRubric:
        """The rubric refitted without an edit."""
        return refitted(self.rated, self.selection)

    def on_label_scale(self, record: TrainingRecord) -> TrainingRecord:
        """Return a record of these texts with labels, scores and intervals on the scale of the labels."""
        by_id, rubric, aspect = (
            {text.id: text for text in self.examples},
            self.version.rubric,
            self.version.rubric.aspect.name,
        )
        texts = []
        for text in record.texts:
            example, scores = by_id[text.id], {"predicted": text.predicted, "low": text.low, "high": text.high}
            moved = {
                name: None if score is None else round(rubric.scale.moved_to(rubric.scores_on, score), DIGITS)
                for name, score in scores.items()
            }
            labels = {"label": float(example.scores[aspect]), "raters": named_annotations(example, aspect)}
            texts.append(text.model_copy(update={**moved, **labels}))
        return record.model_copy(update={"texts": tuple(texts)})


def editable_version(workspace: Workspace, rubric: str | Version, options: EditOptions) -> EditableVersion:
    """Return a version with the labelled texts that an edit is measured on: its own, or those of `options.labels`."""
    version = version_of(workspace, rubric)
    record, cells = workspace.store.training(version.ref), dict[str, Mapping[str, Cell]]()
    if options.labels is not None:
        aspect, scale, name = version.rubric.aspect.name, version.rubric.scores_on, describe(options.labels)
        given = usable_texts(options.labels, options, [(aspect, scale)], workspace.notify)
        texts = labels_on_scale(given, aspect, scale, name, workspace.notify)
        if not texts:
            label = f"a label for {aspect!r} from {scale.describe()}"
            raise DataError(f"{name} has no text with {label}.", "Give labelled texts.")
    elif record is None:
        raise DataError(
            f"{version.ref} keeps no labelled texts: it was learned by one method, or imported.",
            "Give them: `labels=FILE`.",
        )
    else:
        texts = tuple(_labelled_example(text, version.rubric.aspect.name) for text in record.texts)
    if record:
        row_of = {text_digest(text.example): row for text, row in zip(record.texts, record.cells, strict=True)}
        ids = [each.criterion.id for each in record.candidates]
        for text in texts:
            if row := row_of.get(text_digest(text)):
                cells[text.id] = dict(zip(ids, row, strict=True))
    return EditableVersion(version, record, tuple(sorted(texts, key=lambda text: text.id)), cells)


def _labelled_example(text: RecordedText, aspect: str) -> Example:
    example = replace(text.example, scores={aspect: text.label})
    if text.reasons:
        example = replace(example, reasons={aspect: text.reasons.get("") or dict(text.reasons)})
    if not text.raters:
        return example
    annotations, raters = {aspect: tuple(text.raters.values())}, {aspect: tuple(text.raters)}
    return replace(example, annotations=annotations, raters=raters)


def edit(
    workspace: Workspace,
    rubric: str | Version,
    options: EditOptions,
    *,
    editable: EditableVersion | None = None,
) -> Job[EditResult]:
    """Return the effect of an edit, and the child version unless it is a preview.

    Args:
        editable: from `editable_version` with the same version and labels, to spare its computation.
    """
    version = editable.version if editable else version_of(workspace, rubric)
    _check_name(workspace.store, version, options.name)
    parent, provenance = version.rubric, version.provenance
    if parent.aggregation is None:
        raise SettingsError(
            f"{version.ref} has no learned weights to fit again: it was learned by one method.",
            f"Learn it with several methods, without `methods`, or fit weights: rubriclab transfer {version.ref}",
        )
    plan = plan_edits(parent, version.ref, options)
    labelled = editable or editable_version(workspace, version, options)
    # New criteria are asked about all texts, and the others where their ratings are not kept.
    parts = parts_to_rate(parent, plan, provenance.settings)
    new_parts = parent.model_copy(update={"aspect": plan.aspect, "parts": parts})
    requests = [(parent, labelled.unknown)] if labelled.unknown else []
    requests += [(new_parts, labelled.examples)] if parts else []
    choice = JudgeChoice(provenance.judge, provenance.judge_address)
    if requests:
        named, own = options.judge, provenance.judge
        if named and named != own and not named.startswith(PREFIX):
            raise SettingsError(
                f"The kept ratings of {version.ref} are by {own}; new ones by {named} cannot be weighed beside them.",
                f"Leave out `judge`, or move the rubric to that judge first: rubriclab transfer {version.ref}",
            )
        choice = judge_of(version, options.judge, workspace.store, workspace.notify)

    def estimate() -> DryRun:
        total = sum((estimate_scoring(by, texts) for by, texts in requests), CallEstimate())
        return dry_run({"judge": (choice.spec, total)}, workspace.options)

    async def run() -> EditResult:
        if not options.preview and not (options.author and options.because):
            raise SettingsError(
                "A version that a person makes records who made it and why.",
                "Give `author=NAME` and `because=REASON`, or `preview` to save nothing.",
            )
        judge = workspace.judge(choice) if requests else None
        # The ratings by the parent's criteria, and those by new or newly defined ones.
        known: dict[str, dict[str, Cell]] = {name: dict(row) for name, row in labelled.cells.items()}
        new: dict[str, dict[str, Cell]] = {}
        for by, texts in requests:
            assert judge
            with workspace.progress(workspace.ledger) as on_progress:
                rated = await rate_parts(by.parts, by, texts, judge, workspace.under_way, on_progress=on_progress)
            ids = [each.criterion.id for each in rated.candidates]
            for name, column in zip(ids, zip(*rated.cells, strict=True), strict=True):
                if all(cell.score is None and cell.applies for cell in column):
                    raise JudgeError(f"No text could be rated by {name}; the latest reason: {column[-1].reason}")
            into = known if by is parent else new
            for text, row in zip(rated.examples, rated.cells, strict=True):
                into.setdefault(text.id, {}).update(zip(ids, row, strict=True))
        complete = replace(labelled, cells=known) if labelled.unknown else labelled
        return await workspace.off_event_loop(_finish, workspace, options, plan, complete, new)

    return Job(estimate, run)


def _finish(
    workspace: Workspace, options: EditOptions, plan: EditPlan, editable: EditableVersion, new: Cells
) -> EditResult:
    """Return the effect of an edit whose new ratings are here, and the child version unless this is a preview."""
    version, parent = editable.version, editable.rated
    cells = [[new[text.id][name] for name in plan.new] for text in parent.examples]
    edited = edited_rubric(parent, plan, cells, options.signature)
    if plan.redefined:
        # Only the rubric's own criteria have ratings by the new definition.
        kept = tuple(each for each in edited.candidates if each.kept)
        rows = tuple(tuple(new[text.id][each.criterion.id] for each in kept) for text in edited.examples)
        edited = replace(edited, candidates=kept, cells=rows)
    refits = editable.refit, refitted(edited, editable.selection)
    dropped, joined = plan.unmeasurable
    notes = (
        *(f"{name} is left out: it {reason}" for name, reason in check_kept(edited, refits[1]).items()),
        *(
            f"{one} says what {other} says (r = {correlation:.2f}): the same thing counts twice"
            for one, other, correlation in repeating(edited, refits[1])
        ),
        *(
            f"{name} is in no fold's rubric, as it was made from labels of each fold or is not selected without "
            "them: its part in held-out agreement is unknown"
            for name in (*unmeasured(parent, refits[0], dropped), *unmeasured(edited, refits[1], joined))
        ),
    )
    study = study_of(edited, refits[1])
    rubric, before, provenance = study.rubric(), version.rubric.aggregation, version.provenance
    if rubric.aggregation and before and before.onto:
        threshold = before.threshold if plan.threshold is None else plan.threshold
        update = {"onto": before.onto, "threshold": threshold, "threshold_by_hand": plan.threshold is not None}
        rubric = rubric.model_copy(update={"aggregation": rubric.aggregation.model_copy(update=update)})
    recorded = Interval(None)
    if validation := provenance.validation:
        verdicts = validation.verdict_agreements
        own = next(each for each in validation.evaluators if each.kind == "rubric")
        recorded = verdicts[0].balanced_accuracy if verdicts else own.order
    effect = effect_of(parent, edited, refits, rubric)
    effect = replace(effect, recorded=recorded, recorded_by=provenance.held_out_by)
    saved = (
        None
        if options.preview
        else _save(workspace, options, plan, editable, rubric=rubric, effect=effect, study=study)
    )
    return EditResult(version.ref, rubric, effect, saved, workspace.effort(), notes)


def _save(
    workspace: Workspace,
    options: EditOptions,
    plan: EditPlan,
    editable: EditableVersion,
    *,
    rubric: Rubric,
    effect: EditEffect,
    study: Study,
) -> Version:
    """Return the child version, whose training texts are the parent's and those that the edit was measured on."""
    version, examples = editable.version, editable.examples
    before, aspect = version.provenance, version.rubric.aspect.name
    judge, generator = (
        imported_source(version, recorded, workspace.store) for recorded in (before.judge_from, before.generator_from)
    )
    update = {
        "data": data_digest(examples, aspect),
        "examples": tuple(sorted({*before.examples, *(text.id for text in examples)})),
        "groups": tuple(sorted({*before.groups, *(text.group for text in examples)})),
        "texts": tuple(sorted({*before.texts, *map(text_digest, examples)})),
        "text_fields": fields_of_both(before, examples),
        "model_versions": tuple(sorted({*before.model_versions, *workspace.model_versions()})),
        "judge_from": judge.ref if judge else None,
        "generator_from": generator.ref if generator else None,
        "agreement": study.agreement,
        "baseline": best_feature(examples, aspect),
        "validation": study.validation,
        "transfer": None,
        "edit": EditOrigin(
            author=options.author or "",
            because=options.because or "",
            changes=tuple(plan.changes),
            labels=len(examples),
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
        training=editable.on_label_scale(study.record(rubric)),
    )


def _check_name(store: Store, version: Version, name: str | None) -> None:
    """Refuse a name whose newest version neither descends from the edited one nor is one of its ancestors."""
    if name is None or name == version.name or name not in store.names():
        return
    newest = store.load(name)
    if version.ref not in _ancestors(store, newest) and newest.ref not in _ancestors(store, version):
        raise SettingsError(
            f"{name} already names another rubric, whose newest version is {newest.ref}.",
            f"Give a name that is not in use yet, or none, to save a new version of {version.name}.",
        )


def _ancestors(store: Store, version: Version) -> set[str]:
    """Return the versions that one was made from, as far back as the store holds them."""
    refs: set[str] = set()
    with suppress(NotInStore):
        while version.parent and version.parent not in refs:
            refs.add(version.parent)
            version = store.load(version.parent)
    return refs
