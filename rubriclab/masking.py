"""Keys and passwords are masked before a text from outside is shown or kept: a server may echo what it was sent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

MASK = "***"

# A shorter value is a placeholder, such as `none` for a server that asks for no key; masking it would garble messages.
SHORTEST_KEY = 8

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?|ACCESS_KEY_ID)(?:_\d+)?$", re.IGNORECASE
)
# What keys look like, whoever's they are: by the prefixes that providers give them, in headers and in addresses.
_SHAPES = (
    re.compile(r"\b(?:sk|pk|rk|pplx|xai|gsk|hf|ghp|nvapi|r8|fw|csk)[-_][A-Za-z0-9_*\-]{8,}"),
    re.compile(r"\bAIza[A-Za-z0-9_\-]{8,}|\bAKIA[A-Z0-9]{8,}"),
    re.compile(r"(?<=\bBearer )[^\s\"',;]+|(?<=\bBasic )[A-Za-z0-9+/=]{8,}", re.IGNORECASE),
    re.compile(r"(?<=[?&]key=)[^\s&\"']+|(?<=[?&]api[_-]key=)[^\s&\"']+|(?<=[?&]token=)[^\s&\"']+", re.IGNORECASE),
    re.compile(r"(?<=://)[^\s/?#@]+(?=@)"),
)


def masked(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a message with everything masked that is a key in use or looks like one.

    Args:
        text: the message.
        environment: where keys are; by default this process's environment.
    """
    text = without_keys(text, environment)
    for shape in _SHAPES:
        text = shape.sub(MASK, text)
    return text


def without_keys(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return `text` with the keys in use masked, and nothing else: for replies, whose words must stay as they are."""
    for key in _keys(os.environ if environment is None else environment):
        text = text.replace(key, MASK)
    return text


def _keys(environment: Mapping[str, str]) -> list[str]:
    """Return the keys in the environment, longest first, as one may contain another."""
    found = {value.strip() for name, value in environment.items() if _SECRET_NAME.search(name)}
    return sorted((key for key in found if len(key) >= SHORTEST_KEY), key=lambda key: (-len(key), key))
