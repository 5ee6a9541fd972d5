"""`rubriclab evaluate`: agreement with the human scores, beside the baselines, on texts that were not learned from."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, Commands

KEYS = {"evaluator", "aspect", "level", "n", "groups", "constant_groups", "unscored", "spearman", "pearson", "kendall"}
WORDS = "baseline: word count"


@pytest.fixture(scope="session")
def results(learned: Commands) -> list[dict[str, Any]]:
    """The agreement of news@1 and news@2 on the held-out sample."""
    rows: list[dict[str, Any]] = learned(
        "evaluate", HELDOUT, "--rubric", "news@1", "--rubric", "news@2", "--json"
    ).json["results"]
    return rows


def of(results: list[dict[str, Any]], evaluator: str, level: str) -> dict[str, Any]:
    (row,) = (row for row in results if (row["evaluator"], row["level"]) == (evaluator, level))
    return row


def test_json_has_a_row_of_the_promised_form_for_each_evaluator_and_level(results: list[dict[str, Any]]) -> None:
    evaluators = list(dict.fromkeys(row["evaluator"] for row in results))
    assert evaluators[:3] == ["news@1", "news@2", WORDS]
    assert all(name.startswith("baseline: ") for name in evaluators[2:])
    assert len(evaluators) >= 4
    assert [(row["evaluator"], row["level"]) for row in results] == list(
        itertools.product(evaluators, ("group", "dataset", "system"))
    )
    for row in results:
        assert row.keys() >= KEYS
        assert row["aspect"] == "coherence"
        assert (row["n"], row["groups"], row["unscored"]) == (72, 12, 0)
        for name in ("spearman", "pearson", "kendall"):
            assert row[name].keys() == {"value", "low", "high"}
            assert row[name]["low"] <= row[name]["value"] <= row[name]["high"]


def test_a_learned_rubric_beats_the_word_count_on_the_sample(results: list[dict[str, Any]]) -> None:
    words = of(results, WORDS, "group")["spearman"]["value"]
    assert of(results, "news@1", "group")["spearman"]["value"] > words
    assert of(results, "news@2", "group")["spearman"]["value"] > words


def test_the_table_shows_the_same_figures(learned: Commands, results: list[dict[str, Any]]) -> None:
    done = learned("evaluate", HELDOUT, "--rubric", "news@1", "--level", "group")
    assert done.code == 0
    figures = of(results, "news@1", "group")["spearman"]
    assert "{value:.2f} [{low:.2f}, {high:.2f}]".format(**figures) in done.out
    assert "word count" in done.out
    assert "between systems" not in done.out
    assert done.err.startswith("judge: embedded, as news@1 was learned with it;")


def test_rubrics_of_different_aspects_are_each_held_against_their_own_labels(learned: Commands) -> None:
    done = learned("evaluate", HELDOUT, "--rubric", "news", "--rubric", "relevance", "--level", "dataset", "--json")
    aspects = {row["evaluator"]: row["aspect"] for row in done.json["results"] if "@" in row["evaluator"][:12]}
    assert aspects["news@2"] == "coherence"
    assert aspects["relevance@1"] == "relevance"


def test_groups_that_were_learned_from_are_left_out_and_that_is_said(own: Commands) -> None:
    (own.folder / "all.jsonl").write_bytes(LABELLED.read_bytes() + HELDOUT.read_bytes())
    dataset = ("--rubric", "news@1", "--level", "dataset", "--json")
    done = own("evaluate", "all.jsonl", *dataset)
    assert "36 of 108 texts left out: their groups, or the texts themselves, were learned from" in done.err
    assert of(done.json["results"], "news@1", "dataset")["n"] == 72
    flattered = own("evaluate", "all.jsonl", *dataset, "--include-training")
    assert "left out" not in flattered.err
    assert of(flattered.json["results"], "news@1", "dataset")["n"] == 108


def test_nothing_but_training_groups_is_refused(learned: Commands) -> None:
    done = learned("evaluate", LABELLED, "--rubric", "news")
    assert (done.code, done.out) == (2, "")
    assert "All 36 usable rows" in done.error
    assert "--include-training for an optimistic figure" in done.error


def test_groups_with_constant_human_scores_count_as_the_rule_says(own: Commands) -> None:
    rows = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()]
    for row in rows[:6]:
        row["scores"]["coherence"] = 3
    (own.folder / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    asked = ("evaluate", "texts.jsonl", "--rubric", "news@1", "--level", "group", "--json")
    skipped = of(own(*asked).json["results"], "news@1", "group")
    counted = of(own(*asked, "--constant-groups", "papers").json["results"], "news@1", "group")
    assert skipped["constant_groups"] == counted["constant_groups"] == 1
    eleven = skipped["spearman"]["value"] * 11
    assert counted["spearman"]["value"] == pytest.approx((eleven + 1) / 12)


def test_faulty_rows_are_left_out_and_named(learned: Commands) -> None:
    lines = [*HELDOUT.read_bytes().splitlines(), b'{"id": "x", "output": ""}']
    done = learned("evaluate", "-", "--rubric", "news", "--level", "dataset", "--json", stdin=b"\n".join(lines))
    assert "left out: stdin:73: field 'output': got an empty text, expected a non-empty text" in done.err
    assert of(done.json["results"], "news@2", "dataset")["n"] == 72


def test_texts_without_a_score_for_the_aspect_are_refused(learned: Commands) -> None:
    done = learned("evaluate", "-", "--rubric", "news", stdin=b'{"output": "A text.", "scores": {"fluency": 3}}')
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith("No row to evaluate news@2 on has a score for 'coherence'.")
    assert done.error.endswith("--map scores.coherence=COLUMN.")


BASELINES = ("direct", "few_shot", "geval", "analyze_rate")
ALL = [argument for name in BASELINES for argument in ("--baseline", name)]


@pytest.fixture
def few(own: Commands) -> Path:
    """Twelve texts, where it is not the figures that matter."""
    file = own.folder / "few.jsonl"
    file.write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:12]))
    return file


def test_few_shot_without_texts_to_show_is_refused_before_anything_is_kept(own: Commands) -> None:
    done = own("evaluate", HELDOUT, "--rubric", "news@1", "--baseline", "direct", "--baseline", "few_shot")
    assert done.code == 2
    assert "--labelled PATH" in done.error
    assert "summarization-coherence-direct" not in own("list").out


def test_texts_that_few_shot_shows_are_not_evaluated(own: Commands) -> None:
    few_shot = ("--baseline", "few_shot", "--labelled", HELDOUT)
    done = own("evaluate", HELDOUT, "--rubric", "news@1", *few_shot, "--level", "dataset", "--json")
    assert {row["n"] for row in done.json["results"]} == {72 - 3 * 6}  # three groups of six texts
    assert "18 of 72 texts left out" in done.err


def test_one_rubric_given_twice_or_two_of_one_aspect_have_each_baseline_once(own: Commands, few: Path) -> None:
    rubrics = ("--rubric", "news@1", "--rubric", "news@2", "--rubric", "relevance")
    baselines = ("--baseline", "direct", "--baseline", "direct", "--level", "dataset", "--json")
    names = [row["evaluator"] for row in own("evaluate", few, *rubrics, *baselines).json["results"]]
    assert [name for name in names if "direct" in name and not name.startswith("baseline")] == [
        "summarization-coherence-direct@1",
        "summarization-relevance-direct@1",
    ]


def test_a_dry_run_states_what_baselines_ask_and_makes_none(own: Commands) -> None:
    asked = own("evaluate", HELDOUT, "--rubric", "news@1", *ALL, "--labelled", LABELLED, "--dry-run", "--json").json[
        "estimate"
    ]
    calls = {name: row["calls"] for name, row in asked.items()}
    assert calls["news@1"] == 5 * 72
    assert calls["direct beside news@1"] == calls["analyze_rate beside news@1"] == 72
    assert calls["geval beside news@1"] == 1 + 20 * 72
    assert calls["few_shot beside news@1"] == 72
    assert "direct" not in own("list").out


@pytest.mark.parametrize("content", ["", '{"output": "Unlabelled."}\n'])
def test_texts_to_show_without_a_label_are_refused(own: Commands, content: str) -> None:
    path = own.folder / "unlabelled.jsonl"
    path.write_text(content)
    done = own("evaluate", HELDOUT, "--rubric", "news@1", "--baseline", "few_shot", "--labelled", path)
    assert done.code == 2
    assert "unlabelled.jsonl" in done.error


def test_a_baseline_has_the_settings_of_the_command_line_and_the_configuration(own: Commands, few: Path) -> None:
    command = ("evaluate", few, "--rubric", "news@1", "--baseline", "direct", "--level", "dataset", "--json")
    plain = own(*command).json["results"][1]
    given = own(*command, "--set", "direct.scoring=weighted").json["results"][1]
    (own.folder / "rubriclab.toml").write_text('[direct]\nscoring = "weighted"\n')
    configured = own("--config", "rubriclab.toml", *command).json["results"][1]
    assert given == configured != plain
    assert (plain["evaluator"], given["evaluator"]) == ("summarization-coherence-direct@1", given["evaluator"])
    assert given["evaluator"] == "summarization-coherence-direct@2"


def test_a_baseline_that_the_store_holds_under_an_older_number_is_used_and_not_set_against_itself(
    own: Commands, few: Path
) -> None:
    command = ("evaluate", few, "--rubric", "news@1", "--baseline", "direct", "--level", "dataset", "--json")
    assert own(*command).code == 0
    learned = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--scale", "1:5")
    assert own(*learned, "--method", "direct", "--json").json["rubric"] == "summarization-coherence-direct@2"
    assert own(*command).json["results"][1]["evaluator"] == "summarization-coherence-direct@1"
    itself = (*command[:3], "summarization-coherence-direct@1", *command[4:])
    names = [row["evaluator"] for row in own(*itself).json["results"]]
    assert [name for name in names if "direct@" in name and not name.startswith("baseline")] == [
        "summarization-coherence-direct@1"
    ]
