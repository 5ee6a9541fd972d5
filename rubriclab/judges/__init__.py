"""Judges answer prompts. Judges wrap judges; `connect` builds the usual stack."""

from rubriclab.judges.connect import connect
from rubriclab.judges.judge import (
    FakeJudge,
    Judge,
    JudgeAnswer,
    Reply,
    Token,
    Usage,
    ask,
    messages_of,
    request_digest,
)
from rubriclab.judges.llm import JudgeOptions, LanguageModel, close_connections
from rubriclab.judges.providers import (
    Price,
    as_price,
    estimated_tokens,
    price_of,
)
from rubriclab.judges.replies import score_distribution
from rubriclab.judges.stack import (
    AnswerCache,
    Budget,
    Budgeted,
    Cached,
    Ledger,
    Limited,
    Limits,
    LocalBudget,
    LocalLimits,
    MemoryAnswers,
    Metered,
    Recording,
    Replay,
    Retried,
)

__all__ = [
    "AnswerCache",
    "Budget",
    "Budgeted",
    "Cached",
    "FakeJudge",
    "Judge",
    "JudgeAnswer",
    "JudgeOptions",
    "LanguageModel",
    "Ledger",
    "Limited",
    "Limits",
    "LocalBudget",
    "LocalLimits",
    "MemoryAnswers",
    "Metered",
    "Price",
    "Recording",
    "Replay",
    "Reply",
    "Retried",
    "Token",
    "Usage",
    "as_price",
    "ask",
    "close_connections",
    "connect",
    "estimated_tokens",
    "messages_of",
    "price_of",
    "request_digest",
    "score_distribution",
]
