"""Providers by model name, addresses, proxies, and what errors of providers mean."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from judge_questions import rate
from server import RunningServer

from rubriclab.errors import JudgeRefused, JudgeUnavailable, SettingsError
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import Ledger
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.providers import bypass_proxies, check_address, load_litellm, provider_of
from rubriclab.judges.responses import AdjustedSettings, judge_error_from, provider_message, retry_after, stated_status

ADDRESS = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        *(({"code": code}, status) for code, status in ((399, 502), (400, 400), ("429", 429), (599, 599), (600, 502))),
        ({"message": "no", "type": "invalid_request_error"}, 400),
        ("no", 502),
        ({"message": "", "code": None}, None),
        ({}, None),
    ],
)
def test_an_error_inside_a_reply_has_the_status_of_its_code_if_that_is_one_of_an_error(error: Any, status: Any) -> None:
    assert stated_status({"error": error}) == status


def test_every_bare_name_that_litellm_knows_has_litellm_s_provider() -> None:
    litellm = load_litellm()
    wrong = {}
    # Not those with a provider before a slash: for some of these litellm asks a server for a token.
    for model in (name for name in litellm.model_cost if "/" not in name):
        try:
            expected = litellm.get_llm_provider(model)[1].removeprefix("text-completion-")
        except litellm.BadRequestError:
            continue
        if provider_of(model) != expected:
            wrong[model] = provider_of(model)
    assert wrong == {}


@pytest.mark.parametrize(
    ("model", "variable", "address"),
    [
        ("claude-haiku-4-5", "OPENAI_API_BASE", None),
        ("command-a-03-2025", "OPENAI_API_BASE", None),
        ("a-name-that-nobody-knows", "OPENAI_API_BASE", None),
        ("gpt-4o-mini", "OPENAI_API_BASE", ADDRESS),
        ("claude-haiku-4-5", "ANTHROPIC_API_BASE", ADDRESS),
    ],
)
def test_the_address_of_a_bare_name_is_that_of_its_own_provider(
    monkeypatch: pytest.MonkeyPatch, model: str, variable: str, address: str | None
) -> None:
    monkeypatch.setenv(variable, ADDRESS)
    assert LanguageModel(model).identity["address"] == address


WITH_CREDENTIALS = [
    *("http://user:hunter2@host/v1", "https://hunter2@host/v1", "HTTP://user:hunter2@host", "//user:hunter2@host/v1"),
    *("user:hunter2@host/v1", " http://user:hunter2@host/v1", "http:\\\\user:hunter2@host/v1"),
    *("http://host/v1?api_key=hunter2", "http://host/v1?version=1&key=hunter2", "http://user:hun/ter2@host/v1"),
    *("http://host/v1?sig=hunter2", "http://host/v1?x=1;X-Amz-Signature=hunter2", "http://host/v1?api%5Fkey=hunter2"),
    *("http://host/v1?openai_api_key=hunter2", "http://host/v1#access_token=hunter2"),
    *("http://host/sk-hunter2hunter2/v1", "http://host/v1/sk%2Dhunter2hunter2"),
    *("http://host/eyJhunter2.eyJhunter2.hunter2/v1", "http://user:hun\\ter2@host/v1", "http://host\\@hunter2/v1"),
]
AMBIGUOUS = [
    *("http://host\\hunter2/v1", "http://host /hunter2", "http://ho\tst/hunter2", "http://host/v1\u200b?hunter2"),
    "http://host/v1\u00a0hunter2",
]


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        *((address, "has a user name, password or key|cannot be read") for address in WITH_CREDENTIALS),
        *((address, "has a backslash, white space or an invisible character") for address in AMBIGUOUS),
    ],
)
def test_an_address_with_credentials_or_an_ambiguous_one_is_refused_and_not_repeated(address: str, fault: str) -> None:
    with pytest.raises(SettingsError, match=fault) as caught:
        LanguageModel("openai/fake", api_base=address)
    assert "hun" not in str(caught.value)


@pytest.mark.parametrize("variable", ["OPENAI_API_BASE", "OPENAI_BASE_URL"])
def test_credentials_in_the_environment_are_refused_when_the_judge_is_made(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://user:hunter2@host/v1")
    for name in ("gpt-4o-mini", "openai/fake"):
        with pytest.raises(SettingsError, match=f"^{variable}: the address has a user name") as caught:
            connect(name, options=JudgeOptions(), ledger=Ledger())
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:8000/v1",
        "https://[::1]:8000/v1/",
        "https://api.example/ai/run/@cf/x",
        "https://gateway.example/v1/0123456789abcdef0123456789abcdef/gateway/openai",
    ],
)
def test_an_address_without_credentials_is_used_as_it_is(address: str) -> None:
    assert check_address(address, "--api-base") == address


class ProviderFault(Exception):
    def __init__(self, message: str, status: int, body: Any = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = body


@pytest.mark.parametrize(
    ("header", "message", "seconds"),
    [
        ("2s", "no", 2),
        ("1m30s", "no", 90),
        ("Wed, 21 Oct 2015 07:28:00 GMT", "no", 0),
        ("", "Rate limit reached. Please try again in 2.1s.", 2.1),
        ("", "Please try again in 1m2.5s.", 62.5),
        ("", "Slow down. Retry-After: 20", 20),
        ("", "The limit is 20 requests in 60 seconds.", None),
        ("-1e300", "no", 0),
        ("Mon, 01 Jan 0001 00:00:00 +2359", "no", 0),
        *((unread, "no", None) for unread in ("nan", "inf", "9" * 5000, "1_0_x", "0000-00-00", "2015-10-21T07:28:00Z")),
        *((f"Wed, 21 Oct {date}", "no", None) for date in ("99999 07:28:00 GMT", "2015 07:28:00 +9999999999")),
        *((date, "no", None) for date in ("Wed, 21 Oct 2015 07:28:00 -9999", "Wed, 99 Oct 2015 99:99:99 GMT")),
    ],
)
def test_a_pause_is_read_from_a_header_or_a_message(header: str, message: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": header}, message) == seconds
    assert retry_after({"retry-after-ms": "2500"}) == 2.5


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
        ("no reply (/lib/site-packages/x.py, line 7) and C:\\Lib\\site-packages\\c.py", "no reply (…) and …"),
        ('litellm.APIError: OpenAIException - {"error": {"message": "no\\nroom", "code": null}}', "no room"),
        ('OpenAIException - {"error": "no room"}', "no room"),
        ("no route /v1/chat/completions", "no route /v1/chat/completions"),
        ("Cannot connect to host h:9 ssl:<ssl.SSLContext object at 0x7f> [no]", "Cannot connect to host h:9 [no]"),
        ("", "ProviderFault"),
        ("x" * 5000, "x" * 299 + "…"),
    ],
)
def test_message_is_the_provider_s_own_on_one_line(raised: str, said: str) -> None:
    assert provider_message(ProviderFault(raised, 400)) == said


def test_a_context_without_room_for_hidden_reasoning_costs_the_reasoning_and_not_the_prompt() -> None:
    fault = ProviderFault("max_tokens is too large: 600. The maximum context length is 700 and you have 150", 400)
    change = AdjustedSettings().after(fault, ["max_tokens"], 600, 512)
    assert change is not None
    assert change.no_room_for_reasoning
    assert change.after(fault, ["max_tokens"], 512, 512) is None
    assert not isinstance(judge_error_from(fault, "m"), JudgeRefused)


@pytest.mark.parametrize("piece", ["missing ", "/", 'File "', "sk-", "Error: ", " ", "\\n", "://", "log prob"])
def test_a_message_of_any_size_is_read_in_little_work(piece: str) -> None:
    start = time.process_time()
    judge_error_from(ProviderFault(piece * (250_000 // len(piece)), 400), "openai/m")
    assert time.process_time() - start < 5  # quadratic work would take many minutes


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A proxy for all requests, which answers none; connections to it wait to be accepted."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, address)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "")  # so that what is added is taken back
            monkeypatch.delenv(name)
        yield listening


def is_unused(proxy: socket.socket) -> bool:
    try:
        proxy.accept()[0].close()
    except BlockingIOError:
        return True
    return False


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost"])
@pytest.mark.parametrize("trusting", ["", "True"])
async def test_a_proxy_gets_no_request_to_this_machine(
    server: RunningServer, proxy: socket.socket, monkeypatch: pytest.MonkeyPatch, host: str, trusting: str
) -> None:
    monkeypatch.setenv("AIOHTTP_TRUST_ENV", trusting)
    before = server.requests.total()
    if host == "127.8.9.1":  # the server listens at one address only
        with socket.create_server((host, 0)) as other:
            other.setblocking(False)
            model = LanguageModel("openai/fake", timeout=0.1, api_base=f"http://{host}:{other.getsockname()[1]}/v1")
            with pytest.raises(JudgeUnavailable):
                await model.reply(rate())
            assert not is_unused(other)
    else:
        await LanguageModel("openai/fake", timeout=5.0, api_base=f"http://{host}:{server.port}/v1").reply(rate())
        assert server.requests.total() == before + 1
    assert is_unused(proxy)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("NO_PROXY", "", "::1"), ("NO_PROXY", "corp.test", "corp.test,::1"), ("no_proxy", "corp.test", "corp.test,::1")],
)
def test_hosts_that_the_user_keeps_from_proxies_are_kept(
    proxy: socket.socket, monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str
) -> None:
    monkeypatch.setenv(name, before)
    bypass_proxies("::1")
    bypass_proxies("::1")
    assert os.environ[name] == after


@pytest.mark.parametrize(
    "address", ["localhost:8000/v1", "file:///etc/passwd", "http://", "http://[::1/v1", "http://h:x"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="expected one such as http://localhost:8000/v1"):
        check_address(address, "--api-base")
