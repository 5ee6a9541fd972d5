"""The tools for an assistant, used by the SDK's own client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Commands
from pytest_projects import TEXTS, Parity
from server import RunningServer
from waiting import until

from rubriclab import Lab
from rubriclab.errors import SettingsError

pytest.importorskip("mcp", reason="needs the SDK of the Model Context Protocol: run make test-integrations")

from mcp import Client, StdioServerParameters

from rubriclab.integrations.mcp import RubricTools
from rubriclab.ops.workspace import Workspace

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = TEXTS[:6]
CALLS_PER_TEXT = 3
Use = Callable[[Any], Awaitable[Any]]


def used(store: Path, server: RunningServer, use: Use, *arguments: str) -> Any:
    """Return what `use` returns of the client of `rubriclab mcp`, started as an assistant starts it."""
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "RUBRICLAB_STORE": str(store),
        "OPENAI_API_BASE": server.url,
        "RUBRICLAB_STRUCTURED": "text",
        "OPENAI_API_KEY": "none",
    }
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "rubriclab", "mcp", *arguments], env=environment, cwd=str(store.parent)
    )

    async def run() -> Any:
        async with Client(started) as client:
            return await use(client)

    return asyncio.run(run())


async def called(client: Any, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


async def cancelled_call(client: Any, server: RunningServer, text: dict[str, Any]) -> None:
    """Cancel the call about a text while it is under way."""
    before = len(server.bodies)
    call = asyncio.create_task(client.call_tool("score_texts", {"rubric": "remote", "texts": [text]}))
    await asyncio.to_thread(until, lambda: len(server.bodies) > before)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("show_rubric", {"rubric": "unknown"}, "The store holds no rubric 'unknown'"),
    ("show_rubric", {"rubric": "../../etc/passwd"}, "does not refer to a rubric"),
    ("score_texts", {"rubric": "planted", "texts": [{"output": "a", "sourse": "b"}]}, "sourse"),
    ("score_texts", {"rubric": "planted", "texts": ["only a text"]}, "'only a text'"),
    ("score_texts", {"rubric": "planted", "texts": [*ROWS[:2], *ROWS]}, "texts[2] and texts[0] have the same id"),
    ("explain_score", {"rubric": "planted"}, "either text or labelled_id"),
    (
        "score_texts",
        {"rubric": "remote", "texts": [{"output": "A new text."}]},
        "The store has no answer about a text, and no language model may be asked. To score the texts that have "
        "answers, leave out the others. The user can allow calls: rubriclab mcp --allow-calls with --max-cost DOLLARS",
    ),
]


def test_scores_are_those_of_the_command_and_what_is_wrong_or_needs_a_language_model_is_refused(
    store: Path, server: RunningServer, parity: Parity
) -> None:
    lab = Lab(store, progress=None)

    async def use(client: Any) -> Any:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"list_rubrics", "show_rubric", "score_texts", "explain_score"}
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        assert "no language model is asked" in tools["score_texts"].description
        for tool, given, expected in FAULTS:
            assert expected in await refused(client, tool, **given)
        offline = await called(client, "score_texts", rubric="planted", texts=[{"output": "A new text."}])
        assert offline["scores"][0]["score"] is not None
        labelled = lab.training_record("remote@1").texts[0].id
        assert (await called(client, "explain_score", rubric="remote", labelled_id=labelled))["labelled"] is not None
        listed = await called(client, "list_rubrics")
        shown = await called(client, "show_rubric", rubric="remote@1")
        scores = await called(client, "score_texts", rubric="remote", texts=TEXTS)
        explained = await called(client, "explain_score", rubric="remote", text=ROWS[0], nearest=2)
        return listed, shown, scores["scores"], explained

    listed, shown, scores, explained = used(store, server, use)
    assert [entry["rubric"] for entry in listed["rubrics"]] == ["alone@1", "planted@1", "remote@1"]
    assert (shown["rubric"], shown["verdict"], shown["judge"]) == ("remote@1", "better", "openai/fake")
    assert sum(abs(criterion["weight"]) for criterion in shown["criteria"]) == pytest.approx(1, abs=1e-6)
    rows = parity.rows.values()
    assert scores == [{name: row[name] for name in score} for row, score in zip(rows, scores, strict=True)]
    assert explained == json.loads(json.dumps(lab.explain([ROWS[0]], "remote", nearest=2).to_row()))
    parity.check("Model Context Protocol", "mcp", {row["id"]: row["score"] for row in scores})


def test_calls_that_are_allowed_end_at_the_cap_and_cancelled_and_closed_ones_are_finished_and_kept(
    store: Path, server: RunningServer
) -> None:
    async def use(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        asks = {name for name, tool in tools.items() if not tool.annotations.read_only_hint}
        assert asks == {"score_texts", "explain_score"}
        first = await called(client, "score_texts", rubric="remote", texts=ROWS[:1])
        assert first == await called(client, "score_texts", rubric="remote", texts=ROWS[:1])
        assert len(server.bodies) == CALLS_PER_TEXT
        server.latency = 1.0
        await cancelled_call(client, server, ROWS[1])
        await called(client, "score_texts", rubric="remote", texts=ROWS[1:2])  # joins the call that goes on
        assert len(server.bodies) == 2 * CALLS_PER_TEXT
        await cancelled_call(client, server, ROWS[2])  # and close the connection while it is under way
        said = await refused(client, "score_texts", rubric="remote", texts=ROWS[3:])
        assert f"cap of {cap} calls is reached" in said
        assert "The user can start rubriclab mcp with a higher --max-cost or --max-calls" in said

    cap = 3 * CALLS_PER_TEXT
    used(store, server, use, "--allow-calls", "--max-calls", str(cap))
    assert all(score.score is not None for score in Lab(store, progress=None).score(ROWS[:3], "remote"))
    assert len(server.bodies) == cap


def test_calls_without_a_cap_are_refused_at_the_start(store: Path) -> None:
    with pytest.raises(SettingsError, match="an assistant would decide how much is spent"):
        RubricTools(Workspace(store), allow_calls=True)
    done = Commands(store.parent, RUBRICLAB_STORE="store.db")("mcp", "--allow-calls")
    assert (done.code, done.out) == (2, "")
    assert done.error == (
        "--allow-calls: an assistant would decide how much is spent; give --max-cost DOLLARS or --max-calls N, too."
    )
