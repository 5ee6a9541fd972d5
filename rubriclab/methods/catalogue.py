"""All methods by name: those built in, and those that installed packages offer.

A package offers a method through the entry-point group `rubriclab.methods`: the name is the method's, the object is a
`Method`. A name that is built in cannot be replaced.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points

from rubriclab.errors import UnknownMethod
from rubriclab.judges.plug_ins import PlugIn, loaded
from rubriclab.methods.method import Method
from rubriclab.methods.names import BUILT_IN

PLUG_INS = "rubriclab.methods"


class MethodCatalogue(Mapping[str, Method]):
    """Methods by name, each imported when it is first used."""

    def __init__(self) -> None:
        self._loaded: dict[str, Method] = {}

    def __getitem__(self, name: str) -> Method:
        """Return the method called `name`.

        Raises:
            UnknownMethod: if it is neither built in nor offered by an installed package; also a `KeyError`.
            PlugInError: if the package that offers it cannot be used.
        """
        if name not in self._loaded:
            self._loaded[name] = _built_in(name) if name in BUILT_IN else _plug_in(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names, those built in first."""
        yield from BUILT_IN
        yield from plug_in_names()

    def __len__(self) -> int:
        """Return how many methods there are."""
        return len(list(iter(self)))


METHODS = MethodCatalogue()


def plug_in_names() -> tuple[str, ...]:
    """Return the names of methods that installed packages offer, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=PLUG_INS)} - set(BUILT_IN)))


def _built_in(name: str) -> Method:
    module, _, attribute = BUILT_IN[name].partition(":")
    method: Method = getattr(importlib.import_module(module), attribute)
    return method


def plug_in_of(name: str) -> PlugIn | None:
    """Return the plug-in that offers the method called `name`; `None` if it is built in or not installed."""
    points = () if name in BUILT_IN else tuple(entry_points(group=PLUG_INS, name=name))
    return loaded("method", points)[0] if points else None


def _plug_in(name: str) -> Method:
    points = tuple(entry_points(group=PLUG_INS, name=name))
    if not points:
        raise UnknownMethod(
            f"The method {name!r} is not installed.",
            f"Built in are: {', '.join(BUILT_IN)}; install the package that offers it (entry point {PLUG_INS}).",
        )
    plug_in, method = loaded("method", points)
    # Imported here: the built-in methods, which every command lists, need none of it.
    from rubriclab.methods.plug_ins import guarded

    return guarded(method, plug_in)
