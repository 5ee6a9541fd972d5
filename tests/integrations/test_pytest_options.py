"""Options of the pytest plugin: which one counts, and what is said about those that cannot be used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from in_full import in_full
from pytest_projects import JUDGE, Project, row_of
from server import RunningServer

from rubriclab.integrations.pytest.settings import Marked, Settings, check_settings

ONE_TEXT = """
def test_one(rubric):
    rubric("alone").assert_at_least(1, **TEXTS[0])
"""


def settings(tmp_path: Path, given: dict[str, str], found: dict[str, str], *environment: str) -> Settings:
    """Return settings of a project in `tmp_path`."""
    return Settings(given, found, tmp_path, tmp_path, environment=frozenset(environment))


@pytest.mark.parametrize(
    ("given", "found", "environment", "fault"),
    [
        ({"record": "a"}, {"replay": "b"}, (), "--rubric-record and rubric_replay exclude each other"),
        ({"record": "a"}, {"replay": "b"}, ("replay",), "--rubric-record and RUBRICLAB_REPLAY exclude each other"),
        ({"record": "a", "replay": "b"}, {}, (), "--rubric-record and --rubric-replay exclude each other"),
        ({}, {"inconclusive": "maybe"}, (), "rubric_inconclusive: expected fail, skip, pass; got 'maybe'"),
        ({"markdown": "no/x.md"}, {}, (), "--rubric-markdown .*/no/x.md: there is no folder"),
        ({"record": "no/x.jsonl"}, {}, (), "--rubric-record .*/no/x.jsonl: there is no folder"),
        ({"max_calls": "abc"}, {}, (), "--rubric-max-calls: expected a whole number, got the text 'abc'"),
        ({"max_cost": "-3"}, {}, (), "--rubric-max-cost: expected a number of at least 0"),
        ({"price": "x"}, {}, (), "The price 'x' is not understood"),
        ({"concurrency": "0"}, {}, (), "--rubric-concurrency: expected a number of at least 1"),
    ],
)
def test_options_that_cannot_be_used_are_refused_before_the_run(
    tmp_path: Path, given: dict[str, str], found: dict[str, str], environment: tuple[str, ...], fault: str
) -> None:
    with pytest.raises(pytest.UsageError, match=fault):
        check_settings(settings(tmp_path, given, found, *environment))


def test_the_address_of_the_run_is_not_for_a_marked_judge_of_another_provider(
    project: Project, server: RunningServer
) -> None:
    project.write(f"@pytest.mark.rubric('alone', judge='anthropic/mine'){ONE_TEXT}")
    keys = {"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-anthropic", "RUBRICLAB_ATTEMPTS": "1"}
    with RunningServer() as theirs:
        there = theirs.url.removesuffix("/v1")
        given = ("-o", "rubric_judge=openai/fake", "--rubric-api-base", server.url)
        project.pytest(*given, ANTHROPIC_API_BASE=there, **keys)
        assert (server.keys, theirs.keys) == (set(), {"sk-anthropic"})


def test_a_run_with_a_wrong_option_ends_with_one_line(project: Project) -> None:
    project.write(ONE_TEXT)
    done = project.pytest("--rubric-max-calls", "abc")
    assert done.code == 4
    assert "ERROR: --rubric-max-calls: expected a whole number, got the text 'abc'." in done.err


def test_a_wrong_option_of_the_configuration_is_named_as_it_is_there(project: Project) -> None:
    project.write(ONE_TEXT)
    done = project.pytest("-o", "rubric_max_calls=abc")
    assert "SettingsError: rubric_max_calls: expected a whole number, got the text 'abc'." in done.out
    assert "rubriclab/services" not in done.out


def test_messages_name_options_of_pytest(project: Project) -> None:
    project.write(ONE_TEXT)
    (project.folder / "replies.jsonl").write_text(
        '{"format":"rubriclab-recording","version":1}\n{"judge":"openai/fake","identity":{"model":"fake"}}\n', "utf-8"
    )
    done = project.pytest("--rubric-replay", "replies.jsonl")
    replay = f"Record it with --rubric-judge openai/fake and --rubric-record {project.folder / 'replies.jsonl'}."
    assert replay in done.out


def test_a_table_that_cannot_be_written_leaves_the_summary(project: Project) -> None:
    project.write(ONE_TEXT)
    done = project.pytest(*JUDGE, "--rubric-markdown", ".")
    assert f"ERROR: The table cannot be appended to {project.folder}: Is a directory." in done.out
    assert "1 passed" in done.out


# The id of a process that no system has.
GONE = 2**22 + 1


def record_of(address: str) -> str:
    """Return a recording of the judge at another address, without replies."""
    rows = ({"format": "rubriclab-recording", "version": 1}, {"judge": "openai/fake", "identity": {"at": address}})
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_a_recording_that_cannot_be_merged_is_named_below_the_failures_and_the_table(project: Project) -> None:
    (project.folder / "replies.jsonl").write_text(record_of("here"), "utf-8")
    (project.folder / f"replies.jsonl.{GONE}.gw0.part").write_text(record_of("there"), "utf-8")
    project.write("def test_fails():\n    assert not 'a reason'\n")
    done = project.pytest("--rubric-record", "replies.jsonl")
    assert done.code == 1
    assert "assert not 'a reason'" in done.out
    assert "ERROR: The recording" in done.out
    assert f"Not merged: replies.jsonl.{GONE}.gw0.part; delete what you do not need." in done.out
    project.write("def test_passes():\n    pass\n")
    assert project.pytest("--rubric-record", "replies.jsonl").code == 4


def test_the_recording_of_a_run_under_way_is_left_to_that_run(project: Project) -> None:
    part = project.folder / f"replies.jsonl.{os.getpid()}.gw0.part"
    part.write_text(record_of("there"), "utf-8")
    project.write("def test_passes():\n    pass\n")
    assert project.pytest("--rubric-record", "replies.jsonl").code == 0
    assert part.read_text("utf-8") == record_of("there")


@in_full
def test_the_name_of_a_recording_is_no_pattern(project: Project) -> None:
    project.write(ONE_TEXT)
    done = project.pytest(*JUDGE, "-n", 2, "--rubric-record", "r[1].jsonl")
    assert done.code == 0, done.out
    assert [path.name for path in project.folder.glob("r*.jsonl*")] == ["r[1].jsonl"]
    assert row_of(done.out, "alone@1")[0] == "1"


def test_options_come_before_marks_before_the_environment_before_the_configuration(tmp_path: Path) -> None:
    folder, root = tmp_path / "work", tmp_path / "project"
    marked = Marked(store="marked.db")
    settings = Settings({}, {"store": "found.db", "judge": "recorded:replies.jsonl"}, folder, root)
    assert settings.store(marked.store) == str(root / "marked.db")
    assert settings.store(None) == str(root / "found.db")
    assert settings.judge(None) == f"recorded:{root / 'replies.jsonl'}"
    typed = Settings({"store": "given.db"}, settings.found, folder, root)
    assert typed.store(marked.store) == str(folder / "given.db")
    exported = Settings({}, settings.found, folder, root, environment=frozenset({"store"}))
    assert exported.store(None) == str(folder / "found.db")
