"""The labelled texts that an edit is fitted to and measured on: those kept with the version, or a file of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rubriclab.data import Example, labelled
from rubriclab.data.example import named_annotations
from rubriclab.data.scale import Scale
from rubriclab.errors import DataError
from rubriclab.option_names import option
from rubriclab.report.wording import count
from rubriclab.rubric import Rubric
from rubriclab.services.inputs import describe, usable_texts
from rubriclab.services.workspace import Workspace
from rubriclab.stats.interval import DIGITS
from rubriclab.store import Version
from rubriclab.training_record import RecordedText, TrainingRecord

if TYPE_CHECKING:
    from rubriclab.services.edit_options import EditOptions


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
    """Return a recorded text with its label and its raters' scores."""
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
