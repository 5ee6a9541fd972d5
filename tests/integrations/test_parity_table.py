"""The page with the parity table names every integration that is tested, and the versions that the tests install."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import CHECKOUT
from parity_table import PACKAGE, PAGE, page_rows

ROWS = page_rows(PAGE.read_text("utf-8"))
PINNED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def pins() -> dict[str, set[str]]:
    """Return the versions of each package in the constraints, and that of promptfoo in its script."""
    found: dict[str, set[str]] = {}
    for file in sorted(CHECKOUT.glob("constraints*.txt")):
        for name, version in PINNED.findall(file.read_text("utf-8")):
            found.setdefault(name, set()).add(version)
    script = Path(__file__).with_name("install_promptfoo.sh").read_text("utf-8")
    return {**found, "promptfoo": set(re.findall(r"^version=(\S+)", script, re.MULTILINE))}


@pytest.mark.parametrize("name", ROWS)
def test_the_version_in_the_table_is_that_of_the_constraints(name: str) -> None:
    (package,) = PACKAGE.findall(name)
    assert ROWS[name][1] in pins()[package]


def test_every_integration_that_compares_scores_is_in_the_table() -> None:
    compared = [
        f"{name} (`{package}`)"
        for file in Path(__file__).parent.glob("test_*.py")
        if file != Path(__file__)
        for name, package in re.findall(
            r"(?:same_scores|parity\.check)\(\s*\"(.+?)\", \"(.+?)\"", file.read_text("utf-8")
        )
    ]
    assert sorted(compared) == sorted(ROWS)
