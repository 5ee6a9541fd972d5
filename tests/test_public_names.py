"""The package's public names, and its imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

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


def test_imports_between_files_form_no_circle_even_those_for_types_only() -> None:
    folder = Path(rubriclab.__file__).parent
    paths = {path.relative_to(folder.parent).with_suffix(""): path for path in folder.rglob("*.py")}
    modules = {".".join(path.parts).removesuffix(".__init__"): file for path, file in paths.items()}
    graph = dict[str, set[str]]()
    for module, file in modules.items():
        body = ast.parse(file.read_text("utf-8")).body
        nodes = [*body, *(inner for node in body if isinstance(node, ast.If) for inner in node.body)]
        imports = [
            (node.module, alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
        ]
        targets = {f"{source}.{name}" if f"{source}.{name}" in modules else source for source, name in imports}
        graph[module] = {target for target in targets if target in modules}
    assert len(graph["rubriclab.lab"]) > 10
    TopologicalSorter(graph).prepare()  # raises CycleError
