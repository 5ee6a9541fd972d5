"""Addresses of servers: what is refused before anything is sent, and what messages repeat of it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from rubriclab.errors import SettingsError
from rubriclab.judges.connect import connect
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.providers import check_address
from rubriclab.judges.stack import Ledger

WITH_CREDENTIALS = [
    "http://user:hunter2@host/v1",
    "https://hunter2@host/v1",
    "HTTP://user:hunter2@host",
    "//user:hunter2@host/v1",
    "user:hunter2@host/v1",
    " http://user:hunter2@host/v1",
    "http:\\\\user:hunter2@host/v1",
    "http://host/v1?api_key=hunter2",
    "http://host/v1?version=1&key=hunter2",
    "http://user:hun/ter2@host/v1",
    "http://host/v1?sig=hunter2",
    "http://host/v1?x=1;X-Amz-Signature=hunter2",
    "http://host/v1?api%5Fkey=hunter2",
    "http://host/v1?openai_api_key=hunter2",
    "http://host/v1#access_token=hunter2",
    "http://host/sk-hunter2hunter2/v1",
    "http://host/v1/sk%2Dhunter2hunter2",
    "http://host/eyJhunter2.eyJhunter2.hunter2/v1",
    "http://user:hun\\ter2@host/v1",
    "http://host\\@hunter2/v1",
]
AMBIGUOUS = [
    "http://host\\hunter2/v1",
    "http://host /hunter2",
    "http://ho\tst/hunter2",
    "http://host/v1\u200b?hunter2",
    "http://host/v1\u00a0hunter2",
]


@pytest.mark.parametrize("address", WITH_CREDENTIALS)
def test_an_address_with_credentials_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(SettingsError) as caught:
        LanguageModel("openai/fake", api_base=address)
    assert "hun" not in str(caught.value)


@pytest.mark.parametrize("address", AMBIGUOUS)
def test_an_address_that_clients_read_differently_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(SettingsError, match="has a backslash, white space or an invisible character") as caught:
        check_address(address, "--api-base")
    assert "hunter2" not in str(caught.value)


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
    "address", ["localhost:8000/v1", "file:///etc/passwd", "http://", "http://[::1/v1", "http://h:x"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="expected one such as http://localhost:8000/v1"):
        check_address(address, "--api-base")


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:8000/v1",
        "https://[::1]:8000/v1/",
        "https://api.example/ai/run/@cf/x",
        "http://h/v1?v=2",
        "https://router.huggingface.co/hf-inference/models/x",
        "https://x.openai.azure.com/openai?api-version=2024-02-01",
        "https://gateway.example/v1/0123456789abcdef0123456789abcdef/gateway/openai",
    ],
)
def test_an_address_without_credentials_is_used_as_it_is(address: str) -> None:
    assert check_address(address, "--api-base") == address


@given(
    user=st.text(st.characters(exclude_characters="/\\?#"), min_size=1),
    password=st.from_regex(r"[A-Za-z0-9]{12}", fullmatch=True),
)
def test_no_password_is_ever_repeated(user: str, password: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_address(f"http://{user}:{password}@host/v1", "--api-base")
    assert password not in str(caught.value) or password in user
