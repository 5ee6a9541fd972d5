"""The judges' tests ask with a template of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    # The package's `render` function hides the module of the same name.
    module = sys.modules["rubriclab.prompts.render"]
    monkeypatch.setattr(module, "FOLDER", Path(__file__).parent / "templates")
