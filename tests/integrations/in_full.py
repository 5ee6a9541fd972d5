"""Tests that start many processes, or learn many times, run with `make test-integrations` only."""

from __future__ import annotations

import os

import pytest

in_full = pytest.mark.skipif(
    "RUBRICLAB_INTEGRATIONS" not in os.environ, reason="takes long: run make test-integrations"
)
