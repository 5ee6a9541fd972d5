"""The digest of a request and the JSON form of a reply, shared by cache and recordings."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from rubriclab.judges.judge import Reply, Token
from rubriclab.models.base import cached_by_size, digest
from rubriclab.prompts.prompt import Prompt
from rubriclab.prompts.render import Message, Turn, render_turns

# Characters of rendered prompts: enough for those in flight, of up to four bytes each. A longer one is rendered again.
RENDERED = 2**23


class _PromptKey:
    """A prompt as a key, compared by identity since prompts hold dictionaries, which have no hash."""

    __slots__ = ("prompt",)

    def __init__(self, prompt: Prompt[Any]) -> None:
        self.prompt = prompt

    def __hash__(self) -> int:
        return id(self.prompt)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PromptKey) and self.prompt is other.prompt


def messages_of(prompt: Prompt[Any]) -> tuple[Message, ...]:
    """Return the rendered prompt."""
    return tuple(turn.message for turn in turns_of(prompt))


def turns_of(prompt: Prompt[Any]) -> tuple[Turn, ...]:
    """Return the rendered prompt, divided into what many texts share and the rest.

    Every judge of a stack gets the same turns, rendered once unless they are long.
    """
    return _rendered(_PromptKey(prompt))


def request_digest(identity: Mapping[str, Any], prompt: Prompt[Any]) -> str:
    """Return the digest of all that the reply depends on: the judge's identity and the canonical request."""
    reply: type[BaseModel] = prompt.reply
    return digest(
        {
            "identity": identity,
            "messages": messages_of(prompt),
            "schema": _schema_digest(reply),
            "temperature": prompt.temperature,
            "max_tokens": prompt.max_tokens,
            "sample": prompt.sample,
            "alternatives": prompt.alternatives,
        }
    )


def written(reply: Reply) -> dict[str, Any]:
    """Return `reply` in JSON types, without `cached`."""
    usage = reply.usage
    return {
        "text": reply.text,
        "model": reply.model,
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost_usd": usage.cost_usd,
            **({"cached_tokens": usage.cached_tokens} if usage.cached_tokens else {}),
            **({"saved_usd": usage.saved_usd} if usage.saved_usd else {}),
        },
        "truncated": reply.truncated,
        **({"filtered": True} if reply.filtered else {}),
        **({"fault": reply.fault} if reply.fault else {}),
        **({"tokens": [_token(token) for token in reply.tokens]} if reply.tokens else {}),
    }


def read_back(answer: Any) -> Reply:
    """Return the reply that `written` wrote, marked as cached.

    Raises:
        pydantic.ValidationError: a ValueError, if `answer` is not such a reply.
    """
    return _reply().validate_python({**answer, "cached": True} if isinstance(answer, Mapping) else answer)


def _token(token: Token) -> dict[str, Any]:
    return {"text": token.text, "alternatives": [list(alternative) for alternative in token.alternatives]}


def _characters(_arguments: tuple[Any, ...], turns: tuple[Turn, ...]) -> int:
    return sum(len(part) for turn in turns for part in turn.parts)


@cached_by_size(RENDERED, _characters)
def _rendered(key: _PromptKey) -> tuple[Turn, ...]:
    return tuple(render_turns(key.prompt))


@functools.lru_cache(maxsize=128)
def _schema_digest(reply: type[BaseModel]) -> str:
    return digest(reply.model_json_schema())


@functools.cache
def _reply() -> TypeAdapter[Reply]:
    return TypeAdapter(Reply)
