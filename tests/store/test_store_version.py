"""Names, tags and references."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.errors import StoreError
from rubriclab.models.version import (
    Ref,
    check_name,
    check_tag,
    parse_ref,
)


@pytest.mark.parametrize("name", ["a", "news-coherence", "0", "3.1_x", "a" * 100])
def test_a_name_of_small_letters_digits_and_dashes_is_taken(name: str) -> None:
    assert check_name(name) == name
    assert parse_ref(name) == Ref(name)


@pytest.mark.parametrize("name", ["", "News", "a b", "a@1", "-a", ".", "ä", "a/b", "a\n", "a" * 101, "٣"])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(StoreError, match="cannot be the name of a rubric"):
        check_name(name)


@pytest.mark.parametrize("tag", ["", "Prod", "a b", "a@b", "prod\n"])
def test_a_tag_must_not_read_like_anything_else(tag: str) -> None:
    with pytest.raises(StoreError, match="cannot be a tag"):
        check_tag(tag)


@pytest.mark.parametrize(
    "tag",
    [
        "3",
        "1.0",
        "007",
        "0",
        "1.0.0-rc1",
        "1.0b2",
        "2026-11-28",
        "1_000",
        "v1",
        "v2.0",
        "1.",
        "latest",
        "newest",
        "current",
    ],
)
def test_a_tag_is_neither_a_version_number_nor_a_version_s_place(tag: str) -> None:
    with pytest.raises(StoreError, match="cannot be a tag: it"):
        check_tag(tag)


@pytest.mark.parametrize(
    "tag", ["production", "v", "rc", "round-2", "2nd-round", "gpt-4.1", "latest-good", "1a-beta-x"]
)
def test_a_word_with_digits_in_it_is_a_tag(tag: str) -> None:
    assert check_tag(tag) == tag


def test_digits_after_the_sign_are_a_number_and_anything_else_a_tag() -> None:
    assert parse_ref("news@3") == Ref("news", number=3)
    assert parse_ref("news@3.1") == Ref("news", tag="3.1")
    assert parse_ref("news@production") == Ref("news", tag="production")


@pytest.mark.parametrize("ref", ["", "@", "news@", "@1", "news@1@2", "News", "news@ 1", "news@-1", "news@1\n"])
def test_a_reference_of_no_known_form_is_refused(ref: str) -> None:
    with pytest.raises(StoreError, match="does not refer to a rubric"):
        parse_ref(ref)


@given(st.text(max_size=12))
@settings(deadline=None, max_examples=100)
def test_any_text_is_a_reference_or_refused(text: str) -> None:
    try:
        ref = parse_ref(text)
    except StoreError:
        return
    assert text in (ref.name, f"{ref.name}@{ref.number}", f"{ref.name}@{ref.tag}")
