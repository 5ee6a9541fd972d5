"""Running totals of calls, tokens and money."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from rubriclab.errors import JudgeUnavailable, PromptRejected
from rubriclab.judges.ask import read
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply, Usage
from rubriclab.models.version import Effort
from rubriclab.prompts.prompt import Prompt

# What can become of a text, for `Ledger.texts`.
SCORED, FAULTY_ROW, RATINGS_MISSING = "scored", "faulty_row", "ratings_missing"


@dataclass(slots=True)
class Ledger:
    """Running totals; several judges may share one.

    Attributes:
        calls: replies received from the provider.
        cached: cached replies, and replies shared with an identical request in flight.
        failed: prompts without a usable reply.
        repaired: prompts that were repeated because the first reply was unusable.
        by_name_or_order: replies of which entries were recognised by names or by their order instead of their ids.
        stages, stage_tokens: number of replies and of their tokens, cached ones included, by prompt template.
        texts: number of texts by what became of them: `scored`, or why they have no score, `faulty_row` or
            `ratings_missing`.
        usage: tokens and cost of the replies from the provider; the cost is `None` once any price is unknown.
        model_versions: model names that the provider reported.
        damaged: digests of requests that were repeated because their cached answer is damaged.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    repaired: int = 0
    by_name_or_order: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    stage_tokens: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    model_versions: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)

    @property
    def silent(self) -> bool:
        """Whether there were requests, and none of them had a reply."""
        return self.failed > 0 and not (self.calls or self.cached)

    def add(self, other: Ledger) -> None:
        """Add the totals of another ledger, such as that of another process."""
        for each in fields(self):
            own, more = getattr(self, each.name), getattr(other, each.name)
            if isinstance(own, set):
                own |= more
            else:
                setattr(self, each.name, own + more)

    def take(self) -> Ledger:
        """Return the totals so far, and begin again from zero; judges keep this ledger and its sets."""
        taken, empty = Ledger(), Ledger()
        taken.add(self)
        for each in fields(self):
            own = getattr(self, each.name)
            if isinstance(own, set):
                own.clear()
            else:
                setattr(self, each.name, getattr(empty, each.name))
        return taken

    def effort(self, seconds: float) -> Effort:
        """Return the totals, with the wall-clock time of the command in seconds."""
        return Effort(
            calls=self.calls,
            cached=self.cached,
            failed=self.failed,
            repaired=self.repaired,
            by_name_or_order=self.by_name_or_order,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
            cost_usd=self.usage.cost_usd,
            cached_prompt_tokens=self.usage.cached_tokens,
            saved_usd=self.usage.saved_usd,
            stages=dict(sorted(self.stages.items())),
            stage_tokens=dict(sorted(self.stage_tokens.items())),
            seconds=seconds,
        )


class Metered(JudgeWrapper):
    """A judge whose replies are counted in `ledger`. It is the outermost wrapper, so it sees every reply that is used.

    A prompt counts as failed if it has no reply or a filtered one, or if the reply to its repair is unusable too.
    """

    def __init__(self, judge: Judge, ledger: Ledger) -> None:
        super().__init__(judge)
        self._ledger = ledger

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply and count it."""
        ledger = self._ledger
        ledger.repaired += prompt.repair is not None
        try:
            reply = await self.judge.reply(prompt)
        except (JudgeUnavailable, PromptRejected):
            ledger.failed += 1
            raise
        self._count(reply)
        ledger.stages[prompt.name] += 1
        ledger.stage_tokens[prompt.name] += reply.usage.prompt_tokens + reply.usage.completion_tokens
        if reply.filtered or (prompt.repair is not None and read(reply, prompt)[0] is None):
            ledger.failed += 1
        return reply

    def count_reading(self) -> None:
        """Count a reply that was read by names or by order."""
        self._ledger.by_name_or_order += 1

    def count_text(self, outcome: str) -> None:
        """Count a text by what became of it; see `Ledger.texts`."""
        self._ledger.texts[outcome] += 1

    def _count(self, reply: Reply) -> None:
        self._ledger.model_versions.add(reply.model)
        if reply.cached:
            self._ledger.cached += 1
        else:
            self._ledger.calls += 1
            self._ledger.usage += reply.usage


def count_text(judge: Judge, outcome: str) -> None:
    """Count a text in the judge's ledger, if it has one, by what became of it; see `Ledger.texts`."""
    while isinstance(judge, JudgeWrapper):
        if isinstance(judge, Metered):
            judge.count_text(outcome)
            return
        judge = judge.judge
