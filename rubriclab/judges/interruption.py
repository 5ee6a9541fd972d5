"""Replies to requests that were cancelled while they were in flight: what is paid for is kept."""

from __future__ import annotations

import asyncio
from typing import Any

from rubriclab.judges.judge import JudgeWrapper, Reply
from rubriclab.prompts import Prompt

# Seconds that a cancelled request waits for its reply.
GRACE = 2.0


class ReplyAfterCancellation(asyncio.CancelledError):
    """The request was cancelled, and its reply arrived soon after."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Interruptible(JudgeWrapper):
    """A judge whose requests, when they are cancelled, wait `GRACE` seconds for their replies."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply.

        Raises:
            ReplyAfterCancellation: instead of `CancelledError`, with a reply that arrived in time.
        """
        request = asyncio.ensure_future(self.judge.reply(prompt))
        try:
            return await asyncio.shield(request)
        except asyncio.CancelledError:
            try:
                await asyncio.wait([request], timeout=GRACE)
            finally:
                request.cancel()
            await asyncio.wait([request])
            if not request.cancelled() and request.exception() is None:
                raise ReplyAfterCancellation(request.result()) from None
            raise
