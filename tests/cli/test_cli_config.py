"""Options from the environment and from rubriclab.toml, and who comes first."""

from __future__ import annotations

import os
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, Commands, Done

from rubriclab.data.write import write_rows

LEARN = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence")
SCORE = ("score", HELDOUT)
EVALUATE = ("evaluate", HELDOUT, "--rubric", "news")
UNUSABLE = "The configuration file rubriclab.toml cannot be used"

# A command, an option as the environment and as the file give it, and what then is complained about.
GIVEN = [
    (LEARN, "SCALE", "1:4", "scale = '1:4'", "expected a score from 1 to 4"),
    (LEARN, "SET", "hypoeval.k=3 hypoeval.theta=0", "set = ['hypoeval.k=3', 'hypoeval.theta=0']", "hypoeval.theta: "),
    (LEARN, "JUDGE", "recorded:missing", "judge = 'recorded:missing'", "The recording missing cannot be read"),
    (LEARN, "MAX_COST", "-1", "max-cost = -1", "'--max-cost': "),
    (("evaluate", HELDOUT), "RUBRIC", "news nobody", "rubric = ['news', 'nobody']", "holds no rubric 'nobody'"),
    ((*SCORE, "--rubric", "news"), "OUTPUT", "no/where", "output = 'no/where'", "no/where cannot be written"),
    ((*EVALUATE, "--dry-run"), "RIVALS", "word", "rivals = 'word'", "'word' is not one of"),
    (("import", "pack.json"), "AS", "Not one", "as = 'Not one'", "'Not one' cannot be the name"),
]
IDS = [f"{arguments[0]}-{name}-{number}" for number, (arguments, name, *_) in enumerate(GIVEN)]


@pytest.fixture
def with_pack(own: Commands, pack: str) -> Commands:
    """A store with rubrics, and one of them as a pack."""
    (own.folder / "pack.json").write_text(pack, "utf-8")
    return own


def config(commands: Commands, text: str, name: str = "rubriclab.toml") -> None:
    (commands.folder / name).write_text(text, "utf-8")


def refused(done: Done) -> str:
    assert (done.code, done.out) == (2, "")
    return done.err


@pytest.mark.parametrize(("arguments", "name", "value", "text", "complaint"), GIVEN, ids=IDS)
def test_options_are_taken_from_the_environment_and_from_the_file(
    with_pack: Commands, *, arguments: tuple[object, ...], name: str, value: str, text: str, complaint: str
) -> None:
    assert complaint in refused(with_pack(*arguments, **{f"RUBRICLAB_{name}": value}))  # type: ignore[arg-type]
    config(with_pack, text)
    assert complaint in refused(with_pack("--config", "rubriclab.toml", *arguments))


def test_command_line_comes_before_environment_before_file_before_default(rubriclab: Commands) -> None:
    places = Commands(rubriclab.folder)  # without RUBRICLAB_STORE
    assert f"store {rubriclab.folder}/.local/share/rubriclab/store.db" in places("list").err
    config(places, "store = 'file.db'", "mine.toml")
    places = Commands(rubriclab.folder, RUBRICLAB_CONFIG="mine.toml")
    assert "store file.db" in places("list").err
    assert "store file.db" in Commands(rubriclab.folder)("--config", "mine.toml", "list").err
    assert places("--config", "none.toml", "list").error == "There is no configuration file none.toml."
    assert "store environment.db" in places("list", RUBRICLAB_STORE="environment.db").err
    assert "store line.db" in places("list", "--store", "line.db", RUBRICLAB_STORE="environment.db").err


def test_hyperparameters_in_the_file_are_used_and_the_command_line_comes_first(rubriclab: Commands) -> None:
    def most(*more: object) -> int:
        done = rubriclab(*LEARN, "--dry-run", "--json", *more, RUBRICLAB_CONFIG="mine.toml")
        assert done.code == 0, done.err
        return int(done.json["estimate"]["judge"]["calls"])

    config(rubriclab, "", "mine.toml")
    default = most()
    config(rubriclab, "[seeval]\nexplanations = 2", "mine.toml")
    assert most() > default
    assert most() == most("--set", "seeval.explanations=2")
    assert most("--set", "seeval.explanations=1") == default


@pytest.mark.parametrize(
    "given", [{"RUBRICLAB_JSON": "1", "RUBRICLAB_DRY_RUN": "yes"}, {"RUBRICLAB_CONFIG": "mine.toml"}], ids=str
)
def test_flags_can_be_set_by_the_environment_and_in_the_file(own: Commands, given: dict[str, Any]) -> None:
    config(own, "json = true\ndry-run = true\nno-literature = true", "mine.toml")
    assert own("list", **given).json["versions"]
    assert own(*LEARN, **given).json["dry_run"] is True


@pytest.mark.parametrize("text", ["modell = 'gpt-4o-mini'", "[seval]\nk = 3", "configured-hyperparameters = []"])
def test_an_unknown_key_is_refused_with_those_that_are_known(rubriclab: Commands, text: str) -> None:
    config(rubriclab, text)
    done = rubriclab("list")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"rubriclab.toml: {text.strip('[').split(' ')[0].split(']')[0]!r} is no option." in done.error
    known = done.error.partition("The known ones are: ")[2].partition(";")[0].split(", ")
    assert {"judge", "levels", "literature-without", "map", "max-calls"} <= {*known}
    assert known == sorted(known)
    assert "tables for hypoeval, checkeval, seeval" in done.error


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[hypoeval]\nkk = 3", "hypoeval.kk: unknown name, got 3. Did you mean 'k'? The known ones are: preset, alpha"),
        ("hypoeval = 3", "rubriclab.toml: 'hypoeval' is a table of hyperparameters; got 3. Write [hypoeval]"),
        ("judge = ", f"{UNUSABLE}: it is not valid TOML: "),
    ],
)
def test_a_faulty_file_is_refused_in_one_line(rubriclab: Commands, text: str, complaint: str) -> None:
    config(rubriclab, text)
    done = rubriclab("--config", "rubriclab.toml", *LEARN)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.error.startswith(complaint)


def test_a_huge_file_and_what_is_no_file_are_refused_without_being_read(rubriclab: Commands) -> None:
    config(rubriclab, "# " + "x" * 1_000_000)
    assert rubriclab("list").error.endswith("rubriclab.toml cannot be used: it has more than 1,000,000 bytes.")
    os.mkfifo(rubriclab.folder / "pipe")
    assert rubriclab("--config", "pipe", "list").error.endswith("pipe cannot be used: it is no regular file.")
    assert rubriclab("--config", ".", "list").code == 2


@pytest.mark.parametrize("name", ["texts.jsonl", "texts.csv"])
def test_rating_columns_in_the_map_of_the_file_are_not_needed_where_ratings_are_not(own: Commands, name: str) -> None:
    config(own, "map = 'output=reply,scores.coherence=rating,rater=who'")
    rows = [{"reply": f"The council met on day {n}. It voted.", "source": f"Day {n}."} for n in range(12)]
    write_rows(rows, own.folder / name)
    two_judges = ("--judge", "embedded", "--judge", "recorded:none")
    for command, more in (("score", ()), ("improve", ()), ("agree", two_judges)):
        done = own(command, name, "--rubric", "news", *more, "--dry-run")
        assert (done.code, "left out" in done.err) == (0, False), done.err
    assert all(row["score"] is not None for row in own("score", name, "--rubric", "news").rows)
    assert "'rating'" in own("learn", name, *LEARN[2:], "--dry-run").err
