"""The tests in this folder, but not below it, ask with a template of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_templates(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(__file__).parent
    if request.path.parent != here:
        return
    # The package's `render` function hides the module of the same name.
    module = sys.modules["rubriclab.prompts.render"]
    monkeypatch.setattr(module, "FOLDER", here / "templates")
