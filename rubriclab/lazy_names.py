"""Names and modules that are imported when they are first used, so that importing a package is quick."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def modules_in_stub(file: str) -> dict[str, str]:
    """Return the module of each name that the type stub beside a package's `file` imports."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def lazy_names(module: str, module_of: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of `module`: a name is imported from its module."""

    def attribute(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(importlib.import_module(module_of[name]), name)

    return attribute


def lazy_modules(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of `package` that imports its modules."""

    def attribute(name: str) -> Any:
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return attribute
