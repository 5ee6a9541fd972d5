"""Topical-Chat with USR's ratings: responses of six speakers to 60 dialogues, each rated by three people.

Mehri & Eskenazi 2020, ACL, on
dialogues of Gopalakrishnan et al. 2019. One JSON list of dialogues: `context` (the turns so far, one a line), `fact`
(`_nofact` where there is none), `annotators`, and `responses`, each with `response`, `model` and a list
of ratings, in the annotators' order, for each of six questions. They are called here as in later papers (UniEval,
G-Eval): what asks whether a response maintains the context is coherence, whether it uses the fact is groundedness.

Dialogues are numbered as they stand in the file. The original next turn is the reference, and is itself rated.
"""

from __future__ import annotations

from collections.abc import Iterator

from experiments.datasets.records import Records, means, name_of, named, nested, optional_text, ratings, text
from rubriclab import Example
from rubriclab.data.fields import FieldError, Fields
from rubriclab.descriptions import describe

ORIGINAL = "Original Ground Truth"
QUESTIONS = {
    "understandability": "Understandable",
    "naturalness": "Natural",
    "coherence": "Maintains Context",
    "engagingness": "Engaging",
    "groundedness": "Uses Knowledge",
    "overall": "Overall",
}


def examples(records: Records) -> Iterator[Example]:
    """Yield the responses, grouped by dialogue."""
    for number, dialogue in enumerate(records):
        responses = [(name_of(each, "model"), each) for each in nested(dialogue, "responses")]
        reference = next((text(response, "response") for system, response in responses if system == ORIGINAL), None)
        for system, response in responses:
            annotations = {aspect: ratings(response, question) for aspect, question in QUESTIONS.items()}
            yield Example(
                id=f"tc{number:02d}::{system}",
                output=text(response, "response"),
                group=f"tc{number:02d}",
                source=text(dialogue, "context"),
                context=optional_text(dialogue, "fact"),
                reference=reference,
                system=system,
                scores=means(annotations),
                annotations=annotations,
                raters=named(_annotators(dialogue), annotations),
            )


def _annotators(dialogue: Fields) -> list[str | None]:
    names = dialogue.row.get("annotators", [])
    if not isinstance(names, list):
        raise FieldError("annotators", describe(names), "a list of names")
    return [dialogue.as_name("annotators", name) for name in names]
