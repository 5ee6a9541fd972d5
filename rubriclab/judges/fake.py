"""A judge for tests: it answers what it is told to, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rubriclab.judges.judge import Reply, Usage
from rubriclab.prompts import Prompt, render

Script = Callable[[Prompt[Any]], "str | Mapping[str, Any] | Reply"]


class FakeJudge:
    """Answers every prompt with `script(prompt)`: a mapping becomes JSON, a text stands as it is, errors are raised.

    A `Reply` is returned as it is, with its tokens, usage and all.

    `prompts` holds the prompts in the order they came. Prompts are rendered as for a real model, so a template that
    fails is found by tests too.
    """

    name = "fake"
    identity: Mapping[str, Any] = {"model": "fake"}

    def __init__(self, script: Script) -> None:
        self._script = script
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return what the script says to `prompt`."""
        messages = render(prompt)
        self.prompts.append(prompt)
        answer = self._script(prompt)
        if isinstance(answer, Reply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(text, self.name, Usage(sum(len(m["content"]) for m in messages) // 4, len(text) // 4))
