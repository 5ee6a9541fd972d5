"""What is read into the body of a successful response before litellm sees it, which fails at values of other types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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
    if str(choice.get("finish_reason")).startswith("content_filter"):
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
