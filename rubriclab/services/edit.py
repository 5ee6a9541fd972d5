"""A rubric changed by a person: criteria dropped, reworded, merged or added, weights limited, the definition changed.

`prepare_edit` asks nothing: it returns a `PreparedEdit`, whose `at_most()` is the price of the answers that the edit
needs (none for `drop`, `pin` and `bound`) and whose `run()` is the `EditResult`: the `EditEffect` on held-out agreement
beside the parent version's, and the child version unless `preview` is set. A page that tries many edits of one version
prepares an `EditableVersion` once by `editable_version` and hands it to `prepare_edit`: the selection of criteria in
each fold, which takes a second, is then computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rubriclab.data import Example
from rubriclab.editing.edits import EditPlan, plan_edits
from rubriclab.editing.effect import EditEffect, effect_of
from rubriclab.editing.parts import edited_parts, only
from rubriclab.editing.refit import (
    RatedRubric,
    check_kept,
    edited_rubric,
    refitted_path,
    repeating,
    study_of,
    unmeasured,
)
from rubriclab.errors import JudgeError, NotInStore, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.judges.recording import PREFIX
from rubriclab.learning.study import Study
from rubriclab.methods.estimate import CallEstimate
from rubriclab.option_names import command, option
from rubriclab.provenance import Provenance
from rubriclab.rubric import Part, Rubric
from rubriclab.scoring.estimate import scoring_at_most
from rubriclab.services.dry_run import DryRun, dry_run
from rubriclab.services.edit_labels import on_label_scale
from rubriclab.services.edit_options import EditOptions, EditResult
from rubriclab.services.edit_provenance import edited_provenance
from rubriclab.services.edit_single import SingleMethodEdit
from rubriclab.services.editable import Cells, EditableVersion, editable_version
from rubriclab.services.judge_choice import JudgeChoice, judge_of
from rubriclab.services.rubric_choice import version_of
from rubriclab.services.workspace import Workspace
from rubriclab.stats.interval import Interval
from rubriclab.store import Store, Version
from rubriclab.training_record import Cell
from rubriclab.transfer.rating_matrix import rate_parts


@dataclass(frozen=True)
class _Request:
    """Parts that texts are rated by, for a rubric that says how they are asked."""

    rubric: Rubric
    parts: tuple[Part, ...]
    texts: tuple[Example, ...]

    def at_most(self) -> CallEstimate:
        return scoring_at_most(self.rubric.model_copy(update={"parts": self.parts}), self.texts)


@dataclass(frozen=True, eq=False)
class PreparedEdit:
    """An edit of a version, before anything is asked."""

    workspace: Workspace
    options: EditOptions
    editable: EditableVersion
    plan: EditPlan
    choice: JudgeChoice

    @property
    def version(self) -> Version:
        """The version that is edited."""
        return self.editable.version

    @cached_property
    def requests(self) -> tuple[_Request, ...]:
        """What has to be asked: new criteria about all texts, and the others where their ratings are not kept."""
        rubric, plan, editable = self.editable.rubric, self.plan, self.editable
        edited = rubric.model_copy(update={"aspect": plan.aspect})
        parts = edited_parts(rubric, plan, self.version.provenance.settings, self.options.signature)
        new = plan.kept(rubric) if plan.redefined else [each.criterion.id for each in plan.new]
        requests = (
            _Request(rubric, rubric.parts, editable.unknown),
            _Request(edited, only(parts, new), editable.texts.examples),
        )
        return tuple(request for request in requests if request.parts and request.texts)

    def at_most(self) -> DryRun:
        """Return the most that is asked; nothing for an edit that needs no new answers."""
        total = sum((request.at_most() for request in self.requests), CallEstimate())
        return dry_run({"judge": (self.choice.spec, total)}, self.workspace.options)

    async def run(self) -> EditResult:
        """Return the effect of the edit, and the child version unless this is a preview.

        Raises:
            JudgeError: if no text could be rated by a new criterion.
            JudgeRefused, BudgetReached, ReplayMiss: from the judge; answers so far are kept in the store.
            SettingsError: if the weight of a criterion is limited that cannot be weighed.
        """
        self.workspace.collect_used_answers()
        judge = self.workspace.judge(self.choice) if self.requests else None
        known, new = await self._answers(judge)
        return await self.workspace.off_event_loop(self._finish, known, new)

    async def _answers(self, judge: Judge | None) -> tuple[Cells, Cells]:
        """Return the ratings by the parent's criteria, and those by new or newly defined ones."""
        known = {name: dict(row) for name, row in self.editable.cells.items()}
        new: dict[str, dict[str, Cell]] = {}
        for request in self.requests:
            if judge is None:
                break
            into = known if request.rubric is self.editable.rubric else new
            about = request.parts, request.rubric, request.texts
            with self.workspace.progress(self.workspace.ledger) as on_progress:
                rated = await rate_parts(*about, judge, self.workspace.under_way, on_progress=on_progress)
            ids = [each.criterion.id for each in rated.candidates]
            _check_answered(ids, rated.cells)
            for text, row in zip(rated.examples, rated.cells, strict=True):
                into.setdefault(text.id, {}).update(zip(ids, row, strict=True))
        return known, new

    def _finish(self, known: Cells, new: Cells) -> EditResult:
        editable, plan = self.editable, self.plan
        if editable.unknown:
            editable = replace(editable, cells=known)
        parent = editable.rated
        ids = [each.criterion.id for each in plan.new]
        cells = [[new[text.id][name] for name in ids] for text in parent.examples]
        edited = edited_rubric(parent, plan, cells, self.options.signature)
        edited = _redefined(edited, new) if plan.redefined else edited
        paths = editable.path, refitted_path(edited, editable.selection)
        notes = (
            *_unweighed(check_kept(edited, paths[1])),
            *_repeating(repeating(edited, paths[1])),
            *_unmeasured(unmeasured(parent, paths[0], plan.dropped)),
            *_unmeasured(unmeasured(edited, paths[1], [*ids, *plan.limited])),
        )
        study = study_of(edited, paths[1])
        rubric = _onto(study.rubric(), editable.rubric)
        provenance = self.version.provenance
        found = effect_of(parent, edited, paths, rubric)
        effect = replace(found, recorded=_recorded(provenance), recorded_by=provenance.held_out_by)
        saved = None if self.options.preview else self._save(study, rubric, effect)
        return EditResult(self.version.ref, rubric, effect, saved, self.workspace.effort(), notes)

    def _save(self, study: Study, rubric: Rubric, effect: EditEffect) -> Version:
        workspace, texts = self.workspace, self.editable.texts
        record = on_label_scale(study.record(rubric), rubric, texts)
        provenance = edited_provenance(
            workspace, self.version, texts, self.options, self.plan, effect, study.agreement, study.validation
        )
        name, parent = self.options.name or self.version.name, self.version.ref
        used = workspace.ledger.used
        return workspace.store.save(name, rubric, provenance, workspace.effort(), parent, training=record, used=used)


def prepare_edit(
    workspace: Workspace,
    rubric: str | Version,
    options: EditOptions,
    *,
    editable: EditableVersion | None = None,
) -> PreparedEdit | SingleMethodEdit:
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
    plan = plan_edits(version.rubric, version.ref, options.edits)
    if not options.preview and not (options.by and options.because):
        raise SettingsError(
            "A version that a person makes records who made it and why.",
            f"Give {option('by', 'NAME')} and {option('because', 'REASON')}, or {option('preview')} to save nothing.",
        )
    editable = editable or editable_version(workspace, version, options)
    if version.rubric.aggregation is None:
        _check_judge(version, options)
        choice = judge_of(version, options.judge, workspace.store, workspace.notify)
        return SingleMethodEdit(workspace, options, version, editable.texts, plan, choice)
    choice = JudgeChoice(version.provenance.judge, version.provenance.judge_address)
    prepared = PreparedEdit(workspace, options, editable, plan, choice)
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


def edit_at_most(workspace: Workspace, rubric: str | Version, options: EditOptions) -> DryRun:
    """Return the most that `edit` would ask; nothing is needed to know who makes the edit."""
    return prepare_edit(workspace, rubric, options.model_copy(update={"preview": True})).at_most()


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


def _check_answered(ids: Sequence[str], cells: Sequence[Sequence[Cell]]) -> None:
    for name, column in zip(ids, zip(*cells, strict=True), strict=True):
        if all(cell.score is None and cell.applies for cell in column):
            raise JudgeError(f"No text could be rated by {name}; the latest reason: {column[-1].reason}")


def _redefined(edited: RatedRubric, cells: Cells) -> RatedRubric:
    """Return the rubric with ratings by the new definition, which only its own criteria have."""
    kept = tuple(each for each in edited.candidates if each.kept)
    rows = tuple(tuple(cells[text.id][each.criterion.id] for each in kept) for text in edited.examples)
    return replace(edited, candidates=kept, cells=rows)


def _unweighed(reasons: Mapping[str, str]) -> Iterator[str]:
    for name, reason in reasons.items():
        yield f"{name} is left out: it {reason}"


def _repeating(pairs: Sequence[tuple[str, str, float]]) -> Iterator[str]:
    for one, other, correlation in pairs:
        yield f"{one} says what {other} says (r = {correlation:.2f}): the same thing counts twice"


def _unmeasured(ids: Sequence[str]) -> Iterator[str]:
    for name in ids:
        yield (
            f"{name} is in no fold's rubric, as it was made from labels of each fold or is not selected without them: "
            "its part in held-out agreement is unknown"
        )


def _onto(rubric: Rubric, parent: Rubric) -> Rubric:
    """Return the rubric with scores on the scale of the parent's."""
    if rubric.aggregation is None or parent.aggregation is None or parent.aggregation.onto is None:
        return rubric
    aggregation = rubric.aggregation.model_copy(update={"onto": parent.aggregation.onto})
    return rubric.model_copy(update={"aggregation": aggregation})


def _recorded(provenance: Provenance) -> Interval:
    """Return the parent's held-out correlation as its version records it."""
    return provenance.validation.evaluators[0].pearson if provenance.validation else Interval(None)
