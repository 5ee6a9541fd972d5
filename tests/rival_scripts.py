"""What the tests of texts rated together share: groups of texts, and replies about several texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hypoeval_scripts import example
from single_call_scripts import sound

from rubriclab.judges.judge import FakeJudge
from rubriclab.models.text import Example
from rubriclab.prompts.prompt import Prompt

Entries = dict[str, dict[str, Any]]


def rivals(count: int, group: str = "g0", start: int = 0) -> list[Example]:
    """Return texts of one group."""
    return [example(start + number, 3, group, source=f"The source of {group}.") for number in range(count)]


def about_each(prompt: Prompt[Any], score: Callable[[str], float] | None = None) -> Entries:
    """Return a sound entry for each text; the scores are those of `score` for the text, or else drawn."""
    entries = {}
    for text in prompt.fields["texts"]:
        alone = replace(prompt, fields={**prompt.fields, "output": text["output"]})
        entry = entries[f"text {text['number']}"] = sound(alone)
        for item in entry.values() if score else ():
            if "score" in item and score:
                item["score"] = score(text["output"])
    return entries


def number_in(output: str) -> int:
    """Return the number that tells a text apart."""
    return int(output.rstrip(".").rsplit(" ", 1)[1])


def one_to_five(output: str) -> float:
    """Return a score that depends on the text alone."""
    return 1 + number_in(output) % 5


def judging(spoil: Callable[[Entries], Any] = lambda entries: entries) -> FakeJudge:
    """Return a judge that scores texts by their numbers; `spoil` changes the entries of every reply."""
    return FakeJudge(lambda prompt: spoil(about_each(prompt, one_to_five)))


def shown(prompt: Prompt[Any]) -> Sequence[str]:
    """Return the texts of a call in their order."""
    return [text["output"] for text in prompt.fields["texts"]]
