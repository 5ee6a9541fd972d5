"""The address of `--api-base`: it belongs to one judge, and no other provider's key is sent there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from commands import HELDOUT, LABELLED, Commands
from judge_questions import rate
from server import RunningServer

from rubriclab.errors import JudgeError
from rubriclab.judges.llm import JudgeOptions
from rubriclab.ops.workspace import GivenAddress, JudgeChoice, Workspace
from rubriclab.web.security import Access
from rubriclab.web.studio.app import Studio

OPENAI, ANTHROPIC = "sk-openai-0123456789", "sk-ant-0123456789"
ADDRESS = "http://127.0.0.1:9/v1"
ASPECT = ("--task", "summarization", "--aspect", "coherence")


@pytest.fixture
def theirs() -> Iterator[RunningServer]:
    """The server of the provider that no address is given for."""
    with RunningServer() as server:
        yield server


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


async def test_each_server_gets_the_key_of_its_provider_only(
    server: RunningServer, theirs: RunningServer, keys: dict[str, str]
) -> None:
    with Workspace(":memory:", JudgeOptions(api_base=server.url, attempts=1)) as workspace:
        workspace.open_store(create=True)
        await workspace.judge(JudgeChoice("openai/x")).reply(rate())
        with pytest.raises(JudgeError):
            await workspace.judge(JudgeChoice("anthropic/y")).reply(rate())
    assert (server.keys, theirs.keys) == ({OPENAI}, {ANTHROPIC})


async def test_a_version_s_own_address_holds_for_a_model_that_the_given_one_is_not_for(
    server: RunningServer, theirs: RunningServer, keys: dict[str, str]
) -> None:
    with Workspace(":memory:", JudgeOptions(api_base=server.url, attempts=1)) as workspace:
        workspace.open_store(create=True)
        await workspace.judge(JudgeChoice("openai/x", ADDRESS)).reply(rate())
        with pytest.raises(JudgeError):
            await workspace.judge(JudgeChoice("anthropic/y", theirs.url)).reply(rate())
    assert (server.keys, theirs.keys) == ({OPENAI}, {ANTHROPIC})


def test_the_pages_of_a_studio_share_whom_the_address_is_for() -> None:
    with Workspace(":memory:", JudgeOptions(api_base=ADDRESS)) as reading:
        studio = Studio(reading, Access(frozenset()))
        addresses = []
        for judge in ("openai/x", "anthropic/y"):
            with studio.workspace() as workspace:
                addresses.append(workspace.given_address.for_judge(judge))
    assert addresses == [ADDRESS, None]


COMMANDS = [
    ("learn", LABELLED, *ASPECT, "--method", "hypoeval", "--judge", "openai/x", "--generator", "anthropic/y"),
    ("improve", HELDOUT, "--rubric", "news", "--judge", "openai/x", "--writer", "anthropic/y"),
    ("agree", HELDOUT, "--rubric", "news", "--judge", "openai/x", "--judge", "anthropic/y"),
    ("drift", "news", HELDOUT, "--judge", "openai/x", "--judge", "anthropic/y"),
]


@pytest.fixture
def asking(rubriclab: Commands, keys: dict[str, str]) -> Commands:
    """The command line of that user, with a rubric in the store."""
    learn = ("learn", LABELLED, *ASPECT, "--method", "hypoeval", "--name", "news", "--judge", "embedded")
    assert rubriclab(*learn).code == 0
    (rubriclab.folder / "paper.txt").write_text("A Study of Raters. Ann Author, 2020. Raters reward order.")
    return Commands(rubriclab.folder, **{**rubriclab.environment, **keys})


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command[0]} {command[-2]}")
def test_no_command_sends_the_key_of_one_provider_to_the_server_of_another(
    asking: Commands, server: RunningServer, theirs: RunningServer, command: tuple[object, ...]
) -> None:
    asking(*command, "--api-base", server.url)
    assert server.keys <= {OPENAI}
    assert theirs.keys == {ANTHROPIC}
