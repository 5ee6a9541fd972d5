"""Public names that are imported from their modules when they are first used, so that importing a package is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def home_of(homes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the module of each name."""
    return {name: home for home, names in homes.items() for name in names}


def lazy_getattr(module: str, home_of_name: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of `module`: a name is looked up in its home, a module of rubriclab.

    A home that ends with a dot is a package, of which the name is a module.
    """

    def attribute(name: str) -> Any:
        if name not in home_of_name:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = home_of_name[name]
        if home.endswith("."):
            return importlib.import_module(f"rubriclab.{home}{name}")
        return getattr(importlib.import_module(f"rubriclab.{home}"), name)

    return attribute
