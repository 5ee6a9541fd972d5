"""`rubriclab evaluate`: agreement with the human scores, beside the baselines, on texts that were not learned from."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource
from commands import HELDOUT, LABELLED, Commands

from rubriclab.cli.main import every_command
from rubriclab.cli.options import add_needed_options


def of(results: list[dict[str, Any]], evaluator: str, level: str) -> dict[str, Any]:
    (row,) = (row for row in results if (row["evaluator"], row["level"]) == (evaluator, level))
    return row


def test_groups_that_were_learned_from_are_left_out_and_that_is_said(own: Commands) -> None:
    (own.folder / "all.jsonl").write_bytes(LABELLED.read_bytes() + HELDOUT.read_bytes())
    dataset = ("--rubric", "news@1", "--json")
    done = own("evaluate", "all.jsonl", *dataset)
    reason = "a rubric was learned from them or their groups (36 texts equal to a training text)"
    assert f"36 of 108 texts left out: {reason}" in done.err
    assert of(done.json["results"], "news@1", "dataset")["n"] == 72
    flattered = own("evaluate", "all.jsonl", *dataset, "--include-training")
    assert "left out" not in flattered.err
    assert "36 texts equal to a training text: figures on these are optimistic" in flattered.err
    assert of(flattered.json["results"], "news@1", "dataset")["n"] == 108


def test_faulty_rows_are_left_out_and_named(learned: Commands) -> None:
    lines = [*HELDOUT.read_bytes().splitlines(), b'{"id": "x", "output": ""}']
    done = learned("evaluate", "-", "--rubric", "news", "--json", stdin=b"\n".join(lines))
    assert "left out: stdin:73: field 'output': got an empty text, expected a non-empty text" in done.err
    assert of(done.json["results"], "news@2", "dataset")["n"] == 72
    for field in ("output", "scores.coherence"):
        none = learned("evaluate", HELDOUT, "--rubric", "news", "--map", f"{field}=absent")
        assert none.code == 2
        assert f"72 rows, the first in line 1: field '{field}': got nothing, expected a column 'absent'" in none.err
        assert none.error.startswith(f"None of the 72 rows of {HELDOUT} can be used.")


def test_commands_keep_the_mapping_that_was_typed_rather_than_that_of_the_version() -> None:
    with click.Context(every_command()["evaluate"]) as running:
        running.params["mapping"] = "output=new"
        running.set_parameter_source("mapping", ParameterSource.COMMANDLINE)
        commands = [f"rubriclab {words} --map output=old --seed 1" for words in ("score TEXTS", "learn LABELLED")]
        assert add_needed_options(commands[0]) == "rubriclab score TEXTS --map output=new --seed 1"
        assert add_needed_options(commands[1]) == commands[1]
