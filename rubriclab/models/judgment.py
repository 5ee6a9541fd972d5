"""What raters are asked on the labelling page, the order of their texts, their judgments and their progress.

- A question is the same for all texts: task, aspect, definition and scale.
- An item is one showing of a text to a rater. Some texts are shown twice, which tells how consistent the rater is.
- A judgment answers the question about an item. It refers to the question and to the text by digests, so it still
  applies if texts are added to the file or the file is renamed, but not if the text or the question has changed.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from rubriclab.errors import SettingsError
from rubriclab.models.base import BoundedFloat, FrozenModel, Moment, digest
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
    """One showing of a text to a rater: the text's key, and whether this is the second showing."""

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
    """One person's answer about a text, or the withdrawal of an answer. Stored judgments are never changed or removed.

    Attributes:
        id: unique; a page that sends a judgment a second time repeats the id.
        question: the question's digest.
        text: the text's key.
        again: whether the rater judged the text for the second time.
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
    value: BoundedFloat | None = None
    reason: str = Field(default="", max_length=MAX_JUDGMENT_REASON_LENGTH)
    withdraws: str | None = None
    seconds: float = Field(default=0.0, ge=0, le=MAX_SECONDS)
    created: Moment

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.value is not None) != (self.kind == "rating"):
            raise ValueError(f"expected a value in a rating and in no other kind, got {self.value} in {self.kind!r}")
        if (self.withdraws is not None) != (self.kind == "withdrawal"):
            got = f"got {self.withdraws} in {self.kind!r}"
            raise ValueError(f"expected `withdraws` in a withdrawal and in no other kind, {got}")
        return self

    @property
    def item(self) -> Item:
        return Item(self.text, self.again)


def check_rater_name(name: object) -> str:
    """Return a rater's name without white space around it; SettingsError if it is too long or cannot be shown."""
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
    """All judgments about one question. The current judgments are each rater's latest answers about the items.

    A withdrawal takes back an answer, so that the rater's previous answer about the item is the latest again.
    """

    def __init__(self, judgments: Iterable[HumanJudgment] = ()) -> None:
        self._by_rater_and_id: dict[str, dict[str, HumanJudgment]] = {}
        self._withdrawn_ids: set[str] = set()
        for judgment in judgments:
            self.add(judgment)

    def add(self, judgment: HumanJudgment) -> None:
        """Add a judgment that is later than those added before; a second judgment with the same id changes nothing."""
        by_id = self._by_rater_and_id.setdefault(judgment.rater, {})
        if judgment.id not in by_id:
            by_id[judgment.id] = judgment
            if judgment.withdraws is not None:
                self._withdrawn_ids.add(judgment.withdraws)

    def _answers(self, rater: str) -> list[HumanJudgment]:  # without withdrawals and withdrawn answers
        judgments = self._by_rater_and_id.get(rater, {}).values()
        return [each for each in judgments if each.kind != "withdrawal" and each.id not in self._withdrawn_ids]

    @property
    def raters(self) -> tuple[str, ...]:
        return tuple(sorted(rater for rater in self._by_rater_and_id if self._answers(rater)))

    def current_by_item(self, rater: str) -> Mapping[Item, HumanJudgment]:
        return {judgment.item: judgment for judgment in self._answers(rater)}

    def current_judgments(self) -> tuple[HumanJudgment, ...]:
        return tuple(judgment for rater in self.raters for judgment in self.current_by_item(rater).values())

    def find(self, rater: str, judgment_id: str) -> HumanJudgment | None:
        return self._by_rater_and_id.get(rater, {}).get(judgment_id)

    def latest(self, rater: str, items: Container[Item]) -> HumanJudgment | None:
        answers = [judgment for judgment in self._answers(rater) if judgment.item in items]
        return answers[-1] if answers else None


# A rater judges one text out of this many a second time.
REPEAT_EVERY = 10


def arrange_items(texts: Sequence[TextToJudge], rater: str) -> tuple[Item, ...]:
    """Return a rater's items in order; one text in ten is shown a second time, at least five items later.

    Groups come in random order; the texts of a group follow each other, so that raters can compare them. The order is
    drawn from digests of the rater's name and the texts, so that it is the same every time.
    """

    def draw(*parts: str) -> int:
        content = "\0".join((rater, *parts)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())

    order: list[tuple[int, str, int, str]] = []
    for text in texts:
        group = text.example.group
        order.append((draw("group", group), group, draw("text", text.key), text.key))
    keys = [key for *_, key in sorted(order)]
    items: list[Item] = []
    # One text from the first half of each block of ten is repeated at a random place in the next block, or at the end.
    key_to_repeat: str | None = None
    for start in range(0, len(keys), REPEAT_EVERY):
        block = keys[start : start + REPEAT_EVERY]
        items += [Item(key) for key in block]
        if key_to_repeat is not None:
            n_after = len(block) - 1 - draw("place", block[0]) % len(block)
            items.insert(len(items) - n_after, Item(key_to_repeat, again=True))
        key_to_repeat = None
        if len(block) >= REPEAT_EVERY / 2:
            key_to_repeat = min(block[: len(block) // 2], key=lambda key: draw("again", key))
    if key_to_repeat is not None:
        items.append(Item(key_to_repeat, again=True))
    return tuple(items)


# With fewer judgments whose time is known, the time that a rater still needs is not estimated.
MIN_TIMED_JUDGMENTS = 3


@dataclass(frozen=True, slots=True)
class Consistency:
    """The number of texts that a rater scored twice, the share of equal scores, and the mean absolute difference."""

    repeats: int
    equal_share: float
    difference: float


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """How many items a rater has done and skipped, and has in all. A text that is shown twice counts as two items.

    `seconds_left` is estimated by the median time of a judgment; `None` with fewer than `MIN_TIMED_JUDGMENTS` times.
    """

    done: int
    skipped: int
    total: int
    seconds_left: float | None
    consistency: Consistency | None


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Krippendorff's alpha with its confidence interval. `units` is the number of texts with two scores or more."""

    raters: int
    units: int
    alpha: Interval


def rater_progress(items: Sequence[Item], judgments: Mapping[Item, HumanJudgment]) -> RaterProgress:
    judgments = {item: judgments[item] for item in items if item in judgments}
    done = [judgment for judgment in judgments.values() if judgment.kind != "skipped"]
    n_skipped, n_left = len(judgments) - len(done), len(items) - len(done)
    times = [judgment.seconds for judgment in done if judgment.seconds > 0]
    seconds_left = statistics.median(times) * n_left if len(times) >= MIN_TIMED_JUDGMENTS else None
    differences: list[float] = []  # between the two scores of each text that was scored twice
    for item, second in judgments.items():
        first = judgments.get(Item(item.text)) if item.again else None
        if first and first.value is not None and second.value is not None:
            differences.append(abs(first.value - second.value))
    consistency = None
    if differences:
        equal_share = differences.count(0) / len(differences)
        consistency = Consistency(len(differences), equal_share, statistics.fmean(differences))
    return RaterProgress(len(done), n_skipped, len(items), seconds_left, consistency)


def rater_agreement(history: History, texts: Sequence[TextToJudge]) -> RaterAgreement | None:
    group_of_text = {text.key: text.example.group for text in texts}
    values = {
        (judgment.rater, judgment.text): judgment.value
        for judgment in history.current_judgments()
        if judgment.kind == "rating" and not judgment.again and judgment.text in group_of_text
    }
    raters, keys = sorted({rater for rater, _ in values}), sorted({key for _, key in values})
    if len(raters) < 2:
        return None
    ratings = np.array([[values.get((rater, key)) for key in keys] for rater in raters], dtype=float)
    alpha = krippendorff_alpha(ratings, "interval", [group_of_text[key] for key in keys])
    n_raters_by_text = (~np.isnan(ratings)).sum(axis=0)
    return RaterAgreement(len(raters), int((n_raters_by_text >= 2).sum()), alpha)
