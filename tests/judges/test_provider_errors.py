"""What a provider's error means."""

from __future__ import annotations

import inspect
import json
import re
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import Commands
from hypothesis import given, strategies as st

from rubriclab.errors import JudgeRefused, JudgeUnavailable
from rubriclab.judges.provider_errors import provider_message, refused_setting, retry_after, translated
from rubriclab.judges.providers import load_litellm


class ProviderFault(Exception):
    def __init__(self, message: str, status: int, body: Any = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = body


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
    ],
)
def test_retry_after_is_read_in_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_is_read_as_a_date() -> None:
    before = datetime.now(UTC)
    seconds = retry_after({"retry-after": format_datetime(before + timedelta(seconds=90), usegmt=True)})
    passed = (datetime.now(UTC) - before).total_seconds()
    assert seconds is not None
    assert 89 - passed <= seconds <= 90  # the date has whole seconds
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


@given(st.text())
def test_no_retry_after_header_breaks_the_reading(wish: str) -> None:
    seconds = retry_after({"retry-after": wish})
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("litellm.AuthenticationError: AuthenticationError: OpenAIException - wrong key", "wrong key"),
        ("litellm.Timeout: APITimeoutError - Request timed out.", "Request timed out."),
        ("litellm.BadRequestError: no\nsuch  thing\nTraceback (most recent call last):\n  File", "no such thing"),
        ('litellm.APIError: OpenAIException - {"error": {"message": "no\\nroom", "code": null}}', "no room"),
        ('OpenAIException - {"error": "no room"}', "no room"),
        ('OpenAIException - {"detail": "no room"}', '{"detail": "no room"}'),
        ("", "ProviderFault"),
    ],
)
def test_message_is_the_provider_s_own_on_one_line(raised: str, said: str) -> None:
    assert provider_message(ProviderFault(raised, 400)) == said


def test_long_message_is_cut() -> None:
    assert len(provider_message(ProviderFault("x" * 5000, 400))) == 300


@pytest.mark.parametrize("status", [200, 408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_passing_status_is_worth_a_retry(status: int) -> None:
    assert isinstance(translated(ProviderFault("no", status), "m"), JudgeUnavailable)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_lasting_status_is_a_refusal(status: int) -> None:
    error = translated(ProviderFault("no", status), "mistral/m")
    assert isinstance(error, JudgeRefused)
    assert error.hint


def test_rejected_key_names_the_variable_to_check() -> None:
    assert "MISTRAL_API_KEY" in str(translated(ProviderFault("no", 401), "mistral/m"))


def test_used_up_credit_is_no_passing_rate_limit() -> None:
    fault = ProviderFault("You exceeded your current quota", 429, {"code": "insufficient_quota"})
    assert isinstance(translated(fault, "gpt-4o"), JudgeRefused)
    written = 'OpenAIException - {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    assert isinstance(translated(ProviderFault(written, 429), "gpt-4o"), JudgeRefused)
    assert isinstance(translated(ProviderFault("You exceeded your current quota", 429), "gemini/x"), JudgeUnavailable)


class BadRequestError(ProviderFault):
    """Told by its name, like litellm's."""


SETTINGS = ("temperature", "response_format", "logprobs", "top_logprobs")


@pytest.mark.parametrize(
    ("said", "setting"),
    [
        ("Unsupported value: 'temperature' does not support 0", "temperature"),
        ("json_schema is not available for this model", "response_format"),
        ("This model does not support logprobs.", "logprobs"),
        ("top_logprobs must be at most 8", "logprobs"),
        ("Requested sample logprobs of 20, which is greater than max allowed: 5", "logprobs"),
        ("You are not allowed to request log_probs", "logprobs"),
        ("Invalid value for messages", None),
    ],
)
def test_refusal_names_its_setting(said: str, setting: str | None) -> None:
    assert refused_setting(BadRequestError(said, 400), SETTINGS) == setting
    assert refused_setting(BadRequestError(said, 400), ()) is None


@pytest.mark.parametrize(
    ("said", "setting"),
    [
        ("Invalid response object: 2 validation errors for ChoiceLogprobs", "logprobs"),
        ("logprobs is not supported for models created with `logits_all=False`", "logprobs"),
        ("Unable to get json response, Original Response: {'logprobs': {", None),
        ("the temperature of the server is too high", None),
    ],
)
def test_server_error_refuses_at_most_log_probabilities(said: str, setting: str | None) -> None:
    assert refused_setting(ProviderFault(said, 500), SETTINGS) == setting
    assert refused_setting(ProviderFault(said, 500), SETTINGS[:2]) is None


def every_litellm_error(message: str) -> list[Exception]:
    """Return an error of each class that litellm raises, where it can be made from a message."""
    classes = load_litellm().exceptions
    response = httpx.Response(400, request=httpx.Request("POST", "http://host/v1"))
    known: dict[str, Any] = {"model": "m", "llm_provider": "openai", "response": response, "status_code": 500}
    known |= {"request": response.request, "current_cost": 1.0, "max_budget": 1.0, "body": None, "schema": "{}"}
    made = []
    for kind in vars(classes).values():
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__name__ != "VectorStoreSearchError":
            needed = [
                name
                for name, each in list(inspect.signature(kind.__init__).parameters.items())[1:]
                if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
            ]
            made.append(kind(**{name: known.get(name, message) for name in needed}))
    return made


def behind(message: str) -> list[str]:
    """Return the message with a traceback behind it, as litellm's own code writes it, and other traces of code."""
    try:
        json.loads("{bad")
    except ValueError:
        trace = traceback.format_exc()
    package = "/home/me/.venv/lib/python3.11/site-packages/litellm/main.py"
    return [
        f"{message}\n{trace}",
        f"{message} {trace}",
        f"{message} {trace!r}",
        f"{message} in {package}:123",
        f"{message} ({package}, line 7) and C:\\Python\\Lib\\site-packages\\openai\\client.py",
    ]


def shown_of_every_error() -> list[str]:
    """Return what is shown of each of litellm's errors, with each trace of code behind its message."""
    errors = [error for message in behind("the reply was damaged") for error in every_litellm_error(message)]
    return [str(translated(error, "openai/m")) for error in errors]


def test_no_error_of_litellm_shows_a_traceback_or_a_path(tmp_path: Path) -> None:
    # In a process of its own: litellm changes the filters of warnings for the test that imports it first.
    program = f"""
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_provider_errors as t
print(json.dumps(t.shown_of_every_error()))
"""
    done = Commands(tmp_path).python(program)
    assert done.code == 0, done.err
    shown = json.loads(done.out)
    assert len(shown) >= 5 * 25
    assert not [said for said in shown if re.search(r"Traceback|site-packages|File \"|\.py|\n", said)]


def test_a_path_that_a_server_names_stays() -> None:
    assert provider_message(ProviderFault("no route /v1/chat/completions", 404)) == "no route /v1/chat/completions"


@pytest.mark.parametrize("piece", ["missing ", "/", 'File "', "sk-", "Error: ", " ", "\\n", "://", "log prob"])
def test_a_message_of_any_size_is_read_in_little_work(piece: str) -> None:
    start = time.process_time()
    translated(ProviderFault(piece * (4_000_000 // len(piece)), 400), "openai/m")
    assert time.process_time() - start < 5  # quadratic work would take hours
