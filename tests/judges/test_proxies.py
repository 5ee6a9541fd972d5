"""Proxies that the environment names: they get no request to this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
from judge_questions import rate
from server import RunningServer

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.providers import bypass_proxies, is_loopback


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
    address = f"http://{host}:{server.port}/v1"
    before = server.requests.total()
    if host == "127.8.9.1":  # the server listens at one address only
        with socket.create_server((host, 0)) as other:
            other.setblocking(False)
            model = LanguageModel("openai/fake", timeout=0.5, api_base=f"http://{host}:{other.getsockname()[1]}/v1")
            with pytest.raises(JudgeUnavailable):
                await model.reply(rate())
            assert not is_unused(other)
    else:
        await LanguageModel("openai/fake", timeout=5.0, api_base=address).reply(rate())
        assert server.requests.total() == before + 1
    assert is_unused(proxy)


async def test_a_proxy_gets_the_requests_to_other_machines(server: RunningServer, proxy: socket.socket) -> None:
    with pytest.raises(JudgeUnavailable):
        await LanguageModel("openai/fake", timeout=0.5, api_base="http://192.0.2.1/v1").reply(rate())
    assert not is_unused(proxy)


@pytest.mark.parametrize(
    ("host", "is_this_machine"),
    [
        ("127.0.0.1", True),
        ("127.255.0.9", True),
        ("::1", True),
        ("localhost", True),
        ("LocalHost.", True),
        ("128.0.0.1", False),
        ("localhost.example.com", False),
        ("127.0.0.1.example.com", False),
    ],
)
def test_this_machine_is_known_by_its_addresses(host: str, is_this_machine: bool) -> None:
    assert is_loopback(host) == is_this_machine


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("NO_PROXY", "", "::1"),
        ("NO_PROXY", "corp.example", "corp.example,::1"),
        ("no_proxy", "corp.example", "corp.example,::1"),
        ("NO_PROXY", "*", "*"),
        ("NO_PROXY", "::1", "::1"),
    ],
)
def test_hosts_that_the_user_keeps_from_proxies_are_kept(
    proxy: socket.socket, monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str
) -> None:
    monkeypatch.setenv(name, before)
    bypass_proxies("::1")
    bypass_proxies("::1")
    assert os.environ[name] == after
