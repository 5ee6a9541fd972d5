"""Each command in an interpreter of its own, started by the installed script: nothing hangs on earlier imports."""

from __future__ import annotations

import pytest
from commands import CHECKOUT, HELDOUT, LABELLED, Commands

from rubriclab.cli.main import cli

ARGUMENTS: dict[str, tuple[object, ...]] = {
    "learn": (LABELLED, "--task", "summarization", "--aspect", "fluency", "--no-literature"),
    "show": ("news",),
    "report": ("news",),
    "gate": ("--help",),
    "plan": ("--help",),
    "score": (HELDOUT, "--rubric", "news"),
    "evaluate": (HELDOUT, "--rubric", "news", "--level", "group", "--report", "report.html"),
    "agree": (
        HELDOUT,
        "--rubric",
        "news",
        "--judge",
        "embedded",
        "--judge",
        "openai/fake",
        "--price",
        "1:1",
        "--dry-run",
    ),
    "improve": (HELDOUT, "--rubric", "news", "--price", "1:1", "--dry-run"),
    "lint": (CHECKOUT / "stores" / "checklists" / "summarization" / "coherence.json",),
    "list": (),
    "log": ("news",),
    "diff": ("news@1", "news@2"),
    "tag": ("news@1", "production"),
    "export": ("news@1",),
    "import": ("-", "--as", "copy"),
    "verify": (),
}


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_each_command_works_in_a_fresh_interpreter(own: Commands, pack: str, command: str) -> None:
    done = own.script(command, *ARGUMENTS[command], stdin=pack.encode())
    assert done.code == 0, done.err
    assert done.out
    assert not any(line.startswith("warning") for line in done.err.splitlines())
