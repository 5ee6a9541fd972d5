"""Learns what human raters reward from about thirty labels, writes it down as a rubric, and scores texts with it.

The stub `__init__.pyi` declares the public names; each is imported when it is first used, so that importing the package
is quick.
"""

from __future__ import annotations

import logging

from rubriclab.lazy_names import lazy_names, modules_in_stub

__version__ = "0.1.0"

# An application decides where log messages go.
logging.getLogger(__name__).addHandler(logging.NullHandler())

_MODULE_OF = modules_in_stub(__file__)

__all__ = [*_MODULE_OF]

__getattr__ = lazy_names(__name__, _MODULE_OF)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
