"""A brain of the local server that cites raters' reasons; another brain gives the rest of each answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

Brain = Callable[[list[dict[str, str]], dict[str, Any]], str]

_REASON = re.compile(r"Reason \d+[^\n]*:\n<<<(reason \d+ [0-9a-f]{16})>>>\n.*?\n<<<end of \1>>>\n?", re.DOTALL)


def citing(brain: Brain, numbers: Sequence[Any]) -> Brain:
    """Return `brain` with `numbers` cited in every reply that may cite reasons; it is not shown the reasons."""

    def reply(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        question, _, form = messages[-1]["content"].rpartition("\n")
        schema = json.loads(form) if form.startswith("{") else {}
        forms = [schema, *schema.get("$defs", {}).values()]
        cites = [each for each in forms if "reasons" in each.get("properties", {})]
        for each in cites:
            del each["properties"]["reasons"]
        told = f"{_REASON.sub('', question)}\n{json.dumps(schema) if schema else form}"
        answer = json.loads(brain([*messages[:-1], {**messages[-1], "content": told}], body))
        for entry in [*answer.get("hypotheses", ()), *answer.get("questions", ()), answer] if cites else ():
            if entry is not answer or "explanation" in answer:
                entry["reasons"] = [*numbers]
        return json.dumps(answer)

    return reply
