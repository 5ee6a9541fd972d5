"""The provenance of an edited version: its parent's, with the labels used, the new figures, and who changed what."""

from __future__ import annotations

from rubriclab.data.example import data_digest, text_digest
from rubriclab.editing.edits import EditPlan
from rubriclab.editing.effect import EditEffect
from rubriclab.learning.baselines import best_feature
from rubriclab.provenance import EditOrigin, Provenance, TrainingAgreement, fields_of_both
from rubriclab.services.edit_labels import LabelledTexts
from rubriclab.services.edit_options import EditOptions
from rubriclab.services.judge_choice import imported_source
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version
from rubriclab.validation import Validation


def edited_provenance(  # noqa: PLR0917
    workspace: Workspace,
    version: Version,
    texts: LabelledTexts,
    options: EditOptions,
    plan: EditPlan,
    effect: EditEffect,
    agreement: TrainingAgreement,
    validation: Validation | None,
) -> Provenance:
    """Return the provenance of the version that an edit makes from `version`.

    Its training texts are those of the parent and those that the edit was measured on.
    """
    before, examples = version.provenance, texts.examples
    judge, generator = (
        imported_source(version, recorded, workspace.store) for recorded in (before.judge_from, before.generator_from)
    )
    update = {
        "data": data_digest(examples, texts.aspect),
        "examples": tuple(sorted({*before.examples, *(text.id for text in examples)})),
        "groups": tuple(sorted({*before.groups, *(text.group for text in examples)})),
        "texts": tuple(sorted({*before.texts, *map(text_digest, examples)})),
        "text_fields": fields_of_both(before, examples),
        "model_versions": tuple(sorted({*before.model_versions, *workspace.model_versions()})),
        "judge_from": judge.ref if judge else None,
        "generator_from": generator.ref if generator else None,
        "agreement": agreement,
        "baseline": best_feature(examples, texts.aspect),
        "validation": validation,
        "transfer": None,
        "edit": _origin(texts, options, plan, effect),
    }
    return before.model_copy(update=update)


def _origin(texts: LabelledTexts, options: EditOptions, plan: EditPlan, effect: EditEffect) -> EditOrigin:
    return EditOrigin(
        by=options.by or "",
        because=options.because or "",
        changes=plan.changes,
        labels=len(texts.examples),
        corrected=texts.corrected,
        folds=effect.folds,
        before=effect.before,
        after=effect.after,
        difference=effect.difference,
    )
