"""One question that the tests of the judges ask, and what they need around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from pydantic import BaseModel, ValidationInfo, model_validator

from rubriclab.judges.replies import Reply, Usage
from rubriclab.prompts.prompt import Prompt


class Rating(BaseModel):
    """A rating from 1 to 5, or up to `fields["high"]`."""

    reasoning: str
    score: float

    @model_validator(mode="after")
    def _on_the_scale(self, info: ValidationInfo) -> Self:
        high = (info.context or {}).get("high", 5)
        if not 1 <= self.score <= high:
            raise ValueError(f"{self.score:g} is not between 1 and {high}")
        return self


def rate(text: str = "A text.", **settings: Any) -> Prompt[Rating]:
    return Prompt("questions/rate", {"output": text}, Rating, **settings)


GOOD = '{"reasoning": "fine", "score": 4}'


async def good(_prompt: object) -> str:
    return GOOD


class ScriptedJudge:
    """Answers with `script(prompt)`, awaited; errors are raised. `asked` counts."""

    name = "scripted"

    def __init__(self, script: Callable[[Prompt[Any]], Any], identity: str = "scripted") -> None:
        self._script = script
        self.identity = {"model": identity}
        self.prompts = 0

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        self.prompts += 1
        answer = await self._script(prompt)
        return answer if isinstance(answer, Reply) else Reply(answer, "scripted-1", Usage(10, 5, 0.01))


class Clock:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
