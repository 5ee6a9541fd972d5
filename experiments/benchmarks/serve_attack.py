"""Whether `rubriclab serve` loses or leaks anything under many requests at once, with faults of the model server.

    python -m experiments.benchmarks.serve_attack --output experiments/benchmarks/results/serve_attack.json

The service and the tests' model server, which answers one request in five with an error, a time-out or an unusable
reply, are processes of their own. In one round the service has a token, and as many requests without a token, with a
wrong one or with a faulty body are sent between the others; in the other round it has none. All requests are sent at
once; a refused one (429, 503, 504) is sent again when `Retry-After` says so. Halfway, in the round with a token, the
service is ended by SIGTERM and started again.

Nothing may be lost: each text gets one score or a reason, each score is that of `rubriclab score`, which asks nothing
more about these texts, and no request that was answered comes again. Nothing may leak: no response, no line of the
access log and nothing on standard error has the token, the provider's key, the provider's words, a path, a traceback,
or a text of another request. Exit code 1 if anything is not so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from rubriclab import Lab
from rubriclab.store import open_store

TESTS = Path(__file__).resolve().parents[2] / "tests"
RESULTS = Path(__file__).parent / "results" / "serve_attack.json"
KEY = "sk-the-operators-own-key-0123456789"
AGAIN = (429, 503, 504)
# Words of the model server's errors, and what only a bug or a careless message would show.
LEAKS = re.compile(r"something broke|too many requests|took too long|Traceback|File \"|site-packages|\.py\b")
PATIENCE = 300.0


@dataclass
class Round:
    """What came of the requests."""

    number: int
    scores: dict[str, Any] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    attacks: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    restarts: int = 0
    half: asyncio.Event = field(default_factory=asyncio.Event)


def texts(number: int) -> list[dict[str, str]]:
    """Return texts of which no two are alike, each with a mark of its own."""
    rows = [json.loads(line) for line in (TESTS.parent / "experiments/sample/heldout.jsonl").read_text().splitlines()]
    found = []
    for place in range(number):
        row, mark = rows[place % len(rows)], f"mark-{secrets.token_hex(6)}"
        found.append({"id": f"t{place}", "output": f"{row['output']} {mark}", "source": row["source"]})
    return found


@contextmanager
def model_server(faults: float) -> Iterator[str]:
    """Run the model server, and yield its address."""
    command = [sys.executable, str(TESTS / "server.py"), "--brain", "planted_brain:brain"]
    options = ["--faults", str(faults), "--seed", "7", "--latency", "0.05", "--hang", "12"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


class Service:
    """`rubriclab serve` as a process of its own, which can be ended and started again at the same port."""

    def __init__(self, folder: Path, token: str | None) -> None:
        self.folder = folder
        self.token = token
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = dict(os.environ)
        environment.pop("RUBRICLAB_SERVE_TOKEN", None)
        if self.token:
            environment["RUBRICLAB_SERVE_TOKEN"] = self.token
        limits = ("--at-once", "200", "--rate", "100000", "--concurrency", "64", "--timeout", "10", "--grace", "60")
        command = [sys.executable, "-m", "rubriclab", "serve", "remote", "--port", str(self.port), *limits]
        with (self.folder / "access.log").open("ab") as out, (self.folder / "errors.log").open("ab") as errors:
            before = (self.folder / "errors.log").stat().st_size
            self._process = subprocess.Popen(command, stdout=out, stderr=errors, env=environment, cwd=self.folder)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            said = (self.folder / "errors.log").read_bytes()[before:].decode()
            if found := re.search(r"served at http://127\.0\.0\.1:(\d+)/", said):
                self.port = int(found[1])
                return
            if self._process.poll() is not None:
                raise RuntimeError(said)
            time.sleep(0.05)
        raise TimeoutError

    def stop(self) -> int:
        """End it by SIGTERM, and return its exit code."""
        assert self._process
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)


async def asked(client: httpx.AsyncClient, text: dict[str, str], token: str | None, found: Round) -> None:
    """Send a text until it has a result."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    began = time.monotonic()
    while True:
        if time.monotonic() - began > PATIENCE:
            found.faults.append(f"{text['id']}: no result")
            return
        try:
            response = await client.post("/v1/score", json=text, headers=headers)
        except httpx.TransportError as error:
            # The service is being started again.
            found.statuses[type(error).__name__] += 1
            await asyncio.sleep(0.5)
            continue
        found.statuses[str(response.status_code)] += 1
        own = text["output"].rsplit(" ", 1)[1]
        if foreign := set(re.findall(r"mark-[0-9a-f]{12}", response.text)) - {own}:
            found.faults.append(f"{text['id']}: texts of others: {foreign}")
        if response.status_code in AGAIN:
            await asyncio.sleep(float(response.headers.get("retry-after", 1)) + secrets.randbelow(1000) / 1000)
            continue
        found.seconds.append(time.monotonic() - began)
        if response.status_code != 200:
            found.faults.append(f"{text['id']}: {response.status_code} {response.text}")
        elif text["id"] in found.scores:
            found.faults.append(f"{text['id']}: two results")
        else:
            found.scores[text["id"]] = response.json()
            if 2 * len(found.scores) >= found.number:
                found.half.set()
        check(response.text, found, text["id"])
        return


def attack(text: dict[str, str], kind: int, token: str | None) -> tuple[int, dict[str, Any]]:
    """Return a request that has to be refused, and the status that it has to get."""
    plain = json.dumps(text)
    if token is None:
        of_another_page = (415, {"content": plain, "headers": {"Content-Type": "text/plain"}})
        under_another_name = (421, {"json": text, "headers": {"Host": "evil.example"}})
        return under_another_name if kind % 2 else of_another_page
    if kind % 5 == 0:
        return 415, {"content": b"\xff" * 10_000, "headers": {"Authorization": f"Bearer {token}"}}
    wrong = (None, f"Bearer {token[:-1]}", f"Basic {token}", "")[kind % 4]
    return 401, {"json": text, "headers": {} if wrong is None else {"Authorization": wrong}}


async def attacked(client: httpx.AsyncClient, text: dict[str, str], kind: int, token: str | None, found: Round) -> None:
    """Send a request that has to be refused; without a token, one of a page of another site."""
    expected, other = attack(text, kind, token)
    try:
        response = await client.post("/v1/score", **other)
    except httpx.TransportError as error:
        found.attacks[type(error).__name__] += 1
        return
    found.attacks[str(response.status_code)] += 1
    if response.status_code not in (expected, 429):
        found.faults.append(f"attack {kind}: {response.status_code}, expected {expected}")
    if "mark-" in response.text:
        found.faults.append(f"attack {kind}: a text in the response")
    check(response.text, found, f"attack {kind}")


def check(shown: str, found: Round, where: str) -> None:
    """Note what should not be shown."""
    if leak := LEAKS.search(shown):
        found.faults.append(f"{where}: {leak[0]!r} in the response")
    if KEY in shown or "127.0.0.1" in shown or "store.db" in shown or "/tmp" in shown:
        found.faults.append(f"{where}: a key, an address or a path in the response")


async def play(service: Service, rows: Sequence[dict[str, str]], found: Round) -> None:
    """Send all requests at once, and restart a service with a token halfway."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    base = f"http://127.0.0.1:{service.port}"
    async with httpx.AsyncClient(base_url=base, limits=limits, timeout=PATIENCE, trust_env=False) as client:
        tasks = [asyncio.create_task(asked(client, row, service.token, found)) for row in rows]
        attacks = [
            asyncio.create_task(attacked(client, row, kind, service.token, found)) for kind, row in enumerate(rows)
        ]
        if service.token:
            await found.half.wait()
            if code := await asyncio.to_thread(service.stop):
                found.faults.append(f"the service ended with {code}")
            await asyncio.to_thread(service.start)
            found.restarts += 1
        await asyncio.gather(*tasks, *attacks)


def measure(number: int, faults: float, token: str | None) -> dict[str, Any]:
    """Return what came of one round."""
    sys.path.insert(0, str(TESTS))
    from edit_samples import save_versions

    with tempfile.TemporaryDirectory() as name, model_server(faults) as address:
        folder, rows, found = Path(name), texts(number), Round(number)
        os.environ |= {"RUBRICLAB_STORE": str(folder / "store.db"), "OPENAI_API_BASE": f"{address}/v1"}
        os.environ["OPENAI_API_KEY"] = KEY
        with open_store(folder / "store.db", create=True) as store:
            save_versions(store)
        service = Service(folder, token)
        service.start()
        began = time.monotonic()
        asyncio.run(play(service, rows, found))
        seconds = time.monotonic() - began
        if code := service.stop():
            found.faults.append(f"the service ended with {code}")
        counts = httpx.get(f"{address}/counts", trust_env=False).json()
        scored = [row for row in rows if found.scores.get(row["id"], {}).get("score") is not None]
        own = Lab(folder / "store.db", progress=None).score(scored, "remote").to_rows()
        for row in own:
            served = found.scores[row["id"]]
            if any(served[key] != json.loads(json.dumps(row[key])) for key in ("score", "criteria", "unscored")):
                found.faults.append(f"{row['id']}: another score than that of the command")
        more = httpx.get(f"{address}/counts", trust_env=False).json()["requests"] - counts["requests"]
        logs = {log: (folder / log).read_text() for log in ("access.log", "errors.log")}
    for log, content in logs.items():
        for secret in filter(None, (token, KEY, "mark-")):
            if secret in content:
                found.faults.append(f"{log} has {secret[:5]}…")
    if "Traceback" in logs["errors.log"]:
        found.faults.append(f"errors.log has a traceback: {logs['errors.log'][-2000:]}")
    entries = [json.loads(line) for line in logs["access.log"].splitlines()]
    if more:
        found.faults.append(f"the command asked {more} times more")
    found.seconds.sort()
    return {
        "token": token is not None,
        "requests": number,
        "sent": found.statuses.total(),
        "statuses": dict(sorted(found.statuses.items())),
        "attacks": dict(sorted(found.attacks.items())),
        "scored": len(scored),
        "unscored": len(found.scores) - len(scored),
        "lost": number - len(found.scores),
        "restarts": found.restarts,
        "log_lines": len(entries),
        "model_requests": counts["requests"],
        "model_faults": sum(count for fault, count in counts["faults"].items() if fault != "none"),
        "answered_twice": counts["repeated"],
        "asked_by_the_command": more,
        "seconds": round(seconds, 1),
        "median_seconds": round(found.seconds[len(found.seconds) // 2], 1) if found.seconds else None,
        "faults": found.faults,
    }


def readme_figures() -> dict[str, str]:
    """Return the table of the README."""
    found = json.loads(RESULTS.read_text())
    lines = [
        f"Python {found['machine']['python']}, {found['machine']['processors']} cores, load {found['load']:.1f}; "
        f"{found['share']:.0%} of the model server's replies are faulty.",
        "",
        "| | with a token | without |",
        "|---|---:|---:|",
    ]
    shown = {
        "requests to score, at once": "requests",
        "of these sent again later (429, 503, 504, or while it was restarted)": "again",
        "requests that had to be refused, and were": "refused",
        "texts scored": "scored",
        "texts without a score, with the reason": "unscored",
        "requests to the model server": "model_requests",
        "of these faulty": "model_faults",
        "lost": "lost",
        "requests of `rubriclab score` about the scored texts afterwards": "asked_by_the_command",
        "other scores than those of `rubriclab score`, and leaks": "faulty",
        "seconds until all were answered": "seconds",
    }
    for words, name in shown.items():
        cells = []
        for each in found["rounds"]:
            derived = {
                "again": each["sent"] - each["requests"],
                "refused": sum(count for status, count in each["attacks"].items() if status.startswith("4")),
                "faulty": len(each["faults"]),
            }
            cells.append(f"{derived.get(name, each.get(name)):,}")
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return {"serve": "\n".join(lines)}


def main() -> None:
    """Play both rounds, print and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--faults", type=float, default=0.2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    rounds = [measure(given.requests, given.faults, token) for token in (secrets.token_urlsafe(32), None)]
    print(json.dumps(rounds, indent=1))
    if given.output:
        machine = {"python": platform.python_version(), "processors": os.cpu_count()}
        result = {"machine": machine, "load": load, "share": given.faults, "rounds": rounds}
        given.output.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(each["faults"] for each in rounds))


if __name__ == "__main__":
    main()
