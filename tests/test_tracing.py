"""Spans of operations, texts and prompts: in memory, and over HTTP to a collector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, Commands
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.trace import SpanKind, StatusCode
from rival_scripts import judging, rivals
from server import RunningServer

from rubriclab import JudgeRefused, Lab, SettingsError
from rubriclab.judges import Ledger, Metered
from rubriclab.judges.ledger import texts_span
from rubriclab.tracing import EXPORTER, trace_of

TASK: dict[str, Any] = {"task": "summarization", "aspect": "coherence"}
TEXTS = [{"id": f"t{number}", "output": f"Secret {number}."} for number in range(4)]
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans of a program that has set a provider of its own."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    """Return the finished spans of a name."""
    return [span for span in spans.get_finished_spans() if span.name == name]


def of(span: ReadableSpan) -> int | None:
    """Return the id of the span that a span is part of."""
    return span.parent.span_id if span.parent else None


def test_a_prompt_is_part_of_its_text_a_text_of_its_operation_and_that_of_the_program(
    spans: InMemorySpanExporter, server: RunningServer, tmp_path: Path
) -> None:
    server.script.extend(["rate_limit"])
    with trace.get_tracer("program").start_as_current_span("program") as program:
        lab = Lab(tmp_path / "store.db", "openai/fake", price="1:2")
        lab.score([*TEXTS, {"id": "t9", "output": ""}], **TASK)
    (operation,), texts, prompts = (named(spans, name) for name in ("rubriclab score", "score text", "chat fake"))
    assert of(operation) == program.get_span_context().span_id
    assert {of(text) for text in texts} == {operation.context.span_id}
    assert sorted(text.attributes["rubriclab.text.ids"] for text in texts) == [(f"t{n}",) for n in range(4)]
    assert {text.attributes["rubriclab.outcome"] for text in texts} == {"scored"}
    assert {of(prompt) for prompt in prompts} == {text.context.span_id for text in texts}
    assert sorted(prompt.attributes["rubriclab.retries"] for prompt in prompts) == [0, 0, 0, 1]
    found = prompts[0].attributes
    assert prompts[0].kind is SpanKind.CLIENT
    assert found["gen_ai.request.model"] == "fake"
    assert found["gen_ai.provider.name"] == "openai"
    assert found["gen_ai.usage.input_tokens"] > 0
    assert found["gen_ai.usage.output_tokens"] > 0
    assert found["rubriclab.cost_usd"] > 0
    assert (found["rubriclab.outcome"], found["rubriclab.cached"], found["rubriclab.batch"]) == (
        "answered",
        False,
        False,
    )
    totals = operation.attributes
    assert (totals["rubriclab.calls"], totals["rubriclab.texts.scored"], totals["rubriclab.texts.faulty_row"]) == (
        4,
        4,
        1,
    )
    assert totals["rubriclab.prompt_tokens"] == sum(each.attributes["gen_ai.usage.input_tokens"] for each in prompts)
    spans.clear()
    lab.score(TEXTS, **TASK)
    cached = [prompt.attributes for prompt in named(spans, "chat fake")]
    assert [prompt["rubriclab.cached"] for prompt in cached] == [True] * 4
    assert not any("gen_ai.usage.input_tokens" in prompt for prompt in cached)


def test_no_span_holds_a_text_a_reply_or_a_message_and_an_error_is_named(
    spans: InMemorySpanExporter, server: RunningServer, tmp_path: Path
) -> None:
    lab = Lab(tmp_path / "store.db", "openai/fake", concurrency=1)
    lab.score(TEXTS[:2], **TASK)
    server.script.extend(["unauthorized"])
    with pytest.raises(JudgeRefused):
        lab.score(TEXTS[2:3], **TASK)
    failed = [span for span in spans.get_finished_spans() if not span.status.is_ok]
    assert {span.name for span in failed} >= {"rubriclab score", "chat fake"}
    for span in failed:
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
        assert span.attributes["error.type"] == "JudgeRefused"
        assert span.attributes["rubriclab.outcome"] == "judge_refused"
    assert all(not span.events for span in spans.get_finished_spans())
    everything = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "Secret" not in everything
    assert "reasoning" not in everything


def test_texts_in_one_call_share_a_span_also_behind_another_ledger(spans: InMemorySpanExporter) -> None:
    tracer = trace_of()
    judge = Metered(Metered(judging(), Ledger(), tracer), Ledger())
    with texts_span(judge, [text.id for text in rivals(3)]) as ended:
        ended("scored")
    with pytest.raises(KeyError), texts_span(judge, ["one"]):
        raise KeyError("Secret")
    several, one = spans.get_finished_spans()
    assert (several.name, len(several.attributes["rubriclab.text.ids"])) == ("score 3 texts", 3)
    assert (one.attributes["error.type"], one.attributes["rubriclab.outcome"]) == ("KeyError", "fault")


def test_attributes_are_named_as_the_installed_conventions_name_them(
    spans: InMemorySpanExporter, server: RunningServer, tmp_path: Path
) -> None:
    Lab(tmp_path / "store.db", "openai/fake").score(TEXTS[:1], **TASK)
    (prompt,) = named(spans, "chat fake")
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    assert {name for name in prompt.attributes if not name.startswith("rubriclab.")} <= known
    assert error_attributes.ERROR_TYPE == "error.type"


@pytest.mark.parametrize(
    "environment",
    [{}, {ENDPOINT: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}, {ENDPOINT: "x", EXPORTER: "none"}],
)
def test_there_are_no_spans_unless_an_exporter_is_configured(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert trace_of("score") is None


def test_an_exporter_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXPORTER, "otlp")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(SettingsError, match="OTEL_EXPORTER_OTLP_PROTOCOL: there is no exporter for 'grpc'"):
        trace_of("score")
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_PROTOCOL")
    monkeypatch.setenv(EXPORTER, "jaeger")
    with pytest.raises(SettingsError, match="OTEL_TRACES_EXPORTER: there is no exporter for 'jaeger'"):
        trace_of("score")


@pytest.fixture(scope="module")
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """The address of a server that takes spans over HTTP, and what it took."""
    taken: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/traces"
            taken.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", taken
        server.shutdown()


def test_a_command_sends_one_trace_to_a_collector_and_leaves_standard_output_to_results(
    rubriclab: Commands, collector: tuple[str, list[ExportTraceServiceRequest]]
) -> None:
    address, taken = collector
    lines = HELDOUT.read_text("utf-8").splitlines(keepends=True)[:12]
    (rubriclab.folder / "texts.jsonl").write_text("".join(lines), "utf-8")
    texts = [json.loads(line) for line in lines]
    options = ("--task", "summarization", "--aspect", "coherence", "--judge", "embedded")
    # A process of its own: the last spans are sent when it exits, which forked ones skip.
    environment = {ENDPOINT: address, EXPORTER: "otlp,console", "OTEL_SERVICE_NAME": "nightly"}
    done = subprocess.run(
        [sys.executable, "-m", "rubriclab", "score", "texts.jsonl", *options],
        cwd=rubriclab.folder,
        env={**os.environ, **rubriclab.environment, **environment},
        capture_output=True,
        check=True,
        text=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [row["id"] for row in texts]
    assert '"name": "rubriclab score"' in done.stderr
    resources = [each for request in taken for each in request.resource_spans]
    found = [span for each in resources for scope in each.scope_spans for span in scope.spans]
    (root,) = [span for span in found if span.name == "rubriclab score"]
    scored = [span for span in found if span.name == "score text"]
    assert {span.parent_span_id for span in scored} == {root.span_id}
    assert {span.trace_id for span in found} == {root.trace_id}
    ids = {attribute.value.array_value.values[0].string_value for span in scored for attribute in span.attributes[:1]}
    assert ids == {row["id"] for row in texts}
    named = {each.key: each.value.string_value for resource in resources for each in resource.resource.attributes}
    assert named["service.name"] == "nightly"
