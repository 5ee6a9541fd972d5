"""The offline judge's answer to each kind of prompt."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rubriclab.digest import digest_text
from rubriclab.errors import JudgeRefused
from rubriclab.judges.embedded import (
    comparing,
    grouping,
    holistic,
    proposing,
    questions,
    rating,
    rewriting,
    units,
)
from rubriclab.judges.judge import Reply, Token, Usage
from rubriclab.prompts import Prompt

ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "hypoeval/propose": proposing.propose,
    "hypoeval/refine": proposing.refine,
    "hypoeval/rate": rating.rate,
    "hypoeval/rate_together": rating.rate_together,
    "checkeval/seeds": questions.seeds,
    "checkeval/diversify": questions.diversify,
    "checkeval/elaborate": questions.elaborate,
    "checkeval/filter": questions.judge_questions,
    "deduplication/group": grouping.group,
    "checkeval/answer": questions.answer,
    "seeval/explain": holistic.explain,
    "seeval/refine": holistic.refine,
    "seeval/rate": holistic.rate_by_explanation,
    "seal/split": units.split,
    "seal/facts": units.facts,
    "seal/verify": units.verify,
    "seal/support": units.find_support,
    "seal/rate": units.rate,
    "seal/propose": proposing.propose_sub_dimensions,
    "dcr/evaluate": comparing.evaluate,
    "dcr/convert": comparing.convert,
    "improve/rewrite": rewriting.rewrite,
    "direct/rate": holistic.rate_by_definition,
    "few_shot/rate": holistic.rate_by_demonstrations,
    "geval/steps": holistic.steps,
    "geval/rate": holistic.rate_by_steps,
    "analyze_rate/rate": holistic.analyse,
    "single_call/judge": holistic.judge_together,
    "single_call/judge_rivals": holistic.judge_rivals,
}

# The logarithm of a negligible probability.
NEVER = -700.0
RULES = (".py", ".csv", ".json")


@functools.cache
def _rules() -> str:
    """Return the digest of the modules and tables that answers depend on."""
    folders = (Path(__file__).parent, Path(__file__).parents[2] / "text_features")
    files = sorted(file for folder in folders for file in folder.iterdir() if file.suffix in RULES)
    return digest_text("\n".join(file.read_text("utf-8") for file in files))


class EmbeddedJudge:
    """Answers from text features alone, at no cost; the same prompt always has the same reply."""

    name = "embedded"

    @property
    def identity(self) -> Mapping[str, Any]:
        """The digest of the rules, so that answers of an older version are not taken for its own."""
        return {"model": "embedded", "rules": _rules()}

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply as JSON text, in the form the prompt asks for.

        Raises:
            JudgeRefused: for a kind of prompt that it has no answer to.
        """
        if prompt.name not in ANSWERS:
            raise JudgeRefused(f"The offline judge cannot answer {prompt.name!r} prompts.", "Use a language model.")
        answer = ANSWERS[prompt.name]({**prompt.fields, "sample": prompt.sample, "exact": prompt.alternatives > 0})
        if prompt.alternatives:
            return self._weighted(answer["score"], prompt.fields["scale"])
        return Reply(json.dumps(answer), self.name, Usage())

    def _weighted(self, score: float, scale: Mapping[str, Any]) -> Reply:
        """Return a bare score; the nearest two whole scores are the likelier, the nearer they are to the exact one."""
        if not scale["whole"]:
            return Reply(json.dumps({"score": rating.on_scale(score, scale)}), self.name, Usage())
        below = min(math.floor(score), int(scale["high"]) - 1)
        shares = {below: 1 - (score - below), below + 1: score - below}
        logs = {value: math.log(share) for value, share in shares.items() if share > 0}
        # The ends tell the reader that a score of several digits is one token too.
        ends = {int(scale[end]): NEVER for end in ("low", "high")}
        alternatives = tuple((str(value), log) for value, log in (ends | logs).items())
        chosen = max(shares, key=lambda value: (shares[value], -value))
        tokens = ('{"score": ', str(chosen), "}")
        return Reply(
            "".join(tokens),
            self.name,
            Usage(),
            tokens=tuple(
                Token(token, alternatives if place == 1 else ((token, 0.0),)) for place, token in enumerate(tokens)
            ),
        )
