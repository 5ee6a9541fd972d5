"""The raw replies that could not be used, for whoever wants to see them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_COLLECTED: ContextVar[list[UnusableReply] | None] = ContextVar("collected", default=None)


@dataclass(frozen=True, slots=True)
class UnusableReply:
    """A raw reply that could not be used, also one whose repair could.

    Attributes:
        prompt: the name of the prompt.
        text: the raw reply.
        fault: why it could not be used.
    """

    prompt: str
    text: str
    fault: str


@contextmanager
def unusable_replies() -> Iterator[list[UnusableReply]]:
    """Yield a list of the replies that cannot be used in this context and in the tasks that it creates."""
    replies = list[UnusableReply]()
    outer = _COLLECTED.set(replies)
    try:
        yield replies
    finally:
        _COLLECTED.reset(outer)


def collect_unusable(prompt: str, text: str, fault: str) -> None:
    """Add a reply to the list of this context, if there is one."""
    if (replies := _COLLECTED.get()) is not None:
        replies.append(UnusableReply(prompt, text, fault))
