"""The address of `--api-base`: it belongs to one judge, and no other provider's key is sent there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from judge_questions import rate
from server import RunningServer

from rubriclab.errors import JudgeError
from rubriclab.judges.connect import account_name
from rubriclab.judges.options import JudgeOptions
from rubriclab.ops.workspace import GivenAddress, JudgeChoice, Workspace
from rubriclab.web.server import Access
from rubriclab.web.studio.studio import Studio

OPENAI, ANTHROPIC, VLLM = "sk-openai-0123456789", "sk-ant-0123456789", "sk-vllm-0123456789"
ADDRESS = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningServer, RunningServer]]:
    with RunningServer() as theirs, RunningServer() as default:
        yield theirs, default


@pytest.fixture
def theirs(running: tuple[RunningServer, RunningServer]) -> RunningServer:
    """The server of the provider that no address is given for."""
    running[0].reset()
    return running[0]


@pytest.fixture
def keys(server: RunningServer, theirs: RunningServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a user with keys of two providers, of which one has another server in it."""
    environment = {
        "OPENAI_API_KEY": OPENAI,
        "ANTHROPIC_API_KEY": ANTHROPIC,
        "ANTHROPIC_API_BASE": theirs.url.removesuffix("/v1"),
        "RUBRICLAB_ATTEMPTS": "1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("OPENAI_API_BASE")
    return environment


@pytest.mark.parametrize(
    ("judges", "given"),
    [
        (("openai/x", "anthropic/y"), (True, False)),
        (("openai/x", "openai/y"), (True, True)),
        (("gpt-4o-mini", "openai/y", "anthropic/y", "o3"), (True, True, False, True)),
        (("embedded", "openai/x", "anthropic/y"), (False, True, False)),
        (("recorded:file", "anthropic/y", "openai/x"), (False, True, False)),
        (("ollama_chat/llama", "ollama/llama"), (True, True)),
        (("hosted_vllm/x", "openai/x"), (True, False)),
    ],
    ids=str,
)
def test_an_address_is_for_the_first_judge_and_the_others_of_its_provider(
    judges: tuple[str, ...], given: tuple[bool, ...]
) -> None:
    address = GivenAddress(ADDRESS)
    assert [address.for_judge(judge) for judge in judges] == [ADDRESS if each else None for each in given]
    assert address.for_judge(judges[-1]) == (ADDRESS if given[-1] else None), "it stays so"


@pytest.mark.parametrize("are_versions", [False, True])
async def test_each_server_gets_the_key_of_its_provider_only(
    server: RunningServer, theirs: RunningServer, keys: dict[str, str], are_versions: bool
) -> None:
    # The address of a version holds for a model that the given one is not for.
    own, other = (ADDRESS, theirs.url) if are_versions else (None, None)
    with Workspace(":memory:", JudgeOptions(api_base=server.url, attempts=1)) as workspace:
        workspace.open_store(create=True)
        await workspace.judge(JudgeChoice("openai/x", own)).reply(rate())
        with pytest.raises(JudgeError):
            await workspace.judge(JudgeChoice("anthropic/y", other)).reply(rate())
    assert (server.keys, theirs.keys) == ({OPENAI}, {ANTHROPIC})


# The generator's own key, and what a server gets where no key is set for it.
OWN, NO_KEY = "sk-generator-0123456789", "none"


@dataclass(frozen=True)
class Pair:
    """Judge and generator of a command, and the keys that their servers get.

    `at` names their addresses: A and B are given (one for the judge is also for a generator of the same provider), `-`
    is that in OPENAI_API_BASE.
    """

    judge: str
    generator: str
    at: str
    keys: tuple[str, str]
    has_own_key: bool = True


@pytest.mark.parametrize(
    "pair",
    [
        # One provider, two addresses: the provider's variable is for the judge's.
        Pair("openai/x", "openai/y", "AB", (OPENAI, OWN)),
        Pair("openai/x", "openai/y", "AB", (OPENAI, NO_KEY), has_own_key=False),
        Pair("openai/x", "custom_openai/y", "AB", (OPENAI, NO_KEY), has_own_key=False),
        Pair("hosted_vllm/x", "hosted_vllm/y", "AB", (VLLM, OWN)),
        Pair("openai/x", "openai/y", "-B", (OPENAI, OWN)),
        Pair("openai/x", "openai/y", "-B", (OPENAI, NO_KEY), has_own_key=False),
        # One provider, one address: one key.
        Pair("openai/x", "openai/y", "A-", (OPENAI, OPENAI)),
        Pair("openai/x", "openai/y", "AA", (OPENAI, OPENAI)),
        Pair("openai/x", "openai/y", "--", (OPENAI, OPENAI)),
        # Two providers have a variable each, which a key for the generator's own address replaces.
        Pair("hosted_vllm/x", "openai/y", "AB", (VLLM, OPENAI), has_own_key=False),
        Pair("hosted_vllm/x", "openai/y", "AB", (VLLM, OWN)),
        Pair("hosted_vllm/x", "openai/y", "A-", (VLLM, OPENAI)),
        # Without a key of its own, no other provider gets OpenAI's, which litellm would send.
        Pair("litellm_proxy/x", "openai/y", "AB", (NO_KEY, OPENAI), has_own_key=False),
        Pair("openai/x", "litellm_proxy/y", "AB", (OPENAI, NO_KEY), has_own_key=False),
        Pair("openai/x", "scaleway/y", "AB", (OPENAI, NO_KEY), has_own_key=False),
    ],
    ids=lambda pair: f"{pair.judge} {pair.generator} {pair.at} {pair.keys[1]}",
)
async def test_a_key_goes_to_the_address_of_one_model_only(
    server: RunningServer,
    theirs: RunningServer,
    running: tuple[RunningServer, RunningServer],
    pair: Pair,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, key in {"OPENAI": OPENAI, "HOSTED_VLLM": VLLM, "RUBRICLAB_GENERATOR": OWN}.items():
        if key != OWN or pair.has_own_key:
            monkeypatch.setenv(f"{name}_API_KEY", key)
    servers = {"A": server, "B": theirs, "-": running[1]}
    monkeypatch.setenv("OPENAI_API_BASE", running[1].url)
    address, own_address = (None if each == "-" else servers[each].url for each in pair.at)
    with Workspace(":memory:", JudgeOptions(api_base=address, attempts=1)) as workspace:
        workspace.open_store(create=True)
        choice = JudgeChoice(pair.judge)
        judge = workspace.judge(choice)
        generator_choice = JudgeChoice(pair.generator, own_address, overrides_api_base=own_address is not None)
        generator = workspace.generator(generator_choice, choice, judge)
        received = []
        for number, model in enumerate((judge, generator)):
            await model.reply(replace(rate(), sample=number))
            received.append({letter: each.keys for letter, each in servers.items() if each.keys})
            for each in servers.values():
                each.reset()
    is_shared = pair.at[1] == "-" and account_name(pair.judge) == account_name(pair.generator)
    assert received == [{pair.at[0]: {pair.keys[0]}}, {pair.at[0] if is_shared else pair.at[1]: {pair.keys[1]}}]


def test_the_pages_of_a_studio_share_whom_the_address_is_for() -> None:
    with Workspace(":memory:", JudgeOptions(api_base=ADDRESS)) as reading:
        studio = Studio(reading, Access.at(8521))
        addresses = []
        for judge in ("openai/x", "anthropic/y"):
            with studio.new_workspace() as workspace:
                addresses.append(workspace.given_address.for_judge(judge))
    assert addresses == [ADDRESS, None]
