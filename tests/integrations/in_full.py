"""Tests that start many processes, or learn many times, run against the other tools only, some of them by hand."""

from __future__ import annotations

import os

import pytest

RUNS_ALL = os.environ.get("RUBRICLAB_INTEGRATIONS") == "all"
in_full = pytest.mark.skipif(
    "RUBRICLAB_INTEGRATIONS" not in os.environ, reason="takes long: run make test-integrations"
)
by_hand = pytest.mark.skipif(not RUNS_ALL, reason="takes minutes: run make test-integrations")
