"""The offline judge as any other judge."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rubriclab.digest import digest_text
from rubriclab.errors import JudgeRefused
from rubriclab.judges.embedded.answers import ANSWERS
from rubriclab.judges.judge import Reply, Token, Usage
from rubriclab.prompts import Prompt

NEGLIGIBLE = 1e-300


@functools.cache
def _rules() -> str:
    """Return the digest of the modules and tables that answers depend on."""
    folders = (Path(__file__).parent, Path(__file__).parents[2] / "text_features")
    files = sorted(file for folder in folders for file in folder.iterdir() if file.suffix in (".py", ".csv"))
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
        weighted = prompt.alternatives > 0 and prompt.fields["scale"]["whole"]
        answer = ANSWERS[prompt.name]({**prompt.fields, "sample": prompt.sample, "exact": weighted})
        if not weighted:
            return Reply(json.dumps(answer), self.name, Usage())
        # The nearest two whole scores are the likelier, the nearer they are. The ends of the scale tell the reader that
        # a score of several digits is one token too.
        scale, score = prompt.fields["scale"], answer["score"]
        below = min(math.floor(score), int(scale["high"]) - 1)
        shares = {int(scale["low"]): 0.0, int(scale["high"]): 0.0, below: below + 1 - score, below + 1: score - below}
        number = str(round(score))
        tokens = (
            Token('{"score": ', (('{"score": ', 0.0),)),
            Token(number, tuple((str(value), math.log(share or NEGLIGIBLE)) for value, share in shares.items())),
            Token("}", (("}", 0.0),)),
        )
        return Reply("".join(token.text for token in tokens), self.name, Usage(), tokens=tokens)
