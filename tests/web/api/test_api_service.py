"""A rubric served over HTTP, with the local model server behind it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_service import TEXTS, TOKEN, Service, problem, score, serving
from commands import CHECKOUT, Commands, Done
from documentation import example_files
from scripted_model import planted as brain
from server import RunningServer
from waiting import PATIENCE, until

from rubriclab import Lab
from rubriclab.errors import SettingsError
from rubriclab.judges.options import as_price
from rubriclab.web.api import TOKEN_VARIABLE, log_access
from rubriclab.web.api_models import PATHS, PATHS_WITHOUT_TOKEN, PROBLEMS, RubricDescription, ScoreResults, describe_api

KEY = "sk-the-operators-own-key-0123456789"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def store(tmp_path: Path, planted_store: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose versions ask the local server, without a token in the environment."""
    server.brain = brain
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Path(shutil.copy(planted_store, tmp_path / "store.db"))


@pytest.fixture
async def service(store: Path) -> Iterator[Service]:  # type: ignore[misc]
    with serving(store, asked={"attempts": 1}, max_texts=5, max_body_bytes=20_000) as found:
        yield found


# Scores


def test_a_text_without_a_score_has_a_reason_and_the_others_are_scored(service: Service, server: RunningServer) -> None:
    server.script.extend(["server_error"] * 3)
    with service.client() as client:
        found = score(client, {"texts": [{"output": " "}]}).json()["scores"]
        failed = score(client, TEXTS[0])
        server.script.clear()
        good = score(client, TEXTS[1]).json()
    assert (found[0]["score"], found[0]["criteria"]) == (None, [])
    assert "field 'output': got only white space" in found[0]["unscored"]
    assert failed.status_code == 200
    assert failed.json()["score"] is None
    assert "the judge gave no reply" in failed.json()["unscored"]
    assert "something broke" not in failed.text, "the words of the provider are not for callers"
    assert good["score"] is not None


def test_the_rubric_is_described_without_labelled_texts(service: Service) -> None:
    with service.client() as client:
        found = RubricDescription.model_validate(client.get("/v1/rubric").json())
    assert (found.rubric, found.judge, found.scale.high) == ("remote@1", "openai/fake", 5)
    assert {criterion.id for criterion in found.criteria} >= {"links", "order"}
    assert "demonstrations" not in found.model_dump_json()


def test_the_path_of_a_recording_is_not_told(store: Path, tmp_path: Path) -> None:
    record = tmp_path / "recording.jsonl"
    Lab(store, progress=None, record=record).score(TEXTS[:1], "remote")
    with serving(store, judge=f"recorded:{record}") as service, service.client() as client:
        assert client.get("/v1/rubric").json()["judge"] == "recorded"
        assert score(client, TEXTS[0]).json()["judge"] == "recorded"
        found = problem(score(client, TEXTS[1]), 502)
    assert found.code == "not_recorded"
    assert str(tmp_path) not in found.detail


# Requests that are refused


FAULTY_BODIES: list[tuple[bytes, dict[str, str], tuple[int, str, str]]] = [
    (b"", JSON, (400, "not_json", "is not JSON")),
    (b"[" * 10_000, JSON, (400, "not_json", "levels deep")),
    (b'{"output": NaN}', JSON, (400, "not_json", "is not JSON")),
    (b'{"output": "\\ud800"}', JSON, (400, "not_json", "lone surrogate")),
    (b"[]", JSON, (422, "invalid_body", 'expected an object, got a list of 0. Send several texts as {"texts": […]}.')),
    (b"{}", JSON, (422, "invalid_body", "output: missing")),
    (b'{"output": "a", "sourse": "b"}', JSON, (422, "invalid_body", "sourse: unknown name")),
    (b'{"texts": []}', JSON, (422, "invalid_body", "a list of at least 1")),
    (b'{"texts": [{"output": "a"}, 3]}', JSON, (422, "invalid_body", "texts[1]: expected an object, got 3")),
    (
        json.dumps({"texts": TEXTS[:6]}).encode(),
        JSON,
        (413, "too_many_texts", "at most 5 texts, got 6; send them in several requests"),
    ),
    (b'"' + b"a" * 30_000 + b'"', JSON, (413, "too_large", "at most 20,000 bytes")),
    (b'{"output": "a"}', {"Content-Type": "text/plain"}, (415, "other_media_type", "got 'text/plain'")),
    (b'{"output": "a"}', {}, (415, "other_media_type", "application/json; there is none")),
    (b"x", {**JSON, "Content-Encoding": "gzip"}, (415, "compressed_body", "without compression")),
    (b'{"output": "a", "output": "b"}', JSON, (400, "not_json", "'output' is repeated")),
    (
        b'{"texts": [{"output": "a", "id": "1"}, {"output": "b"}, {"output": "c", "id": "1"}]}',
        JSON,
        (422, "repeated_id", "texts[0] and texts[2] have the same id '1'"),
    ),
]


def test_a_faulty_body_is_refused_with_the_reason(service: Service, server: RunningServer) -> None:
    with service.client() as client:
        for content, headers, (status, code, words) in FAULTY_BODIES:
            found = problem(client.post("/v1/score", content=content, headers=headers), status)
            assert (found.code, words in found.detail) == (code, True), found.detail
            if (status, code) == (413, "too_large"):
                chunks = iter([content[:15_000], content[15_000:]])
                assert problem(client.post("/v1/score", content=chunks, headers=headers), 413).code == code
    assert not server.bodies


def test_texts_without_the_source_that_the_rubric_needs_are_refused(store: Path) -> None:
    options: dict[str, Any] = {"task": "summarization", "aspect": "coherence", "methods": "direct", "name": "news"}
    labelled = [{**text, "scores": {"coherence": 1 + place % 5}} for place, text in enumerate(TEXTS[:12])]
    Lab(store, "embedded", progress=None).learn(labelled, **options)
    with serving(store, "news", judge="embedded") as service, service.client() as client:
        assert client.get("/v1/rubric").json()["needs"] == ["source"]
        found = problem(score(client, {"output": "A summary without its article."}), 422)
        assert score(client, TEXTS[0]).json()["score"] is not None
        mixed = ScoreResults.model_validate(score(client, {"texts": [TEXTS[0], {"output": "A summary."}]}).json())
        complete = score(client, {"texts": TEXTS[:2]}).json()
    assert found.code == "unusable_texts"
    assert "the field 'source'" in found.detail
    assert found.detail.endswith("Send it with each text.")
    assert "mapping" not in found.detail
    # In a list with complete texts they are scored.
    assert [found.score is None for found in mixed.scores] == [False, False]
    (warning,) = mixed.warnings
    assert "1 of 2 texts have no source" in warning
    assert complete["warnings"] == []


def test_other_paths_methods_and_queries_are_refused(service: Service) -> None:
    with service.client() as client:
        assert problem(client.get("/v2"), 404).code == "no_such_path"
        refused = client.get("/v1/score")
        assert (problem(refused, 405).code, refused.headers["allow"]) == ("other_method", "POST")
        assert problem(client.post("/v1/score/", json=TEXTS[0]), 404).code == "no_such_path"
        for method, path in (("POST", "/v1/score"), ("GET", "/v1/rubric")):
            found = problem(client.request(method, f"{path}?explain=maybe"), 400)
            assert (found.code, "'explain'" in found.detail) == ("unknown_parameter", True)
    noted = ["no_such_path", "other_method", "no_such_path", "unknown_parameter", "unknown_parameter"]
    assert [entry["problem"] for entry in service.logged(5)] == noted


def test_a_request_for_another_host_is_refused_where_there_is_no_token(service: Service, server: RunningServer) -> None:
    with service.client() as client:
        for path in PATHS:
            assert problem(client.get(path, headers={"Host": "evil.example"}), 421).code == "other_host"
    assert not server.bodies


def test_pages_of_other_sites_are_refused_where_there_is_no_token(service: Service, server: RunningServer) -> None:
    with service.client() as client:
        own_without_http = f"https://{client.base_url.netloc.decode()}"
        for origin, path in product(("http://evil.example", "null", "http://127.0.0.1:1", own_without_http), PATHS):
            method = "POST" if path == "/v1/score" else "GET"
            refused = client.request(method, path, json=TEXTS[0], headers={"Origin": origin})
            assert problem(refused, 403).code == "other_origin"
        assert not server.bodies
        own = {"Origin": service.address}
        assert client.post("/v1/score", json=TEXTS[0], headers=own).status_code == 200


# Connections


def connected(service: Service) -> socket.socket:
    host, port = service.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), PATIENCE)


def head(service: Service, *lines: str) -> bytes:
    host = service.address.removeprefix("http://")
    return "\r\n".join(["POST /v1/score HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode()


def test_callers_whose_bodies_arrive_slowly_keep_nobody_waiting(store: Path) -> None:
    with serving(store, at_once=2) as service, service.client() as client, ExitStack() as held:
        for _ in range(10):
            slow = held.enter_context(connected(service))
            slow.sendall(head(service, "Content-Type: application/json", "Content-Length: 1000") + b'{"output": "')
        until(lambda: b"in_flight 11.0" in client.get("/metrics").content)
        assert score(client, TEXTS[0]).status_code == 200


def test_a_body_that_does_not_arrive_is_refused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.web.api.BODY_TIMEOUT", 0.2)
    with serving(store) as service, connected(service) as slow:
        slow.sendall(head(service, "Content-Type: application/json", "Content-Length: 1000") + b'{"output": "')
        assert slow.recv(10_000).startswith(b"HTTP/1.1 408 ")
    assert [entry["problem"] for entry in service.logged(1)] == ["late_body"]


def test_a_connection_without_the_rest_of_a_request_is_closed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.web.server.HEAD_TIMEOUT", 0.3)
    half = b"POST /v1/score HTTP/1.1\r\nHost: a"
    without_body = b"POST /v2 HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\na"
    with serving(store) as service, ExitStack() as held:
        opened = [held.enter_context(connected(service)) for _ in range(3)]
        for slow, sent in zip(opened, (b"", half, without_body), strict=True):
            slow.sendall(sent)
            slow.settimeout(0.05)
        for slow in opened:
            until(lambda: closed_although_more_comes(slow))  # noqa: B023
        with service.client() as client:
            assert client.get("/health").status_code == 200


def closed_although_more_comes(slow: socket.socket) -> bool:
    """Return whether a connection was closed, and send a little more to one that was not, as an attacker would."""
    try:
        closed = slow.recv(10_000) == b""
        slow.send(b"a")
    except TimeoutError:
        return False
    except ConnectionError:  # what was sent after it had been closed
        return True
    return closed


AMBIGUOUS_HEADS: list[tuple[tuple[str, ...], bytes]] = [
    (("Content-Length: 5", "Transfer-Encoding: chunked"), b'"code":"two_lengths"'),
    (("Content-Length: 5", "Content-Length: 6"), b"400 Bad Request"),
    (("Transfer-Encoding: gzip, chunked",), b"400 Bad Request"),
    (("Host: evil.example",), b"400 Bad Request"),
    ((f"X: {'a' * 100_000}",), b"400 Bad Request"),
]


def test_an_ambiguous_or_huge_head_is_refused_and_ends_the_connection(service: Service, server: RunningServer) -> None:
    for lines, expected in AMBIGUOUS_HEADS:
        with connected(service) as sent:
            with suppress(OSError):
                sent.sendall(head(service, "Content-Type: application/json", *lines) + b"0\r\n\r\n")
            with suppress(ConnectionResetError):
                response = b"".join(iter(lambda: sent.recv(10_000), b""))
                assert expected in response, response
    assert not server.bodies


def test_no_request_can_write_a_line_of_its_own_to_the_log(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with service.client() as client:
        problem(client.request("A" * 1000, "/%0A%1b%5B31mtime=now%20status=200"), 404)
    (entry,) = service.logged(1)
    assert (entry["path"], entry["method"]) == ("/%0A%1b%5B31mtime=now%20status=200", "A" * 20)
    with caplog.at_level("INFO", "rubriclab.access"):
        log_access(entry)
        log_access({"path": "/ status=200\n"})
    assert 'path="/%0A%1b%5B31mtime=now%20status=200" status=404' in caplog.messages[0]
    assert caplog.messages[1] == 'path="/ status=200\\n"'


# Tokens


def test_without_a_token_only_health_and_the_description_are_answered(
    store: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    (tmp_path / "tokens").write_text("anna another-token-0123456789", "utf-8")
    with serving(store, token_file=str(tmp_path / "tokens")) as service:
        for given in (None, TOKEN[:-1], f"{TOKEN}0", "x"):
            with service.client(given) as client:
                for path in PATHS | {"/v2"}:
                    response = client.post(path, json=TEXTS[0]) if path == "/v1/score" else client.get(path)
                    if path in PATHS_WITHOUT_TOKEN:
                        assert response.status_code == 200
                    else:
                        assert problem(response, 401).code == ("wrong_token" if given else "no_token")
                        invalid = ' error="invalid_token"' if given else ""
                        assert response.headers["www-authenticate"] == f"Bearer{invalid}"
                    assert "planted" not in response.text
                    assert "remote" not in response.text
        with service.client() as client:
            twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {TOKEN}x")]
            assert problem(client.get("/v1/rubric", headers=twice), 401).code == "wrong_token"
        assert not server.bodies
        for given in (TOKEN, "another-token-0123456789"):
            with service.client(given) as client:
                assert score(client, TEXTS[0]).status_code == 200
                assert problem(client.get("/v2"), 404)
        scored = ("/v1/score", 200)
        until(lambda: sum((entry["path"], entry["status"]) == scored for entry in service.log) == 2)
    callers = [entry["caller"] for entry in service.log if (entry["path"], entry["status"]) == scored]
    assert callers == ["token", "anna"]
    assert TOKEN not in json.dumps(service.log)
    assert any("Bearer $TOKEN" in note for note in service.notes)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_it_does_not_listen_to_others_without_a_token(store: Path, host: str) -> None:
    with (
        pytest.raises(SettingsError, match="others can reach the service at this address, and there is no token"),
        serving(store, host=host),
    ):
        pass


# Limits


def test_a_request_that_was_given_up_keeps_its_slot_and_its_answers(store: Path, server: RunningServer) -> None:
    server.latency = 0.5
    with serving(store, at_once=1, request_timeout=0.1) as service, service.client() as client:
        late = score(client, TEXTS[0])
        assert problem(late, 504).code == "timeout"
        busy = score(client, TEXTS[0])
        assert (problem(busy, 429).code, busy.headers["retry-after"]) == ("too_many_at_once", "1")
        found = until(lambda: (again := score(client, TEXTS[0])).status_code == 200 and again)
    assert found.json()["score"] is not None
    assert max(server.answered.values()) == 1, "nothing is paid for twice"


def test_at_a_cap_only_stored_answers_are_used(store: Path, server: RunningServer) -> None:
    Lab(store, progress=None).score(TEXTS[:1], "remote")
    with serving(store, asked={"max_calls": 1}) as service, service.client() as client:
        responses = [score(client, text) for text in TEXTS[:3]]
        assert problem(responses[1], 402).code == "budget_reached"
        assert problem(responses[2], 402).detail.startswith("The cap on calls or cost of this service is reached")
        assert responses[0].json() == score(client, TEXTS[0]).json()


# Failures of the judge


def test_a_judge_that_refuses_or_is_down_is_said_without_its_words(store: Path, server: RunningServer) -> None:
    with serving(store, asked={"attempts": 1, "concurrency": 1}) as service, service.client() as client:
        server.script.extend(["unauthorized"] * 10)
        refused = score(client, TEXTS[0])
        server.script.clear()
        server.script.extend(["server_error"] * 60)
        down = until(lambda: (found := score(client, {"texts": TEXTS[1:20]})).status_code == 503 and found)
        server.script.clear()
        assert score(client, TEXTS[1]).json()["score"] is not None, "it goes on once the judge is back"
    assert problem(refused, 502).code == "judge_failed"
    assert problem(down, 503).code == "judge_unavailable"
    assert int(down.headers["retry-after"]) > 0
    for text in (refused.text, down.text):
        assert not re.search(r"API key|something broke|127\.0\.0\.1|Traceback", text)


def test_an_unexpected_error_is_a_problem_without_its_words(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError(f"with {KEY}")

    monkeypatch.setattr("rubriclab.web.api_models.score_row", broken)
    with service.client() as client:
        found = problem(score(client, TEXTS[0]), 500)
        assert client.get("/health").status_code == 200
    assert (found.code, KEY in found.detail) == ("internal_error", False)
    assert "ZeroDivisionError" in caplog.text


# The command


def stopped_while_scoring(store: Path, server: RunningServer, *options: object) -> tuple[httpx.Response, Done]:
    """Return the response to a request that was under way at SIGTERM, and how the command ended."""
    at: dict[str, Any] = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": KEY, TOKEN_VARIABLE: TOKEN}
    started = Commands(store.parent, RUBRICLAB_STORE="store.db", **at).start("serve", "remote", "--port", 0, *options)
    port = started.address().rpartition(":")[2]
    with Service(f"http://127.0.0.1:{port}").client(TOKEN) as client, ThreadPoolExecutor(1) as thread:
        response = thread.submit(score, client, TEXTS[0])
        until(server.requests.total)
        os.kill(started.pid, signal.SIGTERM)
        return response.result(), started.wait()


def test_a_request_under_way_is_answered_after_sigterm(store: Path, server: RunningServer) -> None:
    server.latency = 0.3
    response, done = stopped_while_scoring(store, server)
    assert response.json()["score"] is not None
    assert done.code == 0, done.err
    (entry,) = done.rows
    assert (entry["caller"], entry["path"], entry["status"], entry["texts"]) == ("token", "/v1/score", 200, 1)
    assert not re.search(f"{TOKEN}|{KEY}", done.out + done.err)


def test_a_request_that_is_not_answered_in_the_time_to_shut_down_gets_a_503_and_is_counted(
    store: Path, server: RunningServer
) -> None:
    server.latency = 60.0
    response, done = stopped_while_scoring(store, server, "--grace", 0)
    assert problem(response, 503).code == "stopping"
    assert int(response.headers["retry-after"]) > 0
    assert done.code == 0, done.err
    assert [(entry["status"], entry["problem"]) for entry in done.rows] == [(503, "stopping")]
    assert "1 request was still being scored when the service ended and got no score" in done.err


def test_no_judge_is_asked_once_the_store_was_removed(store: Path, server: RunningServer) -> None:
    with serving(store) as service, service.client() as client:
        assert score(client, TEXTS[0]).status_code == 200
        asked = server.requests.total()
        away = store.rename(store.with_suffix(".away"))
        assert problem(score(client, TEXTS[1]), 503).code == "store_unavailable"
        assert problem(client.get("/health"), 503).code == "store_unavailable"
        away.rename(store)
        assert client.get("/health").status_code == 200
        assert server.requests.total() == asked


# What it says of itself


def test_every_problem_and_every_field_is_explained_in_the_documentation() -> None:
    documented = (CHECKOUT / "docs" / "integrations" / "serve.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\d, ]+) \| (`.*?`) \|", documented, re.MULTILINE)
    named = {
        code: {int(each) for each in given.split(", ")}
        for given, codes in rows
        for code in re.findall(r"`(\w+)`", codes)
    }
    assert [code for code, (status, _) in PROBLEMS.items() if status not in named.get(code, ())] == []
    assert set(named) == set(PROBLEMS)
    schemas = describe_api(needs_token=True)["components"]["schemas"]
    fields = {f"{name}.{field}": own for name, schema in schemas.items() for field, own in schema["properties"].items()}
    assert [name for name, own in fields.items() if not own.get("description")] == []


def metrics(client: httpx.Client) -> dict[str, float]:
    """Return each metric by its name without the prefix, with its labels."""
    lines = [line for line in client.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name.removeprefix("rubriclab_"): float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_metrics_count_requests_retries_replies_and_texts(store: Path, server: RunningServer) -> None:
    with serving(store, asked={"price": as_price("1:2")}) as service, service.client() as client:
        server.script.extend(["rate_limit", None])
        for content in (TEXTS[0], TEXTS[0], {"output": " "}, {}):
            score(client, content)
        found = metrics(client)
    asked = len(server.bodies) - 1
    assert found['http_requests_total{path="/v1/score",status="200"}'] == 3
    assert found['http_requests_total{path="/v1/score",status="422"}'] == 1
    assert found['requests_total{outcome="answered"}'] == found["replies_total"] == found["cache_hits_total"] == asked
    assert found['requests_total{outcome="judge_unavailable"}'] == found["retries_total"] == 1
    assert found["request_seconds_count"] == asked + 1
    assert (found["requests_in_flight"], found["requests_waiting"]) == (0, 0)
    assert (found["texts_scored_total"], found['texts_unscored_total{reason="faulty_row"}']) == (2, 1)
    assert min(found['tokens_total{kind="prompt"}'], found["cost_dollars_total"]) > 0


def test_the_client_of_the_documentation_works(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = example_files(CHECKOUT / "docs" / "integrations" / "serve.md").values()
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    monkeypatch.setenv("NO_PROXY", "*")
    names: dict[str, Any] = {}
    exec(example, names)
    with serving(store) as service, service.client(TOKEN) as client:
        assert names["score"](names["TEXT"], service.address) == score(client, names["TEXT"]).json()["score"]
        assert names["score"]({"output": " "}, service.address) is None
    assert "no score: " in capsys.readouterr().out


def test_the_container_runs_as_a_user_without_privileges_on_a_pinned_image() -> None:
    lines = (CHECKOUT / "Containerfile").read_text("utf-8").splitlines()
    images = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert all(re.fullmatch(r"docker\.io/library/python:\d+\.\d+\.\d+-slim-\w+", image) for image in images)
    assert "USER 10001" in lines
    assert lines.index("USER 10001") > max(place for place, line in enumerate(lines) if line.startswith("RUN "))
    assert any(line.startswith("HEALTHCHECK ") for line in lines)
