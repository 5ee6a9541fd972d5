"""The judge protocol. Caches, limits, budgets and recordings are judges that wrap another judge."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rubriclab.errors import JudgeUnavailable, PromptRejected, ReplyTooLarge
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a reply.

    Attributes:
        prompt_tokens, completion_tokens: as counted by the provider.
        cost_usd: US dollars; `None` if the price is unknown.
        cached_tokens: the prompt tokens that the provider read from its prompt cache.
        saved_usd: US dollars that the provider's prompt cache saved; negative if writing to it cost more than reading
            from it saved.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    cached_tokens: int = 0
    saved_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            self.cached_tokens + other.cached_tokens,
            self.saved_usd + other.saved_usd,
        )


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply.

    Attributes:
        text: its part of the reply's text; empty if it is only part of a character.
        alternatives: the most likely tokens at this position, the chosen one included, with log-probabilities (natural
            logarithm).
    """

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's raw reply.

    Attributes:
        text: the raw text.
        model: the model version that the provider reports; the judge's name if it reports none.
        usage: tokens and cost of the call that produced it.
        truncated: whether the provider cut it off at the token limit.
        filtered: whether the provider's content filter withheld it.
        fault: why the text is empty, if the response says so.
        cached: whether it is a cached answer, which cost nothing now.
        tokens: the tokens of `text`, if the prompt asked for alternatives and the provider reported them.
    """

    text: str
    model: str
    usage: Usage = Usage()
    truncated: bool = False
    cached: bool = False
    tokens: tuple[Token, ...] = ()
    filtered: bool = False
    fault: str = ""


class Judge(Protocol):
    """Answers prompts."""

    @property
    def name(self) -> str:
        """The name that a user writes: a litellm model string, `embedded`, `recorded:PATH` or a plug-in's."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything besides the prompt that the reply depends on (model, address, parameters), in JSON types."""
        ...

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the raw reply to `prompt`.

        Raises:
            JudgeUnavailable: no reply now; a retry can help.
            PromptRejected: this prompt is never answered.
            JudgeRefused: no prompt is ever answered.
        """
        ...


class JudgeWrapper:
    """Base of judges that add caching, limits and the like to another judge, whose name and identity they share."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    @property
    def name(self) -> str:
        """The name of the wrapped judge."""
        return self.judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the wrapped judge."""
        return self.judge.identity

    def count_reading(self) -> None:
        """Count a reply of which an entry was recognised by its name or its place instead of its id."""
        if isinstance(self.judge, JudgeWrapper):
            self.judge.count_reading()


# Seconds that a cancelled request waits for its reply.
GRACE = 2.0
# The name of the tasks of requests. They are not to be cancelled by themselves: whoever waits for them does it.
IN_FLIGHT = "request in flight"


class ReplyAfterCancellation(asyncio.CancelledError):
    """The request was cancelled, and its reply arrived soon after."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Interruptible(JudgeWrapper):
    """A judge whose requests, when they are cancelled, wait `GRACE` seconds for their replies."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply.

        Raises:
            ReplyAfterCancellation: instead of `CancelledError`, with a reply that arrived in time.
        """
        request = asyncio.create_task(self.judge.reply(prompt), name=IN_FLIGHT)
        try:
            return await asyncio.shield(request)
        except asyncio.CancelledError:
            try:
                await asyncio.wait([request], timeout=GRACE)
            finally:
                request.cancel()
            await asyncio.wait([request])
            if not request.cancelled() and request.exception() is None:
                raise ReplyAfterCancellation(request.result()) from None
            raise


NO_REPLY = "the judge gave no reply"
REJECTED = "the judge cannot answer about this text"

_log = logging.getLogger(__name__)


class Discreet(JudgeWrapper):
    """A judge for callers who do not run it: what the provider says of a failed request goes to the log only."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply.

        Raises:
            JudgeUnavailable, PromptRejected: as the judge does, in words of ours.
        """
        try:
            return await self.judge.reply(prompt)
        except ReplyTooLarge:
            raise
        except PromptRejected as error:
            _log.warning("%s: %s", self.name, error)
            raise PromptRejected(REJECTED) from error
        except JudgeUnavailable as error:
            _log.warning("%s: %s", self.name, error)
            raise JudgeUnavailable(NO_REPLY) from error


Script = Callable[[Prompt[Any]], "str | Mapping[str, Any] | Reply"]


class FakeJudge:
    """Replies to every prompt with `script(prompt)`: a text, a mapping (as JSON) or a `Reply`; errors are raised.

    Prompts are rendered as for a real model, so that tests find faulty templates.

    Attributes:
        prompts: the prompts received, in order.
    """

    name = "fake"
    identity: Mapping[str, Any] = {"model": "fake"}

    def __init__(self, script: Script) -> None:
        self._script = script
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the scripted reply."""
        messages = render(prompt)
        self.prompts.append(prompt)
        answer = self._script(prompt)
        if isinstance(answer, Reply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(text, self.name, Usage(sum(len(m["content"]) for m in messages) // 4, len(text) // 4))
