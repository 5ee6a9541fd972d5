"""`rubriclab plan`: what to label next, offline, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from commands import HELDOUT_ROWS, LABELLED, Commands
from edit_samples import examples

from rubriclab.models.evaluation import GateVerdict
from rubriclab.models.text import words_digest
from rubriclab.stats.intervals import Interval
from rubriclab.store.store import open_store

ROWS = HELDOUT_ROWS[:12]
BARE = [{name: value for name, value in row.items() if name not in ("scores", "annotations")} for row in ROWS]
PLAN = ("plan", "texts.jsonl", "--rubric", "joint")


@pytest.fixture
def planning(planted: Commands) -> Commands:
    """The command line with texts without labels, and joint@1 of planted ratings, which knows one labelled text."""
    with open_store(planted.folder / "store.db") as store:
        known, record = store.load("planted"), store.training("planted")
        knowing = known.provenance.model_copy(update={"texts": (words_digest(examples()[0]),)})
        store.save("joint", known.rubric, knowing, known.effort, training=record)
        store.save("forgotten", known.rubric, known.provenance, known.effort)
    planted.write("texts.jsonl", BARE)
    return planted


def test_rows_come_in_order_as_they_were_given_with_the_reasons(planning: Commands) -> None:
    done = planning(*PLAN, "--count", 4, "-o", "next.jsonl")
    assert done.code == 0, done.err
    rows = planning.read("next.jsonl")
    by_id = {row["id"]: row for row in BARE}
    assert [row["plan"]["rank"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        reasons = row.pop("plan")
        assert row == by_id[row["id"]]
        assert reasons["new_group"] is True
        assert row["id"] in done.out.replace("\n", "")
    assert "4 rows written to next.jsonl" in done.err


@pytest.mark.parametrize(("groups", "lack"), [(3, 2), (8, 4)])
def test_a_verdict_that_lacks_groups_says_how_many_the_texts_add(planning: Commands, groups: int, lack: int) -> None:
    with open_store(planning.folder / "store.db") as store:
        known, record = store.load("joint"), store.training("joint")
        validation = known.provenance.validation
        assert validation
        difference = Interval(0.0) if groups == 3 else Interval(0.0, -0.02, 0.02)
        few = GateVerdict(against="direct", outcome="inconclusive", difference=difference, few_groups=groups)
        lacking = known.provenance.model_copy(update={"validation": validation.model_copy(update={"verdicts": (few,)})})
        store.save("few", known.rubric, lacking, known.effort, training=record)
    planning.write("same.jsonl", [{**row, "group": examples()[0].group} for row in BARE])
    said = f"a verdict needs labels of at least {lack} more groups, and these texts"
    assert f"{said} are of 0 new groups" in planning("plan", "same.jsonl", "--rubric", "few").err
    assert (said in planning("plan", "texts.jsonl", "--rubric", "few").err) == (groups == 8)


def test_the_order_of_the_rows_changes_nothing_nor_which_are_sampled(planning: Commands) -> None:
    planning.write("turned.jsonl", BARE[::-1])
    planning.write("doubled.jsonl", BARE * 2)
    assert "rating 5 texts of 12 (--sample)" in planning("plan", "doubled.jsonl", *PLAN[2:], "--sample", 5).err
    for more in ((), ("--sample", 5)):
        first = planning(*PLAN, "--json", "--count", 3, *more).json
        second = planning("plan", "turned.jsonl", *PLAN[2:], "--json", "--count", 3, *more).json
        assert first["texts"] == second["texts"]
        assert len(first["texts"]) == 3
        assert first["pool"] == (5 if more else 12)


def test_what_is_left_out_is_said(planning: Commands) -> None:
    text = examples()[0]
    known = {"id": "other", "output": text.output, "source": text.source, "scores": dict(text.scores)}
    blank, again = {"id": "blank", "output": " "}, {**BARE[0], "id": "again"}
    rated = {**BARE[6], "annotations": {"coherence": {"anna": 4}}}
    planning.write("mixed.jsonl", [*BARE[:3], again, ROWS[5], rated, known, blank])
    done = planning("plan", "mixed.jsonl", *PLAN[2:], "--json")
    assert done.code == 0
    assert {row["id"] for row in done.json["texts"]} in (
        {"again", *(row["id"] for row in BARE[1:3])},
        {row["id"] for row in BARE[:3]},
    )
    assert "left out: 1 text that joint@1 has learned from" in done.err
    assert "left out: 2 texts with a label that joint@1 has not learned from yet" in done.err
    assert "left out: 1 text with the same words as another text" in done.err
    assert "mixed.jsonl:8: field 'output': got only white space" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("texts.jsonl", "--rubric", "alone"), "learned by one method"),
        (("texts.jsonl", "--rubric", "forgotten"), "The store has no training record of forgotten@1"),
        (("texts.jsonl", "--rubric", "joint", "--count", 13), "--count 13 is more than the 12 texts to choose from"),
    ],
    ids=["one method", "no record", "too many"],
)
def test_what_cannot_be_planned_is_refused(planning: Commands, arguments: tuple[Any, ...], said: str) -> None:
    done = planning("plan", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.error


def test_without_an_unlabelled_text_the_labels_for_a_decision_are_given_all_the_same(planning: Commands) -> None:
    given, keys = ("plan", LABELLED, *PLAN[2:], "-o", "rows.jsonl"), ("verdict", "more_labels", "more_groups", "texts")
    found, full = planning(*given, "--json").json, planning(*PLAN, "--json").json
    assert [found[key] for key in keys] == [*(full[key] for key in keys[:3]), []]
    assert "No text is left to choose from" in planning(*given).out
    assert not (planning.folder / "rows.jsonl").exists()
