"""Upper bounds on the calls and tokens of a command, computed before any call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rubriclab.data.example import Example
from rubriclab.judges.price import estimated_tokens
from rubriclab.prompts import Prompt, render

# Text that counts as about one token: for wordings that are not written yet.
TOKEN = "word "


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """An upper bound on calls and tokens, if no reply needs a repair.

    Attributes:
        calls: number of prompts.
        prompt_tokens: tokens read, estimated from the texts' length, rather too high than too low.
        completion_tokens: tokens written, if every reply has its largest allowed length.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: CallEstimate) -> CallEstimate:
        return CallEstimate(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def __mul__(self, times: int) -> CallEstimate:
        return CallEstimate(self.calls * times, self.prompt_tokens * times, self.completion_tokens * times)


def longest(examples: Iterable[Example], count: int) -> tuple[Example, ...]:
    """Return the `count` examples that take the most tokens to show, the longest first."""

    def size(example: Example) -> int:
        parts = (example.output, example.source, example.context)
        return sum(len((part or "").encode("utf-8", "replace")) for part in parts)

    return tuple(sorted(examples, key=size, reverse=True)[:count])


def estimate_prompt(prompt: Prompt[Any]) -> CallEstimate:
    """Return the upper bound for one prompt."""
    return CallEstimate(1, estimated_tokens(render(prompt)), prompt.max_tokens)


def estimate_prompts(prompts: Iterable[Prompt[Any]]) -> CallEstimate:
    """Return the upper bound for several prompts."""
    return sum(map(estimate_prompt, prompts), CallEstimate())
