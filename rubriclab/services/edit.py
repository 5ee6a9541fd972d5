"""A rubric changed by a person: criteria dropped, reworded, merged or added, weights limited, the definition changed.

`prepare_edit` asks nothing: it returns a `PreparedEdit`, whose `estimate()` is the price of the answers that the edit
needs (none for `drop`, `pin` and `bound`) and whose `run()` is the `EditResult`: the `EditEffect` on held-out agreement
beside the parent version's, and the child version unless `preview` is set. A page that tries many edits of one version
prepares an `EditableVersion` once by `editable_version` and hands it to `prepare_edit`: the selection of criteria in
each fold, which takes a second, is then computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from rubriclab.data import Example
from rubriclab.data.example import data_digest, text_digest
from rubriclab.editing.edits import EditPlan, plan_edits
from rubriclab.editing.effect import EditEffect, effect_of
from rubriclab.editing.refit import (
    check_kept,
    edited_parts,
    edited_rubric,
    only,
    refitted,
    repeating,
    study_of,
    unmeasured,
)
from rubriclab.errors import JudgeError, NotInStore, SettingsError
from rubriclab.estimate import CallEstimate, DryRun, dry_run, estimate_scoring
from rubriclab.judges.recording import PREFIX
from rubriclab.learning.baselines import best_feature
from rubriclab.learning.study import Study
from rubriclab.option_names import command, option
from rubriclab.provenance import EditOrigin, fields_of_both
from rubriclab.report.verdicts import recorded_agreement
from rubriclab.rubric import Part, Rubric
from rubriclab.services.edit_options import EditOptions, EditResult
from rubriclab.services.editable import Cells, EditableVersion, LabelledTexts, editable_version, on_label_scale
from rubriclab.services.judge_choice import JudgeChoice, imported_source, judge_of
from rubriclab.services.workspace import Workspace, version_of
from rubriclab.stats.interval import Interval
from rubriclab.store import Store, Version
from rubriclab.training_record import Cell
from rubriclab.transfer.adaptation import rate_parts


@dataclass(frozen=True)
class _Request:
    """Parts that texts are rated by, for a rubric that says how they are asked."""

    rubric: Rubric
    parts: tuple[Part, ...]
    texts: tuple[Example, ...]

    def estimate(self) -> CallEstimate:
        return estimate_scoring(self.rubric.model_copy(update={"parts": self.parts}), self.texts)


@dataclass(frozen=True, eq=False)
class PreparedEdit:
    """An edit of a version and the labelled texts that it is measured on, before anything is asked."""

    workspace: Workspace
    options: EditOptions
    version: Version
    texts: LabelledTexts
    plan: EditPlan
    choice: JudgeChoice
    editable: EditableVersion

    @cached_property
    def requests(self) -> tuple[_Request, ...]:
        """What has to be asked: new criteria about all texts, and the others where their ratings are not kept."""
        rubric, plan, editable = self.version.rubric, self.plan, self.editable
        edited = rubric.model_copy(update={"aspect": plan.aspect})
        parts = edited_parts(rubric, plan, self.version.provenance.settings, self.options.signature)
        ids = [criterion.id for part in parts for criterion in part.criteria]
        new = [name for name in ids if plan.redefined or name in plan.added]
        requests = (
            _Request(rubric, rubric.parts, editable.unknown),
            _Request(edited, only(parts, new), self.texts.examples),
        )
        return tuple(request for request in requests if request.parts and request.texts)

    def estimate(self) -> DryRun:
        """Return an estimate of what is asked; nothing for an edit that needs no new answers."""
        total = sum((request.estimate() for request in self.requests), CallEstimate())
        return dry_run({"judge": (self.choice.spec, total)}, self.workspace.options)

    async def run(self) -> EditResult:
        """Return the effect of the edit, and the child version unless this is a preview.

        Raises:
            JudgeError: if no text could be rated by a new criterion.
            JudgeRefused, BudgetReached, ReplayMiss: from the judge; answers so far are kept in the store.
            SettingsError: if the weight of a criterion is limited that cannot be weighed.
        """
        judge = self.workspace.judge(self.choice) if self.requests else None
        # The ratings by the parent's criteria, and those by new or newly defined ones.
        known = {name: dict(row) for name, row in self.editable.cells.items()}
        new: dict[str, dict[str, Cell]] = {}
        for request in self.requests:
            assert judge
            into = known if request.rubric is self.version.rubric else new
            about = request.parts, request.rubric, request.texts
            with self.workspace.progress(self.workspace.ledger) as on_progress:
                rated = await rate_parts(*about, judge, self.workspace.under_way, on_progress=on_progress)
            ids = [each.criterion.id for each in rated.candidates]
            for name, column in zip(ids, zip(*rated.cells, strict=True), strict=True):
                if all(cell.score is None and cell.applies for cell in column):
                    raise JudgeError(f"No text could be rated by {name}; the latest reason: {column[-1].reason}")
            for text, row in zip(rated.examples, rated.cells, strict=True):
                into.setdefault(text.id, {}).update(zip(ids, row, strict=True))
        return await self.workspace.off_event_loop(self._finish, known, new)

    def _finish(self, known: Cells, new: Cells) -> EditResult:
        editable, plan = self.editable, self.plan
        if editable.unknown:
            editable = replace(editable, cells=known)
        parent = editable.rated
        cells = [[new[text.id][name] for name in plan.added] for text in parent.examples]
        edited = edited_rubric(parent, plan, cells, self.options.signature)
        if plan.redefined:
            # Only the rubric's own criteria have ratings by the new definition.
            kept = tuple(each for each in edited.candidates if each.kept)
            rows = tuple(tuple(new[text.id][each.criterion.id] for each in kept) for text in edited.examples)
            edited = replace(edited, candidates=kept, cells=rows)
        refits = editable.refit, refitted(edited, editable.selection)
        unknown = (
            unmeasured(parent, refits[0], plan.dropped),
            unmeasured(edited, refits[1], [*plan.added, *plan.limited]),
        )
        notes = (
            *(f"{name} is left out: it {reason}" for name, reason in check_kept(edited, refits[1]).items()),
            *(
                f"{one} says what {other} says (r = {correlation:.2f}): the same thing counts twice"
                for one, other, correlation in repeating(edited, refits[1])
            ),
            *(
                f"{name} is in no fold's rubric, as it was made from labels of each fold or is not selected without "
                "them: its part in held-out agreement is unknown"
                for name in chain(*unknown)
            ),
        )
        study = study_of(edited, refits[1])
        rubric, before, provenance = study.rubric(), self.version.rubric.aggregation, self.version.provenance
        if rubric.aggregation and before and before.onto:
            threshold = before.threshold if plan.threshold is None else plan.threshold
            update = {"onto": before.onto, "threshold": threshold, "threshold_by_hand": plan.threshold is not None}
            aggregation = rubric.aggregation.model_copy(update=update)
            rubric = rubric.model_copy(update={"aggregation": aggregation})
        recorded = recorded_agreement(self.version) if provenance.validation else None
        effect = replace(
            effect_of(parent, edited, refits, rubric),
            recorded=recorded.value if recorded else Interval(None),
            recorded_by=provenance.held_out_by,
        )
        return self._result(rubric, effect, notes, study)

    def _result(self, rubric: Rubric, effect: EditEffect, notes: tuple[str, ...], study: Study) -> EditResult:
        """Return the result of the edit, with the child version unless this is a preview.

        The child's training texts are those of the parent and those that the edit was measured on.
        """
        workspace, options, before = self.workspace, self.options, self.version.provenance
        if options.preview:
            return EditResult(self.version.ref, rubric, effect, None, workspace.effort(), notes)
        examples, aspect = self.texts.examples, self.texts.aspect
        judge, generator = (
            imported_source(self.version, recorded, workspace.store)
            for recorded in (before.judge_from, before.generator_from)
        )
        edit = EditOrigin(
            by=options.by or "",
            because=options.because or "",
            changes=self.plan.changes,
            labels=len(examples),
            folds=effect.folds,
            statistic=effect.statistic,
            before=effect.before,
            after=effect.after,
            difference=effect.difference,
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
            "edit": edit,
        }
        saved = workspace.store.save(
            options.name or self.version.name,
            rubric,
            before.model_copy(update=update),
            workspace.effort(),
            self.version.ref,
            training=on_label_scale(study.record(rubric), rubric, self.texts),
        )
        return EditResult(self.version.ref, rubric, effect, saved, workspace.effort(), notes)


def prepare_edit(
    workspace: Workspace,
    rubric: str | Version,
    options: EditOptions,
    *,
    editable: EditableVersion | None = None,
) -> PreparedEdit:
    """Return an edit of a rubric, before anything is asked.

    Args:
        editable: from `editable_version` with the same version and labels, to spare its computation.

    Raises:
        NotInStore: if there is no such version.
        SettingsError: for edits that are not possible, without who makes them and why, or under the name of another
            rubric.
        DataError: if there are no labelled texts.
        NotConfirmed: if only an imported version that is not confirmed names the judge, and answers are needed.
    """
    version = editable.version if editable else version_of(workspace, rubric)
    _check_name(workspace.store, version, options.name)
    if version.rubric.aggregation is None:
        raise SettingsError(
            f"{version.ref} has no learned weights to fit again: it was learned by one method.",
            f"Learn it with several methods, without {option('methods')}, or fit weights: "
            f"{command('transfer', version.ref)}",
        )
    plan = plan_edits(version.rubric, version.ref, options.edits)
    if not options.preview and not (options.by and options.because):
        raise SettingsError(
            "A version that a person makes records who made it and why.",
            f"Give {option('by', 'NAME')} and {option('because', 'REASON')}, or {option('preview')} to save nothing.",
        )
    editable = editable or editable_version(workspace, version, options)
    choice = JudgeChoice(version.provenance.judge, version.provenance.judge_address)
    prepared = PreparedEdit(workspace, options, version, editable.texts, plan, choice, editable)
    if prepared.requests:
        _check_judge(version, options)
        return replace(prepared, choice=judge_of(version, options.judge, workspace.store, workspace.notify))
    return prepared


async def edit(workspace: Workspace, rubric: str | Version, options: EditOptions) -> EditResult:
    """Return the effect of an edit, and the child version unless it is a preview.

    Raises:
        RubriclabError: as `prepare_edit` and `PreparedEdit.run` do.
    """
    prepared = await workspace.off_event_loop(prepare_edit, workspace, rubric, options)
    return await prepared.run()


def edit_estimate(workspace: Workspace, rubric: str | Version, options: EditOptions) -> DryRun:
    """Return an estimate of what `edit` asks; nothing is needed to know who makes the edit."""
    return prepare_edit(workspace, rubric, options.model_copy(update={"preview": True})).estimate()


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
    found: set[str] = set()
    while version.parent and version.parent not in found:
        found.add(version.parent)
        try:
            version = store.load(version.parent)
        except NotInStore:
            break
    return found


def _check_judge(version: Version, options: EditOptions) -> None:
    """Refuse answers of a judge other than the one that gave the kept ratings."""
    named, own = options.judge, version.provenance.judge
    if named and named != own and not named.startswith(PREFIX):
        raise SettingsError(
            f"The kept ratings of {version.ref} are by {own}; new ones by {named} cannot be weighed beside them.",
            f"Leave out {option('judge')}, or move the rubric to that judge first: {command('transfer', version.ref)}",
        )
