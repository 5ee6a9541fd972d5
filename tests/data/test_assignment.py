"""What every prompt is told about the assignment, and about one text."""

import json

import pytest

from rubriclab.models.text import (
    Assignment,
    Example,
    Scale,
    find_aspect,
    task_words,
)

SCALES = [Scale(low=1, high=5, whole=True), Scale(low=0, high=1, whole=False), Scale(low=1, high=3, whole=True)]


def given(scale: Scale) -> Assignment:
    return Assignment(task_words("story"), find_aspect("story", "surprise"), scale)


@pytest.mark.parametrize("scale", SCALES, ids=Scale.describe)
def test_fields_hold_task_aspect_and_scale_in_json_types(scale: Scale):
    fields = given(scale).fields()
    assert json.loads(json.dumps(fields)) == fields
    named = {"task": "story", "source": "prompt", "context": "context", "output": "story"}
    assert fields["words"] == {**named, "about_output": "", "about_context": "", "without_context": ""}
    assert fields["aspect"] == {"name": "surprise", "definition": find_aspect("story", "surprise").definition}
    assert fields["scale"] == {
        "text": scale.describe(),
        "low": scale.low,
        "high": scale.high,
        "whole": scale.whole,
        "between": not scale.whole,
        "anchors": list(scale.anchors()),
    }


def test_a_text_is_shown_without_anything_that_humans_or_others_said_of_it():
    example = Example(
        id="an id",
        output="A story.",
        group="a group",
        source="A prompt.",
        context="A context.",
        reference="A reference.",
        system="a system",
        scores={"surprise": 4},
        annotations={"surprise": (4.0,)},
    )
    assert Assignment.text_fields(example) == {"source": "A prompt.", "context": "A context.", "output": "A story."}
