"""What a provider's error means."""

from __future__ import annotations

import inspect
import json
import re
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import Commands
from hypothesis import given, strategies as st

from rubriclab.errors import JudgeRefused, JudgeUnavailable
from rubriclab.judges.llm import MendedSettings
from rubriclab.judges.providers import load_litellm, provider_message, retry_after, translated


class ProviderFault(Exception):
    def __init__(self, message: str, status: int, body: Any = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = body


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


@pytest.mark.parametrize(("status", "is_named"), [(401, True), (403, True), (400, False), (422, False)])
def test_only_a_rejected_key_names_the_variable_to_check(status: int, is_named: bool) -> None:
    assert ("MISTRAL_API_KEY" in str(translated(ProviderFault("no", status), "mistral/m"))) is is_named


def test_used_up_credit_is_no_passing_rate_limit() -> None:
    fault = ProviderFault("You exceeded your current quota", 429, {"code": "insufficient_quota"})
    assert isinstance(translated(fault, "gpt-4o"), JudgeRefused)
    written = 'OpenAIException - {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    assert isinstance(translated(ProviderFault(written, 429), "gpt-4o"), JudgeRefused)
    assert isinstance(translated(ProviderFault("You exceeded your current quota", 429), "gemini/x"), JudgeUnavailable)


SETTINGS = ("temperature", "response_format", "logprobs", "top_logprobs", "seed")


def dropped(message: str, status: int, sent: Sequence[str] = SETTINGS) -> set[str]:
    """Return the settings that are left out after a request with the settings `sent` failed with this message."""
    change = MendedSettings().after(ProviderFault(message, status), [*sent, "max_tokens"], 600, 512)
    return set(change.dropped) if change else set()


@pytest.mark.parametrize(
    ("message", "setting"),
    [
        ("This model does not support logprobs.", {"logprobs"}),
        ("Requested sample logprobs of 20, which is greater than max allowed: 5", {"logprobs"}),
        ("You are not allowed to request log_probs", {"logprobs"}),
        ("Invalid value for messages", set()),
    ],
)
def test_a_refused_setting_is_left_out(message: str, setting: set[str]) -> None:
    assert dropped(message, 400) == setting
    assert dropped(message, 422) == setting
    assert dropped(message, 400, ()) == set()


@pytest.mark.parametrize(
    ("message", "setting"),
    [
        ("Invalid response object: 2 validation errors for ChoiceLogprobs", {"logprobs"}),
        ("logprobs is not supported for models created with `logits_all=False`", {"logprobs"}),
        ("Unable to get json response, Original Response: {'logprobs': {", set()),
        ("the temperature of the server is too high", set()),
    ],
)
def test_a_server_error_refuses_log_probabilities_at_most(message: str, setting: set[str]) -> None:
    assert dropped(message, 500) == setting
    assert dropped(message, 500, SETTINGS[:2]) == set()


def test_a_context_without_room_for_hidden_reasoning_costs_the_reasoning_and_not_the_prompt() -> None:
    fault = ProviderFault("max_tokens is too large: 600. The maximum context length is 700 and you have 150", 400)
    change = MendedSettings().after(fault, ["max_tokens"], 600, 512)
    assert change is not None
    assert change.has_no_room
    assert change.after(fault, ["max_tokens"], 512, 512) is None
    assert not isinstance(translated(fault, "m"), JudgeRefused)


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
