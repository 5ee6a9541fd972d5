"""A judge for tests, which gives scripted replies and records the prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rubriclab.judges.judge import Reply, Usage
from rubriclab.prompts import Prompt, render

Script = Callable[[Prompt[Any]], "str | Mapping[str, Any] | Reply"]


class FakeJudge:
    """Replies to every prompt with `script(prompt)`: a text, a mapping (as JSON) or a `Reply`; errors are raised.

    Prompts are rendered as for a real model, so that tests find faulty templates.

    Attributes:
        prompts: the prompts received, in order.
    """

    name = "fake"
    identity: Mapping[str, Any] = {"model": "fake"}

    def __init__(self, script: Script) -> None:
        self._script = script
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the scripted reply."""
        messages = render(prompt)
        self.prompts.append(prompt)
        answer = self._script(prompt)
        if isinstance(answer, Reply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(text, self.name, Usage(sum(len(m["content"]) for m in messages) // 4, len(text) // 4))
