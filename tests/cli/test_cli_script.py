"""A command in an interpreter of its own, started by the installed script: nothing depends on earlier imports."""

from __future__ import annotations

from commands import HELDOUT, Commands


def test_a_command_works_in_a_fresh_interpreter(own: Commands) -> None:
    done = own.script("evaluate", HELDOUT, "--rubric", "news", "--level", "group", "--html", "report.html")
    assert done.code == 0, done.err
    assert done.out
    assert not any(line.startswith("warning") for line in done.err.splitlines())
