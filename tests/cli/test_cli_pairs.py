"""Options that name something and give it a value."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from rubriclab.cli.improve import pairs_of
from rubriclab.errors import SettingsError

WORDS = st.text(min_size=1, max_size=12).map(str.strip).filter(bool)
NAMES = WORDS.filter(lambda name: "=" not in name)


@given(st.dictionaries(NAMES, WORDS, max_size=4))
def test_names_and_values_are_read_as_written_also_with_equals_signs_in_the_value(pairs: dict[str, str]) -> None:
    given_options = [f"{name}={value}" for name, value in pairs.items()]
    assert pairs_of(given_options, "--reword", "ID=TEXT") == (pairs or None)


@given(st.text(max_size=12))
def test_anything_else_is_refused_with_what_was_expected(text: str) -> None:
    name, equals, value = text.partition("=")
    if equals and name.strip() and value.strip():
        return
    with pytest.raises(SettingsError, match="--reword: expected ID=TEXT, got "):
        pairs_of([text], "--reword", "ID=TEXT")


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"--reword names h01 twice\. Give each once\."):
        pairs_of(["h01=a", " h01 =b"], "--reword", "ID=TEXT")
