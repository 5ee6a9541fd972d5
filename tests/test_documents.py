"""Whole files that other people may have written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rubriclab.models.base import (
    DEEPEST,
    Unreadable,
    parse_json,
    parse_toml,
    read_file,
    text_of,
)


def test_a_file_over_the_limit_is_refused_after_reading_no_more_than_that(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as sparse:
        sparse.truncate(10_000_000_000)
    with pytest.raises(Unreadable, match="it has more than 1,000 bytes"):
        read_file(file, 1000)
    file.write_bytes(b"x" * 1000)
    assert read_file(file, 1000) == b"x" * 1000


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "pipe", "it is no regular file"),
        (Path("/dev/zero"), "it is no regular file"),
        (tmp_path, "it is a folder"),
        (tmp_path / "none", "No such file"),
    ):
        with pytest.raises(Unreadable, match=reason):
            read_file(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is not JSON"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": [{"b": 1, "b": 2}]}', "the key 'b' is repeated"),
        (f'{{"a": {"9" * 5000}}}', "it is not JSON"),
        ('{"a": "\\ud800"}', "lone surrogate"),
        ('{"\\udfff": 1}', "lone surrogate"),
        ("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2), "levels deep"),
        ("[" * 1_000_000, "levels deep"),
        ('{"a":' * 100_000, "levels deep"),
    ],
)
def test_what_is_not_strict_json_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as caught:
        parse_json(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "levels deep"),
        ("a" + ".a" * 5_000 + " = 1", "levels deep"),
        (f"a = {'9' * 5000}", "it is not valid TOML"),
        ("a = ", "it is not valid TOML"),
    ],
)
def test_toml_that_python_cannot_read_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as caught:
        parse_toml(text.encode())
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_is_no_content() -> None:
    assert text_of(b"\xef\xbb\xbf{}") == "{}"
    with pytest.raises(Unreadable, match="not UTF-8"):
        text_of(b"\xff")
