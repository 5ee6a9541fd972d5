"""Aspects that ship, aspects that users define, and the words of a task."""

import re

import pytest

from rubriclab.errors import UserError
from rubriclab.models.text import Aspect, find_aspect, task_words

PUBLISHED_ASPECTS = {
    "SummEval": ("summarization", ["coherence", "consistency", "fluency", "relevance"]),
    "NewsRoom": ("summarization", ["coherence", "fluency", "informativeness", "relevance"]),
    "QAGS": ("summarization", ["consistency"]),
    "QAGS as answers to check": ("factuality", ["consistency"]),
    "QQP and PAWS": ("paraphrase", ["equivalence"]),
    "HANNA": ("story", ["relevance", "coherence", "empathy", "surprise", "engagement", "complexity"]),
    "WritingPrompts-A": ("story", ["grammaticality", "cohesiveness", "likability", "relevance"]),
    "Topical-Chat": (
        "dialogue",
        ["understandability", "naturalness", "coherence", "engagingness", "groundedness", "overall"],
    ),
}
SHIPPED = sorted({(task, name) for task, names in PUBLISHED_ASPECTS.values() for name in names})


@pytest.mark.parametrize(("task", "name"), SHIPPED)
def test_every_published_aspect_ships_with_a_definition_of_one_or_two_sentences(task: str, name: str) -> None:
    aspect = find_aspect(task, name)
    assert aspect.name == name
    assert 1 <= len(re.findall(r"[.!?](?:\s|$)", aspect.definition)) <= 2
    assert len(aspect.definition.split()) >= 10


def test_a_definition_of_the_users_own_wins_over_the_shipped_one() -> None:
    assert find_aspect("story", "empathy", " Mine. ") == Aspect(name="empathy", definition="Mine.")


def test_an_unknown_aspect_names_those_that_ship_and_the_option() -> None:
    with pytest.raises(UserError, match="consistency, fluency, informativeness") as caught:
        find_aspect("summarization", "clarity")
    assert caught.value.hint is not None
    assert "definition='TEXT'" in str(caught.value)


def test_an_unknown_task_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="dialogue, factuality, paraphrase, story, summarization"):
        find_aspect("recipe", "clarity")


@pytest.mark.parametrize(("name", "definition"), [("clarity", "  "), (" ", "Is it clear?")])
def test_blank_names_and_definitions_are_refused(name: str, definition: str) -> None:
    with pytest.raises(UserError, match="needs a name and a definition"):
        find_aspect("story", name, definition)


@pytest.mark.parametrize(
    ("task", "source", "context", "output"),
    [
        ("summarization", "source text", "context", "summary"),
        ("story", "prompt", "context", "story"),
        ("dialogue", "dialogue so far", "background facts", "response"),
        ("recipe", "source", "context", "text"),
    ],
)
def test_each_task_has_words_for_its_fields(task: str, source: str, context: str, output: str) -> None:
    words = task_words(task)
    assert (words.task, words.source, words.context, words.output) == (task, source, context, output)
