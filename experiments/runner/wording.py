"""An instruction in other words: what a prompt calls the texts, the aspect and the scale, all else left as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import AfterValidator

from rubriclab import Assignment, Judge, Prompt, Reply
from rubriclab.research import FrozenModel, Words, show


def _with_both_ends(text: str) -> str:
    if not ("{low}" in text and "{high}" in text):
        raise ValueError("expected words with {low} and {high} in them")
    return text


class Wording(FrozenModel):
    """Other words for what is judged; what is absent stays as it is.

    Attributes:
        source, context, output: what the task's texts are called.
        aspect, definition: of what is judged.
        scale: the scale in words, with `{low}` and `{high}` for its ends; prompts put it after the word "from".
    """

    source: Words | None = None
    context: Words | None = None
    output: Words | None = None
    aspect: Words | None = None
    definition: Words | None = None
    scale: Annotated[Words, AfterValidator(_with_both_ends)] | None = None

    def of(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a prompt in this wording."""
        told: dict[str, Any] = dict(fields)
        _change(told, "words", {"source": self.source, "context": self.context, "output": self.output})
        _change(told, "aspect", {"name": self.aspect, "definition": self.definition})
        if self.scale and "scale" in told:
            # Not `format`: other braces in a user's words are words.
            low, high = (show(told["scale"][end]) for end in ("low", "high"))
            _change(told, "scale", {"text": self.scale.replace("{low}", low).replace("{high}", high)})
        return told


@dataclass(frozen=True)
class Reworded:
    """A judge that is asked everything in other words."""

    judge: Judge
    wording: Wording

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self.judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self.judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply to the prompt in the wording."""
        return await self.judge.reply(replace(prompt, fields=self.wording.of(prompt.fields)))


@dataclass(frozen=True, slots=True)
class ToldAs(Assignment):
    """An assignment of which every prompt speaks in a wording."""

    wording: Wording

    def fields(self) -> dict[str, Any]:
        """Return the fields that every prompt about this assignment carries."""
        return self.wording.of(Assignment.fields(self))


def told_as(assignment: Assignment, wording: Wording) -> ToldAs:
    """Return the assignment in the wording."""
    return ToldAs(assignment.words, assignment.aspect, assignment.scale, wording)


def _change(fields: dict[str, Any], name: str, others: Mapping[str, str | None]) -> None:
    """Put other words into a field, where it and they are there."""
    if name in fields:
        fields[name] = {**fields[name], **{key: value for key, value in others.items() if value is not None}}
