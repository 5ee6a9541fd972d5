"""Learning with the judge on one server and the generator on another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import Commands, Done
from flow_server import HYPOEVAL, ONE_ROUND, TASK, some_texts, texts
from server import RunningServer

KEYS = {"openai": "sk-openai-0123456789", "hosted_vllm": "sk-vllm-0123456789"}
GENERATOR = "generator-api-base"


@pytest.fixture
def theirs() -> Iterator[RunningServer]:
    with RunningServer() as server:
        yield server


@pytest.fixture
def asking(provider: RunningServer, tmp_path: Path) -> Commands:
    """The command line with keys of two providers."""
    return Commands(
        tmp_path,
        RUBRICLAB_STORE="store.db",
        RUBRICLAB_STRUCTURED="text",
        OPENAI_API_KEY=KEYS["openai"],
        HOSTED_VLLM_API_KEY=KEYS["hosted_vllm"],
    )


def learn(asking: Commands, judge: str, generator: str, *more: object, **environment: Any) -> Done:
    names = ("--name", "apart", "--judge", judge, "--generator", generator)
    asked = ("learn", texts(asking.folder, 12), *HYPOEVAL, *names, *ONE_ROUND)
    return asking(*asked, *more, **environment)


OWN = "sk-generator-0123456789"


def test_a_refused_key_of_the_generator_is_named_by_its_variable(
    asking: Commands, provider: RunningServer, theirs: RunningServer
) -> None:
    theirs.script.extend(["unauthorized"] * 100)
    addresses = ("--api-base", provider.url, f"--{GENERATOR}", theirs.url)
    done = learn(asking, "openai/x", "openai/y", *addresses)
    assert done.code == 4
    assert "RUBRICLAB_GENERATOR_API_KEY" in done.error
    assert "OPENAI_API_KEY" not in done.error


def test_transfer_and_improve_keep_the_addresses_and_keys_of_judge_and_generator_apart(
    asking: Commands, provider: RunningServer, theirs: RunningServer
) -> None:
    (asking.folder / "others.jsonl").write_bytes(some_texts(18))
    addresses = ("--api-base", provider.url, f"--{GENERATOR}", theirs.url)
    own: dict[str, Any] = {"RUBRICLAB_GENERATOR_API_KEY": OWN}
    done = learn(asking, "openai/x", "openai/x", *addresses, **own)
    assert done.code == 0, done.err
    for server in (provider, theirs):
        server.reset()
    with RunningServer() as moved:
        others = ("--to", "others.jsonl")
        again = asking("transfer", "apart", *others, "--api-base", moved.url, **own)
        assert again.code in (0, 1, 3), again.err
        assert (moved.keys, theirs.keys, provider.keys) == ({KEYS["openai"]}, {OWN}, set())
    # The judge is asked at the version's address, the writer at the provider's.
    for rewriter in (provider, theirs):
        rewriter.reset()
    rubric = ("--rubric", "apart", "--writer", "openai/z")
    few = some_texts(4)
    asking("improve", "-", *rubric, "-o", "improved.jsonl", stdin=few, OPENAI_API_BASE=theirs.url, **own)
    assert (provider.keys, theirs.keys) == ({KEYS["openai"]}, {OWN})


ANTHROPIC = "sk-ant-0123456789"
JUDGES = ("--judge", "openai/x", "--judge", "anthropic/y")
COMMANDS = [
    ("learn", "labelled-12.jsonl", *HYPOEVAL, "--judge", "openai/x", "--generator", "anthropic/y"),
    ("improve", "few.jsonl", "--rubric", "news", "--judge", "openai/x", "--writer", "anthropic/y"),
    ("agree", "few.jsonl", "--rubric", "news", *JUDGES),
    ("drift", "news", "few.jsonl", *JUDGES),
]


def test_no_command_sends_the_key_of_one_provider_to_the_server_of_another(
    asking: Commands, provider: RunningServer, theirs: RunningServer
) -> None:
    (asking.folder / "few.jsonl").write_bytes(some_texts())
    learned = asking("learn", texts(asking.folder, 12), *TASK, "--method", "direct", "--judge", "embedded")
    assert learned.code == 0, learned.err
    own: dict[str, Any] = {"ANTHROPIC_API_KEY": ANTHROPIC, "ANTHROPIC_API_BASE": theirs.url.removesuffix("/v1")}
    for command in COMMANDS:
        provider.keys, theirs.keys = set(), set()
        asking(*command, "--api-base", provider.url, "--attempts", 1, **own)
        assert provider.keys <= {KEYS["openai"]}
        assert theirs.keys == {ANTHROPIC}, command
