"""Which provider a model string belongs to, and with it which variables of the environment apply."""

from __future__ import annotations

import os

import pytest

from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.providers import OWN_CLIENT, choose_client, load_litellm, provider_of

ADDRESS = "http://127.0.0.1:9/v1"


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


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "command-a-03-2025", "a-name-that-nobody-knows"])
def test_the_address_of_openai_is_not_that_of_another_provider_s_bare_name(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", ADDRESS)
    assert LanguageModel(model).identity["address"] is None


def test_the_address_of_a_bare_name_is_that_of_its_own_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_BASE", ADDRESS)
    assert LanguageModel("claude-haiku-4-5").identity["address"] == ADDRESS
    monkeypatch.setenv("OPENAI_API_BASE", ADDRESS)
    assert LanguageModel("gpt-4o-mini").identity["address"] == ADDRESS


@pytest.mark.parametrize("variable", ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID"])
def test_openais_client_is_kept_where_only_it_sends_a_setting(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.delenv(OWN_CLIENT, raising=False)
    monkeypatch.setenv(variable, "org-1")
    choose_client()
    assert OWN_CLIENT not in os.environ
    monkeypatch.delenv(variable)
    choose_client()
    assert os.environ[OWN_CLIENT] == "True"
