"""What is judged, as what, and on which scale: texts with their labels, aspects of a task, and scales.

- A scale has the scores that raters give. A scale with two named levels is for labels such as fail and pass.
- A task is a kind of text, such as summarization. It names the fields of its texts: source, context and output.
- An aspect is a quality of texts, such as coherence. `Assignment` joins task, aspect and scale for prompts.
- An `Example` is a text with what raters said of it. Its label for an aspect is its score, or its raters' mean score.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

from rubriclab.errors import SettingsError
from rubriclab.models.base import FrozenModel, canonical_json, content_path, digest
from rubriclab.models.characters import did_you_mean, is_blank

# A `response` is a whole answer in a dialogue; a `triple` is a whole text with its source and reference.
UnitKind = Literal["sentence", "sentence pair", "fact", "response", "triple"]

# The fields of an example that its output can be compared with.
Material = Literal["source", "context", "reference"]


class Units(FrozenModel):
    """Pieces of a text, each of which can be judged by itself.

    `beside` is the material shown beside a piece, if the example has it. The questions about the pieces have equal
    `weights`, or weights that the judge sets anew for each text.
    """

    kind: UnitKind
    beside: tuple[Material, ...] = ()
    weights: Literal["judge", "equal"] = "equal"


# The command `label` names unknown raters `earlier 1`, `earlier 2` and so on, by the order of each text's scores, so
# such a name may stand for several persons. A label without the scores of single raters has the rater `earlier`.
EARLIER_RATER = "earlier"
# Answers, in lower case, by which a rater says that a text cannot be scored.
ABSTENTIONS = frozenset({"cannot assess", "can't assess", "cannot judge", "not applicable", "n/a", "n.a.", "n. a."})


class WordScore(float):
    """The score of a word such as `pass`, or of a grade. `is_default_score`: it is from `data.cells.VERDICT_WORDS`."""

    word: str
    is_default_score: bool

    def __new__(cls, score: float, word: str, is_default_score: bool) -> Self:
        level = super().__new__(cls, score)
        level.word, level.is_default_score = word, is_default_score
        return level

    def __reduce__(self) -> tuple[type[WordScore], tuple[float, str, bool]]:
        return WordScore, (float(self), self.word, self.is_default_score)


# Each level of a scale of up to `MAX_LEVELS` levels is described in words; on other scales, some scores are.
MAX_LEVELS = 7
ANCHORS = 5  # the number of these scores, evenly spaced
# Maximum absolute value of a scale's ends, and minimum distance between them: differences must not overflow or vanish.
MAX_END = 1e9
MIN_WIDTH = 1e-6


class Scale(BaseModel):
    """Scores from `low` to `high`; whole numbers only if `whole`.

    `names` are the words of a scale with two levels, 0 and 1; scores between 0 and 1 are probabilities of the level 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: float
    high: float
    whole: bool
    names: tuple[str, str] | None = Field(None, exclude_if=lambda names: names is None)

    @model_validator(mode="after")
    def _check_ends(self) -> Self:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"a scale needs two finite numbers, the lower first; got {self.low} and {self.high}")
        if max(abs(self.low), abs(self.high)) > MAX_END or self.width < MIN_WIDTH:
            raise ValueError(
                f"a scale has ends of at most {MAX_END:,.0f} in size, at least {MIN_WIDTH:g} apart; "
                f"got {self.low:g} and {self.high:g}"
            )
        if self.whole and not _all_whole((self.low, self.high)):
            raise ValueError(f"a scale of whole numbers needs whole ends; got {self.low} and {self.high}")
        if self.names and (self.low, self.high) != (0, 1):
            raise ValueError(f"only the two levels 0 and 1 have names; got a scale from {self.low} to {self.high}")
        return self

    @property
    def has_two_levels(self) -> bool:
        return self.names is not None

    @property
    def width(self) -> float:
        return self.high - self.low

    def allows(self, score: float) -> bool:
        """Return whether one rater may give this score: it lies on the scale, and is whole if scores have to be."""
        return self.contains(score) and (not self.whole or float(score).is_integer())

    def contains(self, label: float) -> bool:
        """Return whether a label lies on the scale. As a mean of raters' scores, it need not be whole."""
        return math.isfinite(label) and self.low <= label <= self.high

    def moved_to(self, other: Scale, score: float) -> float:
        """Return a score of this scale mapped linearly to another scale, end to end."""
        return other.low + (score - self.low) * other.width / self.width

    def same_ends(self, other: Scale) -> bool:
        return (self.low, self.high) == (other.low, other.high)

    def anchors(self) -> tuple[float, ...]:
        """Return the scores that criteria describe in words, ascending, rounded as prompts show them."""
        width = self.width
        if self.low.is_integer() and width.is_integer() and 2 <= width < MAX_LEVELS:
            return tuple(self.low + step for step in range(int(width) + 1))
        if self.whole and width == 1:
            return (self.low, self.high)
        return tuple(float(format_score(self.low + width * step / (ANCHORS - 1))) for step in range(ANCHORS))

    def describe(self) -> str:
        if self.names and self.whole:
            return f"{self.names[0]!r} (0) or {self.names[1]!r} (1)"
        if self.names:
            return f"0 (certainly {self.names[0]!r}) to 1 (certainly {self.names[1]!r}), decimals allowed"
        numbers = "whole numbers only" if self.whole else "decimals allowed"
        return f"{format_score(self.low)} (lowest) to {format_score(self.high)} (highest), {numbers}"


def format_score(score: float) -> str:
    """Return a score with up to three decimals: `4`, not `4.0`."""
    return f"{score:z.3f}".rstrip("0").rstrip(".")


def parse_scale(text: str, labels: Iterable[float] = ()) -> Scale:
    """Return the scale in a text `LOW:HIGH`, `LOW:HIGH:whole` or `LOW:HIGH:any`.

    Without `whole` or `any`, scores are whole numbers if both ends and all `labels` (one or more) are whole. Raises
    SettingsError for a text of another form; for a scale such as `5:1`, the hint shows how to reverse its grades.
    """
    parts = text.split(":")
    try:
        if len(parts) < 2 or parts[2:] not in ([], ["whole"], ["any"]):
            raise ValueError
        low, high = float(parts[0]), float(parts[1])
        whole = _all_whole((low, high)) and _all_whole(labels)
        if len(parts) == 3:
            whole = parts[2] == "whole"
        scale = Scale(low=min(low, high), high=max(low, high), whole=whole)
    except ValueError:
        hint = "write the lowest and the highest score, as in 1:5, and if need be 1:5:whole or 0:1:any."
        raise SettingsError(f"The scale {text!r} is not understood;", hint) from None
    if low > high:
        hint = f"write the lowest first: `scale={format_score(high)}:{format_score(low)}`."
        if _all_whole((low, high)) and high >= 0:
            hint += f" If {high:g} is the best grade, turn the grades instead: `level_scores={low:.0f}:{high:.0f}`."
        raise SettingsError(f"The scale {text!r} begins with its highest score;", hint)
    return scale


def infer_scale(labels: Sequence[float], annotations: Sequence[float] = ()) -> Scale:
    """Return the narrowest scale with whole ends that contains all `labels` (one or more) and `annotations`.

    It is a scale of two levels if all annotations, or all labels if there are no annotations, are 0 or 1.
    """
    two_levels = two_level_scale(annotations or labels)
    if two_levels and all(0 <= label <= 1 for label in labels):
        return two_levels
    values = (*labels, *annotations)
    low = math.floor(min(values))
    high = max(math.ceil(max(values)), low + 1)
    return Scale(low=low, high=high, whole=_all_whole(labels))


def two_level_scale(values: Collection[float]) -> Scale | None:
    """Return a scale with the commonest word of each level, if values have words; `None` unless all are 0 or 1."""
    if not values or not set(values) <= {0, 1}:
        return None
    words = Counter((float(value), value.word.casefold()) for value in values if isinstance(value, WordScore))
    commonest_word: dict[float, str] = {}
    for (score, word), _ in words.most_common():
        commonest_word.setdefault(score, word)
    names = (commonest_word[0], commonest_word[1]) if len(commonest_word) == 2 else ("0", "1")
    return Scale(low=0, high=1, whole=False, names=names)


def _all_whole(labels: Iterable[float]) -> bool:
    labels = list(labels)
    return bool(labels) and all(float(label).is_integer() for label in labels)


def _check_visible(text: str) -> str:
    if is_blank(text):
        raise ValueError("a text was expected, got only invisible characters")
    return text


# A text with visible characters, without white space around it.
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_check_visible)]


class Aspect(FrozenModel):
    """A quality of texts, such as coherence."""

    name: Words
    definition: Words


class _FieldNames(FrozenModel):
    source: Words
    context: Words
    output: Words
    about_output: str = ""  # this field and the next two are sentences that prompts add, or empty
    about_context: str = ""  # for a text with a context
    without_context: str = ""  # for a text without a context


class TaskWords(_FieldNames):
    """A task, and what prompts call the fields of its texts: the output a summary, the source an article.

    In sentences such as `about_output`, names such as `{source}` are replaced.
    """

    task: Words

    def name_of(self, field: Literal["output"] | Material) -> str:
        return f"reference {self.output}" if field == "reference" else str(getattr(self, field))


@dataclass(frozen=True)
class Assignment:
    """What a judge is told besides a text: the task in words, the aspect and the scale."""

    words: TaskWords
    aspect: Aspect
    scale: Scale

    def fields(self) -> dict[str, Any]:
        """Return the fields of prompts that do not depend on a text."""
        scale, anchors = self.scale, list(self.scale.anchors())
        scale_fields = {"text": scale.describe(), "low": scale.low, "high": scale.high, "whole": scale.whole}
        has_scores_between_anchors = not scale.whole or len(anchors) <= scale.width
        return {
            "words": self.words.model_dump(),
            "aspect": {"name": self.aspect.name, "definition": self.aspect.definition},
            "scale": {**scale_fields, "between": has_scores_between_anchors, "anchors": anchors},
        }

    def fields_with_abstention(self) -> dict[str, Any]:
        """Return `fields`; on a scale of two levels, with the permission to answer that a text cannot be assessed."""
        fields = self.fields()
        if self.scale.names:
            text = f"{self.scale.describe()}; or n/a if nothing here lets you tell"
            fields["scale"] = {**fields["scale"], "text": text, "can_abstain": True}
        return fields

    @staticmethod
    def text_fields(example: Example, *, with_source: bool = True) -> dict[str, Any]:
        """Return the fields of a text in prompts, without its labels; source and context only if `with_source`."""
        shown = example if with_source else replace(example, source=None, context=None)
        return {"source": shown.source, "context": shown.context, "output": shown.output}


class _Task(FrozenModel):
    words: _FieldNames = _FieldNames(source="source", context="context", output="text")
    aspects: Mapping[Words, Words] = Field(default_factory=dict)


def find_aspect(task: str, name: str, definition: str | None = None) -> Aspect:
    """Return the aspect with `definition` or else the shipped definition; raise `SettingsError` without either."""
    if definition is not None:
        if is_blank(name) or is_blank(definition):
            raise SettingsError(
                f"An aspect needs a name and a definition; got {name!r} and {definition!r}.",
                "Define the aspect in a sentence or two.",
            )
        return Aspect(name=name, definition=definition)
    definitions = _task(task).aspects
    if name in definitions:
        return Aspect(name=name, definition=definitions[name])
    if definitions:
        unknown, heading, choices = name, "Aspects with a definition", sorted(definitions)
    else:
        unknown, heading, choices = task, "Tasks with definitions", sorted(defined_tasks())
    raise SettingsError(
        f"There is no included definition of {name!r} for the task {task!r}. {heading}: {', '.join(choices)}.",
        f"{did_you_mean(unknown, choices)}Write your own: `definition=TEXT`.",
    )


def has_shipped_definition(task: str | None, name: str) -> bool:
    """Return whether a definition of the aspect is shipped for the task, or for any task if `task` is `None`."""
    tasks = defined_tasks().values() if task is None else (_task(task),)
    return any(name in each.aspects for each in tasks)


def shipped_aspects(task: str) -> tuple[Aspect, ...]:
    return tuple(Aspect(name=name, definition=definition) for name, definition in _task(task).aspects.items())


def task_words(task: str) -> TaskWords:
    """Return the words for a task's fields; neutral words for an unknown task."""
    return TaskWords(task=task, **_task(task).words.model_dump())


def _task(name: str) -> _Task:
    return defined_tasks().get(name) or _Task()


@cache
def defined_tasks() -> dict[str, _Task]:
    raw = content_path("stores", "aspects.json").read_bytes()
    return TypeAdapter(dict[str, _Task]).validate_json(raw)


ShownField = Literal["source", "context"]  # what prompts may show besides the output
SHOWN_FIELDS: tuple[ShownField, ...] = get_args(ShownField)


@dataclass(frozen=True, slots=True)
class Example:
    """A text to judge.

    Attributes:
        group: the input that several outputs share (one article, several summaries).
        system: the name of what wrote the output, such as a model.
        scores: the label, by aspect: one rater's number, or the mean of several raters' numbers.
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


def with_label(examples: Iterable[Example], aspect: str) -> tuple[Example, ...]:
    """Return the examples with a label for `aspect`, in order. Without a score, the label is the annotations' mean."""
    labelled = list[Example]()
    for example in examples:
        if aspect in example.scores:
            labelled.append(example)
        elif annotations := example.annotations.get(aspect):
            mean = math.fsum(annotations) / len(annotations)
            labelled.append(replace(example, scores={**example.scores, aspect: mean}))
    return tuple(labelled)


def is_labelled(example: Example, aspect: str) -> bool:
    return aspect in example.scores or bool(example.annotations.get(aspect))


def named_annotations(example: Example, aspect: str) -> dict[str, float]:
    names = example.raters.get(aspect, ())
    return dict(zip(names, example.annotations[aspect], strict=True)) if names else {}


def named_reasons(example: Example, aspect: str) -> dict[str, str]:
    """Return the raters' reasons for their scores of the text by name; the name of an unknown rater is empty."""
    reasons = example.reasons.get(aspect, {})
    return {"": reasons} if isinstance(reasons, str) else dict(reasons)


def common_fields(examples: Sequence[Example]) -> tuple[ShownField, ...]:
    """Return the `SHOWN_FIELDS` that all examples have."""
    return tuple(name for name in SHOWN_FIELDS if examples and all(getattr(each, name) for each in examples))


def text_digest(example: Example) -> str:
    return digest([example.output, example.source, example.context])


# What `words_digest` leaves out; other symbols make a difference, as in `+5` and `-5`.
_SPACE_AND_PUNCTUATION = re.compile(r"[\s\"'`´‘’“”„«».,;:!?…()\[\]]+")


def words_digest(example: Example) -> str:
    """Return a digest of a text's words, the same for copies that differ in case, spaces, quotes or punctuation."""
    fields = (example.output, example.source, example.context)
    words = [_SPACE_AND_PUNCTUATION.sub("", text or "").casefold() for text in fields]
    # A field of punctuation only, such as "?!", counts as it is.
    return digest([field_words or text for field_words, text in zip(words, fields, strict=True)])


def sort_by_content(examples: Iterable[Example]) -> tuple[Example, ...]:
    """Return the examples in an order that depends on their texts, and on ids only if texts are equal."""
    return tuple(sorted(examples, key=lambda example: (text_digest(example), example.id)))


def group_keys(examples: Iterable[Example]) -> tuple[str, ...]:
    """Return a key for each example's group: the smallest digest of the group's texts, then the group's name."""
    digests = [(example.group, text_digest(example)) for example in examples]
    smallest: dict[str, str] = {}
    for group, own_digest in digests:
        smallest[group] = min(own_digest, smallest.get(group, own_digest))
    return tuple(f"{smallest[group]} {group}" for group, _ in digests)


def data_digest(examples: Iterable[Example], aspect: str) -> str:
    """Return the digest of the training data in `examples`, independent of order: texts, scores and reasons."""
    rows: list[list[Any]] = []
    for example in examples:
        label = example.scores.get(aspect)
        row: list[Any] = [example.id, example.group, example.output, example.source, example.context]
        row.append(None if label is None else float(label))
        optional = (example.reference, named_reasons(example, aspect) or None)
        rows.append(row + [each for each in optional if each is not None])
    return digest(sorted(rows, key=lambda row: (row[0], canonical_json(row))))  # by id, then by all content
