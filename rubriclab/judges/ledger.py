"""What a command's questions took, counted while they are asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rubriclab.errors import JudgeUnavailable, PromptRejected
from rubriclab.judges.ask import read
from rubriclab.judges.judge import Judge, Reply, Usage
from rubriclab.prompts import Prompt
from rubriclab.provenance import Effort


@dataclass(slots=True)
class Ledger:
    """Running totals; several judges may share one.

    Attributes:
        calls: replies that came from the provider.
        cached: replies that were kept earlier, or came with an identical request in flight.
        failed: questions that ended without a usable reply.
        repaired: replies that had to be asked for once more.
        stages: replies, from the provider or kept earlier, by the template that asked for them.
        usage: tokens and money of the replies that came from the provider; money is `None` once any price is unknown.
        snapshots: model names that the provider reported.
        damaged: digests of requests that were asked again because the answer kept for them is damaged.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    repaired: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    model_versions: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)

    @property
    def silent(self) -> bool:
        """Whether there were questions, and not one had a reply."""
        return self.failed > 0 and not (self.calls or self.cached)

    def effort(self, seconds: float) -> Effort:
        """Return the totals as they stand, with the wall-clock time that the command took."""
        return Effort(
            calls=self.calls,
            cached=self.cached,
            failed=self.failed,
            repaired=self.repaired,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
            cost_usd=self.usage.cost_usd,
            stages=dict(sorted(self.stages.items())),
            seconds=seconds,
        )


class Metered:
    """A judge whose replies are entered in `ledger`. It stands outermost, so that it sees what the asker sees.

    An answer is missing where no reply came, or where the reply to the one repair cannot be used either; both show
    here, so nobody else has to count.
    """

    def __init__(self, judge: Judge, ledger: Ledger) -> None:
        self._judge = judge
        self._ledger = ledger

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self._judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self._judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, entered in the ledger."""
        ledger = self._ledger
        ledger.repaired += prompt.repair is not None
        try:
            reply = await self._judge.reply(prompt)
        except (JudgeUnavailable, PromptRejected):
            ledger.failed += 1
            raise
        self._enter(reply)
        ledger.stages[prompt.name] += 1
        if prompt.repair is not None and read(reply, prompt)[0] is None:
            ledger.failed += 1
        return reply

    def _enter(self, reply: Reply) -> None:
        self._ledger.model_versions.add(reply.model)
        if reply.cached:
            self._ledger.cached += 1
        else:
            self._ledger.calls += 1
            self._ledger.usage += reply.usage
