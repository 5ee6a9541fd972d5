"""Keys are masked in messages and replies; other words stay as they are."""

from __future__ import annotations

import re
import time
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.judges.providers import mask_env_keys, mask_keys

few = settings(max_examples=10)


@pytest.mark.parametrize(
    "variable", ["OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_SECRET", "OPENAI_API_KEY_2"]
)
@given(key=st.from_regex(r"[A-Za-z0-9_-]{8,60}", fullmatch=True), before=st.text(), after=st.text())
def test_a_key_of_the_environment_never_passes(variable: str, key: str, before: str, after: str) -> None:
    assert key not in mask_keys(f"{before}{key}{after}", {variable: key}) or key in before + after + "***"
    assert key not in mask_env_keys(f"|{key}|", {variable: key})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Incorrect API key provided: sk-proj-abcdef123456.", "Incorrect API key provided: ***."),
        ("Incorrect API key provided: sk-ab******cdef.", "Incorrect API key provided: ***."),
        ("header Authorization: Bearer abc.def-123 refused", "header Authorization: Bearer *** refused"),
        ("GET https://host/v1?key=AIzaSyA1234567890&alt=json", "GET https://host/v1?key=***&alt=json"),
        ("cannot reach http://me:secret@host/v1", "cannot reach http://***@host/v1"),
        ("no: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P, sorry", "no: ***, sorry"),
    ],
)
def test_what_looks_like_a_key_is_masked_whoever_s_it_is(text: str, shown: str) -> None:
    assert mask_keys(text, {}) == shown


def percent(key: str) -> str:
    return "".join(f"%{ord(character):02X}" for character in key)


def base64(key: str) -> str:
    return b64encode(key.encode()).decode()


# How a server may hand back a key that it was sent. The key is in the environment.
SENT = {
    "as it is": lambda key: key,
    "in base64": base64,
    "in base64 for addresses": lambda key: urlsafe_b64encode(key.encode()).decode(),
    "in base64 behind a user name": lambda key: base64(f"me:{key}"),
    "in base64 within other bytes": lambda key: base64(f"a {key} z"),
    "percent-encoded": lambda key: quote(key, safe=""),
    "percent-encoded throughout": percent,
    "percent-encoded in small letters": lambda key: percent(key).lower(),
    "escaped for JSON": lambda key: "".join(f"\\u{ord(character):04x}" for character in key),
    "with escaped slashes": lambda key: key.replace("/", "\\/"),
}
# How any key may be given, known or not.
GIVEN = {
    "parameter": "http://host/v1?v=1&access_token={}",
    "signature": "http://host/v1?sig={}&x=1",
    "fragment": "http://host/#token={}",
    "assignment": "access_token={}",
    "variable": "OPENAI_API_KEY={}",
    "header": "x-api-key: {}",
    "other header": "API-Key: {}",
    "authorization": "Authorization: {}",
    "bearer": "Authorization: Bearer {}",
    "JSON": '{{"api_key": "{}", "x": 1}}',
    "JSON without spaces": '{{"key":"{}"}}',
    "JSON in a string": '"{{\\"api_key\\": \\"{}\\"}}"',
    "dictionary": "{{'client_secret': '{}'}}",
    "password": "http://user:{}@host/v1",
    "password with an at sign": "http://u:p@{}@host/v1",
    "user name": "http://{}@host",
}
# Without "x", which stands for what is left out as well.
KEYS = st.text("abcdefghijkmnopqrstuvwyzABCDEFGHJKLMNPQRSTUVWYZ0123456789-_", min_size=8, max_size=64)


@pytest.mark.parametrize("dressing", SENT)
@few
@given(key=st.text(alphabet="aZ09-_/+=.~$", min_size=8, max_size=64))
def test_a_key_in_use_is_masked_however_it_is_written(dressing: str, key: str) -> None:
    dressed = SENT[dressing](key)
    for shown in (mask_keys(f"<{dressed}>", {"MY_KEY": key}), mask_env_keys(f"<{dressed}>", {"MY_KEY": key})):
        assert re.fullmatch(r"<\\?(?:[A-Za-z0-9+/=]{0,8}\*{3})+[A-Za-z0-9+/=]{0,12}>", shown), shown
        assert dressed not in shown


@pytest.mark.parametrize("form", ["{}****{}", "{}...{}", "{}…{}", "{}**{}", "{}xxxxxxxx{}", "{}••••{}"])
@pytest.mark.parametrize("shown", [4, 8])
@few
@given(key=KEYS)
def test_the_ends_of_a_key_in_use_are_masked(form: str, shown: int, key: str) -> None:
    for ends in ((key[:shown], key[-shown:]), (key[:shown], ""), ("", key[-shown:])):
        assert re.fullmatch(r"<[*.…x•]{3,}>", mask_keys(f"<{form.format(*ends)}>", {"MY_KEY": key}))


@pytest.mark.parametrize(("length", "is_masked"), [(1000, True), (1001, False)])
def test_keys_of_up_to_1000_characters_are_masked_when_encoded(length: int, is_masked: bool) -> None:
    key = ("key/" * 251)[:length]
    assert ("%2F" not in mask_env_keys(quote(key, safe=""), {"MY_KEY": key})) == is_masked


@given(key=st.from_regex(r"[A-Za-z0-9_-]{24,64}", fullmatch=True))
def test_half_a_key_in_use_is_masked(key: str) -> None:
    for half in (key[:12], key[-12:]):
        assert half not in mask_keys(f"key {half} here", {"MY_KEY": key})


@pytest.mark.parametrize("dressing", GIVEN)
@few
@given(key=KEYS)
def test_a_key_that_is_not_known_is_masked_by_the_name_that_it_is_given_under(dressing: str, key: str) -> None:
    text = GIVEN[dressing].format(key)
    assert key not in mask_keys(text, {})
    assert mask_keys(text, {}).endswith(text.rpartition(key)[2])


@given(key=KEYS)
def test_a_key_that_is_not_known_is_masked_where_it_is_partly_shown(key: str) -> None:
    assert mask_keys(f"Incorrect API key: {key[:4]}****{key[-4:]}.", {}) == "Incorrect API key: ***."


@pytest.mark.parametrize(
    "text",
    [
        "key: the most important one; a token: a word; max_tokens: 5",
        '{"error": {"message": "no such model", "type": "invalid_request_error", "code": "invalid_api_key"}}',
        "Set OPENAI_API_KEY, or OPENAI_BASE_URL=http://localhost:8000/v1.",
        "http://localhost:8000/ai/run/@cf/x cannot be reached",
        "https://router.huggingface.co/hf-inference/models",
        "**bold**, 2 * 3 ** 4, ...",
    ],
)
def test_what_is_no_key_stays(text: str) -> None:
    assert mask_keys(text, {"MY_KEY": "live-0123456789abcdef"}) == text


@pytest.mark.parametrize(
    "unit", ["a", "*", ".", "x", "://", "://a:", '"key":', "sk-", "%61", "eyJaaaaa.", "api_key=", "abcd"]
)
def test_masking_a_long_text_takes_seconds_at_most(unit: str) -> None:
    began = time.process_time()
    mask_keys(unit * (50_000 // len(unit)), {"MY_KEY": "abcd-0123456789abcd"})
    assert time.process_time() - began < 10


@given(st.text(alphabet=st.characters(exclude_characters="_-:=@?&*")))
def test_other_words_stay_as_they_are(text: str) -> None:
    assert mask_keys(text, {"OPENAI_API_KEY": "none"}).count("***") == text.count("***") or "Bearer" in text


def test_a_reply_about_risk_and_keys_is_not_changed() -> None:
    text = "The task-oriented summary says 'Bearer bonds' and quotes sk-learn-documentation; a key point is missing."
    assert mask_env_keys(text, {"OPENAI_API_KEY": "sk-0123456789", "KEYBOARD": "missing."}) == text


def test_a_key_of_this_process_counts_from_when_it_is_set_until_it_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "first-key-123", "second-key-456"
    monkeypatch.setenv("MY_API_KEY", first)
    assert mask_env_keys(f"{first} {second}") == f"*** {second}"
    monkeypatch.setenv("MY_API_KEY", second)
    assert mask_env_keys(f"{first} {second}") == f"{first} ***"
    monkeypatch.delenv("MY_API_KEY")
    monkeypatch.setenv("A_PLACE", first)
    assert mask_env_keys(f"{first} {second}") == f"{first} {second}"
