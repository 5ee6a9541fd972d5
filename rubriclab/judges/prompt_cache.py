"""Marks in a request that have the provider cache its beginning, and what the provider's cache saved.

OpenAI, Gemini and others cache without marks. Anthropic's models, and some others, cache only up to a mark, and writing
to the cache costs more than reading a prompt. So a beginning is marked from the second time that it is sent: one that
is sent only once costs no more than without marks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from rubriclab.judges.price import estimated_tokens
from rubriclab.judges.providers import load_litellm
from rubriclab.models.base import digest_text
from rubriclab.prompts.render import Message, Turn

# Beginnings that are remembered, the latest ones: enough for the texts under way and the inputs before them.
REMEMBERED = 4096
# These cache by themselves; some of their models charge for writing nevertheless.
AUTOMATIC = frozenset({"openai", "azure", "text-completion-openai"})

# A turn as litellm takes it; its content is a list of blocks if one of them is marked.
MarkedMessage = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CachePrices:
    """US dollars per prompt token: without the cache, read from it, and written to it."""

    prompt: float = 0.0
    read: float = 0.0
    write: float = 0.0

    def saved(self, read: int, written: int) -> float:
        """Return what reading and writing so many tokens saved in US dollars; negative if they cost more."""
        return read * (self.prompt - self.read) - written * (self.write - self.prompt)


def cache_prices(model: str) -> CachePrices:
    """Return the prices of a model in litellm's table; without a price for the cache, that of a prompt token."""
    try:
        info = load_litellm().get_model_info(model)
    except Exception:  # litellm raises a bare Exception for an unknown model
        return CachePrices()
    prompt = info.get("input_cost_per_token") or 0.0
    read, write = info.get("cache_read_input_token_cost"), info.get("cache_creation_input_token_cost")
    return CachePrices(prompt, prompt if read is None else read, prompt if write is None else write)


def needs_marks(model: str, provider: str) -> bool:
    """Return whether litellm knows that the model caches prompts, but only up to a mark."""
    if provider in AUTOMATIC:
        return False
    try:
        info = load_litellm().get_model_info(model, custom_llm_provider=provider)
    except Exception:  # litellm raises a bare Exception for an unknown model
        return False
    return bool(info.get("supports_prompt_caching") and info.get("cache_creation_input_token_cost"))


class CacheMarks:
    """Marks the beginnings of prompts that a model has been sent before.

    Args:
        least_tokens: shorter beginnings are never cached by the provider.
    """

    def __init__(self, least_tokens: int) -> None:
        self._least_tokens = least_tokens
        self._sent: OrderedDict[str, None] = OrderedDict()

    def marked(self, turns: Sequence[Turn]) -> list[MarkedMessage]:
        """Return the messages with a mark at the end of each part that was sent before with all that precedes it.

        Only parts of the turn that is divided are marked; see `Turn`.
        """
        messages: list[MarkedMessage] = []
        for place, turn in enumerate(turns):
            *beginnings, last = turn.parts
            before = "".join(part for earlier in turns[:place] for part in earlier.parts)
            ends = accumulate(beginnings, initial=before)
            next(ends)
            blocks = [_block(part, marked=self._is_marked(end)) for part, end in zip(beginnings, ends, strict=True)]
            if any("cache_control" in block for block in blocks):
                messages.append({"role": turn.role, "content": [*blocks, _block(last, marked=False)]})
            else:
                messages.append({**turn.message})
        return messages

    def _is_marked(self, beginning: str) -> bool:
        """Return whether `beginning` was sent before, and remember it."""
        # An upper estimate: what is too short by it is too short; a mark on something shorter is ignored.
        if estimated_tokens([Message(role="user", content=beginning)]) < self._least_tokens:
            return False
        key = digest_text(beginning)
        known = key in self._sent
        self._sent[key] = None
        self._sent.move_to_end(key)
        if len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)
        return known


def least_cached_tokens(model: str) -> int:
    """Return the tokens that a beginning must have for the provider to cache it."""
    return int(load_litellm().utils.get_prompt_cache_min_tokens(model))


def tokens_read_and_written(usage: Any, most: int) -> tuple[int, int]:
    """Return how many prompt tokens the provider read from its cache and wrote to it; 0 for an impossible number.

    Args:
        most: no number can be larger.
    """
    details = getattr(usage, "prompt_tokens_details", None)
    read = (getattr(details, "cached_tokens", None), getattr(usage, "cache_read_input_tokens", None))
    written = (
        getattr(details, "cache_creation_tokens", None),
        getattr(usage, "cache_creation_input_tokens", None),
    )
    return _first(read, most), _first(written, most)


def _first(reported: Iterable[Any], most: int) -> int:
    return next((number for number in reported if type(number) is int and 0 < number <= most), 0)


def _block(text: str, *, marked: bool) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"cache_control": {"type": "ephemeral"}} if marked else {})}
