"""Prompts with a span each: how long the answer took, with all attempts, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.prompts import Prompt


class Tracer(Protocol):
    """Makes spans. An error that leaves a block is the outcome of its span."""

    def request(
        self, provider: str, model: str, prompt: Prompt[Any], /, *, batch: bool
    ) -> AbstractContextManager[Callable[[Reply], None]]:
        """Return a block in which a prompt is answered, which takes the reply."""
        ...

    def retried(self, number: int, /) -> None:
        """Note on the span of the prompt how many further attempts there have been."""
        ...

    def texts(self, ids: Sequence[str], /) -> AbstractContextManager[Callable[[str], None]]:
        """Return a block in which texts are scored, which takes what became of them."""
        ...


class Traced(JudgeWrapper):
    """A judge with a span for each prompt.

    Args:
        provider: as litellm names it, or the name of a plug-in.
        batch: whether prompts are sent in batches.
    """

    def __init__(self, judge: Judge, tracer: Tracer, provider: str, *, batch: bool) -> None:
        super().__init__(judge)
        self._tracer = tracer
        self._provider = provider
        self._batch = batch

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply."""
        with self._tracer.request(self._provider, self.name, prompt, batch=self._batch) as answered:
            reply = await self.judge.reply(prompt)
            answered(reply)
            return reply
