"""An edit of a version and the version that it makes: its parent's provenance, the labels used, the new figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rubriclab.data.example import data_digest, text_digest
from rubriclab.editing.edits import EditPlan
from rubriclab.editing.effect import EditEffect
from rubriclab.learning.baselines import best_feature
from rubriclab.provenance import EditOrigin, TrainingAgreement, fields_of_both
from rubriclab.rubric import Rubric
from rubriclab.services.edit_labels import LabelledTexts
from rubriclab.services.edit_options import EditOptions, EditResult
from rubriclab.services.judge_choice import JudgeChoice, imported_source
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version
from rubriclab.training_record import TrainingRecord
from rubriclab.validation import Validation

# What a version records besides its rubric.
Measured = tuple[TrainingAgreement, Validation | None, TrainingRecord | None]


@dataclass(frozen=True, eq=False)
class RubricEdit:
    """An edit of a version, and the labelled texts that it is measured on."""

    workspace: Workspace
    options: EditOptions
    version: Version
    texts: LabelledTexts
    plan: EditPlan
    choice: JudgeChoice

    def result(
        self, rubric: Rubric, effect: EditEffect, notes: tuple[str, ...], measured: Callable[[], Measured]
    ) -> EditResult:
        """Return the result of the edit, with the child version unless this is a preview.

        The child's training texts are those of the parent and those that the edit was measured on.
        """
        workspace, options, before = self.workspace, self.options, self.version.provenance
        if options.preview:
            return EditResult(self.version.ref, rubric, effect, None, workspace.effort(), notes)
        agreement, validation, training = measured()
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
            corrected=self.texts.corrected,
            folds=effect.folds,
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
            "agreement": agreement,
            "baseline": best_feature(examples, aspect),
            "validation": validation,
            "transfer": None,
            "edit": edit,
        }
        saved = workspace.store.save(
            options.name or self.version.name,
            rubric,
            before.model_copy(update=update),
            workspace.effort(),
            self.version.ref,
            training=training,
            used=workspace.ledger.used,
        )
        return EditResult(self.version.ref, rubric, effect, saved, workspace.effort(), notes)
