"""Hyperparameters on the command line: `--set METHOD.NAME=VALUE`."""

from __future__ import annotations

from commands import LABELLED, Commands

LEARN = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence")


def test_a_method_s_settings_decide_what_is_asked(rubriclab: Commands) -> None:
    def calls(*more: object) -> int:
        done = rubriclab(*LEARN, "--dry-run", "--json", *more)
        assert done.code == 0, done.err
        return int(done.json["estimate"]["judge"]["calls"])

    once = calls("--method", "direct")
    assert calls("--method", "direct", "--set", "direct.scoring=weighted", "--set", "direct.samples=3") == 3 * once
    assert calls("--method", "seeval", "--set", "seeval.preset=paper") == once + 1


def test_a_checklist_that_the_method_has_no_use_for_is_not_left_out_in_silence(rubriclab: Commands) -> None:
    done = rubriclab(*LEARN, "--method", "direct", "--checklist", "mine.json", "--dry-run")
    assert done.code == 0
    assert "--checklist is left out: direct asks no questions of a checklist" in done.err
