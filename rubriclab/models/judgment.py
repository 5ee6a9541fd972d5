"""Raters' questions, the order of their texts, their judgments and their progress.

A judgment refers to its question (task, aspect, definition and scale) and to its text by digests. It still applies if
texts are added to a file or a file is renamed. It no longer applies if the text or the question has changed.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from rubriclab.errors import SettingsError
from rubriclab.models.base import FrozenModel, Moment, ScoringNumber, digest
from rubriclab.models.characters import describe, is_blank, one_line
from rubriclab.models.text import Assignment, Example
from rubriclab.stats.intervals import Interval
from rubriclab.stats.rater_agreement import krippendorff_alpha

MAX_RATER_NAME_LENGTH = 60
MAX_JUDGMENT_REASON_LENGTH = 2000
# A page that stays open longer than a day does not measure how long a rating takes.
MAX_SECONDS = 86_400

JudgmentKind = Literal["rating", "cannot judge", "skipped", "withdrawal"]


class Item(NamedTuple):
    """A text, by its key, and whether it is shown for the second time."""

    text: str
    again: bool = False


@dataclass(frozen=True)
class LabelQuestion(Assignment):
    @cached_property
    def digest(self) -> str:
        """Digest of task, aspect, definition and scale; the numbers 1 and 1.0 give the same digest."""
        scale = [float(self.scale.low), float(self.scale.high), self.scale.whole]
        return digest([self.words.task, self.aspect.name, self.aspect.definition, scale])


@dataclass(frozen=True)
class TextToJudge:
    example: Example

    @cached_property
    def key(self) -> str:
        """Digest of the text with its id and everything that raters see beside it."""
        example = self.example
        return digest([example.id, example.output, example.source, example.context, example.reference])


class HumanJudgment(FrozenModel):
    """One person's answer about a text, or the withdrawal of an answer, after which the previous answer applies again.

    Stored judgments are never changed or removed: the latest answer that is not withdrawn applies.

    Attributes:
        id: unique; a page that sends a judgment a second time repeats the id.
        question, text: digest of the question, key of the text.
        again: whether the rater judged the text for the second time, to measure consistency.
        withdraws: the id of the judgment that a withdrawal takes back.
        seconds: the time from showing the text to the answer.
    """

    id: str = Field(min_length=1, max_length=100)
    question: str
    aspect: str
    rater: str = Field(min_length=1, max_length=MAX_RATER_NAME_LENGTH)
    kind: JudgmentKind
    text: str
    again: bool = False
    value: ScoringNumber | None = None
    reason: str = Field(default="", max_length=MAX_JUDGMENT_REASON_LENGTH)
    withdraws: str | None = None
    seconds: float = Field(default=0.0, ge=0, le=MAX_SECONDS)
    created: Moment

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.value is not None) != (self.kind == "rating"):
            raise ValueError(f"expected a value in a rating and in no other kind, got {self.value} in {self.kind!r}")
        if (self.withdraws is not None) != (self.kind == "withdrawal"):
            raise ValueError(
                f"expected `withdraws` in a withdrawal and in no other kind, got {self.withdraws} in {self.kind!r}"
            )
        return self

    @property
    def item(self) -> Item:
        return Item(self.text, self.again)


def check_rater_name(name: object) -> str:
    """Return a rater's name without white space around it, or raise `SettingsError` if it cannot be shown."""
    if not isinstance(name, str) or is_blank(name):
        raise SettingsError(f"A rater needs a name; got {describe(name)}.", "Give `rater=anna`.")
    stripped = name.strip()
    if len(stripped) > MAX_RATER_NAME_LENGTH or one_line(stripped) != stripped:
        raise SettingsError(
            f"The rater's name {one_line(stripped)[:MAX_RATER_NAME_LENGTH]!r} cannot be used.",
            f"Give one of at most {MAX_RATER_NAME_LENGTH} characters on one line, without control characters.",
        )
    return stripped


class History:
    """All judgments about one question, withdrawn ones included, and those that apply."""

    def __init__(self, judgments: Iterable[HumanJudgment] = ()) -> None:
        self._all_by_rater: dict[str, dict[str, HumanJudgment]] = {}  # by id
        self._withdrawn_ids: set[str] = set()
        self._current_by_rater: dict[str, dict[Item, HumanJudgment]] = {}
        for judgment in judgments:
            self.add(judgment)

    def add(self, judgment: HumanJudgment) -> None:
        """Add a judgment that is later than all added before; a second judgment with the same id changes nothing."""
        by_id = self._all_by_rater.setdefault(judgment.rater, {})
        if judgment.id in by_id:
            return
        by_id[judgment.id] = judgment
        current = self._current_by_rater.setdefault(judgment.rater, {})
        if judgment.kind != "withdrawal":
            current[judgment.item] = judgment
            return
        self._withdrawn_ids.add(str(judgment.withdraws))
        current.pop(judgment.item, None)
        for earlier in by_id.values():
            if earlier.item == judgment.item and self._is_unwithdrawn_answer(earlier):
                current[judgment.item] = earlier

    @property
    def raters(self) -> tuple[str, ...]:
        return tuple(sorted(rater for rater, judgments in self._current_by_rater.items() if judgments))

    def current_by_item(self, rater: str) -> Mapping[Item, HumanJudgment]:
        return self._current_by_rater.get(rater, {})

    def current_judgments(self) -> tuple[HumanJudgment, ...]:
        """Return judgments that apply, by rater's name, then by when the item was first judged or last withdrawn."""
        return tuple(judgment for rater in self.raters for judgment in self._current_by_rater[rater].values())

    def find(self, rater: str, judgment_id: str) -> HumanJudgment | None:
        return self._all_by_rater.get(rater, {}).get(judgment_id)

    def latest(self, rater: str, items: Container[Item]) -> HumanJudgment | None:
        """Return a rater's latest answer about any of `items` that is not withdrawn, or `None`."""
        latest_first = reversed(self._all_by_rater.get(rater, {}).values())
        return next((each for each in latest_first if each.item in items and self._is_unwithdrawn_answer(each)), None)

    def _is_unwithdrawn_answer(self, judgment: HumanJudgment) -> bool:
        return judgment.kind != "withdrawal" and judgment.id not in self._withdrawn_ids


# A rater judges one item out of this many a second time.
REPEAT_EVERY = 10


def arrange_items(texts: Sequence[TextToJudge], rater: str) -> tuple[Item, ...]:
    """Return a rater's items in order; one item in ten comes a second time, at least five items later.

    The order is drawn from digests of the rater's name and the texts, so that it is the same every time. Groups come in
    random order; the texts of a group follow each other, so that raters can compare them.
    """

    def draw(*parts: str) -> int:
        content = "\0".join((rater, *parts)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())

    group_ranks = {group: draw("group", group) for group in {text.example.group for text in texts}}

    def rank(text: TextToJudge) -> tuple[int, str, int]:
        group = text.example.group
        return group_ranks[group], group, draw("text", text.key)

    return tuple(_insert_repeats([Item(text.key) for text in sorted(texts, key=rank)], draw))


def _insert_repeats(items: Sequence[Item], draw: Callable[..., int]) -> Iterator[Item]:
    """Yield the items. One from the first half of each block of ten comes again in the next block, or at the end."""
    blocks = [items[start : start + REPEAT_EVERY] for start in range(0, len(items), REPEAT_EVERY)]
    pending_repeat: Item | None = None
    for block in blocks:
        repeat_index = draw("place", block[0].text) % len(block)
        for index, item in enumerate(block):
            yield item
            if pending_repeat and index == repeat_index:
                yield pending_repeat
        pending_repeat = None
        if len(block) >= REPEAT_EVERY / 2:
            item_to_repeat = min(block[: len(block) // 2], key=lambda item: draw("again", item.text))
            pending_repeat = Item(item_to_repeat.text, again=True)
    if pending_repeat:
        yield pending_repeat


# With fewer timed judgments, the time that a rater still needs is not estimated.
MIN_TIMED_JUDGMENTS = 3


@dataclass(frozen=True, slots=True)
class Consistency:
    """The number of items that a rater scored twice, the share of equal scores, and the mean absolute difference."""

    repeats: int
    equal_share: float
    difference: float


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """A rater's numbers of items, repeats included; skipped items are not done.

    `seconds_left` is estimated by the median time of a judgment; `None` with fewer than `MIN_TIMED_JUDGMENTS` times.
    """

    done: int
    skipped: int
    total: int
    seconds_left: float | None
    consistency: Consistency | None


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Krippendorff's alpha of squared differences, with its interval; `units` counts texts with several scores."""

    raters: int
    units: int
    alpha: Interval


def rater_progress(items: Sequence[Item], judgments: Mapping[Item, HumanJudgment]) -> RaterProgress:
    judgments = {item: judgments[item] for item in items if item in judgments}
    done = [judgment for judgment in judgments.values() if judgment.kind != "skipped"]
    n_skipped, n_left = len(judgments) - len(done), len(items) - len(done)
    times = [judgment.seconds for judgment in done if judgment.seconds > 0]
    seconds_left = statistics.median(times) * n_left if len(times) >= MIN_TIMED_JUDGMENTS else None
    return RaterProgress(len(done), n_skipped, len(items), seconds_left, rater_consistency(judgments))


def rater_consistency(judgments: Mapping[Item, HumanJudgment]) -> Consistency | None:
    differences: list[float] = []
    for item, second in judgments.items():
        first = judgments.get(Item(item.text)) if item.again else None
        if first and first.value is not None and second.value is not None:
            differences.append(abs(first.value - second.value))
    if not differences:
        return None
    equal_share = differences.count(0) / len(differences)
    return Consistency(len(differences), equal_share, statistics.fmean(differences))


def rater_agreement(history: History, texts: Sequence[TextToJudge]) -> RaterAgreement | None:
    groups = {text.key: text.example.group for text in texts}
    first_ratings = [
        (judgment.rater, judgment.text, judgment.value)
        for judgment in history.current_judgments()
        if not judgment.again and judgment.text in groups and judgment.value is not None
    ]
    raters = {name: row for row, name in enumerate(sorted({rater for rater, _, _ in first_ratings}))}
    if len(raters) < 2:
        return None
    units = {text: column for column, text in enumerate(sorted({text for _, text, _ in first_ratings}))}
    ratings = np.full((len(raters), len(units)), np.nan)
    for rater, text, value in first_ratings:
        ratings[raters[rater], units[text]] = value
    group_names, group_numbers = np.unique([groups[text] for text in units], return_inverse=True)
    alpha = krippendorff_alpha(ratings, "interval", group_numbers if len(group_names) > 1 else None)
    raters_by_text = (~np.isnan(ratings)).sum(axis=0)
    return RaterAgreement(len(raters), int((raters_by_text >= 2).sum()), alpha)
