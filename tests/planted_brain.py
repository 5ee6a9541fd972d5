"""A brain of the local server for the versions of `edit_samples`: texts say what they are worth."""

from __future__ import annotations

import json
import random
import re
from typing import Any

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
    if '"ratings"' in asked:
        return json.dumps({"ratings": [{"criterion": name, "reasoning": WHY, "score": score} for name in ids]})
    if '"answers"' in asked:
        return json.dumps({"answers": [{"question": name, "reason": WHY, "answer": answer} for name in ids]})
    return json.dumps({"reasoning": WHY, "score": score})
