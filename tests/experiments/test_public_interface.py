"""The experiments are built on the public interface alone, which proves that it is enough."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
PUBLIC = ("rubriclab", "rubriclab.research", "rubriclab.stats", "rubriclab.report.model")
# The command line of a checkout shares options and printing with that of the package, and records the requests of its
# demonstration; benchmarks measure inner parts.
EXCEPTIONS = {
    "commands.py": "rubriclab.cli",
    "__main__.py": "rubriclab.cli",
    "demo.py": "rubriclab",
    "benchmarks": "rubriclab",
}
MODULES = sorted(EXPERIMENTS.rglob("*.py"))


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the module and name of everything of rubriclab that a file imports; an empty name is the module itself."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "rubriclab":
            yield from ((node.module, alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "rubriclab")


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(EXPERIMENTS)))
def test_only_public_names_are_imported(file: Path) -> None:
    exception = EXCEPTIONS.get(file.relative_to(EXPERIMENTS).parts[0], "nothing")
    private = [
        f"{module}.{name}"
        for module, name in imports(file)
        if module not in PUBLIC and module != exception and not module.startswith(f"{exception}.")
    ]
    assert not private


@pytest.mark.parametrize("module", ["rubriclab", "rubriclab.research", "rubriclab.stats"])
def test_every_public_name_is_there_once(module: str) -> None:
    names = importlib.import_module(module).__all__
    assert len(names) == len(set(names))
    assert all(hasattr(importlib.import_module(module), name) for name in names)


def test_research_exports_nothing_that_no_experiment_uses() -> None:
    used = {name for file in MODULES for module, name in imports(file) if module == "rubriclab.research"}
    assert used == set(importlib.import_module("rubriclab.research").__all__)
