"""Long commands without a terminal, as in a job of a cluster, say how far they are."""

from __future__ import annotations

import re

import pytest
from commands import Commands
from flow_server import learn_little

from rubriclab import running

LINE = re.compile(r"^(?P<doing>.+), \d+ min, \d+% done, about \d+ min left; [\d,]+ calls.*$", re.MULTILINE)


def hurry() -> None:
    running.LINE_INTERVAL = 0.05


@pytest.fixture
def hurried(asking: Commands) -> Commands:
    return Commands(asking.folder, before=hurry, **asking.environment)


def test_learning_writes_lines_with_what_is_done_and_left(hurried: Commands) -> None:
    done = learn_little(hurried)
    assert done.code == 0, done.err
    doing = [line["doing"] for line in LINE.finditer(done.err)]
    assert len(set(doing)) > 2
    shares = [int(share) for share in re.findall(r"(\d+)% done", done.err)]
    assert shares == sorted(shares)
