"""Views as the command line prints them, unless a test asks for Python's wording."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rubriclab.option_names import reader_of_commands


@pytest.fixture(autouse=True)
def _commands() -> Iterator[None]:
    with reader_of_commands(dict):
        yield
