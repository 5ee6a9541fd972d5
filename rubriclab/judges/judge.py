"""What a judge is: whoever answers a prompt. Judges wrap judges, so caching, limits and budgets are judges too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rubriclab.prompts import Prompt


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply took: tokens read and written, and US dollars; `None` where the price is not known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply.

    Attributes:
        text: its part of the reply's text; empty where it holds only a part of a character.
        alternatives: the likeliest tokens at this place and their log-probabilities (natural logarithm), with the one
            that was chosen.
    """

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's raw reply.

    Attributes:
        text: what was answered, unparsed.
        model: the model snapshot that the provider reports; the judge's own name where it reports none.
        usage: what it took when it was first given.
        truncated: whether the provider cut it off at the token limit.
        tokens: what `text` consists of, where the prompt asked for alternatives and the judge could tell them.
        cached: whether it came from answers kept earlier, at no cost now.
    """

    text: str
    model: str
    usage: Usage = Usage()
    truncated: bool = False
    cached: bool = False
    tokens: tuple[Token, ...] = ()


class Judge(Protocol):
    """Whoever answers prompts."""

    @property
    def name(self) -> str:
        """What a user calls this judge: a litellm model string, `embedded`, `recorded:PATH`, `fake`."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything beside the prompt that the reply depends on (model, address, parameters); JSON types only."""
        ...

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the raw reply to `prompt`.

        Raises:
            JudgeUnavailable: no reply now; a retry can help.
            PromptRejected: no reply to this prompt ever.
            JudgeRefused: no reply to any prompt.
        """
        ...
