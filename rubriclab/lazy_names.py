"""Names and modules that are imported when they are first used, so that importing a package is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(module: str, module_of: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of `module`: a name is imported from its module in rubriclab."""

    def attribute(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"rubriclab.{module_of[name]}"), name)

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
