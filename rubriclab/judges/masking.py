"""Masking of keys and passwords in texts from outside, before they are shown or stored: servers may echo requests.

A key from the environment is recognized literally, percent-encoded and in base64, and in messages also by its first or
last characters. Other keys are recognized by their form or by the name of their field.
"""

from __future__ import annotations

import os
import re
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import unquote

MASK = "***"

# A shorter value is a placeholder, such as `none` for a server without keys; masking it would garble messages.
SHORTEST_KEY = 8
# Longer values are documents, such as the credentials of a service account, which are masked as a whole.
LONGEST_KEY = 1000
# Seconds after which the keys in the environment are read again.
OLDEST_KEYS = 1.0
# Number of first characters that identify a key whose rest is omitted or replaced by asterisks or dots.
HEAD = 4

_SECRET_VARIABLE = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?|ACCESS_KEY_ID)(?:_\d+)?$", re.IGNORECASE
)
# Names of parameters, headers and fields of secrets: unambiguous ones, and those that are also common words.
_COMPOUND_NAMES = (
    r"(?:x[-_])?(?:(?:api|access|auth|private|secret|account|shared|subscription)[-_ ]?key(?:[-_]id)?"
    r"|(?:access|auth|refresh|id|session|security|bearer|api)[-_]?token|client[-_]secret|authorization|password|passwd|pwd)"
)
_WORDS = r"(?:key|token|secret|credentials?|sig|signature)"
# As in `openai_api_key` and `X-Amz-Signature`.
_PREFIX = r"(?:[\w\-]{0,40}[_\-])?"
# In an address: behind `?`, `&`, `;` or `#`.
_PARAMETER = re.compile(rf"(?<=[?&;#]){_PREFIX}(?:{_COMPOUND_NAMES}|{_WORDS})=(?P<value>[^\s&;#\"'<>]+)", re.IGNORECASE)
_NAMED = (
    _PARAMETER,
    # In JSON, also within a string of JSON, or in a Python dictionary.
    re.compile(
        rf"[\"'](?:{_PREFIX}{_COMPOUND_NAMES}|{_WORDS})\\?[\"']\s{{0,9}}:\s{{0,9}}\\?[\"'](?P<value>[^\"'\\]+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![A-Za-z0-9]){_COMPOUND_NAMES}(?:=|:\s{{0,9}})[\"']?(?P<value>[^\s\"',;&<>]{{{SHORTEST_KEY},}}(?<!\.))",
        re.IGNORECASE,
    ),
    re.compile(r"\bBearer (?P<value>[^\s\"',;]+)|\bBasic (?P<basic>[A-Za-z0-9+/=]{8,})", re.IGNORECASE),
)
# Forms of keys: providers' prefixes, signed tokens, and keys of which a server shows the beginning and asterisks.
_FORMS = re.compile(
    r"\b(?:(?:sk|pk|rk)[-_]|(?:pplx|xai|nvapi|csk)-|(?:gsk|hf|ghp|r8|fw)_)[A-Za-z0-9_*\-]{8,}"
    r"|\bAIza[A-Za-z0-9_\-]{8,}|\bAKIA[A-Z0-9]{8,}"
    r"|\beyJ[A-Za-z0-9_\-]{5,}\.[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]*)?"
)
_STARRED = re.compile(r"(?<![\w\-])[\w\-]{2,100}\*{3,}[\w\-]*|(?<![\w\-*])\*{4,}[\w\-]+")
# User name and password, which end at the last "@" before the path; a password may contain a slash.
_USER = re.compile(r"(?<=://)(?:[^\s/?#]{0,1000}@|[^\s/?#:@]{0,100}:(?!\d{1,5}(?:[/?#]|$))\S{0,1000}@)")


def masked(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a message with all keys masked: keys from the environment, parts of them, and whatever looks like a key.

    Args:
        text: the message.
        environment: variables with keys; by default those of this process.
    """
    text = without_keys(text, environment)
    for key in _keys(environment):
        text = _part_of(key).sub(MASK, text)
    for pattern in _NAMED:
        text = pattern.sub(_value_masked, text)
    text = _STARRED.sub(MASK, _FORMS.sub(MASK, text))
    return _USER.sub(f"{MASK}@", text)


def without_keys(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return `text` with keys from the environment masked and nothing else, for replies, which must not change."""
    for key in _keys(environment):
        text = text.replace(key, MASK)
        if len(key) <= LONGEST_KEY:
            text = _encoded(key).sub(MASK, text)
    return text


def holds_secret(address: str) -> bool:
    """Return whether an address has a parameter that is named like a secret, or a part that looks like a key."""
    return any(
        _PARAMETER.search(form) or any(re.search(r"\d", match[0]) for match in _FORMS.finditer(form))
        for form in (address, unquote(address))
    )


class _OwnKeys:
    """The keys in the environment of this process.

    Every reply is searched for them, and Python decodes each variable whenever the environment is read. So it is read
    again only once its size or the value of a secret variable has changed, and at least once a second.
    """

    def __init__(self) -> None:
        self._state: tuple[int, dict[str, str], float] = (-1, {}, 0.0)
        self._keys: tuple[str, ...] = ()

    def __call__(self) -> tuple[str, ...]:
        size, secrets, until = self._state
        unchanged = size == len(os.environ) and all(os.environ.get(name) == secrets[name] for name in secrets)
        if not unchanged or time.monotonic() > until:
            secrets = _secrets(os.environ)
            self._keys = _ordered(secrets.values())
            self._state = len(os.environ), secrets, time.monotonic() + OLDEST_KEYS
        return self._keys


_own_keys = _OwnKeys()


def _keys(environment: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the keys in the environment, longest first, as one may contain another."""
    return _own_keys() if environment is None else _ordered(_secrets(environment).values())


def _secrets(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if _SECRET_VARIABLE.search(name)}


def _ordered(values: Iterable[str]) -> tuple[str, ...]:
    keys = {value.strip() for value in values}
    return tuple(sorted((key for key in keys if len(key) >= SHORTEST_KEY), key=lambda key: (-len(key), key)))


@lru_cache(maxsize=64)
def _encoded(key: str) -> re.Pattern[str]:
    """Return a pattern for the key percent-encoded, wholly or partly, escaped for JSON, and in base64."""
    characters = "".join(_encoded_character(character) for character in key)
    base64 = "|".join(rf"[A-Za-z0-9+/_\-]{{0,3}}{core}[A-Za-z0-9+/_\-]{{0,3}}={{0,2}}" for core in _in_base64(key))
    return re.compile(f"{characters}|{base64}")


def _encoded_character(character: str) -> str:
    percent = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
    return rf"(?:\\?{re.escape(character)}|(?i:{percent}|\\u{ord(character):04x}))"


def _in_base64(key: str) -> Iterator[str]:
    """Yield the common part of the key's base64 forms, for each number of preceding bytes modulo 3."""
    content = key.encode("utf-8", "surrogateescape")
    for before in range(3):
        # Characters that also encode neighbouring bytes are left out.
        encoded = b64encode(b"\0" * before + content).decode().rstrip("=")
        core = encoded[(0, 2, 3)[before] : (before + len(content)) * 8 // 6]
        yield "".join({"+": r"[+\-]", "/": "[/_]"}.get(character, character) for character in core)


@lru_cache(maxsize=64)
def _part_of(key: str) -> re.Pattern[str]:
    """Return a pattern for the start or end of a key: a long part, or a short one with the rest replaced."""
    hidden = r"(?:(?<!\*)\*{2,}+|(?<!\.)\.{2,}+|…|(?<!•)•{2,}+|(?<![xX])[xX]{4,}+)"
    rest = r"[\w\-]{0,100}"
    parts = [rf"{re.escape(key[:HEAD])}{rest}{hidden}[\w\-*.…•]*", rf"{hidden}{rest}{re.escape(key[-HEAD:])}"]
    # Half a key of sixteen characters is no common word.
    if len(key) >= 2 * SHORTEST_KEY and re.fullmatch(r"[\w\-]+", key[:SHORTEST_KEY] + key[-SHORTEST_KEY:]):
        parts += [rf"{re.escape(key[:SHORTEST_KEY])}[\w\-*.…•]*", rf"{rest}{re.escape(key[-SHORTEST_KEY:])}"]
    return re.compile("|".join(parts))


def _value_masked(match: re.Match[str]) -> str:
    value = next(part for part in match.groups() if part is not None)
    return match[0][: len(match[0]) - len(value)] + MASK
