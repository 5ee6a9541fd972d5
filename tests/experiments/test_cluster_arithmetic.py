"""The arithmetic of docs/cluster.md follows from what it says it assumes, and its other figures are the package's."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.benchmarks.cluster_arithmetic import Assumed, needed, table, writes
from experiments.figures import written
from rubriclab.data.blocks import BLOCK
from rubriclab.judges.shared_budget import UNUSED

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


def test_a_small_case_worked_out_by_hand() -> None:
    small = Assumed(
        texts=1200,
        prompt_tokens=1000,
        completion_tokens=500,
        prompt_price=1.0,
        completion_price=4.0,
        requests_per_minute=60,
        fewer_requests_per_minute=20,
        tokens_per_minute=30_000,
        seconds_a_reply=3.0,
        requests_a_second_of_a_worker=0.4,
        bytes_an_answer=10,
    )
    need = needed(small, 2)
    assert (need.requests, need.prompt_tokens, need.completion_tokens) == (2400, 2_400_000, 1_200_000)
    assert need.dollars == pytest.approx(2.4 + 4.8)
    assert need.hours_at_requests == pytest.approx(40 / 60)
    assert need.hours_at_fewer_requests == pytest.approx(2.0)
    assert need.hours_at_tokens == pytest.approx(2.0)
    assert (need.workers, need.in_flight, need.answer_bytes) == (3, 3, 24_000)


def test_the_page_has_the_table_and_the_writes_of_the_defaults() -> None:
    page = PAGE.read_text("utf-8")
    assert page == written(PAGE)
    assert table(Assumed()) in page
    assert writes(Assumed()) in page


def test_sizes_and_times_on_the_page_are_the_packages() -> None:
    page = " ".join(PAGE.read_text("utf-8").split())
    assert f"ranges of {BLOCK / 2**20:g} MB" in page
    assert f"for {UNUSED / 86_400:g} days" in page
