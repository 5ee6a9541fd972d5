"""Users see what `tour.json` holds; `make golden` writes it anew, and its diff is to be read."""

from __future__ import annotations

import json
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from tour import GOLDEN, steps, tour

PINNED: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8"))


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(tour(Path(tmp_path_factory.mktemp("tour")).resolve())))
    return found


def test_the_pinned_tour_has_the_commands_of_the_tour() -> None:
    assert list(PINNED) == steps()


@pytest.mark.parametrize("step", list(PINNED))
def test_a_command_of_the_tour_does_what_is_pinned(found: dict[str, Any], step: str) -> None:
    pinned, now = (json.dumps(each[step], indent=1, ensure_ascii=False).splitlines() for each in (PINNED, found))
    assert not (changed := list(unified_diff(pinned, now, "pinned", "now", n=1, lineterm=""))), "\n".join(changed)
