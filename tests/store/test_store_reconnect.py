"""A PostgreSQL server that drops connections, restarts, or stays away."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from postgresql import PostgreSQL
from sqlalchemy import create_engine, text
from store_samples import EFFORT, criterion, numbered, provenance, rubric

from rubriclab.data import Assignment, Example, task_words
from rubriclab.errors import StoreError
from rubriclab.judges import Cached, FakeJudge
from rubriclab.methods.hypoeval.score import rate_prompt
from rubriclab.prompts import Prompt
from rubriclab.store import open_store, reconnect
from rubriclab.store.engine import address

REPLY = {"text": "4"}


def prompt(text: str) -> Prompt[Any]:
    """Return a prompt about `text`."""
    judged = rubric()
    assignment = Assignment(task_words(judged.task), judged.aspect, judged.scale)
    return rate_prompt(Example(id=text, output=text, group="g"), [criterion()], assignment)


def drop_all(url: str) -> None:
    """End every other connection of the server."""
    engine = create_engine(address(url))
    with engine.connect() as connection:
        others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        assert connection.execute(text(f"{others} AND backend_type = 'client backend'")).scalar_one() > 0
    engine.dispose()


def test_a_dropped_connection_is_reopened_and_answers_are_committed_on_it(schema: str) -> None:
    with open_store(schema) as store, open_store(schema) as other:
        store.answers.put("sha256:a", REPLY)
        drop_all(schema)
        assert store.answers.get("sha256:a") == REPLY
        drop_all(schema)
        store.answers.put("sha256:b", REPLY)
        drop_all(schema)
        assert other.answers.get("sha256:b") == REPLY
        drop_all(schema)
        assert store.answers.claim("sha256:c")
        assert not other.answers.claim("sha256:c")


def test_versions_are_saved_after_the_connection_was_dropped(schema: str) -> None:
    with open_store(schema) as store:
        store.save("news", numbered(1), provenance(), EFFORT)
        drop_all(schema)
        assert store.save("news", numbered(2), provenance(), EFFORT).ref == "news@2"


def test_a_restart_of_the_server_is_waited_for(postgresql: PostgreSQL, schema: str) -> None:
    with open_store(schema) as store:
        store.answers.put("sha256:a", REPLY)
        with away(postgresql):
            store.answers.put("sha256:b", REPLY)
        assert store.answers.count() == 2
        with away(postgresql):
            assert store.save("news", numbered(1), provenance(), EFFORT).ref == "news@1"
    with open_store(schema) as store:
        assert store.answers.get("sha256:b") == REPLY


def test_a_server_that_stays_away_is_a_clear_error_after_a_bounded_time(
    postgresql: PostgreSQL, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconnect.HeldConnection.change, "__kwdefaults__", {"patience": 0.3})
    with open_store(schema) as store:
        store.answers.put("sha256:a", REPLY)
        postgresql.stop()
        try:
            with pytest.raises(StoreError, match=r"has been unreachable for 0.3 seconds: .*cached answers are not"):
                store.answers.put("sha256:b", REPLY)
        finally:
            postgresql.start()
        assert store.answers.get("sha256:a") == REPLY


@contextmanager
def away(server: PostgreSQL) -> Iterator[None]:
    """Stop the server, and start it again while the block runs."""
    server.stop()
    starting = threading.Timer(0.3, server.start)
    starting.start()
    try:
        yield
    finally:
        starting.join()


async def test_other_work_goes_on_while_the_server_is_away(postgresql: PostgreSQL, schema: str) -> None:
    judge = FakeJudge(lambda _prompt: {"reasoning": "fine", "score": 4})
    with open_store(schema) as store:
        cached = Cached(judge, store.answers)
        await cached.reply(prompt("first"))
        with away(postgresql):
            reply = asyncio.ensure_future(cached.reply(prompt("second")))
            turns = 0
            while not reply.done():
                await asyncio.sleep(0.01)
                turns += 1
        assert not reply.result().cached
        # The server is away for 0.3 seconds at least.
        assert turns >= 10
        assert (await cached.reply(prompt("second"))).cached
