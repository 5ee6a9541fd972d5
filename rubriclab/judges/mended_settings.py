"""What a server has refused of the settings of requests, learned from its messages.

Providers refuse a request for one setting at a time, in words of their own; what is refused once is changed for all
requests that follow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from rubriclab.judges.provider_errors import is_bad_request, is_too_long, searched_message

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")

# What messages call a setting besides its own name.
_ALIASES = {
    **dict.fromkeys(
        LIMIT_NAMES,
        r"max(?:imum)?[_ ]?(?:completion|output|new)?[_ ]?tokens|num_predict|completion tokens|in the completion",
    ),
    "response_format": (
        r"(?:response|output)[_ ]?(?:format|schema|config|mime)|json[_ ]?(?:schema|object|mode)|structured[_ ]output"
        r"|guided_?(?:json|decoding)|\bgrammar\b|\btool_choice\b"
    ),
    "seed": r"(?<![a-z])seed(?![a-z])",
    "logprobs": r"log[_ ]?prob",
    "cache_control": r"cache[_ ]?(control|point)|prompt caching",
}
_UNSUPPORTED = re.compile(
    r"not (?:supported|implemented|enabled|allowed|permitted)|unsupported|(?:not|n't) support|unrecogni[sz]ed|unknown"
    r"|extra[ _](?:inputs|forbidden)|failed to parse|validation errors? for",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"(?:system|developer)\W{0,3}(?: (?:role|message|prompt|instruction)s?)?\b.{0,40}?"
    r"(?:not |n't |un)(?:supported|allowed|enabled)"
    r"|(?:not|n't) support.{0,40}?\bsystem\b|system\W{1,3}is not (?:one of|a valid)|roles must alternate"
    r"|(?:unexpected|unknown|invalid|valid) (?:message )?role\b|only user\b.{0,40}?\broles?\b"
    r"|should be '?user'? or '?assistant'?",
    re.IGNORECASE | re.DOTALL,
)
# Keywords of a JSON schema.
_RANGES = re.compile(
    r"(?:schema|propert|keyword).{0,120}\b(?:minimum|maximum)\b|['\"](?:minimum|maximum)['\"]",
    re.IGNORECASE | re.DOTALL,
)
# The size of a prompt, which a limit on the reply's tokens alone does not depend on.
_PROMPT_SIZE = re.compile(r"\b(?:prompt|inputs?|messages)\b|context[ _-]?(?:length|size|limit)", re.IGNORECASE)
_STATUS = re.compile(r"\b(?:code|status)\W{1,4}\d{3}\b", re.IGNORECASE)
_EXCLUSIVE = re.compile(r"exclusive|(?:less|lower|smaller) than \W{0,2}\d", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.]*\w)")


@dataclass(frozen=True)
class MendedSettings:
    """The settings of requests as far as they differ from those that are sent first.

    Attributes:
        dropped: settings that are left out.
        limit_name: the setting for the limit on a reply's tokens.
        highest_limit: its highest value.
        has_no_room: whether the model's context has no room for hidden reasoning.
        without_system: whether the system's turn is part of the user's.
        without_ranges: whether the JSON schema of a reply has no limits of numbers.
    """

    dropped: frozenset[str] = frozenset()
    limit_name: str = LIMIT_NAMES[0]
    highest_limit: float = math.inf
    has_no_room: bool = False
    without_system: bool = False
    without_ranges: bool = False

    def after(self, error: Exception, sent: Collection[str], limit: int | None, needed: int) -> MendedSettings | None:
        """Return the settings after a request was refused with `error`; `None` if none is the cause.

        Args:
            sent: the settings of the request.
            limit: the limit on the reply's tokens in it.
            needed: the limit without tokens for hidden reasoning.
        """
        message = searched_message(error)
        if not (is_bad_request(error) or _UNSUPPORTED.search(message)):
            return None
        names_limit = self.limit_name in sent and _names(message, self.limit_name)
        if is_too_long(error) and not (names_limit and not _PROMPT_SIZE.search(message)):
            has_spare = names_limit and limit is not None and limit > needed
            return replace(self, has_no_room=True) if has_spare and not self.has_no_room else None
        if names_limit:
            return self._with_other_limit(message, limit)
        if not self.without_system and _NO_SYSTEM.search(message):
            return replace(self, without_system=True)
        if not self.without_ranges and _RANGES.search(message):
            return replace(self, without_ranges=True)
        named = next((name for name in sorted(sent) if _names(message, name)), None)
        return None if named is None else replace(self, dropped=self.dropped | {named})

    def _with_other_limit(self, message: str, limit: int | None) -> MendedSettings | None:
        """Return the settings with another name of the limit, unless the message says that it is too high."""
        numbers = map(int, _NUMBER.findall(_STATUS.sub("", message)))
        lower = [number for number in numbers if limit is not None and 1 < number < limit]
        is_named = self.limit_name == LIMIT_NAMES[0] and re.search(rf"\b{self.limit_name}\b", message)
        if is_named and (not lower or _UNSUPPORTED.search(message)):
            return replace(self, limit_name=LIMIT_NAMES[1])
        return replace(self, highest_limit=max(lower) - bool(_EXCLUSIVE.search(message))) if lower else None


def _names(message: str, setting: str) -> bool:
    return re.search(_ALIASES.get(setting) or rf"\b{setting}\b", message, re.IGNORECASE) is not None
