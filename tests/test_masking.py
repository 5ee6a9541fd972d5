"""Keys are masked in messages and replies; other words stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubriclab.masking import masked, without_keys


@pytest.mark.parametrize(
    "variable",
    [
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AZURE_CLIENT_SECRET",
        "OPENAI_API_KEY_2",
    ],
)
@given(key=st.from_regex(r"[A-Za-z0-9_-]{8,60}", fullmatch=True), before=st.text(), after=st.text())
def test_a_key_of_the_environment_never_passes(variable: str, key: str, before: str, after: str) -> None:
    assert key not in masked(f"{before}{key}{after}", {variable: key}) or key in before + after + "***"
    assert key not in without_keys(f"|{key}|", {variable: key})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Incorrect API key provided: sk-proj-abcdef123456.", "Incorrect API key provided: ***."),
        ("Incorrect API key provided: sk-ab******cdef.", "Incorrect API key provided: ***."),
        ("header Authorization: Bearer abc.def-123 refused", "header Authorization: Bearer *** refused"),
        ("GET https://host/v1?key=AIzaSyA1234567890&alt=json", "GET https://host/v1?key=***&alt=json"),
        ("cannot reach http://me:secret@host/v1", "cannot reach http://***@host/v1"),
    ],
)
def test_what_looks_like_a_key_is_masked_whoever_s_it_is(text: str, shown: str) -> None:
    assert masked(text, {}) == shown


@given(st.text(alphabet=st.characters(exclude_characters="_-:=@?&")))
def test_other_words_stay_as_they_are(text: str) -> None:
    assert masked(text, {"OPENAI_API_KEY": "none"}).count("***") == text.count("***") or "Bearer" in text


def test_a_reply_about_risk_and_keys_is_not_changed() -> None:
    text = "The task-oriented summary says 'Bearer bonds' and quotes sk-learn-documentation; a key point is missing."
    assert without_keys(text, {"OPENAI_API_KEY": "sk-0123456789", "KEYBOARD": "missing."}) == text
