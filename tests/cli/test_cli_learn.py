"""`rubriclab learn`: what it prints, what it keeps, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from commands import LABELLED, Commands

from rubriclab import Lab
from rubriclab.cli.commands import _print_learned
from rubriclab.models.version import Effort
from rubriclab.ops.learn import LearnResult

TASK = ("--task", "summarization", "--aspect", "coherence", "--method", "hypoeval")
LEARN = ("learn", LABELLED, *TASK)
ROWS = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]


def rescored(score: Callable[[int], float | None]) -> list[dict[str, Any]]:
    """Return the sample with another coherence for the row of each number."""
    return [{**row, "scores": {"coherence": score(number)}} for number, row in enumerate(ROWS)]


def test_results_go_to_stdout_and_everything_else_to_stderr(rubriclab: Commands) -> None:
    done = rubriclab(*LEARN)
    assert done.code == 0
    title, *_ = done.out.splitlines()
    assert title == "summarization-coherence-hypoeval@1: 5 criteria"
    assert "NO COMPARISON MADE" in done.out
    assert "Spearman 0." in done.out
    assert "optimistic" in done.out
    scale, judge, effort, saved = done.err.splitlines()
    assert scale == "scale 1 to 5 taken from the labels; give the scale if the raters used another"
    assert judge.startswith("judge: embedded, as none is configured; it measures texts offline and is not a language")
    assert effort.startswith("Learning took ")
    hint = "rubriclab show summarization-coherence-hypoeval@1 --evidence"
    assert saved == f"Saved in store.db. Details: {hint}"


def test_learning_again_unchanged_makes_no_new_version(own: Commands) -> None:
    again = (*LEARN, "--name", "news", "--scale", "1:5")
    first = own("log", "news", "--json").json["versions"]
    assert "news@2 is unchanged, so no new version was saved" in own(*again, "--set", "hypoeval.initial_examples=8").err
    assert own("log", "news", "--json").json["versions"] == first


def test_an_aspect_of_ones_own_needs_a_definition_only(rubriclab: Commands) -> None:
    task = ("--task", "minutes", "--aspect", "fairness", "--map", "scores.fairness=scores.coherence")
    refused = rubriclab("learn", LABELLED, *task)
    assert (refused.code, refused.out) == (2, "")
    assert "Write your own: --definition TEXT." in refused.error
    done = rubriclab("learn", LABELLED, *task, "--definition", "How fairly each side is reported.", "--json")
    assert done.json["rubric"] == "minutes-fairness@1"
    assert "How fairly each side is reported." in rubriclab("show", "minutes-fairness").out


def test_dry_run_states_an_estimate_and_asks_nothing(rubriclab: Commands) -> None:
    done = rubriclab(*LEARN, "--dry-run", "--json", "--judge", "openai/mine", "--price", "1:2")
    estimate = done.json["estimate"]
    assert estimate.keys() == {"judge", "generator"}
    for row in estimate.values():
        assert row["judge"] == "openai/mine"
        assert row["calls"] > 0
        spent = row["tokens"]["prompt"] + 2 * row["tokens"]["completion"]
        assert row["cost_usd"] == pytest.approx(spent / 1e6)
    asked = rubriclab(*LEARN, "--json", "--judge", "embedded").json["calls"]["made"]
    assert asked / 2 <= estimate["judge"]["calls"] + estimate["generator"]["calls"] <= 2 * asked


def test_labels_that_nothing_tracks_are_warned_of(rubriclab: Commands) -> None:
    same = [{**row, "output": "The same words.", "source": None} for row in rescored(lambda number: 1 + number % 2)]
    done = rubriclab("learn", rubriclab.write("rows.jsonl", same), *TASK)
    assert done.code == 0
    assert "Spearman undefined on the 36 training texts" in done.out
    assert "warning: none of the criteria tracks the labels; the scores of this rubric mean nothing" in done.err


@pytest.mark.parametrize(
    ("judge", "advised"), [("openai/mine", True), ("embedded", False), ("recorded:a.jsonl", False)]
)
def test_asking_again_is_advised_only_where_a_language_model_was_asked(
    judge: str, advised: bool, learned: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    version = Lab(learned.folder / "store.db", progress=None).load("news@1")
    made = version.provenance.model_copy(update={"judge": judge})
    result = LearnResult(replace(version, provenance=made), Effort(failed=2), "store.db")
    _print_learned(result)
    assert ("the same command with --retry-failed asks them again" in capsys.readouterr().err) == advised


def test_texts_of_one_group_only_are_pointed_out(rubriclab: Commands) -> None:
    done = rubriclab("learn", rubriclab.write("rows.jsonl", [{**row, "group": "g"} for row in ROWS]), *TASK)
    assert done.code == 0
    assert "all 36 texts are in one group ('g'): no group can be held out" in done.err


def test_a_checklist_that_the_method_has_no_use_for_is_not_left_out_in_silence(rubriclab: Commands) -> None:
    done = rubriclab("learn", LABELLED, *TASK[:4], "--method", "direct", "--checklist", "mine.json", "--dry-run")
    assert done.code == 0
    assert "--checklist is left out: direct asks no questions of a checklist" in done.err
