"""The shipped sample: rebuilt identically, labelled by its table, and not to be guessed from length."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "experiments" / "sample"
PARTS = {"labelled.jsonl": (6, 36), "heldout.jsonl": (12, 72)}


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_sample", FOLDER / "make_sample.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(part: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / part).read_text(encoding="utf-8").splitlines()]


def test_the_committed_files_are_what_the_maker_builds(maker: ModuleType) -> None:
    for name, content in maker.build().items():
        assert (FOLDER / name).read_bytes() == content.encode(), f"run {FOLDER / 'make_sample.py'}"


def test_no_source_is_in_both_parts() -> None:
    labelled, heldout = ({row["group"] for row in read(part)} for part in PARTS)
    assert not labelled & heldout
