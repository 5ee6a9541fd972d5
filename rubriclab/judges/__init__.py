"""Judges answer prompts. Judges wrap judges; `connect` builds the usual stack."""

from rubriclab.judges.ask import JudgeAnswer, ask
from rubriclab.judges.budget import Budget, Budgeted, LocalBudget
from rubriclab.judges.cache import AnswerCache, Cached, MemoryAnswers
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import FakeJudge, Judge, Reply, Token, Usage
from rubriclab.judges.language_model import LanguageModel, close_connections
from rubriclab.judges.ledger import Ledger, Metered
from rubriclab.judges.limits import Limited, Limits, LocalLimits
from rubriclab.judges.logprobs import score_distribution
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.price import Price, as_price, estimated_tokens, price_of
from rubriclab.judges.recording import Recording, Replay
from rubriclab.judges.request import messages_of, request_digest
from rubriclab.judges.retry import Retried

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
