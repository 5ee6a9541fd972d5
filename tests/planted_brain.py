"""A brain of the local server for the versions of `edit_samples`: texts say what they are worth."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import hypoeval_brain

# The judge rates texts with these words so; it gives no usable reply about the last.
GOOD, BAD, UNSCORABLE = "well written", "badly written", "unscorable"
WHY = "That is how it reads."


def brain(messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
    """Return the lowest or highest ratings for texts that say what they are worth, and others as drawn."""
    asked = "\n".join(message["content"] for message in messages)
    if UNSCORABLE in asked:
        return "I cannot say."
    drawn = random.Random(asked).choice([2, 3, 4])
    score = 5 if GOOD in asked else 1 if BAD in asked else drawn
    answer = "yes" if score > 2 else "no"
    ids = list(dict.fromkeys(re.findall(r"^\[([\w.-]+)\]", asked, re.MULTILINE)))
    form = hypoeval_brain.Question(asked).form if ids else {}
    if ids and set(form) == set(ids):
        said = {name: {"score": score} if "score" in entry else {"answer": answer} for name, entry in form.items()}
        return json.dumps({name: {"reason": WHY, **verdict} for name, verdict in said.items()})
    return json.dumps({"reasoning": WHY, "score": score})
