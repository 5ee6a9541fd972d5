"""The library that an integration needs, which comes with the extra of its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rubriclab.errors import UserError


@contextmanager
def imported_from(library: str, extra: str) -> Iterator[None]:
    """Explain an import that fails because a library is not installed.

    Raises:
        UserError: if an import within the `with` statement fails.
    """
    try:
        yield
    except ImportError as error:
        raise UserError(
            f"{library} cannot be imported: {error}.", f"Install it with: pip install 'rubriclab[{extra}]'"
        ) from error
