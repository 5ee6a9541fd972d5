"""`rubriclab label` as a process: killed and started again, ended by Ctrl-C, and refused for what cannot work."""

from __future__ import annotations

import csv
import os
import re
import shlex
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from commands import HELDOUT, HELDOUT_ROWS, PATIENCE, Commands, Done

ASKED = ("--task", "summarization", "--aspect", "coherence")


def client_of(address: str) -> httpx.Client:
    """Return a client of the page with the token that is in it."""
    page = httpx.get(address, params={"rater": "anna"}, trust_env=False, timeout=PATIENCE)
    token = re.search(r'name="token" content="([^"]+)"', page.text)
    headers = {"X-Rubriclab-Token": token[1], "Origin": address}
    return httpx.Client(base_url=address, trust_env=False, params={"rater": "anna"}, headers=headers, timeout=PATIENCE)


def rate(client: httpx.Client, most: int, value: int) -> int:
    """Rate at most `most` items, and return how many are done."""
    answer: Any = client.get("/item").json()
    for _ in range(most):
        if answer["shown"]:
            submission = {"id": uuid.uuid4().hex, "item": answer["shown"]["item"], "kind": "rating", "value": value}
            answer = client.post("/judgments", json={"rater": "anna", "submission": submission}).json()
    return int(answer["progress"]["done"])


def test_a_killed_server_goes_on_and_ctrl_c_writes_rows_to_learn_from(rubriclab: Commands) -> None:
    few = [{**row} for row in HELDOUT_ROWS[:14]]
    with (rubriclab.folder / "texts.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["id", "group", "source", "output", "price"])
        writer.writerows([*(row[name] for name in ("id", "group", "source", "output")), "3,50"] for row in few)
    meaning = ("--definition", "How well it hangs together; nothing else.")

    @contextmanager
    def served(end: signal.Signals) -> Iterator[tuple[httpx.Client, list[Done]]]:
        """Yield a client of the page, and a list that holds how the process ended once it has got the signal."""
        process = rubriclab.start("label", "texts.csv", *ASKED, *meaning, "--no-browser", "-o", "labelled.csv")
        ended = list[Done]()
        try:
            with client_of(process.address()) as client:
                yield client, ended
        except BaseException:
            end = signal.SIGKILL
            raise
        finally:
            os.kill(process.pid, end)
            ended.append(process.wait())

    with served(signal.SIGKILL) as (client, killed):
        assert rate(client, 6, 4) == 6
    assert killed[0].code == -signal.SIGKILL
    assert not (rubriclab.folder / "labelled.csv").exists()
    with served(signal.SIGINT) as (client, stopped):
        assert client.get("/item").json()["progress"]["done"] == 6
        assert rate(client, 20, 2) == 15
    (done,) = stopped
    assert done.code == 0, done.err
    assert "14 texts labelled" in done.out
    written = (rubriclab.folder / "labelled.csv").read_bytes()
    assert written.startswith("\ufeffid;group;source;output;".encode())
    assert b";3,5" in written
    command = shlex.split(done.err.partition("learn from it with: `rubriclab ")[2].strip("`\n"))
    assert command[-2:] == list(meaning)
    checked = rubriclab(*command, "--dry-run", "--json")
    assert checked.code == 0, checked.err
    export = ("label", "texts.csv", *ASKED, *meaning, "--no-page", "-o")
    for _ in range(2):
        assert rubriclab(*export, "labelled.xlsx").code == rubriclab(*export, "labelled.csv").code == 0
    assert (rubriclab.folder / "labelled.csv").read_bytes() == written
    (rubriclab.folder / "other.jsonl").write_bytes(HELDOUT.read_bytes())
    for name, store, lost in (("other.jsonl", "store.db", "'group' of"), ("labelled.csv", "new.db", "'annotations.")):
        refused = rubriclab(*export, name, "--store", store)
        assert refused.code == 2
        assert f"--output: {name} has more than the texts and labels here, such as {lost}" in refused.error
    assert (rubriclab.folder / "other.jsonl").read_bytes() == HELDOUT.read_bytes()
    exported = rubriclab(*export, "-")
    assert sorted(row["annotations"]["coherence"]["anna"] for row in exported.rows) == [2] * 8 + [4] * 6
