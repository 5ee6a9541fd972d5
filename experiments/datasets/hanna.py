"""HANNA: stories for 96 writing prompts by people and ten systems, each rated by three crowd workers.

Chhun et al. 2022, COLING.
A CSV file with one row for each rating: `Story ID`, `Prompt`, `Human` (the story that a person wrote for the prompt),
`Story`, `Model`, six aspects from 1 to 5, and `Worker ID`; further columns are not read. Stories are numbered system by
system with the prompts in one order, so the remainder by 96 is the prompt's number.

The human story is the reference of all stories for its prompt, and is itself rated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from experiments.datasets.records import (
    Annotations,
    Records,
    lacking,
    means,
    name_of,
    named,
    optional_text,
    rating,
    text,
)
from rubriclab import Example
from rubriclab.data.fields import FieldError, Fields

ASPECTS = ("relevance", "coherence", "empathy", "surprise", "engagement", "complexity")
PROMPTS = 96


@dataclass(slots=True)
class _Story:
    prompt: str
    output: str
    reference: str | None
    system: str
    workers: list[str | None] = field(default_factory=list)
    given: dict[str, list[float]] = field(default_factory=lambda: {aspect: [] for aspect in ASPECTS})


def examples(records: Records) -> Iterator[Example]:
    """Yield the stories, grouped by prompt, in the order of the file."""
    stories, prompts = dict[int, _Story](), dict[int, str]()
    for row in records:
        number, prompt = _number(row), text(row, "Prompt")
        if prompts.setdefault(number % PROMPTS, prompt) != prompt:
            raise FieldError("Prompt", "another prompt than an earlier story of the same number modulo 96", "the same")
        output, system = text(row, "Story"), name_of(row, "Model")
        story = stories.setdefault(number, _Story(prompt, output, optional_text(row, "Human"), system))
        if (story.output, story.system) != (output, system):
            raise FieldError("Story ID", f"{number} for two stories", "one story for each number")
        story.workers.append(row.name("Worker ID"))
        for aspect in ASPECTS:
            story.given[aspect].append(rating(row, aspect.capitalize()))
    for number, story in stories.items():
        yield _example(number, story)


def _number(row: Fields) -> int:
    number = name_of(row, "Story ID")
    return int(number) if number.isascii() and number.isdecimal() else lacking(row, "Story ID", "a whole number")


def _example(number: int, story: _Story) -> Example:
    annotations: Annotations = {aspect: tuple(numbers) for aspect, numbers in story.given.items()}
    return Example(
        id=f"hanna-{number:04d}",
        output=story.output,
        group=f"P{number % PROMPTS:02d}",
        source=story.prompt,
        reference=story.reference,
        system=story.system,
        scores=means(annotations),
        annotations=annotations,
        raters=named(story.workers, annotations),
    )
