"""A second judge for studies of several: the offline judge's replies with some of the answers turned round.

Which answers, hangs on what is asked and on nothing else, so that a run can be repeated; `share` of them are others, so
that two judges of which one turns more agree less with the offline judge.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.runner.designs.design import Bench
from experiments.runner.run import run, schedule
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import Judge, Reply, request_digest
from rubriclab.judges.stack import Recording
from rubriclab.prompts.prompt import Prompt

TURNED: Mapping[str, str] = {"yes": "no", "no": "yes"}
# The scores in these replies are the levels of a scale, and mirrored ones would make them unusable.
WITH_LEVELS = ("hypoeval/propose", "hypoeval/refine")


class SecondJudge:
    """The offline judge, of another mind about a share of what it is asked."""

    def __init__(self, name: str = "second", share: float = 0.25) -> None:
        self.name = name
        self.identity: Mapping[str, Any] = {"model": name, "share": share}
        self._share = share
        self._first = EmbeddedJudge()

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the offline judge's reply, some of its yes and no exchanged, some of its scores mirrored."""
        reply = await self._first.reply(prompt)
        if prompt.name in WITH_LEVELS:
            return replace(reply, model=self.name)
        draw = random.Random(f"{self.name} {request_digest({}, prompt)}")
        answer = json.loads(reply.text)
        scale = prompt.fields.get("scale")
        turned = _walk(answer, lambda key, value: self._turned(key, value, scale, draw))
        if turned == answer:
            return replace(reply, model=self.name)
        return Reply(json.dumps(turned), self.name)

    def _turned(self, key: str, value: Any, scale: Mapping[str, Any] | None, draw: random.Random) -> Any:
        if draw.random() >= self._share:
            return value
        if key == "score" and scale and not isinstance(value, bool):
            return scale["low"] + scale["high"] - value
        return TURNED.get(value, value) if key == "answer" else value


def recorded_second(study: Study, sets: Sets, path: Path) -> str:
    """Return the name of a recording at `path` of another judge than the offline one, which stands after it there."""
    judges: tuple[Judge, ...] = (EmbeddedJudge(), Recording(SecondJudge(), path))
    found = schedule(study, sets, len(judges))
    empty = found.empty([judge.name for judge in judges], small=True)
    asyncio.run(run(found, Bench(study, sets, judges), empty, keep=lambda _: None))
    return f"recorded:{path}"


def _walk(value: Any, change: Callable[[str, Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: change(key, _walk(each, change)) for key, each in value.items()}
    return [_walk(each, change) for each in value] if isinstance(value, list) else value
