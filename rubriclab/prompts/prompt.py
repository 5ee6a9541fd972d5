"""A prompt is a value: which template, with which fields, answered in which form.

A language model's judge renders it, the offline judge reads its name and fields, a cache hashes it, a recording
replays it, a fake answers it; none of them knows the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

R = TypeVar("R", bound=BaseModel)

# Enough to see what went wrong: nobody should pay for reading a reply again that ran on without end.
LONGEST_QUOTED = 4000


@dataclass(frozen=True, slots=True)
class Repair:
    """A reply that could not be used, its middle left out where it is long, and what was wrong with it."""

    reply: str
    complaint: str


@dataclass(frozen=True, slots=True)
class Prompt(Generic[R]):
    """One question to a judge.

    Attributes:
        name: the template, as `method/template`.
        fields: what the template is filled with; JSON types only.
        reply: the form of the answer. Its fields are asked for in their order, so reasoning stands before the verdict.
            Checks that depend on the question (the scale, the ids asked for) find `fields` in the validation context.
        temperature: the judge's sampling temperature.
        max_tokens: the longest reply that makes sense, in tokens; longer ones are cut off and fail.
        sample: which of several independent answers this asks for.
        alternatives: how many of the likeliest tokens are reported, with their probabilities, at each place of the
            reply, where the judge can tell; 0 asks for none. Providers give 20 at most.
        repair: set when an earlier reply to the same question could not be used.
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
        """Return the same question, asked once more because of `complaint` about `reply`.

        At most `LONGEST_QUOTED` characters of the reply are quoted: its beginning and its end.
        """
        return replace(self, repair=Repair(_quoted(reply), complaint))


def _quoted(reply: str) -> str:
    left_out = len(reply) - LONGEST_QUOTED
    if left_out <= 0:
        return reply
    half = LONGEST_QUOTED // 2
    return f"{reply[:half]}\n[… {left_out:,} characters are left out here …]\n{reply[-half:]}"
