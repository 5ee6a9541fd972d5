"""The texts that a rubric is transferred to: their aspect, and the scale of their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rubriclab.data import Example, find_aspect, labelled
from rubriclab.data.check import FEWEST_LABELS
from rubriclab.data.scale import Scale, parse_scale, scale_of
from rubriclab.errors import DataError
from rubriclab.evaluation import unseen
from rubriclab.option_names import option
from rubriclab.report.wording import count
from rubriclab.services.inputs import Data, describe, usable_texts
from rubriclab.services.workspace import Notify
from rubriclab.store import Version
from rubriclab.transfer.run import TargetTexts

if TYPE_CHECKING:
    from rubriclab.data import Aspect
    from rubriclab.rubric import Rubric
    from rubriclab.services.transfer import TransferOptions


def target_texts(data: Data, version: Version, options: TransferOptions, notify: Notify) -> TargetTexts:
    """Return the usable texts of `data` that the version was not learned from, with their usable labels.

    Raises:
        DataError: if there is no such text, or labelled texts share an id.
        SettingsError: for an unknown aspect, or a scale that is not understood.
    """
    rubric, name = version.rubric, describe(data)
    aspect = _aspect(rubric, options)
    examples = usable_texts(data, options, [(aspect.name, rubric.scores_on)], notify)
    texts = unseen(examples, [version.provenance])
    if len(texts) < len(examples):
        left_out = f"{len(examples) - len(texts)} of {len(examples)} texts"
        notify(f"{left_out} left out: {version.ref} was learned from them, or from others of their groups")
    if not texts:
        raise DataError(f"{name} has no usable text that {version.ref} was not learned from.", "Give other texts.")
    rated = labelled(texts, aspect.name)
    scale = _scale(rated, aspect.name, version, options, notify)
    usable = _usable_labels(rated, aspect.name, scale, name, notify)
    by_id = {text.id: text for text in usable}
    every_text = tuple(by_id.get(text.id, text) for text in texts)
    return TargetTexts(name, every_text, usable, aspect, scale)


def _aspect(rubric: Rubric, options: TransferOptions) -> Aspect:
    name = options.aspect or rubric.aspect.name
    if name == rubric.aspect.name and not options.definition:
        return rubric.aspect
    return find_aspect(rubric.task, name, options.definition)


def _usable_labels(
    rated: Sequence[Example], aspect: str, scale: Scale, name: str, notify: Notify
) -> tuple[Example, ...]:
    """Return the texts with usable labels, or none if these are too few, and say which are not usable."""
    on_scale = tuple(text for text in rated if scale.contains(text.scores[aspect]))
    if len(on_scale) < len(rated):
        notify(f"left out: {count(len(rated) - len(on_scale), 'label')} outside of {scale.describe()}")
    if len({text.id for text in on_scale}) < len(on_scale):
        raise DataError(f"{name}: some labelled texts share an id.", "Give each text its own id.")
    if len(on_scale) < FEWEST_LABELS or len({text.scores[aspect] for text in on_scale}) == 1:
        notify(
            f"{name}: {len(on_scale)} usable labels for {aspect!r} are too few to measure agreement (at least "
            f"{FEWEST_LABELS}, not all equal); the texts are compared without labels"
        )
        return ()
    return on_scale


def _scale(rated: Sequence[Example], aspect: str, version: Version, options: TransferOptions, notify: Notify) -> Scale:
    """Return the scale of the target's labels, and say which it is if it was inferred from them.

    Labels that all lie on the rubric's scale are taken to be on it, though they may cover only a part of it.
    """
    source = version.rubric.scores_on
    labels = [text.scores[aspect] for text in rated]
    if options.scale:
        return parse_scale(options.scale, labels)
    if not labels:
        return source
    scale = scale_of(labels, (score for text in rated for score in text.annotations.get(aspect, ())))
    ends = f"{source.low:g} to {source.high:g}"
    if source.low <= scale.low and scale.high <= source.high:
        if scale.width <= source.width / 2:
            notify(
                f"the labels lie between {scale.low:g} and {scale.high:g} and are taken to be on the rubric's scale, "
                f"{ends} ({option('scale')} overrides it)"
            )
        return source
    notify(
        f"the labels lie between {scale.low:g} and {scale.high:g}, which is taken as their scale "
        f"({option('scale')} overrides it); scores of {version.ref} are mapped linearly to it from {ends}"
    )
    return scale
