"""Options of the pytest plugin: which one counts, and what is said about those that cannot be used."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from pytest_projects import Project
from server import RunningServer

from rubriclab.integrations.pytest.checker import RubricRun
from rubriclab.integrations.pytest.plugin import Marked, Settings, check_settings

ONE_TEXT = """
def test_one(rubric):
    rubric("alone").assert_at_least(1, **TEXTS[0])
"""


@pytest.mark.parametrize(
    ("given", "environment", "fault"),
    [
        ({"record": "a"}, {"replay": "b"}, "--rubric-record and RUBRICLAB_REPLAY exclude each other"),
        ({}, {"inconclusive": "maybe"}, "RUBRICLAB_INCONCLUSIVE: expected fail, skip, pass; got 'maybe'"),
        ({"record": "no/x.jsonl"}, {}, "--rubric-record .*/no/x.jsonl: there is no folder"),
        ({"max_calls": "abc"}, {}, "--rubric-max-calls: expected a whole number, got the text 'abc'"),
        ({"max_cost": "-3"}, {}, "--rubric-max-cost: expected a number of at least 0"),
    ],
)
def test_options_that_cannot_be_used_are_refused_before_the_run(
    tmp_path: Path, given: dict[str, str], environment: dict[str, str], fault: str
) -> None:
    with pytest.raises(pytest.UsageError, match=fault):
        check_settings(Settings(given, environment, tmp_path, tmp_path))


def test_the_address_of_the_run_is_not_for_a_marked_judge_of_another_provider(
    project: Project, server: RunningServer
) -> None:
    project.write(f"@pytest.mark.rubric('alone', judge='anthropic/mine'){ONE_TEXT}")
    keys = {"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-anthropic", "RUBRICLAB_ATTEMPTS": "1"}
    with RunningServer() as theirs:
        there = theirs.url.removesuffix("/v1")
        keys = {**keys, "RUBRICLAB_JUDGE": "openai/fake"}
        project.pytest("--rubric-api-base", server.url, ANTHROPIC_API_BASE=there, **keys)
        assert (server.keys, theirs.keys) == (set(), {"sk-anthropic"})


def test_messages_name_options_of_pytest(project: Project) -> None:
    project.write(ONE_TEXT)
    (project.folder / "replies.jsonl").write_text(
        '{"format":"rubriclab-recording","version":1}\n{"judge":"openai/fake","identity":{"model":"fake"}}\n', "utf-8"
    )
    done = project.pytest("--rubric-replay", "replies.jsonl")
    replay = f"Record it with --rubric-judge openai/fake and --rubric-record {project.folder / 'replies.jsonl'}."
    assert replay in done.out


def test_options_come_before_marks_before_the_environment(tmp_path: Path) -> None:
    folder, root = tmp_path / "work", tmp_path / "project"
    marked = Marked(store="marked.db")
    environment = {"store": "found.db", "judge": "recorded:replies.jsonl"}
    with ExitStack() as closing:
        run = RubricRun(Settings({}, environment, folder, root), closing)
        typed = RubricRun(Settings({"store": "given.db"}, environment, folder, root), closing)
    assert run.store(marked) == str(root / "marked.db")
    assert run.store(Marked()) == str(folder / "found.db")
    assert run.judge(Marked()) == f"recorded:{folder / 'replies.jsonl'}"
    assert typed.store(marked) == str(folder / "given.db")
