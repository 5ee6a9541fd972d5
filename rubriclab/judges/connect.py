"""From the name of a judge to a judge that can be called.

Other packages add judges by an entry point in the group `rubriclab.judges`, as in their `pyproject.toml`::

    [project.entry-points."rubriclab.judges"]
    toy = "toy_judge:connect"

`toy_judge.connect(rest, options)` returns a `Judge`; a user calls it `toy` or `toy:REST`, which is also the judge's
`name`. Names hold neither ":" nor "/", and cannot replace `embedded` or `recorded`. They come before litellm's model
strings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.errors import SettingsError
from rubriclab.judges.batch import Batched, BatchModel, Waves
from rubriclab.judges.judge import Interruptible, Judge
from rubriclab.judges.llm import JudgeOptions, LanguageModel, SchemaProbed
from rubriclab.judges.plug_ins import judge_points, plug_in_judge
from rubriclab.judges.providers import key_variable
from rubriclab.judges.stack import (
    PREFIX,
    AnswerCache,
    Breaker,
    Budget,
    Budgeted,
    Cached,
    Ledger,
    Limited,
    Limits,
    LocalBreaker,
    LocalBudget,
    LocalLimits,
    Metered,
    Recorder,
    Recording,
    Retried,
    open_replay,
)

if TYPE_CHECKING:
    from rubriclab.judges.metrics import Metrics
    from rubriclab.store.answers import BatchTable

EMBEDDED = "embedded"
# Prompts in a row that may fail after all attempts, at least.
BREAKER = 20


def connect(
    spec: str,
    *,
    options: JudgeOptions,
    ledger: Ledger,
    answers: AnswerCache | None = None,
    record: Path | Recorder | None = None,
    budget: Budget | None = None,
    limits: Limits | None = None,
    batches: BatchTable | None = None,
    notify: Callable[[str], None] = lambda _text: None,
    metrics: Metrics | None = None,
    breaker: Breaker | None = None,
    key_from: str | None = None,
) -> Judge:
    """Return the judge named `spec`: `embedded`, `recorded:PATH[#JUDGE]`, a plug-in's name or a litellm model string.

    A language model, or the judge of a plug-in, is wrapped, from the inside out, in

    - `Interruptible`, next to the provider: a cancelled request waits a moment for its reply;
    - `Budgeted`: a call counts when it is sent, and every reply that was paid for is cached before the budget ends the
      command;
    - `Limited`, around each attempt: retries count towards the limits, and a prompt that waits for its next attempt
      takes no slot;
    - `Retried`;
    - `SchemaProbed`, whose probe passes the cache and the ledger;
    - `Cached`: only a prompt's final reply is cached, and a cached reply needs no limit, budget or retry;
    - `Recording`, around the cache: a recording includes cached replies;
    - `Metered`, which sees every reply that is used.

    With `batch`, `Waves` in a `Budgeted` of its own stands beneath the cache, so that a wave reserves its cost at the
    price of batches before it is sent; `Batched` chooses between it and single calls.

    Args:
        options: options of the calls.
        ledger: counts the replies.
        answers: the cache; `None` for none.
        record: file to record to, or what writes replies down elsewhere.
        budget: shared by several judges of one command; by default one with the caps in `options`.
        limits: shared by several judges or processes; by default those in `options`, for this judge alone.
        batches: open batches; needed, like `answers`, to ask by batches.
        notify: told of every batch.
        metrics: counts every request to the provider.
        breaker: shared by several processes; by default one for this judge alone.
        key_from: the environment variable with a language model's key; by default the provider's.

    Raises:
        SettingsError: for a cap on cost without a price, a recording without such a judge, or a judge without batches.
        PlugInError: for a plug-in that cannot be loaded or used.
        DataError: for a recording that cannot be read or written.
    """
    shared = _Shared(
        budget or LocalBudget(options.max_calls, options.max_cost),
        limits or local_limits(options),
        breaker or local_breaker(options),
        metrics,
    )
    judge = _source(spec, options, answers, ledger, shared, key_from=key_from, batches=batches, notify=notify)
    return Metered(Recording(judge, record) if record else judge, ledger)


def makes_requests(spec: str) -> bool:
    """Return whether a judge is neither the offline one nor a recording."""
    return spec != EMBEDDED and not spec.startswith(PREFIX)


def is_language_model(spec: str) -> bool:
    """Return whether a judge is a language model, which is asked through litellm."""
    return makes_requests(spec) and spec.partition(":")[0] not in judge_points()


def account(spec: str) -> str:
    """Return what the judges that use one key have in common: the provider's variable, or the name of the plug-in."""
    name = spec.partition(":")[0]
    return name if name in judge_points() else key_variable(spec)


@dataclass(frozen=True)
class _Shared:
    """What several judges may share; see `connect`."""

    budget: Budget
    limits: Limits
    breaker: Breaker
    metrics: Metrics | None


def _source(
    spec: str,
    options: JudgeOptions,
    answers: AnswerCache | None,
    ledger: Ledger,
    shared: _Shared,
    *,
    key_from: str | None,
    batches: BatchTable | None,
    notify: Callable[[str], None],
) -> Judge:
    if options.batch and not makes_requests(spec):
        notify(f"`batch`: left out, as the judge {spec} answers at once and costs nothing")
    if spec == EMBEDDED:
        from rubriclab.judges.embedded import EmbeddedJudge

        return EmbeddedJudge()
    if spec.startswith(PREFIX):
        return open_replay(spec)
    if options.batch and answers is not None and batches is not None:
        judge = _batched(spec, options, shared, key_from=key_from, answers=answers, batches=batches, notify=notify)
    else:
        judge = _called(spec, options, shared, key_from)
    probed = judge
    if answers is not None:
        judge = Cached(
            judge,
            answers,
            retry_failed=options.retry_failed,
            max_reply_bytes=options.max_reply_bytes,
            damaged=ledger.damaged,
        )
    if isinstance(probed, SchemaProbed):
        probed.send = Metered(judge, ledger).reply
    return judge


def _called(spec: str, options: JudgeOptions, shared: _Shared, key_from: str | None) -> Judge:
    """Return a judge whose calls cost money and may fail, with limits, retries and the budget."""
    name = spec.partition(":")[0]
    if name in judge_points():
        judge = plug_in_judge(judge_points()[name], spec, options)
        budgeted = Budgeted(_sent(judge, shared), shared.budget, price=options.price)
    else:
        model = LanguageModel(spec, key_from=key_from, **_model_settings(options))
        budgeted = _budgeted(model, shared)
        # Some servers answer what they do not know with an error that usually passes.
        few = options.model_copy(update={"attempts": min(options.attempts, 2)})
        return SchemaProbed(_retried(budgeted, options, shared), _retried(budgeted, few, shared), model)
    return _retried(budgeted, options, shared)


def _budgeted(model: LanguageModel, shared: _Shared) -> Budgeted:
    sent = _sent(model, shared)
    # The price and the bounds of tokens need litellm, whose import takes seconds: only a cap on cost is worth that.
    if shared.budget.max_cost is None:
        return Budgeted(sent, shared.budget)
    return Budgeted(sent, shared.budget, price=model.highest_price, tokens=model.most_tokens)


def _sent(judge: Judge, shared: _Shared) -> Judge:
    if shared.metrics:
        from rubriclab.judges.metrics import Sent

        judge = Sent(judge, shared.metrics)
    return Interruptible(judge)


def _retried(judge: Judge, options: JudgeOptions, shared: _Shared) -> Retried:
    limited: Judge = Limited(judge, shared.limits)
    if not shared.metrics:
        return Retried(limited, attempts=options.attempts, breaker=shared.breaker)
    from rubriclab.judges.metrics import Queued

    limited, on_retry = Queued(limited, shared.metrics), shared.metrics.retries.inc
    return Retried(limited, attempts=options.attempts, breaker=shared.breaker, on_retry=on_retry)


def _batched(
    spec: str,
    options: JudgeOptions,
    shared: _Shared,
    *,
    key_from: str | None,
    answers: AnswerCache,
    batches: BatchTable,
    notify: Callable[[str], None],
) -> Judge:
    if spec.partition(":")[0] in judge_points():
        raise SettingsError(
            f"`batch`: {spec} is the judge of a plug-in, which has no batches.",
            "Leave `batch` out, or name a language model.",
        )
    model = BatchModel(spec, key_from=key_from, **_model_settings(options))
    waves = Waves(model, answers, batches, options.batch_size, notify)
    by_waves = (
        Budgeted(waves, shared.budget)
        if shared.budget.max_cost is None
        else Budgeted(waves, shared.budget, price=model.batch_price, tokens=model.most_tokens)
    )
    return Batched(by_waves, _retried(_budgeted(model, shared), options, shared), attempts=options.attempts)


def local_breaker(options: JudgeOptions) -> LocalBreaker:
    """Return the breaker of one process; a full round of the requests in flight may fail."""
    return LocalBreaker(max(BREAKER, options.concurrency))


def local_limits(options: JudgeOptions) -> LocalLimits:
    """Return the limits in `options`, for one process."""
    return LocalLimits(
        concurrency=options.concurrency,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )


def _model_settings(options: JudgeOptions) -> dict[str, Any]:
    return {
        "other_judges": (EMBEDDED, PREFIX.rstrip(":"), *judge_points()),
        "timeout": options.timeout,
        "structured": options.structured,
        "price": options.price,
        "api_base": options.api_base,
        "reasoning_tokens": options.reasoning_tokens,
        "max_reply_bytes": options.max_reply_bytes,
    }
