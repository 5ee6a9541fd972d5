"""The labels that a version was learned from, and their corrections.

A correction is kept beside the label, with who made it and why; `rubriclab.corrections` says what it does. `edit` uses
labels as corrected; to relearn from them, write the rows to a file and give it to `learn`. A page sends `request` with
each correction, an id of its own, so that a correction that is sent twice is stored once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from rubriclab.base_options import Options, Texts
from rubriclab.corrections import Correction, current_value, same_value
from rubriclab.data import Example
from rubriclab.data.example import named_annotations
from rubriclab.data.scale import Scale, show
from rubriclab.display import Displayed
from rubriclab.errors import SettingsError
from rubriclab.option_names import did_you_mean, option
from rubriclab.services.edit_labels import corrected_example, labelled_example
from rubriclab.services.rubric_choice import version_of
from rubriclab.services.versions import training_record
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version
from rubriclab.training_record import RecordedText, TrainingRecord

if TYPE_CHECKING:
    from rubriclab.report.model import View


class LabelsOptions(Options):
    """Corrections of labels: none to show the labels and the corrections made so far."""

    correct: Mapping[str, float] = {}
    """New labels, by the id of the text."""

    rubric_right: Texts = ()
    """Ids of texts whose label is wrong and the rubric's score right: they are left out of fitting and agreement."""

    misses: Mapping[str, str] = {}
    """What the rubric misses in a text, by its id; can be used as the wording of a new criterion."""

    rater: str = ""
    """The rater whose score is corrected. Default: the label itself."""

    by: str | None = None
    """Who corrects. Needed for a correction."""

    because: str = ""
    """Why."""

    request: str | None = None
    """An id of the corrections; the same ones sent again are stored once. Default: a new one."""


@dataclass(frozen=True, repr=False)
class LabelsResult(Displayed):
    """The labelled texts of a version with their labels as corrected, and all corrections of its rubric.

    Attributes:
        texts: with the labels as they were given.
        corrections: the oldest first.
        added: those that this call has stored.
    """

    version: Version
    texts: tuple[RecordedText, ...]
    corrections: tuple[Correction, ...]
    added: tuple[Correction, ...] = ()

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each text with its label as corrected, as `learn` reads them."""
        return [_row(example, self.version.rubric.aspect.name) for example in self.corrected()]

    def corrected(self) -> Iterator[Example]:
        """Yield the texts with their labels as corrected, without those whose label was withdrawn."""
        aspect = self.version.rubric.aspect.name
        for text in self.texts:
            example = corrected_example(labelled_example(text, aspect), aspect, self.corrections)
            if example is not None:
                yield example

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.recorded import labels_view

        return labels_view(self)


def labels(workspace: Workspace, rubric: str | Version, options: LabelsOptions) -> LabelsResult:
    """Return the labels of a version as corrected, after the corrections in `options` are stored.

    Raises:
        NotInStore: if there is no such rubric, or it keeps no labelled texts.
        SettingsError: for an unknown text or rater, a label outside of the scale or, unless it is the mean of several
            raters' scores, between its whole numbers, a new label that is the present one, or a correction without who
            makes it.
    """
    version = version_of(workspace, rubric)
    asked = bool(options.correct or options.rubric_right or options.misses)
    if asked and not options.by:
        raise SettingsError("A correction records who made it.", f"Give {option('by', 'NAME')}.")
    record = training_record(workspace, version.ref)
    store = workspace.open_store() if asked else workspace.store
    former = store.corrections(version.name)
    new = list(_corrections(version, record, former, options)) if asked else []
    added = tuple(store.correct(correction) for correction in new)
    everything = store.corrections(version.name) if asked else former
    return LabelsResult(version, record.texts, everything, added)


def _corrections(
    version: Version, record: TrainingRecord, former: tuple[Correction, ...], options: LabelsOptions
) -> Iterator[Correction]:
    """Yield the corrections that are asked for, all checked before the first is stored."""
    of = {text.id: text for text in record.texts}
    request = options.request or uuid.uuid4().hex
    # A request that is sent again names the labels as they were when it was stored.
    former = tuple(takewhile(lambda each: not each.id.startswith(f"{request}."), former))
    judgments: list[tuple[Kind, str, float | None, str]] = [
        *(("correct", name, score, "") for name, score in options.correct.items()),
        *(("rubric right", name, None, "") for name in options.rubric_right),
        *(("misses", name, None, note) for name, note in options.misses.items()),
    ]
    if twice := [name for name in options.correct if name in options.rubric_right]:
        raise SettingsError(
            f"The label of {twice[0]} is both corrected and withdrawn.",
            f"Give it to {option('correct')} or to {option('rubric_right')}.",
        )
    for number, (kind, name, new, note) in enumerate(judgments):
        _check(version, of, name, new, options.rater)
        old = None if kind == "misses" else current_value(of[name], options.rater, former)
        if kind != "misses":
            _check_changed(name, old, new)
        yield Correction(
            id=f"{request}.{number}",
            rubric=version.name,
            version=version.number,
            text=name,
            aspect=version.rubric.aspect.name,
            rater="" if kind == "misses" else options.rater,
            kind=kind,
            old=old,
            new=new,
            note=note,
            by=options.by or "",
            because=options.because,
            created=datetime.now(UTC),
        )


Kind = Literal["correct", "rubric right", "misses"]


def _check(version: Version, of: Mapping[str, RecordedText], name: str, new: float | None, rater: str) -> None:
    if name not in of:
        raise SettingsError(
            f"{version.ref} has no labelled text {name!r}.", f"{did_you_mean(name, of)}It has {len(of)} labelled texts."
        )
    if rater and rater not in of[name].raters:
        raters = ", ".join(of[name].raters) or "none by name"
        raise SettingsError(
            f"{name} has no score by {rater!r}.", f"{did_you_mean(rater, of[name].raters)}It has: {raters}."
        )
    if new is not None:
        _check_on_scale(version.rubric.scores_on, of[name], new, rater)


def _check_changed(name: str, old: float | None, new: float | None) -> None:
    if not same_value(old, new):
        return
    if new is None:
        raise SettingsError(f"The label of {name} is withdrawn already.", "Give a correct label, or leave it as it is.")
    raise SettingsError(f"The label of {name} is {show(new)} already.", "Give another label, or leave it as it is.")


def _check_on_scale(scale: Scale, text: RecordedText, new: float, rater: str) -> None:
    if not scale.contains(new):
        raise SettingsError(f"The label {new:g} of {text.id} is outside of the scale.", f"It is {scale.describe()}.")
    # The mean of several scores may lie between whole numbers, a single score may not.
    mean = not rater and (len(text.raters) > 1 or not scale.holds(text.label))
    if not mean and not scale.holds(new):
        raise SettingsError(
            f"The label {new:g} of {text.id} is not a whole number, and the scale has whole numbers only.",
            f"Give a whole number from {show(scale.low)} to {show(scale.high)}.",
        )


def _row(example: Example, aspect: str) -> dict[str, Any]:
    texts = {name: getattr(example, name) for name in ("source", "context", "reference")}
    annotations = named_annotations(example, aspect)
    return {
        "id": example.id,
        "group": example.group,
        "output": example.output,
        **{name: text for name, text in texts.items() if text is not None},
        "scores": {aspect: example.scores[aspect]},
        **({"annotations": {aspect: annotations}} if annotations else {}),
        **({"reasons": {aspect: example.reasons[aspect]}} if aspect in example.reasons else {}),
    }
