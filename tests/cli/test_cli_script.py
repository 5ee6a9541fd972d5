"""Commands in an interpreter of their own, started by the installed script: nothing depends on earlier imports."""

from __future__ import annotations

import shlex

import pytest
from commands import HELDOUT, LABELLED, Commands

ARGUMENTS = {
    "learn": f"{LABELLED} --task summarization --aspect fluency --method direct --text-features include",
    "evaluate": f"{HELDOUT} --rubric news --level group --html report.html",
}


@pytest.mark.parametrize("command", sorted(ARGUMENTS))
def test_a_command_works_in_a_fresh_interpreter(own: Commands, command: str) -> None:
    done = own.script(command, *shlex.split(ARGUMENTS[command]))
    assert done.code == 0, done.err
    assert done.out
    assert not any(line.startswith("warning") for line in done.err.splitlines())
