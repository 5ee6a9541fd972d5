"""Raters' reasons for their scores, as prompts number them and replies cite them.

Only prompts that propose or reword criteria show reasons; prompts that judge texts never do. If there are none, prompts
and replies do not mention any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic.json_schema import SkipJsonSchema

from rubriclab.models.base import digest
from rubriclab.models.characters import plain
from rubriclab.models.rubric import CitedReason
from rubriclab.models.text import Example, named_annotations, named_reasons

# Reasons shown for one text. With more raters, some are drawn, since one text should not fill a prompt.
MOST_PER_TEXT = 6

_NUMBER = re.compile(r"[^\d-]*(\d{1,6})\D*", re.ASCII)


@dataclass(frozen=True, slots=True)
class NumberedReason:
    """A rater's reason as a prompt shows it.

    Attributes:
        number: from 1, in the order of the prompt.
        score: the rater's own score; `None` if unknown.
    """

    number: int
    example: str
    rater: str
    text: str
    score: float | None

    def fields(self) -> dict[str, Any]:
        """Return what a prompt shows: no names, and control characters as escapes."""
        return {"number": self.number, "text": plain(self.text), "score": self.score}


def numbered_reasons(examples: Iterable[Example], aspect: str) -> tuple[NumberedReason, ...]:
    """Return the raters' reasons for their scores of `aspect`, numbered in the order of the texts.

    A text's reasons are ordered by rater. Of more than `MOST_PER_TEXT`, as many are drawn, always the same ones.
    """
    given = [(example, rater, text) for example in examples for rater, text in _drawn(example, aspect)]
    return tuple(
        NumberedReason(number, example.id, rater, text, named_annotations(example, aspect).get(rater))
        for number, (example, rater, text) in enumerate(given, 1)
    )


def fields_of_reasons(reasons: Sequence[NumberedReason], example: str) -> list[dict[str, Any]]:
    """Return the reasons for one text as a prompt shows them."""
    return [reason.fields() for reason in reasons if reason.example == example]


def cited_reasons(numbers: Iterable[int], reasons: Sequence[NumberedReason]) -> tuple[CitedReason, ...]:
    """Return the reasons with these numbers in the order of the prompt; unknown numbers are left out."""
    cited = set(numbers)
    return tuple(CitedReason(example=each.example, rater=each.rater) for each in reasons if each.number in cited)


def _drawn(example: Example, aspect: str) -> list[tuple[str, str]]:
    given = sorted(named_reasons(example, aspect).items())
    if len(given) <= MOST_PER_TEXT:
        return given
    return sorted(sorted(given, key=lambda reason: digest([example.id, reason[0]]))[:MOST_PER_TEXT])


def _numbers(value: Any) -> list[int]:
    """Return the whole numbers in a list such as `[2, "5", "reason 7"]`; anything else is left out."""
    entries = value if isinstance(value, list) else [value]
    texts = [str(entry) for entry in entries if isinstance(entry, int | str) and not isinstance(entry, bool)]
    return [int(match[1]) for text in texts if (match := _NUMBER.fullmatch(text))]


# The numbers of the reasons that a criterion came from. A wrong number makes no reply unusable.
CitedNumbers = Annotated[list[int], BeforeValidator(_numbers)]

# Where no reasons are shown: absent from the schema, and ignored in a reply.
NothingToCite = Annotated[list[int], BeforeValidator(lambda _: []), SkipJsonSchema()]
