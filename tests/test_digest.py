"""Canonical JSON and its digest: equal values, equal digests, anywhere."""

import hashlib
import json
import math
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.models.base import canonical, digest, digest_text

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def reordered(value, draw):
    """Return an equal value whose objects have their keys in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: reordered(value[key], draw) for key in keys}
    return [reordered(each, draw) for each in value] if isinstance(value, list) else value


@settings(deadline=None, max_examples=60)
@given(value=VALUES, data=st.data())
def test_the_order_of_keys_changes_nothing(value, data):
    other = reordered(value, data.draw)
    assert canonical(other) == canonical(value)
    assert digest(other) == digest(value)


@settings(deadline=None, max_examples=60)
@given(value=VALUES)
def test_canonical_text_reads_back_as_the_same_value_and_the_same_text(value):
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text


@settings(deadline=None, max_examples=60)
@given(value=VALUES)
def test_canonical_text_is_one_line_of_ascii_without_padding(value):
    text = canonical(value)
    assert text.isascii()
    assert "\n" not in text
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_known_digest():
    expected = hashlib.sha256(b'{"a":[1,2.5,null,true],"b":"\\u00e9"}').hexdigest()
    assert digest({"b": "é", "a": [1, 2.5, None, True]}) == f"sha256:{expected}"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [math.nan], {"a": {"b": math.inf}}])
def test_what_is_no_number_in_json_is_refused(value):
    with pytest.raises(ValueError, match="Out of range float"):
        digest(value)


def test_lone_surrogates_have_a_digest_and_are_told_apart():
    assert digest_text("\ud800") != digest_text("\ud801")
    assert digest("\ud800") != digest("\ud801")


def test_another_process_with_another_hash_seed_finds_the_same():
    code = (
        "from rubriclab.models.base import digest; "
        "print(digest({'b': [1, 2.5], 'a': 'x', 'c': {'z': None, 'y': True}}))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    assert runs == [digest({"c": {"y": True, "z": None}, "a": "x", "b": [1, 2.5]})] * 2
