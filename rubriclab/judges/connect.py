"""From the name of a judge to a judge that can be called.

Other packages add judges by an entry point in the group `rubriclab.judges`, as in their `pyproject.toml`::

    [project.entry-points."rubriclab.judges"]
    toy = "toy_judge:connect"

`toy_judge.connect(rest, options)` returns a `Judge`; a user calls it `toy` or `toy:REST`, which is also the judge's
`name`. Names hold neither ":" nor "/", and cannot replace `embedded` or `recorded`. They come before litellm's model
strings.
"""

from __future__ import annotations

from pathlib import Path

from rubriclab.judges.budget import Budget, Budgeted, LocalBudget
from rubriclab.judges.cache import AnswerCache, Cached
from rubriclab.judges.judge import Judge
from rubriclab.judges.language_model import LanguageModel
from rubriclab.judges.ledger import Ledger, Metered
from rubriclab.judges.limits import Limited, Limits, LocalLimits
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.plug_ins import judge_points, plug_in_judge
from rubriclab.judges.recording import PREFIX, Recorder, Recording, open_replay
from rubriclab.judges.retry import Retried

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

    Args:
        options: options of the calls.
        ledger: counts the replies.
        answers: the cache; `None` for none.
        record: file to record to, or what writes replies down elsewhere.
        budget: shared by several judges of one command; by default one with the caps in `options`.
        limits: shared by several judges or processes; by default those in `options`, for this judge alone.

    Raises:
        SettingsError: for a cap on cost without a price, or a recording without such a judge.
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
) -> Judge:
    if spec == EMBEDDED:
        from rubriclab.judges.embedded import EmbeddedJudge

        return EmbeddedJudge()
    if spec.startswith(PREFIX):
        return open_replay(spec)
    judge = _called(spec, options, budget, limits)
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


def _called(spec: str, options: JudgeOptions, budget: Budget, limits: Limits) -> Judge:
    """Return a judge whose calls cost money and may fail, with limits, retries and the budget."""
    name = spec.partition(":")[0]
    if name in judge_points():
        judge = plug_in_judge(judge_points()[name], spec, options)
        budgeted = Budgeted(judge, budget, price=options.price)
    else:
        model = _language_model(spec, options)
        # The price and the spare tokens need litellm, whose import takes seconds: only a cap on cost is worth that.
        capped = budget.max_cost is not None
        budgeted = (
            Budgeted(model, budget, price=model.price, spare_tokens=model.spare_tokens)
            if capped
            else Budgeted(model, budget)
        )
    return Retried(Limited(budgeted, limits), attempts=options.attempts, breaker=max(BREAKER, options.concurrency))


def local_limits(options: JudgeOptions) -> LocalLimits:
    """Return the limits in `options`, for one process."""
    return LocalLimits(
        concurrency=options.concurrency,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )


def _language_model(model: str, options: JudgeOptions) -> LanguageModel:
    return LanguageModel(
        model,
        other_judges=(EMBEDDED, PREFIX.rstrip(":"), *judge_points()),
        timeout=options.timeout,
        structured=options.structured,
        price=options.price,
        api_base=options.api_base,
        reasoning_tokens=options.reasoning_tokens,
        max_reply_bytes=options.max_reply_bytes,
    )
