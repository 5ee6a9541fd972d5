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
from pathlib import Path
from typing import Any

from rubriclab.errors import SettingsError
from rubriclab.judges.batch_model import BatchModel
from rubriclab.judges.batched import Batched, BatchRecords, WaveLimits, Waves
from rubriclab.judges.budget import Budget, Budgeted, LocalBudget
from rubriclab.judges.cache import AnswerCache, Cached
from rubriclab.judges.judge import Judge
from rubriclab.judges.language_model import LanguageModel
from rubriclab.judges.ledger import Ledger, Metered
from rubriclab.judges.limits import Limited, Limits, LocalLimits
from rubriclab.judges.observed import Queued, RequestObserver, Sent
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.plug_ins import judge_points, plug_in_judge
from rubriclab.judges.recording import PREFIX, Recorder, Recording, open_replay
from rubriclab.judges.retry import Retried
from rubriclab.option_names import option

EMBEDDED = "embedded"
# Prompts in a row that may fail after all attempts; at least a full round of those in flight.
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
    batches: BatchRecords | None = None,
    notify: Callable[[str], None] = lambda _text: None,
    observer: RequestObserver | None = None,
) -> Judge:
    """Return the judge named `spec`: `embedded`, `recorded:PATH[#JUDGE]`, a plug-in's name or a litellm model string.

    A language model, or the judge of a plug-in, is wrapped, from the inside out, in

    - `Budgeted`, next to the provider: a call counts when it is sent, and every reply that was paid for is cached
      before the budget ends the command;
    - `Limited`, around each attempt: retries count towards the limits, and a prompt that waits for its next attempt
      takes no slot;
    - `Retried`;
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
        observer: told about every request to the provider.

    Raises:
        SettingsError: for a cap on cost without a price, a recording without such a judge, or a judge without batches.
        PlugInError: for a plug-in that cannot be loaded or used.
        DataError: for a recording that cannot be read or written.
    """
    judge = _source(
        spec,
        options,
        answers,
        ledger,
        budget=budget or LocalBudget(options.max_calls, options.max_cost),
        limits=limits or local_limits(options),
        batches=batches,
        notify=notify,
        observer=observer,
    )
    return Metered(Recording(judge, record) if record else judge, ledger)


def _source(
    spec: str,
    options: JudgeOptions,
    answers: AnswerCache | None,
    ledger: Ledger,
    *,
    budget: Budget,
    limits: Limits,
    batches: BatchRecords | None,
    notify: Callable[[str], None],
    observer: RequestObserver | None,
) -> Judge:
    if spec == EMBEDDED:
        from rubriclab.judges.embedded import EmbeddedJudge

        return EmbeddedJudge()
    if spec.startswith(PREFIX):
        return open_replay(spec)
    if options.batch and answers is not None and batches is not None:
        judge = _batched(
            spec, options, budget, limits, answers=answers, batches=batches, notify=notify, observer=observer
        )
    else:
        judge = _called(spec, options, budget, limits, observer)
    if answers is None:
        return judge
    return Cached(
        judge,
        answers,
        retry_failed=options.retry_failed,
        max_reply_bytes=options.max_reply_bytes,
        damaged=ledger.damaged,
        used=ledger.used,
    )


def _called(
    spec: str, options: JudgeOptions, budget: Budget, limits: Limits, observer: RequestObserver | None
) -> Judge:
    """Return a judge whose calls cost money and may fail, with limits, retries and the budget."""
    name = spec.partition(":")[0]
    if name in judge_points():
        judge = plug_in_judge(judge_points()[name], spec, options)
        budgeted = Budgeted(Sent(judge, observer) if observer else judge, budget, price=options.price)
    else:
        budgeted = _budgeted(LanguageModel(spec, **_model_settings(options)), budget, observer)
    return _retried(budgeted, options, limits, observer)


def _budgeted(model: LanguageModel, budget: Budget, observer: RequestObserver | None) -> Budgeted:
    sent = Sent(model, observer) if observer else model
    # The price and the spare tokens need litellm, whose import takes seconds: only a cap on cost is worth that.
    if budget.max_cost is None:
        return Budgeted(sent, budget)
    return Budgeted(sent, budget, price=model.price, spare_tokens=model.spare_tokens)


def _retried(judge: Judge, options: JudgeOptions, limits: Limits, observer: RequestObserver | None) -> Retried:
    limited = Limited(judge, limits)
    return Retried(
        Queued(limited, observer) if observer else limited,
        attempts=options.attempts,
        breaker=max(BREAKER, options.concurrency),
        on_retry=observer.retried if observer else None,
    )


def _batched(
    spec: str,
    options: JudgeOptions,
    budget: Budget,
    limits: Limits,
    *,
    answers: AnswerCache,
    batches: BatchRecords,
    notify: Callable[[str], None],
    observer: RequestObserver | None,
) -> Judge:
    """Return a language model that is asked by batches."""
    if spec.partition(":")[0] in judge_points():
        raise SettingsError(
            f"{option('batch')}: {spec} is the judge of a plug-in, which has no batches.",
            f"Leave {option('batch')} out, or name a language model.",
        )
    model = BatchModel(spec, **_model_settings(options))
    sizes = WaveLimits(options.batch_size, options.batch_at_least, options.batch_pause)
    waves = Waves(model, answers, batches, sizes, notify)
    capped = budget.max_cost is not None
    by_waves = (
        Budgeted(waves, budget, price=model.batch_price, spare_tokens=model.spare_tokens)
        if capped
        else Budgeted(waves, budget)
    )
    return Batched(
        by_waves, _retried(_budgeted(model, budget, observer), options, limits, observer), attempts=options.attempts
    )


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
