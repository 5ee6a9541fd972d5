"""How large a reply may be, before it is received and after."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from rubriclab.errors import JudgeError, ReplyTooLarge
from rubriclab.prompts import Prompt

DEFAULT_BYTES = 1_000_000
# Text runs at about four bytes a token; escapes in JSON make six of one byte at worst, and twelve of four.
BYTES_PER_TOKEN = 16
# One alternative at one place: the token, its logarithm, and its bytes as a list of numbers.
BYTES_PER_ALTERNATIVE = 160
# What stands in a response beside the reply: names, counts, annotations.
FRAME_BYTES = 64_000


@dataclass
class Reception:
    """What is being received for one prompt.

    Attributes:
        model: who replies, as messages name it.
        limit: bytes of the response's body, unpacked.
        fault: why it was not received to its end.
    """

    model: str
    limit: int = DEFAULT_BYTES
    fault: JudgeError | None = None

    def too_large(self) -> ReplyTooLarge:
        """Return the error for a response beyond the limit, and note it as the fault."""
        self.fault = ReplyTooLarge(f"{self.model}: unusable reply: it is larger than {self.limit:,} bytes.")
        return self.fault


# Set around each request; it reaches the transport through litellm and the provider's client.
RECEPTION: ContextVar[Reception | None] = ContextVar("reception", default=None)


def text_limit(prompt: Prompt[Any], spare_tokens: int, most: int) -> int:
    """Return how many bytes the reply's text may have: what its tokens can take, and `most` at most."""
    return min(most, BYTES_PER_TOKEN * (prompt.max_tokens + spare_tokens))


def body_limit(prompt: Prompt[Any], spare_tokens: int, most: int) -> int:
    """Return how many bytes the response may have that carries the reply, with log-probabilities where asked for."""
    tokens = prompt.max_tokens + spare_tokens
    reported = tokens * (prompt.alternatives + 1) * BYTES_PER_ALTERNATIVE if prompt.alternatives else 0
    return min(most, FRAME_BYTES + BYTES_PER_TOKEN * tokens) + reported
