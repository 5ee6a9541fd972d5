"""Canonical JSON and its digest: equal values, equal digests, anywhere."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from rubriclab.models import base

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def reordered(value, draw):
    """Return an equal value whose objects have their keys in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: reordered(value[key], draw) for key in keys}
    return [reordered(each, draw) for each in value] if isinstance(value, list) else value


@given(value=VALUES, data=st.data())
def test_the_order_of_keys_changes_nothing(value, data):
    other = reordered(value, data.draw)
    assert base.canonical_json(other) == base.canonical_json(value)
    assert base.digest(other) == base.digest(value)


@given(value=VALUES)
def test_canonical_text_reads_back_as_the_same_value_and_is_one_line_of_ascii_without_padding(value):
    text = base.canonical_json(value)
    assert base.parse_json(text) == json.loads(text) == value
    assert base.canonical_json(json.loads(text)) == text
    assert text.isascii()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_known_digest():
    expected = hashlib.sha256(b'{"a":[1,2.5,null,true],"b":"\\u00e9"}').hexdigest()
    assert base.digest({"b": "é", "a": [1, 2.5, None, True]}) == f"sha256:{expected}"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [math.nan], {"a": {"b": math.inf}}])
def test_what_is_no_number_in_json_is_refused(value):
    with pytest.raises(ValueError, match="Out of range float"):
        base.digest(value)


def test_lone_surrogates_have_a_digest_and_are_told_apart():
    assert base.digest_text("\ud800") != base.digest_text("\ud801")
    assert base.digest("\ud800") != base.digest("\ud801")


def test_a_file_over_the_limit_is_refused_after_reading_no_more_than_that(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as sparse:
        sparse.truncate(10_000_000_000)
    with pytest.raises(base.Unreadable, match="it has more than 1,000 bytes"):
        base.read_file(file, 1000)
    file.write_bytes(b"x" * 1000)
    assert base.read_file(file, 1000) == b"x" * 1000


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "pipe", "it is no regular file"),
        (Path("/dev/zero"), "it is no regular file"),
        (tmp_path, "it is a folder"),
        (tmp_path / "none", "No such file"),
    ):
        with pytest.raises(base.Unreadable, match=reason):
            base.read_file(path)


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
        ("[" * (base.MAX_DEPTH + 2) + "]" * (base.MAX_DEPTH + 2), "levels deep"),
        ("[" * 1_000_000, "levels deep"),
        ('{"a":' * 100_000, "levels deep"),
    ],
)
def test_what_is_not_strict_json_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(base.Unreadable, match=reason) as caught:
        base.parse_json(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


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
    with pytest.raises(base.Unreadable, match=reason) as caught:
        base.parse_toml(text.encode())
    assert "\n" not in str(caught.value)


def test_latest_results_are_cached_up_to_the_limit() -> None:
    computed = list[str]()

    @base.cached_by_size(2 * (base.CACHED_CALL_OVERHEAD + 10))
    def upper(text: str) -> str:
        computed.append(text)
        return text.upper()

    one, two, three = "a" * 10, "b" * 10, "c" * 10
    for text in (one, two, one, three, one, two):
        assert upper(text) == text.upper()
    assert computed == [one, two, three, two]
