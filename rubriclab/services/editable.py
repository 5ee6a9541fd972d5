"""A version to edit: its rubric, the labelled texts, and the ratings that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rubriclab.data import Example
from rubriclab.data.example import text_digest
from rubriclab.editing.refit import FoldSelection, RatedRubric, rated_rubric, refitted, select_in_folds
from rubriclab.learning.selection import SelectedRubric
from rubriclab.rubric import Rubric
from rubriclab.services.edit_labels import LabelledTexts, labelled_texts
from rubriclab.services.edit_options import EditOptions
from rubriclab.services.rubric_choice import version_of
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version
from rubriclab.training_record import Candidate, Cell, TrainingRecord

# Ratings by text and by criterion.
Cells = Mapping[str, Mapping[str, Cell]]


@dataclass(frozen=True, eq=False)
class EditableVersion:
    """A version with its labelled texts and their ratings.

    Attributes:
        texts: with labels on their own scale.
        cells: the ratings that the version keeps, by text and criterion.
    """

    version: Version
    record: TrainingRecord | None
    texts: LabelledTexts
    cells: Cells

    @property
    def rubric(self) -> Rubric:
        """The version's rubric."""
        return self.version.rubric

    @property
    def unknown(self) -> tuple[Example, ...]:
        """The texts without ratings by all of the rubric's criteria."""
        ids = [criterion.id for criterion in self.rubric.criteria]
        return tuple(
            text for text in self.texts.examples if any(name not in self.cells.get(text.id, {}) for name in ids)
        )

    @cached_property
    def rated(self) -> RatedRubric:
        """The rubric with the kept ratings; candidates that do not rate every text are left out.

        There are no unknown texts.
        """
        recorded = self.record.candidates if self.record else ()
        known = {each.criterion.id for each in recorded}
        own = [
            Candidate(method=part.method, criterion=criterion, kept=True, made_from=criterion.evidence.examples)
            for part in self.rubric.parts
            for criterion in part.criteria
            if criterion.id not in known
        ]
        rows = [self.cells.get(text.id, {}) for text in self.texts.examples]
        candidates = [
            each.model_copy(update={"made_from": self._present(each.made_from)})
            for each in (*recorded, *own)
            if all(each.criterion.id in row for row in rows)
        ]
        matrix = [[row[each.criterion.id] for each in candidates] for row in rows]
        return rated_rubric(self.rubric, self.version.provenance, self.texts.moved, candidates, matrix)

    @cached_property
    def selection(self) -> FoldSelection:
        """The criteria that labels select in each fold."""
        return select_in_folds(self.rated)

    @cached_property
    def refit(self) -> SelectedRubric:
        """The rubric refitted without an edit."""
        return refitted(self.rated, self.selection)

    def _present(self, made_from: Sequence[str]) -> tuple[str, ...]:
        """Return these texts under the ids that they have here; for one that is absent, another of its group."""
        id_of = {text_digest(text): text.id for text in self.texts.examples}
        first = {text.group: text.id for text in reversed(self.texts.examples)}
        here = {text.id: text.id for text in self.texts.examples}
        for text in self.record.texts if self.record else ():
            if found := id_of.get(text_digest(text.example)) or first.get(text.group):
                here[text.id] = found
        return tuple(sorted({here[name] for name in made_from if name in here}))


def editable_version(workspace: Workspace, rubric: str | Version, options: EditOptions) -> EditableVersion:
    """Return a version with the labelled texts that an edit is measured on.

    Raises:
        NotInStore: if there is no such version.
        DataError: if there are no labelled texts, neither with the version nor in `labels`.
    """
    version = version_of(workspace, rubric)
    record = workspace.store.training(version.ref)
    texts = labelled_texts(workspace, version, record, options)
    return EditableVersion(version, record, texts, _recorded_cells(record, texts))


def _recorded_cells(record: TrainingRecord | None, texts: LabelledTexts) -> Cells:
    """Return the kept ratings of these texts, matched by their words."""
    if record is None:
        return {}
    row_of = {text_digest(text.example): row for row, text in enumerate(record.texts)}
    ids = [each.criterion.id for each in record.candidates]
    rows = {text.id: row_of.get(text_digest(text)) for text in texts.examples}
    return {name: dict(zip(ids, record.cells[row], strict=True)) for name, row in rows.items() if row is not None}
