"""Options of the pytest plugin: which one counts, and what is said about those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_projects import Project
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


def test_messages_name_options_of_pytest(project: Project) -> None:
    project.write(ONE_TEXT)
    (project.folder / "replies.jsonl").write_text(
        '{"format":"rubriclab-recording","version":1}\n{"judge":"openai/fake","identity":{"model":"fake"}}\n', "utf-8"
    )
    done = project.pytest("--rubric-replay", "replies.jsonl")
    replay = f"Record it with --rubric-judge openai/fake and --rubric-record {project.folder / 'replies.jsonl'}."
    assert replay in done.out


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
