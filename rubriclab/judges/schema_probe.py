"""Whether a server heeds the JSON schema of a reply, found out by one request for each server and model.

litellm's list knows hosted models only. A server of one's own is asked for a tree by a schema that allows one odd word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from rubriclab.errors import JudgeUnavailable, PromptRejected
from rubriclab.judges.ask import read
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.judges.language_model import LanguageModel
from rubriclab.prompts.prompt import Prompt, UntoldReply


class OddWord(UntoldReply):
    """A word that is given only by a server that heeds the schema."""

    tree: Literal["quilvarroon"]


PROBE = Prompt("schema/probe", {}, OddWord, max_tokens=32)


class SchemaProbed(JudgeWrapper):
    """A judge that sends the probe before its first prompt, if it is unknown whether the model's server heeds schemas.

    Args:
        judge: answers all prompts but the probe.
        probed: answers the probe, in fewer attempts, as a failure may be the server's answer to the schema.

    Attributes:
        send: sends the probe, through the cache and the ledger; they stand around this judge.
    """

    def __init__(self, judge: Judge, probed: Judge, model: LanguageModel) -> None:
        super().__init__(judge)
        self._probed = probed
        self._model = model
        self._asking = asyncio.Lock()
        self.send: Callable[[Prompt[Any]], Awaitable[Reply]] = probed.reply

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply to `prompt`."""
        if prompt.reply is OddWord:
            return await self._probed.reply(prompt)
        if self._model.takes_schema is None:
            async with self._asking:
                if self._model.takes_schema is None:
                    self._model.takes_schema = await self._is_heeded()
        return await self.judge.reply(prompt)

    async def _is_heeded(self) -> bool:
        try:
            reply = await self.send(PROBE)
        except (JudgeUnavailable, PromptRejected):
            return False
        return read(reply, PROBE)[0] is not None
