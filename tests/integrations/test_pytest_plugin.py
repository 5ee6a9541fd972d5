"""The pytest plugin: scores as `rubriclab score` gives them, asserted in tests of a project of its own; its options."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from commands import CHECKOUT
from documentation import example_files
from parity_table import same_scores
from pytest_projects import BAD, GOOD, JUDGE, TEXTS, UNSCORABLE, Project, in_full, row_of, saying
from server import RunningServer

from rubriclab.errors import JudgeRefused, ReplayMiss
from rubriclab.integrations.pytest.checker import RubricChecker, RubricFixture, RubricRun, Tallies
from rubriclab.integrations.pytest.plugin import MarkValues, Settings, check_settings


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(
    project: Project, server: RunningServer
) -> None:
    (project.folder / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in TEXTS), "utf-8")
    rows = project.commands("score", "texts.jsonl", "--rubric", "remote@1").rows
    asked = len(server.bodies)
    project.write("""
def test_all(rubric):
    scores = [rubric("remote@1").score(**text).to_row() for text in TEXTS]
    json.dump(scores, open("found.json", "w"))
""")
    done = project.pytest()
    assert done.code == 0, done.out
    assert len(server.bodies) == asked > 0
    found = json.loads((project.folder / "found.json").read_text("utf-8"))
    assert found == [{name: row[name] for name in score} for row, score in zip(rows, found, strict=True)]
    scores, expected = ({row["id"]: row["score"] for row in each} for each in (found, rows))
    same_scores("pytest", "pytest", scores, expected)
    assert row_of(done.out, "remote@1")[4] == "0"  # calls


def test_a_failure_names_the_score_the_criteria_and_the_text_and_the_table_sums_up(project: Project) -> None:
    project.write(
        """
def test_good(rubric):
    assert rubric("remote").assert_at_least(2, **TEXTS[0]).score >= 2
def test_bad(rubric):
    rubric("remote@1").assert_at_least(4.5, **TEXTS[1])
def test_unscored(rubric):
    rubric("remote@1").assert_at_least(1, **TEXTS[2])
def test_unknown(rubric):
    rubric("nothing")
def test_off_the_scale(rubric):
    rubric("remote").assert_at_least(50, **TEXTS[0])
@pytest.mark.rubric("remote@1", juge="openai/fake")
def test_misspelt(rubric): ...
@pytest.mark.rubric("remote@1", store=3)
def test_store(rubric): ...
""",
        [saying(GOOD)[0], saying(BAD)[1], saying(UNSCORABLE)[2]],
    )
    done = project.pytest()
    assert done.code == 1
    out = done.out
    assert re.search("4 failed, 1 passed,.* 2 errors", out)
    (failure,) = (line for line in out.splitlines() if "is below 4.5" in line)
    assert "AssertionError: remote@1: score 1." in failure
    assert failure.endswith("(scale 1 to 5; judge openai/fake)")
    assert "criteria that lower the score most:\nE         -" in out
    assert f"text {TEXTS[1]['id']}: " in out
    assert "AssertionError: remote@1: no score: " in out
    assert "The store holds no rubric 'nothing'" in out
    assert "The threshold 50 is not on the scale of remote@1, 1 to 5." in out
    assert "rubric(store=...): expected a text, got 3." in out
    assert "expected rubric(ref=None, *, store=None, judge=None); got" in out
    assert "rubriclab/ops" not in out  # no frames of what is no fault of the test
    texts, _mean, _lowest, failed, *_rest = row_of(out, "remote@1")
    assert (texts, failed) == ("3", "2")
    assert "remote@1, openai/fake: 1 text without a score" in out


MEANS = """
def test_high_enough(rubric):
    assert rubric("alone").assert_mean_at_least(TEXTS, 4.5).groups > 1
def test_too_low(rubric):
    low = [{**text, "output": text["output"].replace("well written", "badly written")} for text in TEXTS]
    rubric("alone").assert_mean_at_least(low, 4.5)
def test_two_texts_decide_nothing(rubric):
    rubric("alone").assert_mean_at_least(TEXTS[:2], 4.5)
def test_what_is_inconclusive_may_be_skipped(rubric):
    rubric("alone").assert_mean_at_least(TEXTS[:2], 4.5, inconclusive="skip")
def test_no_texts(rubric):
    rubric("alone").assert_mean_at_least([], 4.5)
"""


@in_full
def test_a_mean_passes_fails_or_is_inconclusive_by_its_whole_interval(project: Project) -> None:
    project.write(MEANS, saying(GOOD))
    done = project.pytest(*JUDGE, "-rs")
    assert "3 failed, 1 passed, 1 skipped" in done.out
    assert "AssertionError: alone@1: mean 1.00 [1.00, 1.00] of 12 texts in " in done.out
    assert "E       the whole interval is below 4.5\nE       lowest: 1, text " in done.out
    assert "inconclusive: with so few groups there is no interval" in done.out
    assert "DataError: " in done.out
    assert "alone@1, openai/fake: 2 inconclusive comparisons" in done.out
    # Of the failures only the one that is inconclusive passes.
    done = project.pytest(*JUDGE, "--rubric-inconclusive", "pass")
    assert "2 failed, 2 passed, 1 skipped" in done.out


SPREAD = """
@pytest.mark.parametrize("number", range(6))
def test_text(rubric, number):
    rubric("alone").assert_at_least(1, **TEXTS[number])
"""


@in_full
def test_a_run_keeps_to_its_cap_and_its_recording_replays_without_a_server(
    project: Project, server: RunningServer, planted_store: Path
) -> None:
    for place in (10, 11):  # the first run also asks whether the server heeds schemas
        project.write(f"def test_one(rubric):\n    rubric('alone').score(**TEXTS[{place}])\n")
        per_text = int(row_of(project.pytest(*JUDGE).out, "alone@1")[4])
    project.write(SPREAD)
    asked = len(server.bodies)
    cap = 4 * per_text
    done = project.pytest(*JUDGE, "--rubric-record", "replies.jsonl", "--rubric-max-calls", cap)
    assert "2 failed, 4 passed" in done.out
    assert len(server.bodies) - asked == cap == int(row_of(done.out, "alone@1")[4])
    refused = project.pytest(*JUDGE, "-n", 2, "--rubric-max-calls", cap)
    assert "--rubric-max-calls applies to a single process" in refused.out

    again = project.pytest(*JUDGE, "--rubric-record", "replies.jsonl")
    assert (again.code, len(server.bodies) - asked) == (0, 6 * per_text)
    shutil.copy(planted_store, project.folder / "store.db")  # without the answers
    replayed = project.pytest("--rubric-replay", "replies.jsonl", OPENAI_API_BASE="http://127.0.0.1:9")
    assert (replayed.code, row_of(replayed.out, "alone@1")[4]) == (0, "0"), replayed.out
    project.write(SPREAD, [{**row, "output": f"{row['output']} More."} for row in TEXTS])
    changed = project.pytest("--rubric-replay", "replies.jsonl")
    assert "6 failed" in changed.out
    assert "ReplayMiss: The recording" in changed.out


def test_pytest_imports_nothing_that_scores_texts_until_a_test_needs_it() -> None:
    code = "import rubriclab.integrations.pytest.plugin, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"pydantic", "numpy", "sqlalchemy", "httpx", "click"}.isdisjoint(loaded)
    own = {name.removeprefix("rubriclab.") for name in loaded if name.startswith("rubriclab.")}
    assert own == {"lazy_names", "integrations", "integrations.pytest", "integrations.pytest.plugin"}


@in_full
def test_the_example_of_the_documentation_works(project: Project) -> None:
    ((name, example),) = example_files(CHECKOUT / "docs" / "integrations" / "pytest.md").items()
    (project.folder / name).write_text(example.replace("news-coherence", "alone"), "utf-8")
    done = project.pytest(*JUDGE, "-n", 2)
    assert (done.code, "alone@1, openai/fake" in done.out) == (0, True), done.out


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


def opened(closing: ExitStack, folder: Path, given: dict[str, Any], **marked: Any) -> RubricChecker:
    """Return what the fixture `rubric` of a marked test is in a run with options."""
    run = RubricRun(Settings(given, {"judge": "openai/fake"}, folder, folder), closing)
    return RubricFixture(run, MarkValues(**marked), Tallies())("alone")


def test_the_address_of_the_run_is_not_for_a_marked_judge_of_another_provider(
    project: Project, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-anthropic")
    monkeypatch.setenv("RUBRICLAB_ATTEMPTS", "1")
    with RunningServer() as theirs, ExitStack() as closing:
        monkeypatch.setenv("ANTHROPIC_API_BASE", theirs.url.removesuffix("/v1"))
        given = {"api_base": server.url, "store": "store.db"}
        with pytest.raises(JudgeRefused):  # the server of tests has no messages of Anthropic
            opened(closing, project.folder, given, judge="anthropic/mine").score(**TEXTS[0])
        assert (server.keys, theirs.keys) == (set(), {"sk-anthropic"})


def test_messages_name_options_of_pytest(project: Project) -> None:
    recording = project.folder / "replies.jsonl"
    recording.write_text(
        '{"format":"rubriclab-recording","version":1}\n{"judge":"openai/fake","identity":{"model":"fake"}}\n', "utf-8"
    )
    with ExitStack() as closing, pytest.raises(ReplayMiss) as caught:
        opened(closing, project.folder, {"replay": "replies.jsonl", "store": "store.db"}).score(**TEXTS[0])
    replay = f"Record it with --rubric-judge openai/fake and --rubric-record {recording}."
    assert replay in str(caught.value)


def test_options_come_before_marks_before_the_environment(tmp_path: Path) -> None:
    folder, root = tmp_path / "work", tmp_path / "project"
    marked = MarkValues(store="marked.db")
    environment = {"store": "found.db", "judge": "recorded:replies.jsonl"}
    with ExitStack() as closing:
        run = RubricRun(Settings({}, environment, folder, root), closing)
        typed = RubricRun(Settings({"store": "given.db"}, environment, folder, root), closing)
    assert run.store(marked) == str(root / "marked.db")
    assert run.store(MarkValues()) == str(folder / "found.db")
    assert run.judge(MarkValues()) == f"recorded:{folder / 'replies.jsonl'}"
    assert typed.store(marked) == str(folder / "given.db")
