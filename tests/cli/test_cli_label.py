"""`rubriclab label` as a process: killed and started again, ended by Ctrl-C, and refused for what cannot work."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from commands import HELDOUT, PATIENCE, Commands, Done

ASKED = ("--task", "summarization", "--aspect", "coherence")


def client_of(address: str) -> httpx.Client:
    """Return a client of the page with the token that is in it."""
    page = httpx.get(address, params={"rater": "anna"}, trust_env=False, timeout=PATIENCE)
    token = re.search(r'name="token" content="([^"]+)"', page.text)
    headers = {"X-Rubriclab-Token": token[1], "Origin": address}
    return httpx.Client(base_url=address, trust_env=False, params={"rater": "anna"}, headers=headers, timeout=PATIENCE)


def rate(client: httpx.Client, most: int, value: int) -> int:
    """Rate at most so many items, and return how many are done."""
    answer: Any = client.get("/item").json()
    for _ in range(most):
        if answer["shown"]:
            submission = {"id": uuid.uuid4().hex, "item": answer["shown"]["item"], "kind": "rating", "value": value}
            answer = client.post("/judgments", json={"rater": "anna", "submission": submission}).json()
    return int(answer["progress"]["done"])


def test_a_killed_server_goes_on_and_ctrl_c_writes_rows_to_learn_from(rubriclab: Commands) -> None:
    few = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()[:14]]
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
    command = shlex.split(done.err.partition("learn from it with: rubriclab ")[2])
    assert command[-2:] == list(meaning)
    checked = rubriclab(*command, "--dry-run", "--json")
    assert checked.code == 0, checked.err
    exported = rubriclab("label", "texts.csv", *ASKED, *meaning, "--no-page", "-o", "-")
    assert sorted(row["annotations"]["coherence"]["anna"] for row in exported.rows) == [2] * 8 + [4] * 6


@pytest.mark.parametrize("shared", [("--share", "ann", "--share", "bob"), ("--share", "ann,bob")])
def test_every_rater_that_the_page_is_shared_with_can_rate_by_a_link(
    rubriclab: Commands, shared: tuple[str, ...]
) -> None:
    few = [json.loads(line)["output"] for line in HELDOUT.read_text("utf-8").splitlines()[:3]]
    (rubriclab.folder / "texts.jsonl").write_text("".join(json.dumps({"output": text}) + "\n" for text in few))
    process = rubriclab.start("label", "texts.jsonl", *ASKED, *shared, "--no-browser", "-o", "labelled.jsonl")
    try:
        port = httpx.URL(process.address()).port
        links = dict(re.findall(r"(\w+): http://[^/]+(/join/\S+)", process.said()))
        assert set(links) == {"ann", "bob"}
        for rater, path in links.items():
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE) as client:
                client.get(path)
                token = re.search(r'name="token" content="([^"]+)"', client.get("/").text)
                client.headers.update({"X-Rubriclab-Token": token[1], "Origin": f"http://127.0.0.1:{port}"})
                item = client.get("/item").json()["shown"]["item"]
                submission = {"id": uuid.uuid4().hex, "item": item, "kind": "rating", "value": 4}
                rated = client.post("/judgments", json={"rater": rater, "submission": submission})
                assert rated.status_code == 200, rated.text
    finally:
        os.kill(process.pid, signal.SIGINT)
        done = process.wait()
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (rubriclab.folder / "labelled.jsonl").read_text().splitlines()]
    assert {name for row in rows for name in row.get("annotations", {}).get("coherence", {})} == {"ann", "bob"}
