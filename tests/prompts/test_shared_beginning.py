"""Prompts about many texts begin alike, so that providers can cache their beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from test_render import FENCE, real  # noqa: F401

from rubriclab.prompts.prompt import Prompt
from rubriclab.prompts.render import render_turns

# Asked once for every text that is scored.
SCORING = (
    "analyze_rate/rate",
    "checkeval/answer",
    "dcr/convert",
    "dcr/evaluate",
    "direct/rate",
    "few_shot/rate",
    "geval/rate",
    "hypoeval/rate",
    "hypoeval/rate_together",
    "seal/facts",
    "seal/rate",
    "seal/split",
    "seal/support",
    "seal/verify",
    "seeval/rate",
    "single_call/judge",
)
OF_THE_TEXT = {"output", "text", "units", "sentences", "before", "label", "reasons"}
OF_THE_INPUT = {"source", "context", "reference", "facts"}
FORM = re.compile(r"^Answer with one JSON object .*:\n\{.*\}$", re.MULTILINE)
# Words around a text that depend on it: which part of it is shown, how many entries the reply has.
MOST_WORDS_WITH_A_TEXT = 100


def fields_of(prompt: Prompt[Any]) -> tuple[set[str], set[str]]:
    return ({"output", "sentences"}, {"reference"}) if prompt.name == "dcr/evaluate" else (OF_THE_TEXT, OF_THE_INPUT)


def reworded(value: Any) -> Any:
    if isinstance(value, str):
        return f"Other words: {value[::-1]}" if value else value
    if isinstance(value, list):
        return [reworded(each) for each in value]
    if isinstance(value, Mapping):
        return {key: reworded(each) if key in ("text", "first", "second") else each for key, each in value.items()}
    return value


def about_another(prompt: Prompt[Any], names: set[str]) -> Prompt[Any]:
    """Return the prompt about a text that differs in the fields `names`."""
    changed = {name: reworded(value) for name, value in prompt.fields.items() if name in names and name != "label"}
    if prompt.name in ("seal/facts", "dcr/convert"):
        entries = "sentences" if prompt.name == "seal/facts" else "reasons"
        changed[entries] = [*changed[entries], {**changed[entries][0], "id": 99, "text": "One more."}]
    return replace(prompt, fields={**prompt.fields, **changed})


def wording(value: Any) -> Iterator[str]:
    """Yield the texts in the criteria, questions and definitions that a prompt shows."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from wording(each)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key in ("statement", "text", "definition", "description", "trait", "levels", "questions"):
                yield from wording(each)


def told(prompt: Prompt[Any]) -> set[str]:
    """Return the wording of all that a prompt may tell of the rubric."""
    names = ("criteria", "questions", "sub_dimensions", "overall", "checks", "steps", "explanation", "demonstrations")
    return {text for name in (*names, "aspect", "scale") for text in wording(prompt.fields.get(name)) if text}


@pytest.mark.parametrize("name", SCORING)
def test_prompts_about_texts_of_two_groups_begin_with_the_whole_rubric_and_the_form_of_the_reply(real, name):  # noqa: F811
    """A form whose keys depend on the text comes after it."""
    for prompt in real[name]:
        text, given = fields_of(prompt)
        *before, question = render_turns(prompt)
        *before_other, other = render_turns(about_another(prompt, text | given))
        shared, rest = question.parts[0], "".join(question.parts[1:])
        assert (before, shared) == (before_other, other.parts[0])
        (form,) = FORM.findall(question.message["content"])
        assert form in (rest if getattr(prompt.reply, "form_after_text", False) else shared)
        assert not [each for each in told(prompt) if each in rest]
        outside = FENCE.sub("", rest)
        assert len(outside.replace(form, "").split()) <= MOST_WORDS_WITH_A_TEXT, outside
