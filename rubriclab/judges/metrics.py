"""What a service reports to Prometheus: metrics of its requests to a provider, and of the ledger of its judge."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rubriclab.errors import RubriclabError
from rubriclab.judges.judge import Judge, JudgeWrapper, Ledger
from rubriclab.judges.replies import Reply
from rubriclab.prompts.prompt import Prompt

# Upper bounds in seconds. A short reply of a small model takes a few tenths of a second, hidden reasoning minutes.
BUCKETS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300)


class Metrics(Collector):
    """A registry of metrics. Metrics of requests are counted as they happen, other metrics are read from a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.registry = registry = CollectorRegistry()
        registry.register(self)
        self.requests = Counter("rubriclab_requests", "Requests sent, by outcome.", ["outcome"], registry=registry)
        self.seconds = Histogram(
            "rubriclab_request_seconds", "Duration of a request, in seconds.", buckets=BUCKETS, registry=registry
        )
        self.retries = Counter("rubriclab_retries", "Attempts repeated after a failed request.", registry=registry)
        self.in_flight = Gauge("rubriclab_requests_in_flight", "Requests being answered.", registry=registry)
        self.waiting = Gauge("rubriclab_requests_waiting", "Requests that wait for a limit.", registry=registry)

    def observe(self, judge: Judge) -> Judge:
        return ObservedJudge(judge, self)

    def count_waiting(self, judge: Judge) -> Judge:
        return WaitCountingJudge(judge, self.waiting)

    def exposition(self) -> bytes:
        return generate_latest(self.registry)

    def collect(self) -> Iterable[Metric]:
        ledger, usage = self._ledger, self._ledger.usage
        yield _counter("replies", "Replies received from the provider.", ledger.calls)
        yield _counter("cache_hits", "Replies from the cache, without a request.", ledger.cached)
        yield _counter("prompts_failed", "Prompts without a usable reply.", ledger.failed)
        yield _counter("prompts_repaired", "Prompts repeated after an unusable reply.", ledger.repaired)
        tokens = CounterMetricFamily("rubriclab_tokens", "Tokens, as the provider counts them.", labels=["kind"])
        tokens.add_metric(["prompt"], usage.prompt_tokens)
        tokens.add_metric(["completion"], usage.completion_tokens)
        yield tokens
        cached_tokens = "Prompt tokens read from the provider's prompt cache."
        yield _counter("cached_prompt_tokens", cached_tokens, usage.cached_tokens)
        saved = "US dollars saved by the provider's prompt cache; below 0 if writing to it cost more."
        yield GaugeMetricFamily("rubriclab_saved_dollars", saved, value=usage.saved_usd)
        if usage.cost_usd is not None:
            yield _counter("cost_dollars", "US dollars for replies; absent if a price is unknown.", usage.cost_usd)
        texts = ledger.texts.copy()  # the scoring thread may change the ledger meanwhile
        yield _counter("texts_scored", "Texts with a score.", texts.pop("scored", 0))
        unscored = CounterMetricFamily("rubriclab_texts_unscored", "Texts without a score.", labels=["reason"])
        for reason, count in texts.items():
            unscored.add_metric([reason], count)
        yield unscored


@dataclass(eq=False, repr=False)
class ObservedJudge(JudgeWrapper):
    metrics: Metrics

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        started, outcome = time.monotonic(), "fault"  # `fault`: an error that is not handled below
        self.metrics.in_flight.inc()
        # `WaitCountingJudge` wraps the limits, so it also counts requests in flight; they are subtracted here.
        self.metrics.waiting.dec()
        try:
            reply = await self.judge.reply(prompt)
            outcome = "answered"
            return reply
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except RubriclabError as error:
            # The error `JudgeUnavailable` becomes the outcome `judge_unavailable`.
            outcome = re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
            raise
        finally:
            self.metrics.in_flight.dec()
            self.metrics.waiting.inc()
            self.metrics.requests.labels(outcome).inc()
            self.metrics.seconds.observe(time.monotonic() - started)


@dataclass(eq=False, repr=False)
class WaitCountingJudge(JudgeWrapper):
    waiting: Gauge

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        with self.waiting.track_inprogress():
            return await self.judge.reply(prompt)


def _counter(name: str, documentation: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"rubriclab_{name}", documentation, value=value)
