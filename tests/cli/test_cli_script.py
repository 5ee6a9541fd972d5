"""Commands in an interpreter of their own, started by the installed script: nothing hangs on earlier imports.

One for each way in which a command comes by what it needs; all others are forked in their own tests.
"""

from __future__ import annotations

import shlex

import pytest
from commands import HELDOUT, LABELLED, Commands

ARGUMENTS = {
    "learn": f"{LABELLED} --task summarization --aspect fluency --method direct --text-features include",
    "evaluate": f"{HELDOUT} --rubric news --level group --html report.html",
    "agree": f"{HELDOUT} --rubric news --judge embedded --judge openai/fake --price 1:1 --dry-run",
    "transfer": f"news --to {HELDOUT} --no-relearn",
    "drift": f"news@1 news@2 {HELDOUT}",
    "import": "- --as copy",
}


@pytest.mark.parametrize("command", sorted(ARGUMENTS))
def test_a_command_works_in_a_fresh_interpreter(own: Commands, pack: str, command: str) -> None:
    done = own.script(command, *shlex.split(ARGUMENTS[command]), stdin=pack.encode())
    assert done.code == 0, done.err
    assert done.out
    assert not any(line.startswith("warning") for line in done.err.splitlines())
