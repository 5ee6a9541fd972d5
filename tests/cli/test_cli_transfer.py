"""`rubriclab transfer`: what a rubric is worth elsewhere, offline; what is kept of it, and what is refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, Commands

ROWS = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()]
LITTLE = ("--set", "hypoeval.k=3", "--set", "hypoeval.bank_size=6", "--set", "joint.repeats=1")


@pytest.fixture(scope="session")
def carrying(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """The command line with a store of both@1, learned by two methods together, and files of texts."""
    commands = Commands(tmp_path_factory.mktemp("carrying"), RUBRICLAB_STORE="store.db")
    methods = ("--method", "hypoeval", "--method", "direct", *LITTLE)
    learn = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--scale", "1:5")
    assert commands(*learn, *methods, "--name", "both").code == 0
    write(commands, "whole.jsonl", ROWS)
    write(commands, "target.jsonl", ROWS[:48])
    write(commands, "bare.jsonl", [{**row, "scores": {}, "annotations": None} for row in ROWS[:12]])
    write(commands, "shares.jsonl", [{**row, "scores": {"coherence": share(row)}} for row in ROWS[:30]])
    return commands


@pytest.fixture(scope="session")
def told(carrying: Commands) -> dict[str, Any]:
    """Both@1 on 72 texts of twelve groups, of which 24 labels may be used."""
    return carrying("transfer", "both", "--to", "whole.jsonl", "--labels", 24, "--json").json


@pytest.fixture
def own(carrying: Commands, rubriclab: Commands) -> Commands:
    """The command line with a copy of that folder, to be changed."""
    for file in carrying.folder.glob("*.*"):
        if not file.name.startswith("."):
            (rubriclab.folder / file.name).write_bytes(file.read_bytes())
    return rubriclab


def write(commands: Commands, name: str, rows: Iterable[Any]) -> None:
    (commands.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def share(row: dict[str, Any]) -> float:
    return (row["scores"]["coherence"] - 1) / 4


def test_every_action_has_figures_on_the_labels_it_may_use_and_on_the_others(told: dict[str, Any]) -> None:
    assert [each["action"] for each in told["actions"]] == ["reuse", "recalibrate", "reweight", "reselect", "relearn"]
    assert (told["labels"], told["held_out_labels"]) == (24, 36)
    for each in told["actions"]:
        assert each["skipped"] is None
        assert each["cross_validated"]["n"] == 24
        assert each["held_out"]["n"] == 36
        assert (
            each["cross_validated"]["error"]["low"]
            <= each["cross_validated"]["error"]["value"]
            <= each["cross_validated"]["error"]["high"]
        )


def test_the_advice_is_what_comes_nearest_to_people_by_labels_that_had_no_part_in_it(told: dict[str, Any]) -> None:
    compared = {each["action"]: each for each in told["advice"]["compared"]}
    advised = told["advice"]["action"]
    assert compared[advised]["excess_error"]["value"] == 0
    assert compared["reuse"]["gain"]["value"] == 0
    assert all(each["excess_error"]["value"] >= 0 for each in compared.values())
    assert [each["excess_error"]["value"] for each in told["actions"] if each["action"] == advised] == [0]


def test_what_it_reaches_there_stands_beside_home_and_what_costs_nothing(told: dict[str, Any]) -> None:
    assert told["source"]["n"] == 36
    assert told["agreement"]["n"] == 72
    assert told["drop"]["value"] == pytest.approx(
        told["source"]["spearman"]["value"] - told["agreement"]["spearman"]["value"], abs=1e-6
    )
    assert set(told["baselines"]) == {"word count", "best text feature on the source"}
    assert told["shift"]["severity"] in ("small", "moderate", "large")


def test_in_words_it_says_what_to_do_and_why(carrying: Commands) -> None:
    done = carrying("transfer", "both", "--to", "target.jsonl", "--no-relearn")
    assert done.code == 0
    shown = " ".join(done.out.split())
    assert "both@1 on target.jsonl, judged by embedded" in shown
    assert any(shown.count(words) for words in ("Reuse it", "Recalibrate it", "Reweight it", "Reselect and reweight"))
    assert "not requested" in shown
    assert "The distribution shift from the texts" in shown


def test_without_labels_it_says_how_far_the_texts_lie_and_gives_no_advice(carrying: Commands) -> None:
    done = carrying("transfer", "both", "--to", "bare.jsonl", "--json")
    assert (done.code, done.json["advice"], done.json["actions"], done.json["agreement"]) == (0, None, [], None)
    assert done.json["shift"]["target_texts"] == 12
    shown = carrying("transfer", "both", "--to", "bare.jsonl").out
    assert "There are no labels to measure agreement with people" in " ".join(shown.split())


def test_a_saved_version_knows_its_parent_and_scores_as_it_was_fitted(own: Commands) -> None:
    save = ("--save", "--action", "recalibrate", "--no-relearn", "--name", "moved")
    done = own("transfer", "both", "--to", "target.jsonl", *save)
    assert "saved as moved@1, whose parent is both@1; calibrated for embedded" in done.out
    shown = " ".join(own("show", "moved").out.split())
    assert "parent both@1" in shown
    assert "recalibrate with 48 labels from a rubric of coherence" in shown
    assert own("show", "moved", "--matrix", "--json").code == 0
    scores = own("score", "target.jsonl", "--rubric", "moved").rows
    assert all(1 <= row["score"] <= 5 and row["interval"] for row in scores)
    pack = json.loads(own("export", "moved").out)
    assert pack["provenance"]["transfer"]["action"] == "recalibrate"
    assert {row["id"] for row in ROWS[:48]} <= set(pack["provenance"]["examples"])
    refused = own("evaluate", "target.jsonl", "--rubric", "moved")
    assert "All 48 usable rows belong to groups that the rubrics have learned from" in refused.error


def test_what_is_advised_is_what_is_kept_unless_another_action_is_named(own: Commands) -> None:
    done = own("transfer", "both", "--to", "target.jsonl", "--no-relearn", "--save", "--name", "moved", "--json").json
    if done["advice"]["action"] == "reuse":
        assert own("show", "moved", "--json").code == 0
    assert json.loads(own("export", "moved").out)["provenance"]["transfer"]["action"] == done["advice"]["action"]


def test_a_relearned_version_has_criteria_of_its_own(own: Commands) -> None:
    done = own("transfer", "both", "--to", "target.jsonl", "--save", "--action", "relearn")
    assert "saved as both@2, whose parent is both@1" in done.out
    made = json.loads(own("export", "both").out)["provenance"]
    assert set(made["examples"]) == {row["id"] for row in ROWS[:48]}


def test_labels_on_another_scale_are_said_to_be_and_scores_of_the_kept_version_are_on_it(own: Commands) -> None:
    done = own(
        "transfer", "both", "--to", "shares.jsonl", "--no-relearn", "--save", "--action", "reweight", "--name", "shares"
    )
    assert "the labels lie between 0 and 1, which is taken as their scale" in done.err
    assert "Its scores are mapped linearly from the scale 1 to 5 to 0 to 1." in " ".join(done.out.split())
    rows = own("score", "shares.jsonl", "--rubric", "shares").rows
    assert all(0 <= row["score"] <= 1 and 0 <= row["interval"][0] <= row["interval"][1] <= 1 for row in rows)
    assert "0 (lowest) to 1 (highest)" in own("show", "shares").out
    fresh = [{**row, "scores": {"coherence": share(row)}} for row in ROWS[48:]]
    write(own, "fresh.jsonl", fresh)
    assert "outside of its scale" not in own("evaluate", "fresh.jsonl", "--rubric", "shares").err


def test_another_judge_is_said_to_be_another_and_learning_that_it_cannot_answer_is_missing(own: Commands) -> None:
    tape = ("score", "target.jsonl", "--rubric", "both", "--record", "tape.jsonl")
    assert own(*tape).code == 0
    done = own("transfer", "both", "--to", "target.jsonl", "--judge", "recorded:tape.jsonl", "--json")
    assert 'both@1 is calibrated for "embedded"; with another judge its agreement may differ' in done.err
    found = done.json
    assert (found["judge"], found["calibrated_for"]) == ("recorded:tape.jsonl", "embedded")
    missing = {each["action"]: each["skipped"] for each in found["actions"]}
    assert "holds no reply" in missing["relearn"]
    assert missing["reweight"] is None


def test_several_rubrics_and_targets_make_one_table_with_a_row_each(own: Commands) -> None:
    files = ("--csv", "table.csv", "--html", "table.html")
    done = own("transfer", "both", "--to", "target.jsonl", "--to", "bare.jsonl", "--no-relearn", "--matrix", *files)
    assert done.code == 0
    with (own.folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["target"] for row in rows] == ["target.jsonl", "bare.jsonl"]
    assert float(rows[0]["spearman_low"]) <= float(rows[0]["spearman"]) <= float(rows[0]["spearman_high"])
    assert (rows[0]["advice"] != "", rows[1]["advice"]) == (True, "")
    page = (own.folder / "table.html").read_text("utf-8")
    assert "Transfer of rubrics to other texts" in page
    assert page.count('class="dot"') == 1
    assert "no labels" in page
    assert "compared without labels" in done.err


def test_labels_that_fill_a_part_of_the_scale_are_taken_to_be_on_it(carrying: Commands) -> None:
    high = [{**row, "scores": {"coherence": 4 + place % 2}} for place, row in enumerate(ROWS[:24])]
    write(carrying, "high.jsonl", high)
    done = carrying("transfer", "both", "--to", "high.jsonl", "--no-relearn", "--json")
    assert "lie between 4 and 5 and are taken to be on the rubric's scale, 1 to 5" in done.err
    assert (done.json["scale"]["low"], done.json["scale"]["high"]) == (1, 5)


def test_where_nothing_comes_nearer_than_the_mean_label_that_is_said(carrying: Commands) -> None:
    reversed_ = [{**row, "scores": {"coherence": 6 - row["scores"]["coherence"]}} for row in ROWS[:48]]
    write(carrying, "reversed.jsonl", reversed_)
    shown = " ".join(carrying("transfer", "both", "--to", "reversed.jsonl", "--no-relearn").out.split())
    assert "closer to the labels than the mean label" in shown


def test_a_cell_that_cannot_be_had_costs_the_others_nothing(own: Commands) -> None:
    assert own("score", "target.jsonl", "--rubric", "both", "--record", "tape.jsonl").code == 0
    judges = ("--judge", "embedded", "--judge", "recorded:tape.jsonl")
    done = own("transfer", "both", "--to", "bare.jsonl", "--to", "whole.jsonl", *judges, "--no-relearn", "--json")
    assert done.code == 0
    assert "left out: both@1 on whole.jsonl by recorded:tape.jsonl" in done.err
    assert len(done.json["cells"]) == 3


def test_a_dry_run_asks_nothing_and_bounds_what_is_asked(carrying: Commands, told: dict[str, Any]) -> None:
    most = carrying("transfer", "both", "--to", "whole.jsonl", "--labels", 24, "--dry-run", "--json").json
    (row,) = most["at_most"].values()
    assert row["calls"] >= told["calls"]["made"]
    assert row["cost_usd"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing", "--to", "target.jsonl"), "The store holds no rubric 'nothing'"),
        (("both", "--to", "absent.jsonl"), "absent.jsonl"),
        (("both", "--to", str(LABELLED)), "has no usable text that both@1 was not learned from"),
        (("both", "--to", "target.jsonl", "--aspect", "sparkle"), "sparkle"),
        (("both", "--to", "bare.jsonl", "--save"), "There are no labels to fit the rubric to"),
        (("both", "--to", "target.jsonl", "--to", "bare.jsonl", "--save"), "--save saves one result"),
        (("both", "--to", "target.jsonl", "--action", "reuse"), "--action says what to save"),
        (("both", "--to", "target.jsonl", "--save", "--action", "relearn", "--no-relearn"), "is not tried"),
        (("both", "--to", "target.jsonl", "--csv", "nowhere/table.csv"), "nowhere/table.csv cannot be written"),
        (("both", "--to", "target.jsonl", "--html", "target.jsonl"), "would overwrite target.jsonl"),
        (("both", "--to", "target.jsonl", "--scale", "five"), "The scale 'five' is not understood"),
        (("both", "--to", "target.jsonl", "--labels", "500"), "--labels 500 is more than the 48 usable labels"),
        (("both", "--to", "target.jsonl", "--csv", "one", "--html", "one"), "would write to the same file"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(carrying: Commands, arguments: tuple[str, ...], said: str) -> None:
    done = carrying("transfer", *arguments)
    assert done.code == 2
    assert said in done.error
