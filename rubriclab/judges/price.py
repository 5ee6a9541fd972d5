"""Prices of replies, given or listed by litellm, and estimates and bounds of a prompt's tokens."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rubriclab.errors import SettingsError
from rubriclab.judges.providers import load_litellm
from rubriclab.prompts.render import Message

# English has four to five bytes per token, Chinese and Japanese about three; rare scripts, emoji and base64 have fewer.
BYTES_PER_TOKEN = 3
TOKENS_PER_MESSAGE = 4
# What chat templates add at most to each message, and to the request: system prompts of their own, and instructions for
# the schema of the reply.
MOST_PER_MESSAGE = 16
MOST_PER_REQUEST = 100
MOST_PER_SCHEMA = 1000

# Names in litellm's table.
_PROMPT_PRICE = re.compile(r"(input_cost_per|cache_creation_input)_token")
_COMPLETION_PRICE = re.compile(r"output_cost_per_(reasoning_)?token")


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


def price_of(model: str) -> Price | None:
    """Return the price of `model` in litellm's table; `None` if it has none, or zeros only."""
    litellm = load_litellm()
    try:
        info = litellm.get_model_info(model)
    except Exception:  # litellm raises a bare Exception for an unknown model
        return None
    prompt, completion = info.get("input_cost_per_token") or 0.0, info.get("output_cost_per_token") or 0.0
    return Price(prompt * 1e6, completion * 1e6) if prompt or completion else None


def highest_price_of(model: str) -> Price | None:
    """Return the highest price of a token in litellm's table: of a long prompt, a prompt cache or a service tier."""
    if price_of(model) is None:
        return None
    info = load_litellm().get_model_info(model)
    prompt, completion = (
        max(cost for name, cost in info.items() if cost is not None and kind.match(name))
        for kind in (_PROMPT_PRICE, _COMPLETION_PRICE)
    )
    return Price(prompt * 1e6, completion * 1e6)


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return an estimate of the messages' tokens, which is too high for most texts, and too low for some scripts."""
    sizes = _bytes_of(messages)
    return math.ceil(sum(sizes) / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * len(sizes)


def most_tokens(messages: Iterable[Message], schema: Mapping[str, Any] | None = None) -> int:
    """Return a number that no tokenizer exceeds for these messages, since every token covers at least one byte.

    Args:
        schema: what the request says of the reply's form; providers add it to the prompt.
    """
    sizes = _bytes_of(messages)
    added = MOST_PER_SCHEMA + len(json.dumps(schema)) if schema else 0
    return sum(sizes) + MOST_PER_MESSAGE * len(sizes) + MOST_PER_REQUEST + added


def _bytes_of(messages: Iterable[Message]) -> list[int]:
    return [len(message["content"].encode("utf-8", "replace")) for message in messages]
