"""The automatic metric converter, AMC (DCR, equation 2): reasons to marks, without a look at the texts."""

from __future__ import annotations

from collections.abc import Mapping

from rubriclab.judges.judge import Judge
from rubriclab.methods.dcr.replies import Mark, Marks, ask_each
from rubriclab.prompts import Prompt

# In tokens.
LONGEST = 256
PER_MARK = 64


def convert_prompt(reasons: Mapping[int, str]) -> Prompt[Marks]:
    """Return the prompt for the marks of `reasons`, which are known by the numbers of their sentences."""
    fields = {"reasons": [{"id": number, "text": text} for number, text in reasons.items()]}
    return Prompt("dcr/convert", fields, Marks, max_tokens=LONGEST + PER_MARK * len(reasons))


async def converted(reasons: Mapping[int, str], judge: Judge) -> dict[int, Mark | str]:
    """Return each reason's mark, or why there is none; without reasons nothing is asked."""
    if not reasons:
        return {}
    return await ask_each(judge, convert_prompt(reasons), lambda reply: reply.marks)
