"""Errors that one process sends to another."""

from __future__ import annotations

import pickle

from rubriclab.errors import SettingsError
from rubriclab.workers.portable_errors import portable


class LocalError(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def test_an_error_raised_on_purpose_arrives_as_it_is() -> None:
    error = pickle.loads(pickle.dumps(portable(SettingsError("No store.", "Name one."))))
    assert isinstance(error, SettingsError)
    assert str(error) == str(SettingsError("No store.", "Name one."))


def test_an_error_that_cannot_be_pickled_arrives_with_its_name_message_and_traceback() -> None:
    error = pickle.loads(pickle.dumps(portable(LocalError("disk", "full"))))
    assert isinstance(error, RuntimeError)
    assert str(error) == "LocalError: disk full"
    assert "In a worker process:" in error.__notes__[0]
