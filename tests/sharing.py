"""Which tests run on one worker: those that share what takes long to make.

A worker's server, browser, store of learned rubrics and import of litellm take seconds each, so tests that use the same
ones stay together, folder by folder; all others go file by file, with what their module makes once.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from xdist.scheduler import LoadScopeScheduling

# The longest first, so that no worker is left alone with one of them at the end.
TOGETHER = (
    "tests/flow/test_flow_methods.py",
    "tests/flow",
    "tests/cli",
    "tests/test_docs.py",
    "tests/test_parity.py",
    "tests/judges",
    "tests/store",
    "tests/experiments",
    "tests/prompts",
)


class Sharing(LoadScopeScheduling):
    """Hands out whole folders and files to the workers."""

    def __init__(self, config: Any, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    """Return the folder or file that a test's worker runs as a whole."""
    file = PurePosixPath(nodeid.split("::", 1)[0])
    if file.stem.endswith("_browser"):
        return "a browser"
    return str(file.parent) if str(file.parent) in TOGETHER and str(file) not in TOGETHER else str(file)


def longest_first(item: Any) -> int:
    """Return the place of a test in the order of the run."""
    name = scope(item.nodeid)
    return TOGETHER.index(name) if name in TOGETHER else len(TOGETHER)
