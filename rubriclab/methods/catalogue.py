"""All methods by name: those built in, and those that installed packages offer.

A package offers a method through the entry-point group `rubriclab.methods`: the name is the method's, the object is a
`Method`. A name that is built in cannot be replaced.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points

from rubriclab.errors import PlugInError, UnknownMethod
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


def _plug_in(name: str) -> Method:
    points = tuple(entry_points(group=PLUG_INS, name=name))
    if not points:
        raise UnknownMethod(
            f"The method {name!r} is not installed.",
            f"Built in are: {', '.join(BUILT_IN)}; install the package that offers it (entry point {PLUG_INS}).",
        )
    if len(points) > 1:
        packages = ", ".join(sorted(map(_package, points)))
        raise PlugInError(f"Several packages offer the method {name!r}: {packages}.", "Uninstall all but one.")
    (point,) = points
    try:
        method = point.load()
    except Exception as error:
        raise PlugInError(
            f"The method {name!r} of {_package(point)} cannot be loaded: {type(error).__name__}: {error}.",
            "Update or uninstall that package.",
        ) from error
    if not isinstance(method, Method) or method.name != name:
        raise PlugInError(
            f"The entry point {name!r} of {_package(point)} gives {method!r:.80}, expected a Method of that name.",
            "Update or uninstall that package.",
        )
    return method


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value
