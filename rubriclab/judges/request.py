"""What cache and recording agree on: a request's digest, and how a reply is written down."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from rubriclab.digest import digest
from rubriclab.judges.judge import Reply, Token
from rubriclab.prompts import Message, Prompt, render

# Enough for the prompts that a command asks at once, few enough that long texts do not pile up in memory.
RENDERED = 1024


class _Same:
    """A prompt as a key of its own: prompts hold dictionaries, so they are told apart by which object they are."""

    __slots__ = ("prompt",)

    def __init__(self, prompt: Prompt[Any]) -> None:
        self.prompt = prompt

    def __hash__(self) -> int:
        return id(self.prompt)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.prompt is other.prompt


def messages_of(prompt: Prompt[Any]) -> tuple[Message, ...]:
    """Return the rendered prompt; every judge on its way down the stack gets the same messages, rendered once."""
    return _rendered(_Same(prompt))


def request_digest(identity: Mapping[str, Any], prompt: Prompt[Any]) -> str:
    """Return the digest of everything that the reply depends on: the judge's identity and the canonical request."""
    reply: type[BaseModel] = prompt.reply
    return digest(
        {
            "identity": identity,
            "messages": messages_of(prompt),
            "schema": _schema_digest(reply),
            "temperature": prompt.temperature,
            "max_tokens": prompt.max_tokens,
            "sample": prompt.sample,
            # Only where they are asked for, so that answers kept before there were alternatives are found again.
            **({"alternatives": prompt.alternatives} if prompt.alternatives else {}),
        }
    )


def written(reply: Reply) -> dict[str, Any]:
    """Return `reply` in JSON types, without the mark of where it came from."""
    usage = reply.usage
    return {
        "text": reply.text,
        "model": reply.model,
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost_usd": usage.cost_usd,
        },
        "truncated": reply.truncated,
        **({"tokens": [_token(token) for token in reply.tokens]} if reply.tokens else {}),
    }


def read_back(kept: Any) -> Reply:
    """Return the reply that `written` wrote, marked as kept earlier.

    Raises:
        pydantic.ValidationError: a ValueError, if `kept` is not such a reply.
    """
    return _reply().validate_python({**kept, "cached": True} if isinstance(kept, Mapping) else kept)


def _token(token: Token) -> dict[str, Any]:
    return {"text": token.text, "alternatives": [list(alternative) for alternative in token.alternatives]}


@functools.lru_cache(maxsize=RENDERED)
def _rendered(key: _Same) -> tuple[Message, ...]:
    return tuple(render(key.prompt))


@functools.lru_cache(maxsize=128)
def _schema_digest(reply: type[BaseModel]) -> str:
    return digest(reply.model_json_schema())


@functools.cache
def _reply() -> TypeAdapter[Reply]:
    return TypeAdapter(Reply)
