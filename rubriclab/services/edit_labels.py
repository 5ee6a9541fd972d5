"""The labelled texts that an edit is fitted to and measured on: those kept with the version, or a file of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rubriclab.corrections import Correction, corrected
from rubriclab.data import Example, labelled
from rubriclab.data.example import named_annotations, text_digest
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
        examples: sorted by id, with labels as people gave them or corrected them.
        scale, onto: the scale of the labels, and the one that criteria are rated on.
        corrected: how many labels were corrected.
    """

    examples: tuple[Example, ...]
    aspect: str
    scale: Scale
    onto: Scale
    corrected: int = 0

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
        DataError: if there are none, all were withdrawn, or some share an id.
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
        rated = tuple(labelled_example(text, aspect) for text in record.texts)
    ordered = sorted(rated, key=lambda text: text.id)
    corrections = workspace.store.corrections(version.name)
    # Texts of a file may have the ids of other texts.
    recorded = {(text.id, text_digest(text.example)) for text in record.texts} if record else set()
    now = [
        corrected_example(text, aspect, corrections) if (text.id, text_digest(text)) in recorded else text
        for text in ordered
    ]
    changed = sum(after != before for before, after in zip(ordered, now, strict=True))
    if changed:
        workspace.notify(f"{count(changed, 'label')} as corrected in the store")
    if not any(now):
        raise DataError(f"All labels of {version.ref} were withdrawn.", f"Give others: {option('labels', 'FILE')}.")
    return LabelledTexts(tuple(filter(None, now)), aspect, scale, rubric.scale, changed)


def corrected_example(example: Example, aspect: str, corrections: Sequence[Correction]) -> Example | None:
    """Return a labelled text with its label as corrected; `None` if the label was withdrawn."""
    own = [each for each in corrections if each.text == example.id and each.aspect == aspect]
    if not own:
        return example
    text = RecordedText(
        id=example.id,
        group=example.group,
        output=example.output,
        label=example.scores[aspect],
        raters=named_annotations(example, aspect),
    )
    after = corrected(text, own)
    if after is None or after == text:
        return None if after is None else example
    return _relabelled(example, aspect, after)


def labelled_example(text: RecordedText, aspect: str) -> Example:
    """Return a recorded text with its label and its raters' scores."""
    return _relabelled(text.example, aspect, text)


def _relabelled(example: Example, aspect: str, text: RecordedText) -> Example:
    example = replace(example, scores={**example.scores, aspect: text.label})
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
