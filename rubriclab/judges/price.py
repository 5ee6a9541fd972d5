"""What a reply costs, and how many tokens a prompt may take before anybody has counted them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rubriclab.errors import SettingsError
from rubriclab.prompts import Message

# English runs at four to five bytes a token, Chinese and Japanese near three, so three errs on the safe side.
BYTES_PER_TOKEN = 3
TOKENS_PER_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, read and written."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return US dollars for a reply of that size."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


FREE = Price(0.0, 0.0)


def parse_price(text: str) -> Price:
    """Return the price written as `IN:OUT`, US dollars per million tokens.

    Raises:
        SettingsError: if `text` is not two numbers of at least zero.
    """
    try:
        prompt, completion = (float(part) for part in text.split(":"))
        if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
            raise ValueError
    except ValueError:
        raise SettingsError(
            f"The price {text!r} is not understood;",
            "write US dollars per million tokens read and written, as in 0.15:0.60.",
        ) from None
    return Price(prompt, completion)


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return about how many tokens the messages take, erring upwards: a bound for budgets, not a count."""
    sizes = [len(message["content"].encode("utf-8", "replace")) for message in messages]
    return math.ceil(sum(sizes) / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * len(sizes)
