"""A version to edit: its rubric, its labelled texts (kept with it, or a file of the user), and the kept ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rubriclab.data import Example, labelled
from rubriclab.data.example import named_annotations, text_digest
from rubriclab.data.scale import Scale
from rubriclab.editing.refit import FoldSelection, RatedRubric, rated_rubric, refitted, select_in_folds
from rubriclab.errors import DataError
from rubriclab.learning.selection import SelectedRubric
from rubriclab.option_names import option
from rubriclab.report.wording import count
from rubriclab.rubric import Rubric
from rubriclab.services.edit_options import EditOptions
from rubriclab.services.inputs import describe, usable_texts
from rubriclab.services.workspace import Workspace, version_of
from rubriclab.stats.interval import DIGITS
from rubriclab.store import Version
from rubriclab.training_record import Candidate, Cell, RecordedText, TrainingRecord

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
    if record is None:
        return {}
    row_of = {text_digest(text.example): row for row, text in enumerate(record.texts)}
    ids = [each.criterion.id for each in record.candidates]
    rows = {text.id: row_of.get(text_digest(text)) for text in texts.examples}
    return {name: dict(zip(ids, record.cells[row], strict=True)) for name, row in rows.items() if row is not None}


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Labelled texts of a rubric's aspect.

    Attributes:
        examples: sorted by id.
        scale, onto: the scale of the labels, and the one that criteria are rated on.
    """

    examples: tuple[Example, ...]
    aspect: str
    scale: Scale
    onto: Scale

    @cached_property
    def moved(self) -> tuple[Example, ...]:
        """The texts with labels on the scale that criteria are rated on."""
        return tuple(map(self._moved, self.examples))

    def _moved(self, example: Example) -> Example:
        annotations = example.annotations.get(self.aspect, ())
        return replace(
            example,
            scores={self.aspect: self.scale.moved_to(self.onto, example.scores[self.aspect])},
            annotations={self.aspect: tuple(self.scale.moved_to(self.onto, score) for score in annotations)},
        )


def labelled_texts(
    workspace: Workspace, version: Version, record: TrainingRecord | None, options: EditOptions
) -> LabelledTexts:
    """Return the labelled texts of a version, or those of `options.labels`.

    Raises:
        DataError: if there are none, or some share an id.
    """
    rubric = version.rubric
    aspect, scale = rubric.aspect.name, rubric.scores_on
    if options.labels is not None:
        examples = usable_texts(options.labels, options, [(aspect, scale)], workspace.notify)
        rated = _on_scale(labelled(examples, aspect), aspect, scale, workspace)
        if not rated:
            raise DataError(
                f"{describe(options.labels)} has no text with a label for {aspect!r} from {scale.describe()}.",
                "Give labelled texts.",
            )
        if len({text.id for text in rated}) < len(rated):
            raise DataError(f"{describe(options.labels)}: some labelled texts share an id.", "Give each its own id.")
    elif record is None:
        raise DataError(
            f"{version.ref} keeps no labelled texts: it was learned by one method, or imported.",
            f"Give them: {option('labels', 'FILE')}.",
        )
    else:
        rated = tuple(_labelled_example(text, aspect) for text in record.texts)
    return LabelledTexts(tuple(sorted(rated, key=lambda text: text.id)), aspect, scale, rubric.scale)


def _labelled_example(text: RecordedText, aspect: str) -> Example:
    example = replace(text.example, scores={aspect: text.label})
    if text.reasons:
        example = replace(example, reasons={aspect: text.reasons.get("") or dict(text.reasons)})
    if not text.raters:
        return example
    annotations, raters = {aspect: tuple(text.raters.values())}, {aspect: tuple(text.raters)}
    return replace(example, annotations=annotations, raters=raters)


def on_label_scale(record: TrainingRecord, rubric: Rubric, texts: LabelledTexts) -> TrainingRecord:
    """Return a record with labels, scores and intervals on the scale of the labels."""
    by_id = {text.id: text for text in texts.examples}

    def moved(text: RecordedText) -> RecordedText:
        example, ends = by_id[text.id], {"predicted": text.predicted, "low": text.low, "high": text.high}
        scores: Mapping[str, object] = {
            name: None if value is None else round(rubric.scale.moved_to(texts.scale, value), DIGITS)
            for name, value in ends.items()
        }
        label, raters = float(example.scores[texts.aspect]), named_annotations(example, texts.aspect)
        return text.model_copy(update={**scores, "label": label, "raters": raters})

    return record.model_copy(update={"texts": tuple(map(moved, record.texts))})


def _on_scale(texts: tuple[Example, ...], aspect: str, scale: Scale, workspace: Workspace) -> tuple[Example, ...]:
    usable = tuple(text for text in texts if scale.contains(text.scores[aspect]))
    if len(usable) < len(texts):
        workspace.notify(f"left out: {count(len(texts) - len(usable), 'label')} outside of {scale.describe()}")
    return usable
