"""Names and modules that are imported when they are first used, so that importing a package is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def home_of(homes: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name; `homes` has the names of each module, separated by spaces."""
    return {name: home for home, names in homes.items() for name in names.split()}


def lazy_getattr(module: str, home_of_name: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of `module`: a name is looked up in its home, a module of rubriclab."""

    def attribute(name: str) -> Any:
        if name not in home_of_name:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"rubriclab.{home_of_name[name]}"), name)

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
