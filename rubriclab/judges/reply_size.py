"""Limits on the size of a reply, before and after it is received."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from rubriclab.errors import JudgeError, ReplyTooLarge
from rubriclab.prompts.prompt import Prompt

DEFAULT_BYTES = 1_000_000
# Text has about four bytes per token; JSON escapes take at most six bytes for one, and twelve for four.
BYTES_PER_TOKEN = 16
# One alternative at one position: the token, its log-probability, and its bytes as a list of numbers.
BYTES_PER_ALTERNATIVE = 160
# The rest of a response: names, counts, annotations.
FRAME_BYTES = 64_000


@dataclass
class Reception:
    """The response to one prompt while it is received.

    Attributes:
        model: the model's name, for messages.
        limit: bytes of the decompressed response body.
        fault: why reception was stopped.
        may_be_billed: whether the provider may bill the request; `None` while that is unknown.
    """

    model: str
    limit: int = DEFAULT_BYTES
    fault: JudgeError | None = None
    may_be_billed: bool | None = None

    def too_large(self) -> ReplyTooLarge:
        """Return the error for a response beyond the limit, and record it as the fault."""
        self.fault = ReplyTooLarge(f"{self.model}: unusable reply: it is larger than {self.limit:,} bytes.")
        return self.fault


# Set for each request; it reaches the transport through litellm and the provider's client.
RECEPTION: ContextVar[Reception | None] = ContextVar("reception", default=None)


def text_limit(prompt: Prompt[Any], spare_tokens: int, most: int) -> int:
    """Return the largest allowed size of the reply's text in bytes, given its tokens and the overall limit `most`."""
    return min(most, BYTES_PER_TOKEN * (prompt.max_tokens + spare_tokens))


def body_limit(prompt: Prompt[Any], spare_tokens: int, most: int) -> int:
    """Return the largest allowed size of the response in bytes, with log-probabilities if they were requested."""
    tokens = prompt.max_tokens + spare_tokens
    reported = tokens * (prompt.alternatives + 1) * BYTES_PER_ALTERNATIVE if prompt.alternatives else 0
    return min(most, FRAME_BYTES + BYTES_PER_TOKEN * tokens) + reported
