"""Examples: texts to judge with their sources and labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from rubriclab.digest import canonical, digest
from rubriclab.errors import DataError, SettingsError

# The fields that a judge is shown beside the text.
ShownField = Literal["source", "context"]
SHOWN_FIELDS: tuple[ShownField, ...] = get_args(ShownField)


@dataclass(frozen=True, slots=True)
class Example:
    """A text to judge.

    Attributes:
        group: the input that several outputs share (one article, several summaries).
        scores: one number per aspect; the mean of several raters.
        annotations: each rater's number, by aspect.
        raters: the raters' names in the order of `annotations`, by aspect, if known.
        reasons: why raters gave their scores, by aspect: one text, or a text for each rater by name.
    """

    id: str
    output: str
    group: str
    source: str | None = None
    context: str | None = None
    reference: str | None = None
    system: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    annotations: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    raters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reasons: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)


def labelled(examples: Iterable[Example], aspect: str) -> tuple[Example, ...]:
    """Return the examples with a label for `aspect`, in order. Without a score, the label is the annotations' mean."""
    return tuple(_averaged(example, aspect) for example in examples if is_labelled(example, aspect))


def is_labelled(example: Example, aspect: str) -> bool:
    """Return whether the text has a label for `aspect`."""
    return aspect in example.scores or bool(example.annotations.get(aspect))


def named_annotations(example: Example, aspect: str) -> dict[str, float]:
    """Return the raters' scores of the text by name; none if the names are unknown."""
    names = example.raters.get(aspect, ())
    return dict(zip(names, example.annotations[aspect], strict=True)) if names else {}


def named_reasons(example: Example, aspect: str) -> dict[str, str]:
    """Return the raters' reasons for their scores of the text by name; the name of an unknown rater is empty."""
    given = example.reasons.get(aspect, {})
    return {"": given} if isinstance(given, str) else dict(given)


def split_by_group(
    examples: Iterable[Example], held_out: float, seed: int = 0
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return training examples and held-out examples, each in the given order; no group is divided.

    `held_out` is the share of groups that are held out; each part gets at least one group. The split depends only on
    the groups' names and `seed`.

    Raises:
        SettingsError: if `held_out` does not lie between 0 and 1.
        DataError: if there are fewer than two groups.
    """
    if not 0 < held_out < 1:
        raise SettingsError(f"The held-out share is {held_out}.", "Give a number between 0 and 1, such as 0.3.")
    examples = tuple(examples)
    groups = sorted({example.group for example in examples}, key=lambda group: digest([seed, group]))
    if len(groups) < 2:
        raise DataError(
            f"Expected at least two groups to hold some out, got {len(groups)}.",
            "A group is the texts that share one source, named in the field 'group'.",
        )
    count = min(max(round(held_out * len(groups)), 1), len(groups) - 1)
    chosen = frozenset(groups[:count])
    train = tuple(example for example in examples if example.group not in chosen)
    return train, tuple(example for example in examples if example.group in chosen)


def _averaged(example: Example, aspect: str) -> Example:
    if aspect in example.scores:
        return example
    annotations = example.annotations[aspect]
    return replace(example, scores={**example.scores, aspect: math.fsum(annotations) / len(annotations)})


def common_fields(examples: Sequence[Example]) -> tuple[ShownField, ...]:
    """Return which of source and context all the examples have; none if there are no examples."""
    return tuple(name for name in SHOWN_FIELDS if examples and all(getattr(each, name) for each in examples))


def text_digest(example: Example) -> str:
    """Return the digest of a text with its source and context, independent of id and labels."""
    return digest([example.output, example.source, example.context])


def data_digest(examples: Iterable[Example], aspect: str) -> str:
    """Return the digest of the training data in `examples`, independent of order: texts, scores and reasons."""
    rows: list[list[Any]] = [
        [
            e.id,
            e.group,
            e.output,
            e.source,
            e.context,
            float(e.scores[aspect]) if aspect in e.scores else None,
            *([e.reference] if e.reference is not None else []),
            *([named_reasons(e, aspect)] if named_reasons(e, aspect) else []),
        ]
        for e in examples
    ]
    # Sorted by id, and rows with equal ids by their content.
    return digest(sorted(rows, key=lambda row: (row[0], canonical(row))))
