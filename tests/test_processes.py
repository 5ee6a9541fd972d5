"""Processes that run and that have ended are told apart."""

from __future__ import annotations

import os
import subprocess
import sys

from rubriclab.processes import is_running


def test_a_process_runs_until_it_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(process.pid)
    assert is_running(os.getpid())
    process.communicate()
    assert not is_running(process.pid)
