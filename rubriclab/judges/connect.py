"""From what a user calls a judge to a judge that can be asked."""

from __future__ import annotations

from pathlib import Path

from rubriclab.judges.budget import Budget, Budgeted
from rubriclab.judges.cache import AnswerCache, Cached
from rubriclab.judges.judge import Judge
from rubriclab.judges.language_model import LanguageModel
from rubriclab.judges.ledger import Ledger, Metered
from rubriclab.judges.limits import Limited
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.recording import PREFIX, Recording, open_replay
from rubriclab.judges.retry import Retried

EMBEDDED = "embedded"
# Prompts in a row that may fail for good; at least a full round of those in flight together.
BREAKER = 20


def connect(
    spec: str,
    *,
    options: JudgeOptions,
    ledger: Ledger,
    answers: AnswerCache | None = None,
    record: Path | None = None,
    budget: Budget | None = None,
) -> Judge:
    """Return the judge named `spec`: `embedded`, `recorded:PATH`, `recorded:PATH#JUDGE` or a litellm model string.

    A language model is wrapped, from the inside out, in

    - `Budgeted`, next to the provider, so that a request counts when it is really sent, and whatever was paid for has
      been kept by the time that the budget is used up;
    - `Limited`, around each attempt, so that retries count towards the limits, and a prompt that pauses before its next
      attempt holds no slot;
    - `Retried`;
    - `Cached`, so that only a prompt's final reply is kept, and a kept one costs no limit, budget or retry;
    - `Recording`, around the cache, so that a recording is complete also where answers were kept before;
    - `Metered`, which sees what the asker sees.

    Args:
        options: how a language model is asked.
        ledger: where replies are entered.
        answers: where replies are kept; `None` asks everything anew.
        record: the file to record to.
        budget: shared by several judges of one command; by default one of its own, with the caps in `options`.

    Raises:
        SettingsError: for a cap on money without a price, or a recording that holds no such judge.
        DataError: for a recording that cannot be read or written.
    """
    judge = _source(spec, options, answers, budget, ledger.damaged)
    return Metered(Recording(judge, record) if record else judge, ledger)


def _source(
    spec: str, options: JudgeOptions, answers: AnswerCache | None, budget: Budget | None, damaged: set[str]
) -> Judge:
    if spec == EMBEDDED:
        from rubriclab.judges.embedded import EmbeddedJudge

        return EmbeddedJudge()
    if spec.startswith(PREFIX):
        return open_replay(spec)
    judge = _language_model(spec, options, budget or Budget(options.max_calls, options.max_cost))
    if answers is None:
        return judge
    return Cached(
        judge, answers, retry_failed=options.retry_failed, max_reply_bytes=options.max_reply_bytes, damaged=damaged
    )


def _language_model(model: str, options: JudgeOptions, budget: Budget) -> Judge:
    source = LanguageModel(
        model,
        timeout=options.timeout,
        structured=options.structured,
        price=options.price,
        api_base=options.api_base,
        reasoning_tokens=options.reasoning_tokens,
        max_reply_bytes=options.max_reply_bytes,
    )
    # Looking a price up means importing litellm, which takes seconds: only a cap on money needs it beforehand.
    capped = budget.max_cost is not None
    budgeted = (
        Budgeted(source, budget, price=source.price, spare_tokens=source.spare_tokens)
        if capped
        else Budgeted(source, budget)
    )
    limited = Limited(
        budgeted,
        concurrency=options.concurrency,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )
    return Retried(limited, attempts=options.attempts, breaker=max(BREAKER, options.concurrency))
