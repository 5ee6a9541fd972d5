"""What a server has refused of the settings of requests, learned from its messages.

Providers refuse a request for one setting at a time, in words of their own; what is refused once is changed for all
requests that follow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from rubriclab.judges.provider_errors import is_bad_request, is_too_long, refuses_logprobs, searched_message

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")

# What a message may call a setting besides its own name.
_ALIASES = {
    "response_format": r"response_?format|json_?schema|output_?format|structured output|guided_?(?:json|decoding)",
    "logprobs": r"log[_ ]?prob",
    "cache_control": r"cache[_ ]?(control|point)|prompt caching",
}
_NO_SYSTEM = re.compile(
    r"(?:system|developer)\W{0,3}(?: (?:role|message|prompt|instruction)s?)?\b.{0,40}?"
    r"(?:not |n't |un)(?:supported|allowed|enabled)"
    r"|(?:not|n't) support.{0,40}?\bsystem\b|roles must alternate|unexpected role\W{1,3}system"
    r"|only user and assistant|role\b.{0,20}?should be 'user' or 'assistant'",
    re.IGNORECASE | re.DOTALL,
)
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
    """

    dropped: frozenset[str] = frozenset()
    limit_name: str = LIMIT_NAMES[0]
    highest_limit: float = math.inf
    has_no_room: bool = False
    without_system: bool = False

    def after(self, error: Exception, sent: Collection[str], limit: int | None, needed: int) -> MendedSettings | None:
        """Return the settings after a request was refused with `error`; `None` if none is the cause.

        Args:
            sent: the settings of the request.
            limit: the limit on the reply's tokens in it.
            needed: the limit without tokens for hidden reasoning.
        """
        message = searched_message(error)
        if not is_bad_request(error):
            named = "logprobs" if "logprobs" in sent and refuses_logprobs(error) else None
        elif is_too_long(error):
            has_spare = limit is not None and limit > needed and _names(message, self.limit_name)
            return replace(self, has_no_room=True) if has_spare and not self.has_no_room else None
        else:
            if self.limit_name in sent and _names(message, self.limit_name):
                return self._with_other_limit(message, limit)
            if not self.without_system and _NO_SYSTEM.search(message):
                return replace(self, without_system=True)
            named = next((name for name in sorted(sent) if _names(message, name)), None)
        return None if named is None else replace(self, dropped=self.dropped | {named})

    def _with_other_limit(self, message: str, limit: int | None) -> MendedSettings | None:
        other = next(name for name in LIMIT_NAMES if name != self.limit_name)
        if self.limit_name == LIMIT_NAMES[0] and _names(message, other):
            return replace(self, limit_name=other)
        lower = [number for number in map(int, _NUMBER.findall(message)) if limit is not None and 0 < number < limit]
        return replace(self, highest_limit=max(lower)) if lower else None


def _names(message: str, setting: str) -> bool:
    return re.search(_ALIASES.get(setting) or rf"\b{setting}\b", message, re.IGNORECASE) is not None
