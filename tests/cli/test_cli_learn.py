"""`rubriclab learn`: what it prints, what it keeps, and what it refuses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

from commands import HELDOUT, LABELLED, LABELLED_ROWS as ROWS, Commands

TASK = ("--task", "summarization", "--aspect", "coherence", "--method", "hypoeval")
LEARN = ("learn", LABELLED, *TASK)


def rescored(score: Callable[[int], float | None]) -> list[dict[str, Any]]:
    """Return the sample with another coherence for the row of each number."""
    return [{**row, "scores": {"coherence": score(number)}} for number, row in enumerate(ROWS)]


def test_learning_again_unchanged_makes_no_new_version(own: Commands) -> None:
    again = (*LEARN, "--name", "news", "--scale", "1:5")
    first = own("log", "news", "--json").json["versions"]
    done = own(*again, "--set", "hypoeval.initial_examples=8")
    assert "news@2 is unchanged, so no new version was saved in store.db. Details: " in done.err
    assert "Saved in" not in done.err
    assert own("log", "news", "--json").json["versions"] == first


def test_an_aspect_of_ones_own_needs_a_definition_only(rubriclab: Commands) -> None:
    task = ("--task", "minutes", "--aspect", "fairness", "--map", "scores.fairness=scores.coherence")
    refused = rubriclab("learn", LABELLED, *task)
    assert (refused.code, refused.out) == (2, "")
    assert "Write your own: --definition TEXT." in refused.error
    done = rubriclab("learn", LABELLED, *task, "--definition", "How fairly each side is reported.", "--json")
    assert done.json["rubric"] == "minutes-fairness@1"
    assert "How fairly each side is reported." in rubriclab("show", "minutes-fairness").out


def test_labels_that_nothing_tracks_and_texts_of_one_group_only_are_warned_of(rubriclab: Commands) -> None:
    alike = {"output": "The same words.", "source": None, "group": "g"}
    same = [{**row, **alike} for row in rescored(lambda number: 1 + number % 2)]
    done = rubriclab("learn", rubriclab.write("rows.jsonl", same), *TASK, "--scale", "0:10", "--name", "one")
    assert "the scores use only 1 to 2 of the given scale 0 to 10." in rubriclab("show", "one").out
    assert "all 36 texts are in one group ('g'), which cannot be left out" in done.err
    assert done.code == 0
    assert "Spearman undefined on the 36 training texts" in done.out
    assert "None of the criteria tracks the labels, so scores by this rubric mean nothing." in done.out


def test_labels_that_contradict_the_judge_are_said_to_look_reversed(rubriclab: Commands) -> None:
    rows = rubriclab.write("rows.jsonl", rescored(lambda number: 6 - ROWS[number]["scores"]["coherence"]))
    done = rubriclab("learn", rows, "--task", "summarization", "--aspect", "coherence")
    said = "the judge gives texts with higher labels lower scores"
    assert re.search(rf"THE LABELS LOOK REVERSED  {said}\s+\(Pearson -0\.\d\d\)", done.out)
    assert re.search("THE LABELS LOOK REVERSED.* INCONCLUSIVE .*First learn again as said above", done.out, re.DOTALL)
    assert "more texts" not in done.out
    for command in ("list", f"evaluate {HELDOUT} --rubric summarization-coherence"):
        shown = rubriclab(*command.split()).out
        assert said in " ".join(shown.split())
        assert not re.search("Label (texts of|more|about)", shown)
    again = re.search(r"`rubriclab learn LABELLED (.*? --scale 1:5 --levels 5:1)", done.out)
    assert again
    turned = rubriclab("learn", rows, *shlex.split(again[1]), "--name", "turned")
    assert "REVERSED" not in turned.out
    counted = "The grades of the labels count as scores, 1 as 5, 5 as 1"
    assert counted in " ".join(rubriclab("show", "turned").out.split())
    assert counted in rubriclab("score", rows, "--rubric", "turned").err
