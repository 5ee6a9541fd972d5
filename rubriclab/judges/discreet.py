"""A judge whose failures do not quote the provider: its words may name addresses, accounts and organizations."""

from __future__ import annotations

import logging
from typing import Any

from rubriclab.errors import JudgeUnavailable, PromptRejected, ReplyTooLarge
from rubriclab.judges.judge import JudgeWrapper, Reply
from rubriclab.prompts import Prompt

NO_REPLY = "the judge gave no reply"
REJECTED = "the judge cannot answer about this text"

_log = logging.getLogger(__name__)


class Discreet(JudgeWrapper):
    """A judge for callers who do not run it: what the provider says of a failed request goes to the log only."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply.

        Raises:
            JudgeUnavailable, PromptRejected: as the judge does, in words of ours.
        """
        try:
            return await self.judge.reply(prompt)
        except ReplyTooLarge:
            raise
        except PromptRejected as error:
            _log.warning("%s: %s", self.name, error)
            raise PromptRejected(REJECTED) from error
        except JudgeUnavailable as error:
            _log.warning("%s: %s", self.name, error)
            raise JudgeUnavailable(NO_REPLY) from error
