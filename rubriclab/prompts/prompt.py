"""A prompt is a value: a template's name, its fields and the model of the reply.

A language model's judge renders it, the offline judge reads its name and fields, a cache hashes it, a recording replays
it and a fake answers it, independently of one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationInfo

R = TypeVar("R", bound=BaseModel)

# A field of the validation context: set if the reply failed twice, so that only its usable entries count.
SALVAGE = "salvage"

# Characters of an unusable reply that its repair quotes, so that an endless reply is not paid for again in full.
LONGEST_QUOTED = 4000


def is_salvage(info: ValidationInfo) -> bool:
    """Return whether only the usable entries of a reply are wanted."""
    return bool(info.context and info.context.get(SALVAGE))


class UntoldReply(BaseModel):
    """A reply whose form the prompt does not show."""


@dataclass(frozen=True, slots=True)
class Repair:
    """An unusable reply, abridged if it is long, and what is wrong with it."""

    reply: str
    complaint: str


@dataclass(frozen=True, slots=True)
class Prompt(Generic[R]):
    """One request to a judge.

    Attributes:
        name: the template, as `method/template`.
        fields: the values of the template's variables; JSON types only.
        reply: the model of the reply. Its fields are requested in order, so reasoning comes before the verdict. Checks
            that depend on the request (the scale, the requested ids) find `fields` in the validation context.
        temperature: the judge's sampling temperature.
        max_tokens: the longest useful reply in tokens; longer ones are cut off and fail.
        sample: the number of this one among several independent answers.
        alternatives: how many of the most likely tokens are reported, with their probabilities, at each position of the
            reply, if the judge supports it; 0 requests none. Providers report at most 20.
        repair: set when an earlier reply to the same prompt was unusable.
    """

    name: str
    fields: Mapping[str, Any]
    reply: type[R]
    temperature: float = 0.0
    max_tokens: int = 1024
    sample: int = 0
    alternatives: int = 0
    repair: Repair | None = None

    def repaired(self, reply: str, complaint: str) -> Prompt[R]:
        """Return the prompt that repeats this one with `complaint` about `reply`.

        At most `LONGEST_QUOTED` characters of the reply are quoted: its beginning and its end.
        """
        return replace(self, repair=Repair(_quoted(reply), complaint))

    def salvaging(self, reply: type[R]) -> Prompt[R]:
        """Return the prompt by which the usable entries of a failed reply are read, in the form of `reply`."""
        return replace(self, reply=reply, fields={**self.fields, SALVAGE: True})


def _quoted(reply: str) -> str:
    left_out = len(reply) - LONGEST_QUOTED
    if left_out <= 0:
        return reply
    half = LONGEST_QUOTED // 2
    return f"{reply[:half]}\n[… {left_out:,} characters are left out here …]\n{reply[-half:]}"
