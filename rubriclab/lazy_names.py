"""Names and modules that are imported when they are first used, so that importing a package is quick."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def modules_in_stub(init_file: str) -> dict[str, str]:
    """Return the module of each name that a package imports in its type stub, which is beside its `init_file`."""
    stub = ast.parse(Path(init_file).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def lazy_names(package: str, module_of: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of `package` that imports each name from the module in `module_of` when it is used."""

    def import_name(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(module_of[name]), name)

    return import_name


def lazy_modules(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of `package` that imports a module of the package when its name is used."""

    def import_module(name: str) -> Any:
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return import_module
