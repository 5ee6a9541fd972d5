"""Deliberate errors as a test shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rubriclab.errors import RubriclabError
from rubriclab.integrations.pytest.settings import FLAGS
from rubriclab.option_names import with_flags

T = TypeVar("T")


def without_inner_frames(work: Callable[[], T]) -> T:
    """Return what `work` returns; its deliberate errors name options of pytest, and come without inner frames."""
    __tracebackhide__ = True
    try:
        return work()
    except RubriclabError as error:
        error.message, error.hint = with_flags(error.message, FLAGS), with_flags(error.hint or "", FLAGS) or None
        raise error.with_traceback(None) from None
