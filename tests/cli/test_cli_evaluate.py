"""`rubriclab evaluate`: agreement with the human scores, beside the baselines, on texts that were not learned from."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, Commands

WORDS = "baseline: word count"


def of(results: list[dict[str, Any]], evaluator: str, level: str) -> dict[str, Any]:
    (row,) = (row for row in results if (row["evaluator"], row["level"]) == (evaluator, level))
    return row


def test_a_learned_rubric_beats_the_word_count_on_the_sample(learned: Commands) -> None:
    results = learned("evaluate", HELDOUT, "--rubric", "news@1", "--level", "group", "--json").json["results"]
    rubric, words = (of(results, name, "group")["spearman"]["value"] for name in ("news@1", WORDS))
    assert rubric > words


def test_csv_has_the_permutation_test_and_the_accuracies_of_pairs_with_every_digit(learned: Commands) -> None:
    done = learned("evaluate", HELDOUT, "--rubric", "news@1", "--rubric", "news@2", "--json", "--csv", "all.csv")
    with (learned.folder / "all.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    def figures(column: str, table: str) -> list[float]:
        return [float(row["value"]) for row in rows if row["column"] == column and table in row["table"]]

    assert figures("permutation p", "Paired") == [row["permutation_p"] for row in done.json["comparisons"]]
    assert figures("accuracy", "Soft pairwise accuracy") == [
        row["soft_pairwise_accuracy"] for row in done.json["results"] if row["level"] == "system"
    ]
    pairs = [row["pairwise_accuracy"] for row in done.json["results"] if row["level"] == "group"]
    assert figures("optimistic", "Pairwise accuracy") == [each["optimistic"] for each in pairs]
    assert figures("tie up to", "Pairwise accuracy") == [each["threshold"] for each in pairs]
    assert figures("mean absolute error", "Errors") == [each["absolute"]["value"] for each in done.json["errors"]]
    ceilings = {row["level"]: row["ceiling"]["value"] for row in done.json["results"] if "ceiling" in row}
    assert [float(row["value"]) for row in rows if row["row"] == "perfect judge"] == list(ceilings.values())


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


def test_groups_with_constant_human_scores_count_as_the_rule_says(own: Commands) -> None:
    rows = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()]
    for row in rows[:6]:
        row["scores"]["coherence"] = 3
    (own.folder / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    asked = ("evaluate", "texts.jsonl", "--rubric", "news@1", "--level", "group", "--json")
    skipped = of(own(*asked).json["results"], "news@1", "group")
    done = own(*asked, "--constant-groups", "papers", "--csv", "counted.csv")
    counted = of(done.json["results"], "news@1", "group")
    assert "1 group with constant labels counted as 1" in (own.folder / "counted.csv").read_text("utf-8")
    assert skipped["constant_groups"] == counted["constant_groups"] == 1
    eleven = skipped["spearman"]["value"] * 11
    assert counted["spearman"]["value"] == pytest.approx((eleven + 1) / 12)


def test_faulty_rows_are_left_out_and_named(learned: Commands) -> None:
    lines = [*HELDOUT.read_bytes().splitlines(), b'{"id": "x", "output": ""}']
    done = learned("evaluate", "-", "--rubric", "news", "--level", "dataset", "--json", stdin=b"\n".join(lines))
    assert "left out: stdin:73: field 'output': got an empty text, expected a non-empty text" in done.err
    assert of(done.json["results"], "news@2", "dataset")["n"] == 72
    for field in ("output", "scores.coherence"):
        none = learned("evaluate", HELDOUT, "--rubric", "news", "--map", f"{field}=absent")
        assert none.code == 2
        assert f"72 rows, the first in line 1: field '{field}': got nothing, expected a column 'absent'" in none.err
        assert none.error.startswith(f"None of the 72 rows of {HELDOUT} can be used.")
