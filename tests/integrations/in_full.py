"""Tests that start many processes run with `make test-integrations` only."""

from __future__ import annotations

import os

import pytest

in_full = pytest.mark.skipif(
    "RUBRICLAB_INTEGRATIONS" not in os.environ, reason="starts many processes: run make test-integrations"
)
