"""What is shown of a text, and whether it shows anything."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.models.characters import comma_list, comma_values, escape_controls, is_blank


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from([*map(chr, range(0x2100)), "\ud800", "\udfff"]), max_size=80))
def test_plain_text_holds_no_character_that_acts(text: str) -> None:
    shown = escape_controls(text)
    acting = {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    assert not acting
    assert not any("\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" for c in shown)
    shown.encode("utf-8")
    assert escape_controls(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\n",
        "\u200b\u200c\u200d\u2060\ufeff",
        "\u3164",
        "\u115f\u1160\uffa0",
        "\u2800\u2800",
        "\ufe0f\U000e0100",
        "\u0301\u0308",
        "\u00ad\u202e",
        "\U000e0041",
        "\x00\x1b",
    ],
)
def test_a_text_of_invisible_characters_is_blank(text: str) -> None:
    assert is_blank(text)
    assert is_blank(f" {text}\n")


VALUES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]) | st.sampled_from(' ,"='), min_size=1)


@given(st.lists(VALUES.map(str.strip).filter(bool), min_size=1))
def test_values_with_commas_and_quotation_marks_come_back(values: list[str]) -> None:
    assert comma_values(comma_list(values)) == values
