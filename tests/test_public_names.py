"""The package's public names."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from commands import CHECKOUT

import rubriclab


@pytest.mark.parametrize("name", rubriclab.__all__)
def test_every_public_name_can_be_imported_and_has_a_docstring(name: str) -> None:
    assert getattr(rubriclab, name).__doc__


def test_every_documented_name_is_public() -> None:
    pages = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
    named = {name for page in pages for name in re.findall(r"\brl\.([A-Za-z_]+)", page.read_text("utf-8"))}
    assert {"Lab", "Judge", "Method", "ask", "Evidence"} <= named
    assert named - {*rubriclab.__all__} == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rubriclab.nothing  # type: ignore[attr-defined]


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import rubriclab, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pydantic", "litellm", "sqlmodel", "scipy"} & set(loaded)
