"""The offline judge's answer to each kind of prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rubriclab.errors import JudgeRefused
from rubriclab.judges.embedded import proposing, rating
from rubriclab.judges.judge import Reply, Usage
from rubriclab.prompts import Prompt

ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "hypoeval/propose": proposing.propose,
    "hypoeval/refine": proposing.refine,
    "hypoeval/redundant": proposing.redundant,
    "hypoeval/rate": rating.rate,
    "hypoeval/rate_together": rating.rate_together,
}


class EmbeddedJudge:
    """Answers from measures of the text alone, at no cost; the same prompt always has the same reply."""

    name = "embedded"
    identity: Mapping[str, Any] = {"model": "embedded"}

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply as JSON text, in the form the prompt asks for.

        Raises:
            JudgeRefused: for a kind of prompt that it has no answer to.
        """
        if prompt.name not in ANSWERS:
            raise JudgeRefused(f"The offline judge cannot answer {prompt.name!r} prompts.", "Use a language model.")
        return Reply(json.dumps(ANSWERS[prompt.name](prompt.fields)), self.name, Usage())
