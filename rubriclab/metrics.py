"""Metrics of a running operation in Prometheus' text format, also over HTTP on the loopback address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rubriclab.errors import SettingsError
from rubriclab.judges.judge import Usage
from rubriclab.judges.ledger import SCORED, Ledger
from rubriclab.option_names import option

ADDRESS = "127.0.0.1"
# Seconds: a short reply of a small model takes a few tenths, hidden reasoning minutes.
BUCKETS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300)


class MetricsRegistry:
    """The requests that it is told of, and the tokens, money and texts of ledgers. It observes requests; see
    `RequestObserver`.

    Attributes:
        registry: where further metrics of the same process can be registered.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._ledgers = _LedgerCollector()
        registry.register(self._ledgers)
        self._requests = Counter("rubriclab_requests", "Requests sent, by outcome.", ["outcome"], registry=registry)
        self._seconds = Histogram(
            "rubriclab_request_seconds", "Seconds until a request was over.", buckets=BUCKETS, registry=registry
        )
        self._retries = Counter("rubriclab_retries", "Further attempts at a prompt.", registry=registry)
        self._in_flight = Gauge("rubriclab_requests_in_flight", "Requests being answered.", registry=registry)
        self._waiting = Gauge("rubriclab_requests_waiting", "Requests that wait for a limit.", registry=registry)
        self._batched = Counter(
            "rubriclab_batch_prompts",
            "Prompts that batches were to answer, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self._in_batches = Gauge(
            "rubriclab_batch_prompts_waiting", "Prompts that wait for the answer of a batch.", registry=registry
        )

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def watch(self, ledger: Ledger) -> None:
        """Add a ledger whose counts are told from now on."""
        self._ledgers.watch(ledger)

    def finish(self, ledger: Ledger) -> None:
        """Keep the counts of a ledger that will not change any more, without the ledger."""
        self._ledgers.finish(ledger)

    def queued(self, change: int) -> None:
        """Count a request that waits for the limits or is in flight (1), or is over (-1)."""
        self._waiting.inc(change)

    def in_flight(self, change: int) -> None:
        """Count a request that is sent (1), or over (-1)."""
        self._in_flight.inc(change)
        self._waiting.dec(change)

    def ended(self, outcome: str, seconds: float) -> None:
        """Count a request that was sent, by its outcome and the seconds until then."""
        self._requests.labels(outcome).inc()
        self._seconds.observe(seconds)

    def retried(self) -> None:
        """Count a further attempt at a prompt."""
        self._retries.inc()

    def in_batches(self, change: int) -> None:
        """Count a prompt that waits for the answer of a batch (1), or no longer (-1)."""
        self._in_batches.inc(change)

    def ended_in_batch(self, outcome: str) -> None:
        """Count a prompt that was sent in a batch, by its outcome."""
        self._batched.labels(outcome).inc()


class Metrics(MetricsRegistry):
    """The same with a server, which answers at any path, to this machine alone, until it is closed.

    Args:
        port: where it listens; 0 for any free port.

    Raises:
        SettingsError: if the port is not one, or is in use.
    """

    def __init__(self, port: int) -> None:
        if not 0 <= port <= 65535:
            raise SettingsError(f"{option('metrics')}: expected a port from 0 to 65535, got {port}.")
        super().__init__()
        try:
            self._server, self._thread = start_http_server(port, ADDRESS, self.registry)
        except OSError as error:
            raise SettingsError(
                f"{option('metrics')}: port {port} cannot be used: {error.strerror}.",
                f"Give another port, or {option('metrics', '0')} for any free one.",
            ) from None

    @property
    def url(self) -> str:
        """The address of the metrics."""
        return f"http://{ADDRESS}:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _LedgerCollector(Collector):
    """Reads ledgers when somebody asks for the metrics, which costs the operation nothing."""

    def __init__(self) -> None:
        self._watched: list[Ledger] = []
        self._finished = Ledger()

    def watch(self, ledger: Ledger) -> None:
        """Add a ledger."""
        self._watched.append(ledger)

    def finish(self, ledger: Ledger) -> None:
        """Replace a ledger by its counts, unless that has been done."""
        if not any(each is ledger for each in self._watched):
            return
        # Replaced at once, since another thread may be reading: nothing may be counted twice or not at all.
        self._watched, self._finished = [each for each in self._watched if each is not ledger], self._sum(ledger)

    def collect(self) -> Iterable[Metric]:
        """Yield the counts of all ledgers."""
        total = self._sum(*self._watched)
        yield _counter("replies", "Replies received from the provider.", total.calls)
        yield _counter("cache_hits", "Replies taken from the cached answers instead.", total.cached)
        yield _counter("prompts_failed", "Prompts without a usable reply.", total.failed)
        yield _counter("prompts_repaired", "Prompts repeated after an unusable reply.", total.repaired)
        yield from _usage(total.usage)
        yield _counter("texts_scored", "Texts with a score.", total.texts[SCORED])
        unscored = CounterMetricFamily("rubriclab_texts_unscored", "Texts without a score.", labels=["reason"])
        for reason, count in total.texts.items():
            if reason != SCORED:
                unscored.add_metric([reason], count)
        yield unscored

    def _sum(self, *ledgers: Ledger) -> Ledger:
        everything = (self._finished, *ledgers)
        return Ledger(
            calls=sum(each.calls for each in everything),
            cached=sum(each.cached for each in everything),
            failed=sum(each.failed for each in everything),
            repaired=sum(each.repaired for each in everything),
            usage=sum((each.usage for each in everything), Usage()),
            texts=sum((each.texts.copy() for each in everything), type(self._finished.texts)()),
        )


def _usage(usage: Usage) -> Iterable[Metric]:
    tokens = CounterMetricFamily("rubriclab_tokens", "Tokens, as the provider counts them.", labels=["kind"])
    tokens.add_metric(["prompt"], usage.prompt_tokens)
    tokens.add_metric(["completion"], usage.completion_tokens)
    yield tokens
    yield _counter("cached_prompt_tokens", "Prompt tokens read from the provider's prompt cache.", usage.cached_tokens)
    saved = "US dollars saved by the provider's prompt cache; below 0 if writing to it cost more."
    yield GaugeMetricFamily("rubriclab_saved_dollars", saved, value=usage.saved_usd)
    if usage.cost_usd is not None:
        yield _counter("cost_dollars", "US dollars for replies; absent if a price is unknown.", usage.cost_usd)


def _counter(name: str, what: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"rubriclab_{name}", what, value=value)
