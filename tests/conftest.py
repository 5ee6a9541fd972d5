"""Where tests write, and which run on one worker: those that share what takes long to make.

A worker's server, browser, store of learned rubrics and import of litellm take seconds each, so tests that use the same
ones stay together, folder by folder; all others go file by file, with what their module makes once.
"""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from commands import forking
from waiting import until
from xdist.scheduler import LoadScopeScheduling

# Tests make thousands of stores, and each waits for the disk several times. In memory they do not, if there is room and
# programs can be started from there; containers often have 64 MB, without the right to.
MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 2**30
if MEMORY.is_dir():
    space = os.statvfs(MEMORY)
    if space.f_bavail * space.f_frsize >= ENOUGH_BYTES and not space.f_flag & (os.ST_NOEXEC | os.ST_RDONLY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Threads of linear algebra wait for each other by spinning, which takes processors away from other workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# While tests are collected nearly nothing becomes garbage, and looking for it took a third of the time.
gc.disable()

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
WORKER, FIRST = os.environ.get("PYTEST_XDIST_WORKER"), "gw0"


def pytest_configure(config: pytest.Config) -> None:
    """Load what tests share where tests run, which is not the process that hands them out to workers.

    The other workers wait a minute at most until the first one has imported the tests, while the fork server of all
    workers imports what commands need. In a new environment each would else compile the same modules at the same time.
    """
    if config.getoption("dist", "no") != "no" and not WORKER:
        forking()
        config.pluginmanager.set_blocked("hypothesispytest")  # it would import hypothesis at the end, in vain
        return
    if WORKER not in (None, FIRST):
        with suppress(TimeoutError):
            until(Path(config.option.basetemp).with_name("collected").is_dir)
    config.pluginmanager.import_plugin("shared_fixtures")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the first worker import what commands need while the others still import the tests."""
    if WORKER == FIRST:
        Path(session.config.option.basetemp).with_name("collected").mkdir()
        from rubriclab.judges.providers import load_litellm

        load_litellm()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=longest_first)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing | None:
    """Return how tests are spread over workers, unless the command line says how (`--dist`)."""
    if config.getvalue("dist") != "load":
        return None
    config.option.loadscopereorder = False
    return Sharing(config, log)


class Sharing(LoadScopeScheduling):
    """Hands out whole folders and files to the workers."""

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
