"""What is read into the body of a successful response before litellm sees it, and of litellm's response after it.

litellm fails at values of other types than it expects.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rubriclab.judges.judge import Token
from rubriclab.judges.masking import without_keys

LONGEST_NAME = 200
LONGEST_REFUSAL = 200
# More tokens than a reply can have.
MOST_TOKENS = 100_000_000

_COUNTS = ("tokens", "Tokens", "TokenCount")


def stated_status(body: Any) -> int | None:
    """Return the HTTP status of the error that a body with the status 200 states; `None` if it states none.

    OpenRouter and other gateways pass on a provider's error in this way, with its status, a word or nothing as `code`.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping) and not error.get("message") and error.get("code") is None:
        return None  # some servers send an empty error with every reply
    if not error:
        return None
    stated = error if isinstance(error, Mapping) else {}
    status = _number(stated.get("code"))
    if status is not None and 400 <= status < 600:
        return status
    return 400 if stated.get("type") == "invalid_request_error" else 502


def readable(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body that litellm reads as it is meant.

    Numbers of tokens in `usage` are whole, and 0 if they are unusable; a text in parts is one text; and the reason for
    which a filter of content ended the reply is `content_filter`.
    """
    usage, choices = body.get("usage"), body.get("choices")
    changed = dict(body) if usage is None else {**body, "usage": _usable(usage)}
    if isinstance(choices, list):
        changed["choices"] = [_choice(choice) if isinstance(choice, Mapping) else choice for choice in choices]
    return changed


def _choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    changed = dict(choice)
    if str(choice.get("finish_reason")).casefold().startswith(("content_filter", "safety")):
        changed["finish_reason"] = "content_filter"
    message = choice.get("message")
    if isinstance(message, Mapping) and isinstance(parts := message.get("content"), list):
        texts = (part.get("text") for part in parts if isinstance(part, Mapping))
        changed["message"] = {**message, "content": "".join(text for text in texts if isinstance(text, str))}
    return changed


def _usable(usage: Any) -> dict[str, Any]:
    if not isinstance(usage, Mapping):
        return {}
    return {name: _value(name, value) for name, value in usage.items()}


def _value(name: str, value: Any) -> Any:
    if name.endswith(_COUNTS):
        number = _number(value)
        return number if number is not None and 0 <= number <= MOST_TOKENS else 0
    return _usable(value) if isinstance(value, Mapping) else value


def _number(value: Any) -> int | None:
    """Return a number, or a text that is one, rounded up; `None` for anything else."""
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        return math.ceil(float(value))
    except (ValueError, OverflowError):  # no number, infinite, or longer than any number of tokens
        return None


def why_empty(choice: Any) -> str:
    """Return why a choice has no text, if it says so; the choice is `None` if a response has none."""
    if choice is None:
        return "the response held no reply."
    message = choice.message
    more = {**(getattr(choice, "provider_specific_fields", None) or {}), **(message.provider_specific_fields or {})}
    if refusal := more.get("refusal"):
        return f"the model refused: {clean(str(refusal)[:LONGEST_REFUSAL].rstrip('.'))!r}."
    if choice.finish_reason == "length":
        return "hidden reasoning reached the limit on tokens before the reply began."
    if message.tool_calls or getattr(message, "function_call", None):
        return "the answer was in a call of a tool instead of the text."
    if getattr(message, "reasoning_content", None) or more.get("reasoning"):
        return "there was hidden reasoning, and no text after it."
    return "the provider reported an error instead of a reply." if more.get("native_finish_reason") == "error" else ""


def tokens_without_keys(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the tokens, or none if an alternative contains a key that the server has echoed."""
    texts = (text for token in tokens for text, _ in token.alternatives)
    return () if any(without_keys(text) != text for text in texts) else tokens


def token_count(reported: Any) -> int:
    """Return the reported number of tokens; 0 (unknown) for an impossible one."""
    return reported if type(reported) is int and 0 <= reported <= MOST_TOKENS else 0


def reported_name(reported: Any) -> str | None:
    """Return the model's name as the provider reports it, if it is valid."""
    is_name = isinstance(reported, str) and len(reported) <= LONGEST_NAME and reported.isprintable()
    return reported if is_name else None


def clean(text: str) -> str:
    """Return `text` with lone surrogates replaced, which no provider, file or database accepts."""
    return text.encode("utf-8", "replace").decode("utf-8")
