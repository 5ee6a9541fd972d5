"""Leases on requests in flight, so that only one of several processes on one store pays for an answer.

A lease lasts for seconds and is renewed while its request is in flight. The leases of a killed process expire soon, and
on the same machine they are void at once. Times are the database's, since the clocks of machines differ.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

from sqlalchemy import BigInteger, BindParameter, bindparam, delete, exists, extract, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from rubriclab.digest import digest as digest_of
from rubriclab.errors import StoreError
from rubriclab.store.orm import METADATA, AnswerRow, LeaseRow
from rubriclab.store.reconnect import HeldConnection

# Seconds that a lease lasts, and between two renewals; a few renewals may fail before a lease is lost.
TERM = 15
RENEWAL = 4.0

# States of a process that has ended but has not been waited for.
ENDED = ("Z", "X", "x")
_PROCESS = re.compile(r"([^:]*):([0-9]{1,10}):([^:]*):[^:]*")

_ANSWERS = METADATA.tables[AnswerRow.__tablename__]
_LEASES = METADATA.tables[LeaseRow.__tablename__]
_NOW = extract("epoch", func.current_timestamp()).cast(BigInteger)
_WANTED: BindParameter[str] = bindparam("wanted")
_HOLDER: BindParameter[str] = bindparam("by")
_TAKE = (
    insert(_LEASES)
    .from_select(
        ["digest", "holder", "expires"],
        select(_WANTED, _HOLDER, _NOW + TERM).where(
            ~exists().where(_ANSWERS.c.digest == _WANTED), ~exists().where(_LEASES.c.digest == _WANTED)
        ),
    )
    .execution_options(preserve_rowcount=True)
)
_ANSWERED = exists().where(_ANSWERS.c.digest == _LEASES.c.digest)
# Also one that expires later than any that is taken now: the clock has moved back since.
_EXPIRED = or_(_LEASES.c.expires < _NOW, _LEASES.c.expires > _NOW + TERM)
_STATE = select(_LEASES.c.holder, _EXPIRED.label("expired")).where(_LEASES.c.digest == _WANTED, ~_ANSWERED)
_OWN = _LEASES.c.holder == _HOLDER
_RELEASE = delete(_LEASES).where(_OWN, _LEASES.c.digest == _WANTED)
_RELEASE_ALL = delete(_LEASES).where(_OWN)
_RELEASE_ANSWERED = delete(_LEASES).where(_OWN, _ANSWERED)
_RENEW = update(_LEASES).where(_OWN).values(expires=_NOW + TERM)
_DROP_EXPIRED = delete(_LEASES).where(_EXPIRED)


class Leases:
    """The leases of this process, renewed by a thread. Safe to use from several threads.

    The lease of an answered request is deleted with the next renewal, which saves one statement per answer.
    """

    def __init__(self, connection: HeldConnection) -> None:
        self._connection = connection
        self._holder = this_process()
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._renewing: threading.Thread | None = None

    def take(self, digest: str) -> bool:
        """Return whether this call got the lease: no process holds it, and there is no answer.

        Raises:
            StoreError: if the database fails.
        """
        with self._lock:
            if digest in self._held or not (self._insert(digest) or self._take_over(digest)):
                return False
            self._held.add(digest)
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._renew_regularly, name="rubriclab-leases", daemon=True)
                self._renewing.start()
        return True

    def answered(self, digest: str) -> None:
        """Mark the request as answered; its lease needs no renewal."""
        self._held.discard(digest)

    def release(self, digest: str) -> None:
        """Give up the lease of an unanswered request, so that other processes may make it at once."""
        if digest in self._held:
            self._held.discard(digest)
            with suppress(StoreError):
                self._connection.change(_RELEASE, {"wanted": digest, "by": self._holder}, patience=0)

    def close(self) -> None:
        """Give up all leases."""
        if self._renewing is None:
            return
        self._ended.set()
        self._renewing.join()
        with suppress(StoreError):
            self._connection.change(_RELEASE_ALL, {"by": self._holder}, patience=0)
            # Leases of processes that were killed on other machines.
            self._connection.change(_DROP_EXPIRED, patience=0)

    def _insert(self, digest: str) -> bool:
        try:
            return self._connection.change(_TAKE, {"wanted": digest, "by": self._holder}) == 1
        except IntegrityError:
            return False

    def _take_over(self, digest: str) -> bool:
        """Return whether this process holds the lease already, or the lease was void and has been taken over."""
        rows = self._connection.rows(_STATE, {"wanted": digest})
        if not rows:
            return False
        holder = rows[0].holder
        if holder == self._holder:
            # The connection was lost after the insert, which was then repeated.
            return True
        if rows[0].expired:
            self._connection.change(_DROP_EXPIRED)
        elif is_gone(holder):
            self._connection.change(_RELEASE_ALL, {"by": holder})
        else:
            return False
        return self._insert(digest)

    def _renew_regularly(self) -> None:
        while not self._ended.wait(RENEWAL):
            # A failure may be temporary; a permanent one is reported by the next answer.
            with suppress(StoreError):
                self._connection.change(_RELEASE_ANSWERED, {"by": self._holder}, patience=0)
                if self._held:
                    self._connection.change(_RENEW, {"by": self._holder}, patience=0)


def this_process() -> str:
    """Return `MACHINE:PID:STARTED:RANDOM`, unique across machines and time."""
    return f"{_machine()}:{os.getpid()}:{_started(os.getpid())}:{secrets.token_hex(4)}"


def is_gone(process: object) -> bool:
    """Return whether `process` has ended, or is malformed; `False` for processes of other machines."""
    match = _PROCESS.fullmatch(process) if isinstance(process, str) else None
    if match is None:
        return True
    machine, pid, started = match.groups()
    return machine == _machine() and _started(int(pid)) != started


def has_ended(pid: int) -> bool:
    """Return whether no process of this machine has this id; `False` if the system does not say."""
    return not _started(pid)


@cache
def _machine() -> str:
    """Return a digest of the scope of process ids: the machine since its start, and the container."""
    return digest_of([socket.gethostname(), _content("/proc/sys/kernel/random/boot_id"), _link("/proc/self/ns/pid")])[
        7:23
    ]


def _started(pid: int) -> str:
    """Return when the process started, in clock ticks; `""` if there is none, `?` if the system does not say."""
    if not Path("/proc/self/stat").exists():
        return "?"
    # The program's name, in brackets, may contain anything.
    state, *fields = _content(f"/proc/{pid}/stat").rpartition(")")[2].split() or [ENDED[0]]
    return "" if state in ENDED else fields[18]


def _content(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
