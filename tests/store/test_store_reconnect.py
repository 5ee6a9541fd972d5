"""A PostgreSQL server that drops connections or is away."""

from __future__ import annotations

import pytest
from postgresql import PostgreSQL
from sqlalchemy import create_engine, text
from store_samples import EFFORT, numbered, provenance

from rubriclab.errors import StoreUnavailable
from rubriclab.store.store import open_store
from rubriclab.store.tables import address

REPLY = {"text": "4"}


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
        assert not other.answers.put("sha256:b", REPLY)


def test_versions_are_saved_after_the_connection_was_dropped(schema: str) -> None:
    with open_store(schema) as store:
        store.save("news", numbered(1), provenance(), EFFORT)
        drop_all(schema)
        assert store.save("news", numbered(2), provenance(), EFFORT).ref == "news@2"


def test_a_server_that_is_away_is_a_clear_error_and_loses_nothing_that_was_stored(
    postgresql: PostgreSQL, schema: str
) -> None:
    with open_store(schema) as store:
        assert store.answers.put("sha256:a", REPLY)
        postgresql.stop()
        try:
            with pytest.raises(StoreUnavailable, match="cannot be used: ") as failed:
                store.answers.put("sha256:b", REPLY)
            with pytest.raises(StoreUnavailable):
                store.save("news", numbered(1), provenance(), EFFORT)
        finally:
            postgresql.start()
        assert failed.value.exit_code == 2
        assert store.answers.get("sha256:a") == REPLY
        assert store.answers.put("sha256:b", REPLY)
        assert store.save("news", numbered(1), provenance(), EFFORT).ref == "news@1"
