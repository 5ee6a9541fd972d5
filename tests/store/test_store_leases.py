"""Of several processes at one store, one asks a question and the others wait for its answer."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest
from sqlalchemy import create_engine, text
from store_samples import claim_and_die, claim_and_hold

from rubriclab.store import Store, leases, open_store
from rubriclab.store.engine import address
from rubriclab.store.leases import is_gone, this_process

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["rubriclab.store"])
KEY = "sha256:a"


def test_a_question_is_claimed_once_until_it_is_released(store: Store, where: str) -> None:
    with open_store(where) as other:
        assert store.answers.claim(KEY)
        assert not store.answers.claim(KEY)
        assert not other.answers.claim(KEY)
        assert other.answers.claim("sha256:b")
        other.answers.release(KEY)
        assert not other.answers.claim(KEY)
        store.answers.release(KEY)
        assert other.answers.claim(KEY)


def test_an_answered_question_cannot_be_claimed(store: Store, where: str) -> None:
    with open_store(where) as other:
        assert store.answers.claim(KEY)
        store.answers.put(KEY, {"text": "4"})
        assert not other.answers.claim(KEY)
        assert not store.answers.claim(KEY)
        assert other.answers.get(KEY) == {"text": "4"}


def test_closing_gives_up_every_claim(where: str) -> None:
    with open_store(where) as first:
        assert first.answers.claim(KEY)
    with open_store(where) as second:
        assert second.answers.claim(KEY)


def test_the_claims_of_a_killed_process_are_void_at_once(store: Store, where: str) -> None:
    process = CONTEXT.Process(target=claim_and_die, args=(where, KEY))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert _leases(where) == 1
    assert store.answers.claim(KEY)
    assert _leases(where) == 1


def test_the_claim_of_a_living_process_is_kept(store: Store, where: str) -> None:
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=claim_and_hold, args=(where, KEY, theirs))
    process.start()
    assert ours.recv() is True
    assert not store.answers.claim(KEY)
    ours.send("end")
    process.join(60)
    assert store.answers.claim(KEY)


def test_a_claim_that_the_clock_has_moved_back_from_is_void(store: Store, where: str) -> None:
    _write(where, f"INSERT INTO leases VALUES ('sha256:a', 'elsewhere:1:1:00', {int(time.time()) + 3600})")
    assert store.answers.claim(KEY)


def test_a_claim_from_another_machine_is_void_once_it_has_expired(store: Store, where: str) -> None:
    _write(where, f"INSERT INTO leases VALUES ('sha256:a', 'elsewhere:1:1:00', {int(time.time()) + 13})")
    assert not store.answers.claim(KEY)
    _write(where, "UPDATE leases SET expires = 1")
    assert store.answers.claim(KEY)


@pytest.mark.parametrize("holder", ["junk", "", "a:b:c:d", "a:1:1", "a:99999999999999999:1:0", "a:-1:1:0", "x:²:1:0"])
def test_a_claim_of_what_is_no_process_is_void(store: Store, where: str, holder: str) -> None:
    _write(where, f"INSERT INTO leases VALUES ('sha256:a', '{holder}', 99999999999)")
    assert store.answers.claim(KEY)


def test_a_claim_whose_holder_is_no_text_is_void(sqlite_store: Store) -> None:
    _write(sqlite_store.place, "INSERT INTO leases VALUES ('sha256:a', x'00ff', 99999999999)")
    assert sqlite_store.answers.claim(KEY)


def test_a_claim_is_renewed_while_it_is_held(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEWAL", 0.05)
    with open_store(where) as store:
        assert store.answers.claim(KEY)
        _write(where, "UPDATE leases SET expires = 1")
        _until(lambda: _write(where, "UPDATE leases SET holder = holder WHERE expires > 1") == 1)


def test_the_lease_of_an_answered_question_is_deleted_later(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEWAL", 0.05)
    with open_store(where) as store:
        for key in (KEY, "sha256:b"):
            assert store.answers.claim(key)
        store.answers.put(KEY, {"text": "4"})
        _until(lambda: _leases(where) == 1)


def test_a_process_is_gone_when_its_id_is_free_or_another_ones() -> None:
    process = this_process()
    machine, pid, started, rest = process.split(":")
    assert int(pid) == os.getpid()
    assert not is_gone(process)
    assert is_gone(f"{machine}:{pid}:1:{rest}")
    assert is_gone(f"{machine}:4194304:{started}:{rest}")
    assert not is_gone(f"elsewhere:{pid}:1:{rest}")


def _until(condition: object) -> None:
    for _ in range(400):
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.025)
    raise TimeoutError


def _leases(where: str) -> int:
    return _write(where, "UPDATE leases SET holder = holder")


def _write(where: str, statement: str) -> int:
    engine = create_engine(address(where))
    with engine.begin() as connection:
        count = int(connection.execute(text(statement)).rowcount)
    engine.dispose()
    return count
