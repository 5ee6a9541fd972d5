"""The offline judge: deterministic, in-process, and not a language model.

It measures texts. Asked for criteria, it names the text features that the labels follow; asked to rate or to answer, it
maps the words of a criterion to text features; asked to rewrite, it inserts sentences of what it is shown. It
understands nothing, and says so in every reason it gives.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rubriclab.errors import JudgeRefused
from rubriclab.judges.embedded.answers import ANSWERS
from rubriclab.judges.judge import Reply, Usage
from rubriclab.models import text_features
from rubriclab.models.base import digest_text
from rubriclab.prompts.prompt import Prompt


@functools.cache
def _rules() -> str:
    """Return the digest of the modules and tables that answers depend on."""
    features = Path(text_features.__file__)
    files = [*sorted(Path(__file__).parent.glob("*.py")), features, features.with_suffix(".csv")]
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
        answer = ANSWERS[prompt.name]({**prompt.fields, "sample": prompt.sample})
        return Reply(json.dumps(answer), self.name, Usage())
