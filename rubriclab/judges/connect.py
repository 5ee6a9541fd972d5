"""From the name of a judge to the judge, with its cache, budget, limits and retries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.errors import SettingsError
from rubriclab.judges import limits as judge_limits
from rubriclab.judges.batch import Batched, BatchModel, BatchScheduler, BatchStore
from rubriclab.judges.cache import RECORDED_PREFIX, AnswerCache, Cached, InFlight, Recording, Replay
from rubriclab.judges.judge import Judge, Ledger, Metered
from rubriclab.judges.llm import LanguageModel, SchemaProbed
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.plug_ins import judge_entry_points, plug_in_judge
from rubriclab.judges.providers import key_variable

if TYPE_CHECKING:
    from rubriclab.judges.metrics import Metrics

EMBEDDED = "embedded"


def _embedded_judge(_spec: str, _folder: Path | None) -> Judge:
    from rubriclab.judges.embedded import EmbeddedJudge

    return EmbeddedJudge()


# Judges that send no requests, by name. A name that ends with a colon takes an argument.
LOCAL_JUDGES: Mapping[str, Callable[[str, Path | None], Judge]] = {EMBEDDED: _embedded_judge, RECORDED_PREFIX: Replay}
# The options that a language model takes as settings, besides the price.
MODEL_OPTIONS = {"timeout", "structured", "api_base", "reasoning_tokens", "max_reply_bytes"}


def connect(
    spec: str,
    *,
    options: JudgeOptions,
    ledger: Ledger,
    answers: AnswerCache | None = None,
    record: Path | None = None,
    budget: judge_limits.Budget | None = None,
    limits: judge_limits.Limits | None = None,
    batches: BatchStore | None = None,
    notify: Callable[[str], None] = lambda _text: None,
    metrics: Metrics | None = None,
    api_key_variable: str | None = None,
    in_flight: InFlight | None = None,
    folder: Path | None = None,
) -> Judge:
    """Return the judge named `spec`: `embedded`, `recorded:PATH[#JUDGE]`, a plug-in's name or a litellm model string.

    A language model, or the judge of a plug-in, is wrapped from the inside out in `Budgeted`, `Limited`, `Retried`,
    `Cached`, `Recording`, `Metered`: retries count towards the limits, and a prompt that waits for its next attempt
    is no concurrent request. `SchemaProbed`, which may first ask whether the server supports schemas, wraps `Retried`.

    Args:
        record: the file to which replies are appended.
        budget, limits: shared by several judges or processes; by default made from `options` for this judge alone.
        answers, batches: the cache and the open batches; both are needed to send prompts in batches.
        in_flight: requests under way, shared by judges so that none is sent twice at the same time.
        api_key_variable: the environment variable with the API key; `None` for the provider's usual variable.
        folder: where to look for a recording that is not at its path.
    """
    budget = budget or judge_limits.LocalBudget(options.max_calls, options.max_cost)
    limits = limits or judge_limits.LocalLimits(
        concurrency=options.concurrency,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )
    breaker = judge_limits.Breaker(concurrency=options.concurrency)

    def within_limits(judge: Judge, *, attempts: int = options.attempts, **price_and_bounds: Any) -> Judge:
        judge = judge_limits.Budgeted(metrics.observe(judge) if metrics else judge, budget, **price_and_bounds)
        judge = judge_limits.Limited(judge, limits)
        if metrics:
            judge = metrics.count_waiting(judge)
        on_retry = metrics.retries.inc if metrics else lambda: None
        return judge_limits.Retried(judge, attempts=attempts, breaker=breaker, on_retry=on_retry)

    name, colon, _ = spec.partition(":")
    make_local_judge, entry_points = LOCAL_JUDGES.get(name + colon), judge_entry_points().get(name)
    probed: SchemaProbed | None = None
    judge: Judge
    if make_local_judge:
        if options.batch:
            notify(f"`batch` is ignored, as the judge {spec} answers at once and costs nothing")
        judge = make_local_judge(spec, folder)
    elif entry_points:
        if options.batch:
            hint = "Leave `batch` out, or name a language model."
            raise SettingsError(f"`batch`: {spec} is the judge of a plug-in, which has no batches.", hint)
        judge = within_limits(plug_in_judge(entry_points, spec, options), price=options.price)
    else:
        _check_colon(spec)
        settings = options.model_dump(include=MODEL_OPTIONS) | {"price": options.price}
        settings["api_key_variable"] = api_key_variable
        settings["judge_names_for_hint"] = (*LOCAL_JUDGES, *judge_entry_points())
        uses_batches = options.batch and answers is not None and batches is not None
        model = BatchModel(spec, **settings) if uses_batches else LanguageModel(spec, **settings)
        # The price and the bounds of tokens need litellm, whose import takes seconds: only a cap on cost is worth that.
        price_and_bounds: dict[str, Any] = {}
        if budget.max_cost is not None:
            price_and_bounds = {"price": model.highest_price, "token_bounds": model.token_bounds}
        model_within_limits = within_limits(model, **price_and_bounds)
        if isinstance(model, BatchModel) and answers is not None and batches is not None:
            scheduler = BatchScheduler(model, answers, batches, options.batch_size, notify)
            if price_and_bounds:
                price_and_bounds["price"] = model.batch_price
            budgeted = judge_limits.Budgeted(scheduler, budget, cancellation_grace=0.0, **price_and_bounds)
            retried = judge_limits.Retried(budgeted, attempts=options.attempts, base_wait=0.0, breaker=breaker)
            judge = Batched(retried, direct=model_within_limits)
        else:
            # At most two attempts, since some servers refuse the probe's schema with an error that looks temporary.
            prober = within_limits(model, attempts=min(options.attempts, 2), **price_and_bounds)
            judge = probed = SchemaProbed(model_within_limits, prober, model)
    if answers is not None and not make_local_judge:
        judge = Cached(
            judge,
            answers,
            retry_failed=options.retry_failed,
            max_reply_bytes=options.max_reply_bytes,
            damaged_answers=ledger.damaged_answers,
            in_flight={} if in_flight is None else in_flight,
        )
    if probed:
        probed.send_probe = Metered(judge, ledger).reply  # so that the probe is counted and its reply cached
    return Metered(Recording(judge, record) if record else judge, ledger)


def makes_requests(spec: str) -> bool:
    name, colon, _ = spec.partition(":")
    return name + colon not in LOCAL_JUDGES


def _check_colon(spec: str) -> None:
    name, colon, _ = spec.partition(":")
    if colon and name in LOCAL_JUDGES:
        raise SettingsError(f"The judge {name!r} takes no argument;", f"write `judge={name}`.")
    if not colon and f"{name}:" in LOCAL_JUDGES:
        hint = f"write `judge={name}:`, and its argument, if it takes one, right after the colon."
        raise SettingsError(f"The judge {name!r} needs its colon;", hint)


def is_language_model(spec: str) -> bool:
    return makes_requests(spec) and spec.partition(":")[0] not in judge_entry_points()


def account_name(spec: str) -> str:
    """Return the same name for all judges that use the same key: the key's variable, or the plug-in's name."""
    name = spec.partition(":")[0]
    return name if name in judge_entry_points() else key_variable(spec)
