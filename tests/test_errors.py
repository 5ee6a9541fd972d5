"""Errors that Python's own classes catch too."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rubriclab as rl
from rubriclab.data.mapping import ReadingOptions
from rubriclab.errors import DataError, SettingsError
from rubriclab.ops.options import LearnOptions


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (DataError, lambda: rl.read(Path("missing.csv"))),
        (SettingsError, lambda: rl.parse_scale("1-5")),
        (SettingsError, lambda: ReadingOptions(sheet=[])),
    ],
)
def test_faulty_data_and_settings_are_value_errors(error: type[Exception], call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        call()
    assert type(caught.value) is error
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (error, str(caught.value))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mapping": {"colour": "c"}}, "There is no field 'colour' to map; the fields are output, id"),
        ({"settings": {"hypoeval.k": 3}}, "`settings`: expected the settings of each method by name"),
    ],
)
def test_an_error_of_an_option_keeps_its_message_and_its_hint(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=f"^{said}"):
        LearnOptions(task="story", aspect="structure", **options)
