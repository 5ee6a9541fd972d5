"""What a judge is, and how it is asked.

A `Judge` answers prompts with raw text, a `Reply`. `ask` returns the parsed answer; if the reply cannot be used, it
sends the prompt once more with a complaint, which is the *repair*. Caches, limits, budgets and recordings are judges
that wrap another (`JudgeWrapper`), and `Metered` counts replies in a `Ledger`.
"""

from __future__ import annotations

import functools
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, TypeAdapter

from rubriclab.errors import JudgeUnavailable, PromptRejected, ReplyTooLarge
from rubriclab.judges.replies import FILTERED_MESSAGE, Reply, Usage, parse_reply
from rubriclab.models.base import cached_by_size, digest
from rubriclab.models.version import Effort
from rubriclab.prompts import render
from rubriclab.prompts.prompt import SALVAGE, KeyedReply, Prompt
from rubriclab.prompts.render import Message, Turn, render_turns

TextOutcome = Literal["scored", "faulty_row", "ratings_missing"]


@dataclass(slots=True)
class Ledger:
    """Running totals of the replies of judges. `Effort` describes the totals that are not listed here.

    Attributes:
        texts: the number of texts with each `TextOutcome`: `scored`, or why there is no score.
        usage: sums over the replies that are not cached; the cost is `None` if a price is unknown.
        model_versions: see `Reply.model`.
        damaged_answers: digests of requests that were repeated because their cached answer is damaged.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    repaired: int = 0
    by_name_or_order: int = 0  # replies whose entries were recognized by name or order, not by id
    stages: Counter[str] = field(default_factory=Counter)
    stage_tokens: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    model_versions: set[str] = field(default_factory=set)
    damaged_answers: set[str] = field(default_factory=set)

    def add(self, other: Ledger) -> None:
        for attribute in fields(self):
            total, more = getattr(self, attribute.name), getattr(other, attribute.name)
            if isinstance(total, set):
                total |= more
            else:
                setattr(self, attribute.name, total + more)

    def take(self) -> Ledger:
        """Return the totals so far, and set this ledger to zero in place, since judges refer to it and to its sets."""
        totals = Ledger()
        totals.add(self)
        for attribute in fields(self):
            zero = getattr(Ledger(), attribute.name)
            if isinstance(zero, set):
                getattr(self, attribute.name).clear()
            else:
                setattr(self, attribute.name, zero)
        return totals

    def effort(self, seconds: float) -> Effort:
        return Effort(
            **{name: getattr(self, name) for name in ("calls", "cached", "failed", "repaired", "by_name_or_order")},
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
            cost_usd=self.usage.cost_usd,
            cached_prompt_tokens=self.usage.cached_tokens,
            saved_usd=self.usage.saved_usd,
            stages=dict(sorted(self.stages.items())),
            stage_tokens=dict(sorted(self.stage_tokens.items())),
            seconds=seconds,
        )


class Judge(Protocol):
    """Answers prompts."""

    @property
    def name(self) -> str:
        """The name that a user writes: a litellm model string, `embedded`, `recorded:PATH` or a plug-in's."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything besides the prompt that the reply depends on (model, address, parameters), in JSON types."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the raw reply to `prompt`.

        Raises `JudgeUnavailable` if a retry can help, `PromptRejected` if this prompt will never get a reply, and
        `JudgeRefused` if no prompt will.
        """


@dataclass(eq=False, repr=False)
class JudgeWrapper:
    """Base of judges that wrap another judge: they take its name, its identity, and its ledger if it has one."""

    judge: Judge
    ledger: Ledger | None = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = self.judge.ledger if isinstance(self.judge, JudgeWrapper) else None

    @property
    def name(self) -> str:
        return self.judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.judge.identity


class FakeJudge:
    """Replies to every prompt with `script(prompt)`: a text, a mapping (as JSON) or a `Reply`.

    Prompts are rendered as for a real model, so that tests find faulty templates, and collected in `prompts`.
    """

    name = "fake"
    identity: Mapping[str, Any] = {"model": "fake"}

    def __init__(self, script: Callable[[Prompt[Any]], str | Mapping[str, Any] | Reply]) -> None:
        self._script = script
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        messages = render(prompt)
        self.prompts.append(prompt)
        answer = self._script(prompt)
        if isinstance(answer, Reply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(text, self.name, Usage(sum(len(m["content"]) for m in messages) // 4, len(text) // 4))


# Characters that the cache of rendered prompts holds: enough for all requests in flight. Each takes up to four bytes.
MAX_CACHED_CHARACTERS = 2**23


@cached_by_size(MAX_CACHED_CHARACTERS, lambda _prompt, turns: sum(len(part) for turn in turns for part in turn.parts))
def turns_of(prompt: Prompt[Any]) -> tuple[Turn, ...]:
    return tuple(render_turns(prompt))


def messages_of(prompt: Prompt[Any]) -> tuple[Message, ...]:
    return tuple(turn.message for turn in turns_of(prompt))


@functools.lru_cache(maxsize=128)
def _schema_digest(reply: type[BaseModel]) -> str:
    return digest(reply.model_json_schema())


def request_digest(identity: Mapping[str, Any], prompt: Prompt[Any]) -> str:
    reply: type[BaseModel] = prompt.reply
    content = {
        "identity": identity,
        "messages": messages_of(prompt),
        "schema": _schema_digest(reply),
        "temperature": prompt.temperature,
        "max_tokens": prompt.max_tokens,
        "sample": prompt.sample,
        "alternatives": prompt.alternatives,
    }
    return digest(content)


_reply_adapter = functools.cache(lambda: TypeAdapter(Reply))  # not made on import, since making it takes milliseconds


def dump_reply(reply: Reply) -> dict[str, Any]:
    """Return `reply` in JSON types, without default values and without `cached`."""
    dumped: dict[str, Any] = _reply_adapter().dump_python(reply, mode="json", exclude={"cached"}, exclude_defaults=True)
    return dumped


def load_reply(answer: Any) -> Reply:
    """Return the reply that `dump_reply` turned into `answer`, marked as cached; anything else is a `ValueError`."""
    return _reply_adapter().validate_python({**answer, "cached": True} if isinstance(answer, Mapping) else answer)


R = TypeVar("R", bound=BaseModel)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnusableReply:
    """The text of a reply that could not be used, what is wrong with it, and the name of its prompt."""

    prompt: str
    text: str
    fault: str


_UNUSABLE_REPLIES: ContextVar[list[UnusableReply] | None] = ContextVar("unusable_replies", default=None)


@dataclass(frozen=True, slots=True)
class JudgeAnswer(Generic[R]):
    """The answer in a reply, or why it is missing; `replied` is false if no reply came, or if it was filtered."""

    value: R | None
    missing: str = ""
    replied: bool = True
    reply: Reply | None = None


async def ask(
    judge: Judge, prompt: Prompt[R], *, salvage_model: type[R] | None = None, repair: bool = True
) -> JudgeAnswer[R]:
    """Return the judge's answer to `prompt`; errors that concern all prompts are raised.

    If the reply cannot be used, the judge is asked once for a `repair`. If the second reply cannot be used either, its
    usable entries are the answer; if it has none, the usable entries of the first reply are. `salvage_model` parses the
    entries, with the key `SALVAGE` in the validation context. Prompts for a `KeyedReply` need no `salvage_model`.
    """

    async def send(request: Prompt[R]) -> tuple[Reply, R | None, str]:
        reply = await judge.reply(request)
        value, complaint = parse_reply(reply, request)
        collected = _UNUSABLE_REPLIES.get()
        if value is None and collected is not None:
            collected.append(UnusableReply(prompt.name, reply.text, complaint))
        return reply, value, complaint

    try:
        first_reply, value, complaint = await send(prompt)
        reply = first_reply
        if first_reply.filtered:
            return JudgeAnswer(None, FILTERED_MESSAGE, replied=False)
        if value is None and repair:
            reply, value, complaint = await send(prompt.repaired(first_reply.text, complaint))
    except (JudgeUnavailable, PromptRejected) as error:
        return JudgeAnswer(None, error.text, replied=False)
    if salvage_model is None and issubclass(prompt.reply, KeyedReply):
        salvage_model = prompt.reply
    if value is None and salvage_model:
        salvage_prompt = replace(prompt, reply=salvage_model, fields={**prompt.fields, SALVAGE: True})
        value, _ = parse_reply(reply, salvage_prompt)
        if value is None:
            reply = first_reply
            value, _ = parse_reply(first_reply, salvage_prompt)
    if value is None:
        after_repair = ", also after one repair" if repair else ""
        return JudgeAnswer(None, f"unusable reply{after_repair}: {complaint}", reply=reply)
    if isinstance(value, KeyedReply) and value.read_by != "id" and isinstance(judge, JudgeWrapper) and judge.ledger:
        judge.ledger.by_name_or_order += 1
    return JudgeAnswer(value, reply=reply)


@contextmanager
def unusable_replies() -> Iterator[list[UnusableReply]]:
    """Yield a list to which `ask` adds unusable replies while the block runs, also in tasks that the block starts."""
    replies = list[UnusableReply]()
    outer = _UNUSABLE_REPLIES.set(replies)
    try:
        yield replies
    finally:
        _UNUSABLE_REPLIES.reset(outer)


@dataclass(eq=False, repr=False)
class Metered(JudgeWrapper):
    """A judge whose replies are counted in `counts`, including replies from a wrapped cache.

    A prompt counts as failed if it gets no reply or a filtered one, or if the reply to its repair is unusable.
    """

    counts: Ledger

    def __post_init__(self) -> None:
        self.ledger = self.counts

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        if prompt.repair is not None:
            self.counts.repaired += 1
        try:
            reply = await self.judge.reply(prompt)
        except (JudgeUnavailable, PromptRejected):
            self.counts.failed += 1
            raise
        self.counts.model_versions.add(reply.model)
        if reply.cached:
            self.counts.cached += 1
        else:
            self.counts.calls += 1
            self.counts.usage += reply.usage
        self.counts.stages[prompt.name] += 1
        self.counts.stage_tokens[prompt.name] += reply.usage.prompt_tokens + reply.usage.completion_tokens
        if reply.filtered or (prompt.repair is not None and parse_reply(reply, prompt)[0] is None):
            self.counts.failed += 1
        return reply


def count_text(judge: Judge, outcome: TextOutcome) -> None:
    if isinstance(judge, JudgeWrapper) and judge.ledger:
        judge.ledger.texts[outcome] += 1


class RedactingJudge(JudgeWrapper):
    """A judge for the users of a service: a provider's messages about failed requests are logged, not shown to them."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        try:
            return await self.judge.reply(prompt)
        except ReplyTooLarge:  # its message is not the provider's
            raise
        except (PromptRejected, JudgeUnavailable) as error:
            _log.warning("%s: %s", self.name, error)
            if isinstance(error, PromptRejected):
                raise PromptRejected("the judge cannot answer about this text") from error
            raise JudgeUnavailable("the judge gave no reply") from error
