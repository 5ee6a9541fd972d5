"""Prices of replies, and upper estimates of a prompt's tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rubriclab.errors import SettingsError
from rubriclab.prompts import Message

# English has four to five bytes per token, Chinese and Japanese about three: an upper estimate for all.
BYTES_PER_TOKEN = 3
TOKENS_PER_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million prompt and completion tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of a reply in US dollars."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6

    def times(self, share: float) -> Price:
        """Return this share of the price."""
        return Price(self.prompt * share, self.completion * share)


FREE = Price(0.0, 0.0)


def as_price(value: Any) -> Price:
    """Return a price that is given as one, as two numbers, or as a text `IN:OUT`: US dollars per million tokens.

    Raises:
        SettingsError: if `value` is none of these.
    """
    if isinstance(value, Price):
        return value
    try:
        prompt, completion = (float(part) for part in (value.split(":") if isinstance(value, str) else value))
        if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
            raise ValueError
    except (TypeError, ValueError):
        raise SettingsError(
            f"The price {value!r} is not understood.",
            "Write US dollars per million prompt and completion tokens, as in 0.15:0.60.",
        ) from None
    return Price(prompt, completion)


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return an upper estimate of the messages' tokens."""
    sizes = [len(message["content"].encode("utf-8", "replace")) for message in messages]
    return math.ceil(sum(sizes) / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * len(sizes)
