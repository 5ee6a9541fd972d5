"""Hyperparameters on the command line: `--set METHOD.NAME=VALUE`."""

from __future__ import annotations

import pytest
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


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--method", "hypoeval", "--set", "seeval.samples=3"), "is for another method; this is hypoeval."),
        (
            ("--set", "seal.proposed=3"),
            "--set: seal.proposed is for another method; it takes no part in this training.",
        ),
        (("--set", "joint.calibration=best"), "joint.calibration: expected 'linear', 'isotonic' or 'none'"),
        (("--set", "joint.fold=3"), "Known are: ask, calibration"),
        (("--method", "hypoeval", "--gate"), "--gate is for rubrics of several methods: --method hypoeval alone"),
        (("--method", "few_shot", "--set", "few_shot.k=0"), "few_shot.k: expected a number of at least 1"),
    ],
    ids=str,
)
def test_what_does_not_fit_the_method_is_refused_in_one_line(
    rubriclab: Commands, arguments: tuple[str, ...], complaint: str
) -> None:
    done = rubriclab(*LEARN, *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert complaint in done.error


def test_a_method_that_nobody_knows_is_refused_with_those_that_are_known(rubriclab: Commands) -> None:
    done = rubriclab(*LEARN, "--method", "unheard")
    assert (done.code, done.out) == (2, "")
    assert (
        "--method: there is no method 'unheard'. Known are: hypoeval, checkeval, seeval, seal, dcr, direct, "
        in done.err
    )
    assert "text features are no way to evaluate" in rubriclab(*LEARN, "--method", "text_features").error


def test_a_checklist_that_the_method_has_no_use_for_is_not_left_out_in_silence(rubriclab: Commands) -> None:
    done = rubriclab(*LEARN, "--method", "direct", "--checklist", "mine.json", "--dry-run")
    assert done.code == 0
    assert "--checklist is left out: direct asks no questions of a checklist" in done.err
