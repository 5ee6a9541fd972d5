"""`rubriclab evaluate --baseline`: the judges that every claim is held against, made on the spot, kept as versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import HELDOUT, LABELLED, Commands

BASELINES = ("direct", "few_shot", "geval", "analyze_rate")
ALL = [argument for name in BASELINES for argument in ("--baseline", name)]


@pytest.fixture
def few(own: Commands) -> Path:
    """Twelve texts, where it is not the figures that matter."""
    file = own.folder / "few.jsonl"
    file.write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:12]))
    return file


def test_each_baseline_is_evaluated_on_the_same_texts_and_kept_as_a_version(own: Commands) -> None:
    done = own("evaluate", HELDOUT, "--rubric", "news@1", *ALL, "--labelled", LABELLED, "--level", "dataset", "--json")
    rows = {row["evaluator"]: row for row in done.json["results"]}
    refs = [f"summarization-coherence-{name}@1" for name in BASELINES]
    assert list(rows)[:5] == ["news@1", *refs]
    assert {(row["n"], row["groups"], row["unscored"]) for row in rows.values()} == {(72, 12, 0)}
    assert [row["rubric"] for row in own("list", "--json").json["versions"]] == ["news@2", "relevance@1", *sorted(refs)]
    assert all(rows[ref]["spearman"]["value"] > 0 for ref in refs)


def test_a_baseline_that_is_there_is_used_again_and_gives_the_same_figures(own: Commands, few: Path) -> None:
    command = ("evaluate", few, "--rubric", "news@1", "--baseline", "geval", "--level", "dataset", "--json")
    first, again = own(*command).json, own(*command).json
    assert first == again
    alone = own("evaluate", few, "--rubric", "summarization-coherence-geval", "--level", "dataset", "--json").json
    assert alone["results"][0] == first["results"][1]


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


def test_an_unknown_baseline_is_refused(learned: Commands) -> None:
    done = learned("evaluate", HELDOUT, "--rubric", "news@1", "--baseline", "gpt")
    assert done.code == 2
    assert "'direct', 'few_shot', 'geval', 'analyze_rate'" in done.err


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


def test_a_setting_for_a_baseline_that_is_not_evaluated_is_refused(own: Commands) -> None:
    done = own("evaluate", HELDOUT, "--rubric", "news@1", "--baseline", "direct", "--set", "geval.samples=5")
    assert done.code == 2
    assert "geval is none of the baselines that are evaluated (direct)" in done.error


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
