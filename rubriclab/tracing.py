"""Spans of operations, texts and prompts by OpenTelemetry (`rubriclab[otel]`), as the OTEL_* variables configure them.

There are none unless a variable names an exporter, or the program that uses this package has a provider of its own.
Attributes have the names of OpenTelemetry's conventions for generative AI, and where these have none, `rubriclab.*`. No
span holds anything of a prompt, a text, a reply or a message of the provider, which may quote one.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from rubriclab.errors import RubriclabError, SettingsError
from rubriclab.judges.judge import Reply
from rubriclab.judges.ledger import Ledger
from rubriclab.judges.observed import ANSWERED, CANCELLED, outcome_of
from rubriclab.prompts import Prompt

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, SpanKind, TracerProvider

EXPORTER = "OTEL_TRACES_EXPORTER"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
# What the exporters of the protocols are called by the packages that offer them.
OTLP = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
# The conventions' names of providers that litellm names otherwise.
PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
OUTCOME = "rubriclab.outcome"
# The trace that the current span is of, in OpenTelemetry's context.
_OWNER = "rubriclab-trace"

_log = logging.getLogger(__name__)


class Trace:
    """The spans of one operation.

    Args:
        provider: makes the spans.
        operation: the name of the operation's own span, which begins now; `None` for none.
        carrier: the span of another process that all spans belong to.
    """

    def __init__(self, provider: TracerProvider, operation: str | None, carrier: Mapping[str, str] | None) -> None:
        from opentelemetry.trace import set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        import rubriclab

        self._tracer = provider.get_tracer("rubriclab", rubriclab.__version__)
        self._propagator = TraceContextTextMapPropagator()
        self._span: Span | None = None
        # Where it is `None`, spans belong to the program's current one.
        self._context: Context | None = self._propagator.extract(carrier) if carrier else None
        if operation:
            self._span = self._tracer.start_span(f"rubriclab {operation}", context=self._context)
            self._context = set_span_in_context(self._span, self._context)

    @property
    def carrier(self) -> dict[str, str]:
        """The operation's span, for `carrier` in another process."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, self._context)
        return carrier

    def end(self, ledger: Ledger, error: BaseException | None = None) -> None:
        """End the operation's span, with the totals of `ledger`."""
        if self._span is None:
            return
        effort = ledger.effort(0.0)
        totals = {
            "calls": effort.calls,
            "cached": effort.cached,
            "failed": effort.failed,
            "prompt_tokens": effort.prompt_tokens,
            "completion_tokens": effort.completion_tokens,
            "cost_usd": effort.cost_usd,
            **{f"texts.{outcome}": count for outcome, count in ledger.texts.items()},
        }
        for name, value in totals.items():
            if value is not None:
                self._span.set_attribute(f"rubriclab.{name}", value)
        if error is not None:
            _fail(self._span, error)
        self._span.end()
        self._span = None

    @contextmanager
    def texts(self, ids: Sequence[str]) -> Iterator[Callable[[str], None]]:
        """Make a span of texts that are scored, by one call if they are several; see `Tracer`."""
        from opentelemetry.trace import SpanKind

        name = "score text" if len(ids) == 1 else f"score {len(ids)} texts"
        with self._current(name, SpanKind.INTERNAL, {"rubriclab.text.ids": tuple(ids)}) as span:
            yield lambda outcome: span.set_attribute(OUTCOME, outcome)

    @contextmanager
    def request(
        self, provider: str, model: str, prompt: Prompt[Any], *, batch: bool
    ) -> Iterator[Callable[[Reply], None]]:
        """Make a span of a prompt, with all attempts; see `Tracer`."""
        from opentelemetry.trace import SpanKind

        model = model.partition("/")[2] or model
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": PROVIDERS.get(provider, provider),
            "gen_ai.request.model": model,
            "gen_ai.prompt.name": prompt.name,
            "rubriclab.batch": batch,
            "rubriclab.retries": 0,
        }
        with self._current(f"chat {model}", SpanKind.CLIENT, attributes) as span:
            yield lambda reply: span.set_attributes(_attributes(reply))

    def retried(self, number: int) -> None:
        """Note on the span of the prompt how many further attempts there have been."""
        from opentelemetry.trace import get_current_span

        get_current_span().set_attribute("rubriclab.retries", number)

    @contextmanager
    def _current(self, name: str, kind: SpanKind, attributes: Mapping[str, Any]) -> Iterator[Span]:
        """Make a span that is the current one in the block: of this trace's current span, or else of its operation."""
        from opentelemetry import context as contexts
        from opentelemetry.trace import set_span_in_context

        parent: Context | None = contexts.get_current()
        if contexts.get_value(_OWNER, parent) is not self and self._context is not None:
            parent = self._context
        span = self._tracer.start_span(name, context=parent, kind=kind, attributes=attributes)
        token = contexts.attach(contexts.set_value(_OWNER, self, set_span_in_context(span, parent)))
        try:
            yield span
        except BaseException as error:
            _fail(span, error)
            raise
        finally:
            contexts.detach(token)
            span.end()


def trace_of(operation: str | None = None, carrier: Mapping[str, str] | None = None) -> Trace | None:
    """Return the spans of an operation, `None` if there are to be none; the arguments are those of `Trace`.

    Raises:
        SettingsError: if a variable names an exporter that is not installed.
    """
    provider = _program_provider() or (_own_provider() if _is_configured() else None)
    return Trace(provider, operation, carrier) if provider else None


def _is_configured() -> bool:
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    named = os.environ.get(EXPORTER, "").strip()
    return named != "none" if named else any(os.environ.get(name) for name in ENDPOINTS)


def _program_provider() -> TracerProvider | None:
    """Return the provider of the program that uses this package, if it has set one."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return None
    from opentelemetry.sdk.trace import TracerProvider as RealProvider
    from opentelemetry.trace import get_tracer_provider

    provider = get_tracer_provider()
    return provider if isinstance(provider, RealProvider) else None


@functools.cache
def _own_provider() -> TracerProvider | None:
    """Return the provider of this process, which sends what is left when the process ends."""
    try:
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider as RealProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        _log.info("OTEL_* variables ask for spans, but OpenTelemetry is missing: pip install 'rubriclab[otel]'")
        return None
    import rubriclab

    resource = Resource.create({"service.name": "rubriclab", "service.version": rubriclab.__version__})
    # What the environment says comes first.
    provider = RealProvider(resource=resource.merge(OTELResourceDetector().detect()))
    for exporter in _exporters():
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _exporters() -> Iterator[SpanExporter]:
    for name in dict.fromkeys(each.strip() for each in os.environ.get(EXPORTER, "otlp").split(",") if each.strip()):
        yield _exporter(name)


def _exporter(name: str) -> SpanExporter:
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)  # results go to standard output
    asked, variable = name, EXPORTER
    if name == "otlp":
        variable = next((each for each in PROTOCOLS if os.environ.get(each)), EXPORTER)
        asked = os.environ.get(variable, "") if variable in PROTOCOLS else "http/protobuf"
        name = OTLP.get(asked, asked)
    found = next(iter(entry_points(group="opentelemetry_traces_exporter", name=name)), None)
    if found is None:
        raise SettingsError(
            f"{variable}: there is no exporter for {asked!r}.",
            "Install the package that offers it, or use http/protobuf, which is part of rubriclab[otel].",
        )
    exporter: SpanExporter = found.load()()
    return exporter


def _attributes(reply: Reply) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": ("length" if reply.truncated else "stop",),
        "rubriclab.cached": reply.cached,
        OUTCOME: ANSWERED,
    }
    if reply.usage.prompt_tokens and not reply.cached:
        attributes |= {
            "gen_ai.usage.input_tokens": reply.usage.prompt_tokens,
            "gen_ai.usage.output_tokens": reply.usage.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": reply.usage.cached_tokens,
        }
        if reply.usage.cost_usd is not None:
            attributes["rubriclab.cost_usd"] = reply.usage.cost_usd
    return attributes


def _fail(span: Span, error: BaseException) -> None:
    """Note what ended a span early, without the message."""
    from asyncio import CancelledError

    from opentelemetry.trace import Status, StatusCode

    if isinstance(error, CancelledError | KeyboardInterrupt | GeneratorExit):
        span.set_attribute(OUTCOME, CANCELLED)
        return
    span.set_attribute(OUTCOME, outcome_of(error) if isinstance(error, RubriclabError) else "fault")
    span.set_attribute("error.type", type(error).__qualname__)
    span.set_status(Status(StatusCode.ERROR))
