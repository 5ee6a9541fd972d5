"""`rubriclab transfer`: the agreement of a rubric on other texts, and what is saved of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import HELDOUT_ROWS as ROWS, LABELLED, TASK, Commands

LITTLE = ("--set", "hypoeval.k=3", "--set", "hypoeval.bank_size=6", "--set", "joint.repeats=1")


@pytest.fixture(scope="session")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """The command line with a store of both@1, learned by two methods together, and files of texts."""
    commands = Commands(tmp_path_factory.mktemp("moving"), RUBRICLAB_STORE="store.db")
    methods = ("--method", "hypoeval", "--method", "direct", *LITTLE)
    assert commands("learn", LABELLED, *TASK, *methods, "--name", "both").code == 0
    commands.write("target.jsonl", ROWS[:48])
    commands.write("shares.jsonl", [{**row, "scores": {"coherence": share(row)}} for row in ROWS[:30]])
    return commands


@pytest.fixture
def own(moving: Commands, rubriclab: Commands) -> Commands:
    """The command line with a copy of that folder, to be changed."""
    for file in moving.folder.glob("*.*"):
        if not file.name.startswith("."):
            (rubriclab.folder / file.name).write_bytes(file.read_bytes())
    return rubriclab


def share(row: dict[str, Any]) -> float:
    return (row["scores"]["coherence"] - 1) / 4


def test_a_rubric_learned_again_depends_on_the_texts_of_both(own: Commands) -> None:
    done = own("transfer", "both", "--to", "target.jsonl", "--save", "--action", "relearn")
    assert "saved as both@2, whose parent is both@1" in done.out
    made = json.loads(own("export", "both").out)["provenance"]
    before = json.loads(own("export", "both@1").out)["provenance"]
    assert set(made["examples"]) == {row["id"] for row in ROWS[:48]} | set(before["examples"])


def test_labels_on_another_scale_are_named_and_the_saved_version_scores_on_it(own: Commands) -> None:
    save = ("--save", "--action", "recalibrate", "--name", "shares")
    done = own("transfer", "both", "--to", "shares.jsonl", "--no-relearn", *save)
    assert "the labels lie between 0 and 1, which is taken as their scale" in done.err
    assert "Its scores are mapped linearly from the scale 1 to 5 to 0 to 1." in " ".join(done.out.split())
    rows = own("score", "shares.jsonl", "--rubric", "shares").rows
    assert all(0 <= row["score"] <= 1 and 0 <= row["interval"][0] <= row["interval"][1] <= 1 for row in rows)


def test_graded_scores_are_compared_with_decisions_however_their_scale_is_given(own: Commands) -> None:
    labels = [("fail", "pass")[row["scores"]["coherence"] >= 4] for row in ROWS[:48]]
    own.write("pf.jsonl", [{**ROWS[n], "scores": {"coherence": labels[n]}, "annotations": None} for n in range(48)])
    given = ((), ("--scale", "0:1"), ("--scale", "fail:pass"))
    found = [own("transfer", "both", "--to", "pf.jsonl", "--no-relearn", "--json", *each).json for each in given]
    assert found[0] | {"seconds": 0} == found[1] | {"seconds": 0} == found[2] | {"seconds": 0}
    reused, recalibrated, _ = found[0]["actions"]
    assert (reused["error"]["value"], found[0]["recommended"]) == (None, "recalibrate")
    assert recalibrated["error"]["value"] < found[0]["mean_error"]["value"] <= 0.3
    assert 0.5 < reused["auroc"]["value"] == recalibrated["auroc"]["value"] < 1


def test_a_judge_asked_directly_is_calibrated_with_the_labels_that_only_measured_it(own: Commands) -> None:
    assert own("learn", LABELLED, *TASK, "--method", "direct", "--name", "plain").code == 0
    done = own("transfer", "plain", "--to", LABELLED, "--no-relearn", "--action", "recalibrate", "--save")
    assert "saved as plain@2, whose parent is plain@1" in done.out
    assert "plain@2: calibrated on 36 labels." in own("list").out
    # The labels have now had a part in it.
    assert "was not learned from" in own("transfer", "plain", "--to", LABELLED).error
    plain, calibrated = (
        own("evaluate", LABELLED, "--include-training", "--rubric", ref, "--json").json["errors"]
        for ref in ("plain@1", "plain@2")
    )
    assert abs(calibrated[0]["bias"]) < abs(plain[0]["bias"])
