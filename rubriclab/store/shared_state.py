"""Documents that several processes change one at a time: the budget and the rate limits that they share."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from rubriclab.digest import canonical
from rubriclab.store.engine import is_sqlite, writing
from rubriclab.store.orm import METADATA, SharedStateRow
from rubriclab.store.reconnect import persistently

T = TypeVar("T")

# JSON types only.
Document = Mapping[str, Any]
# From a document and the time in seconds since 1970, by the database's clock, to the next document and a result.
Change = Callable[[Document, float], tuple[Document, T]]

_TABLE = METADATA.tables[SharedStateRow.__tablename__]
_CLOCK = func.extract("epoch", func.clock_timestamp())


class SharedDocument(Protocol):
    """A document that several processes change."""

    def change(self, change: Change[T], /) -> T:
        """Return the result of `change`, whose document replaces the present one before any other process reads it.

        Raises:
            StoreUnavailable: if the database fails.
        """
        ...


def remove_documents(engine: Engine, is_unused: Callable[[Document, float], bool]) -> None:
    """Remove the documents of which `is_unused` is true, given the time in seconds since 1970, by the database's clock.

    A document that another process changes at the same time stays.

    Raises:
        StoreUnavailable: if the database fails.
    """

    def run() -> None:
        with writing(engine).begin() as connection:
            now = time.time() if is_sqlite(engine.url) else float(connection.execute(select(_CLOCK)).scalar_one())
            for name, content in connection.execute(select(_TABLE.c.name, _TABLE.c.content)).all():
                if is_unused(json.loads(content), now):
                    connection.execute(delete(_TABLE).where(_TABLE.c.name == name, _TABLE.c.content == content))

    persistently(engine, run)


class SharedState:
    """The document under a name in a store; it is empty before the first change. Safe to use from several threads.

    The clocks of machines differ, so the time is the database's; processes that share an SQLite file share a clock.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        """Use `engine`, which is not read-only, and the document called `name` (at most 300 characters)."""
        self._engine = engine
        self._name = name

    def change(self, change: Change[T]) -> T:
        """Return the result of `change`; see `SharedDocument`.

        `change` is called again if the connection is lost, even if the database has kept the first result. So it has to
        make the same document of its own result.

        Raises:
            StoreUnavailable: if the database fails.
        """
        return persistently(self._engine, lambda: self._change(change))

    def remove(self) -> None:
        """Remove the document.

        Raises:
            StoreUnavailable: if the database fails.
        """

        def run() -> None:
            with writing(self._engine).begin() as connection:
                connection.execute(delete(_TABLE).where(_TABLE.c.name == self._name))

        persistently(self._engine, run)

    def _change(self, change: Change[T]) -> T:
        with writing(self._engine).begin() as connection:
            content, now = self._locked(connection)
            document, result = change(json.loads(content), now)
            values = {"content": canonical(document)}
            connection.execute(update(_TABLE).where(_TABLE.c.name == self._name).values(values))
        return result

    def _locked(self, connection: Connection) -> tuple[str, float]:
        """Return the document and the time; no other process reads the document until the transaction ends."""
        if is_sqlite(self._engine.url):
            query, now = select(_TABLE.c.content), time.time()
        else:
            query, now = select(_TABLE.c.content, _CLOCK).with_for_update(), 0.0
        query = query.where(_TABLE.c.name == self._name)
        row = connection.execute(query).first()
        if row is None:
            self._add(connection)
            row = connection.execute(query).one()
        return str(row[0]), now or float(row[1])

    def _add(self, connection: Connection) -> None:
        dialect = sqlite if is_sqlite(self._engine.url) else postgresql
        statement = dialect.insert(_TABLE).values(name=self._name, content="{}").on_conflict_do_nothing()
        connection.execute(statement)
