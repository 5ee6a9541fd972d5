"""What is shown of a text, and whether it shows anything."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.models.characters import is_blank, one_line, plain

TEXTS = st.text(st.characters(), max_size=80)


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from([*map(chr, range(0x2100)), "\ud800", "\udfff"]), max_size=80))
def test_plain_text_holds_no_character_that_acts(text: str) -> None:
    shown = plain(text)
    acting = {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    assert not acting
    assert not any("\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" for c in shown)
    shown.encode("utf-8")


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert plain(plain(text)) == plain(text)


def test_harmless_text_is_shown_as_it_was_written() -> None:
    text = "Naïve café, 日本語, שלום, emoji 👩‍🔬, a\ttab and\na line [bold]"
    assert plain(text) == text


def test_acting_characters_are_spelled_out() -> None:
    assert plain("\x1b[31m \u202e \udc80 \x9b") == "\\x1b[31m \\u202e \\udc80 \\x9b"


def test_one_line_has_no_line_breaks() -> None:
    assert one_line(" a\r\n b\n\n\tc ") == "a b c"


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


@pytest.mark.parametrize("text", ["a", "\u200ba", "👩\u200d🔬", "e\u0301", "한", "。", "0", "\ue000", "नि"])
def test_a_text_with_a_visible_character_is_not_blank(text: str) -> None:
    assert not is_blank(text)
