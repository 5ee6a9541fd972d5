"""What is judged: aspects with their definitions, the words that a task uses for its texts, and the scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, TypeAdapter

from rubriclab.characters import is_blank
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.documents import content_path
from rubriclab.errors import UserError
from rubriclab.option_names import option
from rubriclab.sentences import Material


def _seen(text: str) -> str:
    if is_blank(text):
        raise ValueError("a text was expected, got only invisible characters")
    return text


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_seen)]


class Aspect(BaseModel):
    """A quality of a text, such as coherence, and its definition."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Words
    definition: Words


class _Words(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    source: Words
    context: Words
    output: Words
    about_output: str = ""
    about_context: str = ""
    without_context: str = ""


class TaskWords(_Words):
    """Names of an example's fields in a task: a summary of a source text, a story for a prompt.

    Attributes:
        about_output: what a judge has to know about every output, such as who says a response; may be empty. In this
            text and the next two, `{source}`, `{context}` and `{output}` are replaced by the words above.
        about_context: the purpose of the context.
        without_context: how to judge an output without context.
    """

    task: Words

    def called(self, what: Literal["output"] | Material) -> str:
        """Return the task's name for one of an example's texts."""
        return f"reference {self.output}" if what == "reference" else str(getattr(self, what))


@dataclass(frozen=True)
class Assignment:
    """The words of a task, the aspect and the scale."""

    words: TaskWords
    aspect: Aspect
    scale: Scale

    def fields(self) -> dict[str, Any]:
        """Return the fields of every prompt about this assignment."""
        return dict(self._fields)

    @cached_property
    def _fields(self) -> dict[str, Any]:
        scale = self.scale
        return {
            "words": self.words.model_dump(),
            "aspect": {"name": self.aspect.name, "definition": self.aspect.definition},
            "scale": {
                "text": scale.describe(),
                "low": scale.low,
                "high": scale.high,
                "whole": scale.whole,
                "between": scale.between,
                "anchors": list(scale.anchors()),
            },
        }

    def assessable_fields(self) -> dict[str, Any]:
        """Return the fields of a prompt in which the judge of a verdict may say that a text cannot be assessed."""
        fields = self.fields()
        if self.scale.names:
            text = f"{self.scale.describe()}; or n/a if nothing here lets you tell"
            fields["scale"] = {**fields["scale"], "text": text, "assessable": True}
        return fields

    @staticmethod
    def text_fields(example: Example) -> dict[str, Any]:
        """Return the fields of a text in prompts, without its labels."""
        return {"source": example.source, "context": example.context, "output": example.output}


class _ShippedTask(BaseModel):
    """A task in the shipped file."""

    model_config = ConfigDict(extra="forbid")

    words: _Words
    aspects: dict[Words, Words]


_NEUTRAL = _Words(source="source", context="context", output="text")


def find_aspect(task: str, name: str, definition: str | None = None) -> Aspect:
    """Return the aspect with the given `definition`, or else the task's aspect with the included definition.

    Raises:
        UserError: if there is no definition, or the given name or definition is blank.
    """
    if definition is not None:
        if is_blank(name) or is_blank(definition):
            raise UserError(
                f"An aspect needs a name and a definition; got {name!r} and {definition!r}.",
                "Define the aspect in a sentence or two.",
            )
        return Aspect(name=name, definition=definition)
    shipped = _tasks()[task].aspects if task in _tasks() else {}
    if name not in shipped:
        raise UserError(
            f"There is no included definition of {name!r} for the task {task!r}. {_defined(task)}",
            f"Write your own: {option('definition', 'TEXT')}.",
        )
    return Aspect(name=name, definition=shipped[name])


def is_defined(task: str | None, name: str) -> bool:
    """Return whether a definition of the aspect is included for the task, or without one for any task."""
    return any(name in words.aspects for each, words in _tasks().items() if task in (None, each))


def shipped_aspects(task: str) -> tuple[Aspect, ...]:
    """Return the included aspects of a task, in order; empty for an unknown task."""
    aspects = _tasks()[task].aspects if task in _tasks() else {}
    return tuple(Aspect(name=name, definition=words) for name, words in aspects.items())


def task_words(task: str) -> TaskWords:
    """Return the words for a task's fields; neutral ones for an unknown task."""
    words = _tasks()[task].words if task in _tasks() else _NEUTRAL
    return TaskWords(task=task, **words.model_dump())


def _defined(task: str) -> str:
    if task in _tasks():
        return f"Aspects with a definition: {', '.join(sorted(_tasks()[task].aspects))}."
    return f"Tasks with definitions: {', '.join(sorted(_tasks()))}."


@cache
def _tasks() -> dict[str, _ShippedTask]:
    raw = content_path("stores", "aspects.json").read_bytes()
    return TypeAdapter(dict[str, _ShippedTask]).validate_json(raw)
