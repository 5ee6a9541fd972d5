"""The texts that a rubric is carried over to, and on what scale their labels are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rubriclab.cli.session import note
from rubriclab.cli.texts import usable_texts
from rubriclab.data import Example, find_aspect, labelled
from rubriclab.data.check import FEWEST_LABELS
from rubriclab.data.scale import Scale, parse_scale, scale_of
from rubriclab.errors import DataError, SettingsError
from rubriclab.evaluation import unseen
from rubriclab.report.wording import count
from rubriclab.transfer.run import TargetTexts

if TYPE_CHECKING:
    from rubriclab.data import Aspect
    from rubriclab.rubric import Rubric
    from rubriclab.store import Version


def target_of(path: str, version: Version, given: Mapping[str, Any]) -> TargetTexts:
    """Return the texts to carry the rubric over to, and say what was made of their labels."""
    rubric = version.rubric
    aspect = _aspect(rubric, given)
    examples = usable_texts(path, given, [(aspect.name, rubric.scores_on)])
    kept = unseen(examples, [version.provenance])
    if len(kept) < len(examples):
        left = f"{len(examples) - len(kept)} of {len(examples)} texts"
        note(f"{left} left out: {version.ref} was learned from them, or from others of their groups")
    if not kept:
        raise DataError(f"{path} has no usable text that {version.ref} was not learned from.", "Give other texts.")
    rated = labelled(kept, aspect.name)
    scale = _scale(rated, aspect.name, version, given)
    usable = _usable(rated, aspect.name, scale, path)
    by_id = {text.id: text for text in usable}
    if usable and (given["labels"] or 0) > len(usable):
        raise SettingsError(
            f"--labels {given['labels']} is more than the {len(usable)} usable labels in {path}.", "Give a smaller one."
        )
    everything = tuple(by_id.get(text.id, text) for text in kept)
    return TargetTexts(path, everything, usable, aspect, scale, given["labels"] if usable else None)


def _aspect(rubric: Rubric, given: Mapping[str, Any]) -> Aspect:
    name = given["aspect"] or rubric.aspect.name
    if name == rubric.aspect.name and not given["definition"]:
        return rubric.aspect
    return find_aspect(rubric.task, name, given["definition"])


def _usable(rated: Sequence[Example], aspect: str, scale: Scale, path: str) -> tuple[Example, ...]:
    """Return the texts whose labels say something, or none of them, and say why the others do not."""
    inside = tuple(text for text in rated if scale.contains(text.scores[aspect]))
    if len(inside) < len(rated):
        note(f"left out: {count(len(rated) - len(inside), 'label')} outside of {scale.describe()}")
    if len({text.id for text in inside}) < len(inside):
        raise DataError(f"{path}: some labelled texts share an id.", "Give each text its own id.")
    if len(inside) < FEWEST_LABELS or len({text.scores[aspect] for text in inside}) == 1:
        labels = f"{path}: {len(inside)} usable labels for {aspect!r}"
        note(f"{labels} say nothing about agreement (at least {FEWEST_LABELS}, not all the same); the texts alone do")
        return ()
    return inside


def _scale(rated: Sequence[Example], aspect: str, version: Version, given: Mapping[str, Any]) -> Scale:
    """Return the scale of the target's labels, and say which it is where it had to be taken from them.

    Labels that all lie on the rubric's scale are taken to be on it, though they may fill a part of it only.
    """
    home = version.rubric.scores_on
    labels = [text.scores[aspect] for text in rated]
    if given["scale"]:
        return parse_scale(given["scale"], labels)
    own = scale_of(labels, (score for text in rated for score in text.annotations.get(aspect, ()))) if labels else home
    if home.low <= own.low and own.high <= home.high:
        if own.width <= home.width / 2:
            note(
                f"the labels lie between {own.low:g} and {own.high:g} and are taken to be on the rubric's scale, "
                f"{home.low:g} to {home.high:g} (--scale says another)"
            )
        return home
    note(
        f"the labels lie between {own.low:g} and {own.high:g}, which is taken as their scale (--scale says another); "
        f"scores of {version.ref} are moved there from {home.low:g} to {home.high:g}, end to end"
    )
    return own
