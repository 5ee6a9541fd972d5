"""Baselines that tests store and compare with, in projects of their own."""

from __future__ import annotations

import json

from in_full import in_full
from pytest_projects import BAD, COMPARED, GOOD, JUDGE, UNSCORABLE, Project, row_of, saying
from server import RunningServer


@in_full
def test_outputs_are_compared_with_the_stored_baseline_as_the_command_compares(
    project: Project, server: RunningServer
) -> None:
    project.write(COMPARED, saying(GOOD))
    missing = project.pytest(*JUDGE)
    assert "2 failed" in missing.out
    assert "answers.jsonl: run pytest with --rubric-update-baseline to store it." in missing.out
    stored = project.pytest(*JUDGE, "--rubric-update-baseline")
    assert (stored.code, "baselines stored: answers, test_texts.py-test_answers" in stored.out) == (0, True)
    asked = len(server.bodies)
    assert project.pytest(*JUDGE).code == 0
    assert len(server.bodies) == asked

    project.write(COMPARED, saying(BAD))
    worse = project.pytest(*JUDGE)
    assert (worse.code, "2 failed" in worse.out) == (1, True)
    assert "AssertionError: alone@1: worse, compared with the baseline answers" in worse.out
    assert "criteria that fell most" in worse.out
    (project.folder / "now.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in saying(BAD)), "utf-8")
    baseline = project.folder / "rubric-baselines" / "answers.jsonl"
    compared = project.commands(
        "compare", baseline, "now.jsonl", "--rubric", "alone", "--judge", "openai/fake", "--json"
    )
    assert compared.code == 1
    change = compared.json["difference"]
    assert f"changes by {change['value']:.2f} [{change['low']:.2f}, {change['high']:.2f}] points" in worse.out


@in_full
def test_a_baseline_with_many_texts_without_a_score_is_not_stored(project: Project) -> None:
    project.write(COMPARED, [*saying(GOOD, 4), *saying(UNSCORABLE)[4:6]])
    done = project.pytest(*JUDGE, "--rubric-update-baseline", "-k", "named")
    assert "The baseline answers is not stored: 2 of 6 texts have no score" in done.out
    assert not (project.folder / "rubric-baselines").exists()


TWICE = """
def test_one(rubric):
    rubric("alone").assert_not_worse(TEXTS[:6], baseline="same")
def test_other(rubric):
    rubric("alone").assert_not_worse(TEXTS[6:], baseline="same")
"""


def test_two_tests_cannot_store_one_baseline(project: Project) -> None:
    project.write(TWICE)
    done = project.pytest(*JUDGE, "--rubric-update-baseline")
    assert "1 failed, 1 passed" in done.out
    assert "SettingsError: Two comparisons store the baseline same, in test_texts.py::test_" in done.out
    assert "baselines stored: same\n" in done.out


AGAIN = """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    for _ in range(3):
        runtestprotocol(item, nextitem=nextitem)
    return True
"""


def test_a_test_that_is_run_again_counts_each_attempt_once_and_stores_its_baseline_again(project: Project) -> None:
    (project.folder / "conftest.py").write_text(AGAIN, "utf-8")
    project.write("""
def test_one(rubric):
    rubric("alone").assert_not_worse(TEXTS[:2], baseline="same")
""")
    done = project.pytest(*JUDGE, "--rubric-update-baseline")
    assert done.code == 0, done.out
    texts, calls, cached = (int(row_of(done.out, "alone@1")[place]) for place in (0, 4, 5))
    # One of the calls finds out whether the server heeds schemas.
    assert (texts, cached) == (6, 2 * (calls - 1))
    assert "baselines stored: same\n" in done.out
    assert "same, same" not in done.out


NAMED = """
def test_named(rubric):
    rubric("alone").assert_not_worse(TEXTS, baseline="answers")
"""


def test_a_damaged_baseline_fails_and_names_the_row(project: Project) -> None:
    project.write(NAMED, saying(GOOD))
    assert project.pytest(*JUDGE, "--rubric-update-baseline").code == 0
    baseline = project.folder / "rubric-baselines" / "answers.jsonl"
    lines = baseline.read_bytes().splitlines(keepends=True)
    baseline.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    done = project.pytest(*JUDGE)
    assert "1 failed" in done.out
    assert f"DataError: The baseline is damaged: {baseline}:4: " in done.out
    assert "run pytest with --rubric-update-baseline to store it again." in done.out


def test_a_comparison_with_a_part_of_the_baseline_is_inconclusive(project: Project) -> None:
    project.write(NAMED, saying(GOOD))
    assert project.pytest(*JUDGE, "--rubric-update-baseline").code == 0
    project.write(NAMED, saying(GOOD, 6))
    shrunk = project.pytest(*JUDGE)
    assert "1 failed" in shrunk.out
    assert "alone@1: inconclusive, compared with the baseline answers" in shrunk.out
    assert (
        "without a counterpart: 6 of 12 outputs of the baseline: give all its texts, or run pytest with --"
        in shrunk.out
    )
    project.write(NAMED, saying(GOOD, 11))
    almost_all = project.pytest(*JUDGE)
    assert almost_all.code == 0, almost_all.out
    assert "answers: without a counterpart: 1 of 12 outputs of the baseline" in almost_all.out
