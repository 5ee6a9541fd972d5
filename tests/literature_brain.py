"""A model for the local server that takes every sentence with "raters" for a finding, and invents one for each part."""

from __future__ import annotations

import json
import re
from typing import Any

FENCED = re.compile(r"<<<page (\d+) ([0-9a-f]{16})>>>\n(.*?)\n<<<end of page \1 \2>>>", re.DOTALL)
INVENTED = "Raters were asked about the colour of the paper and liked blue."


def reply(messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
    """Return the findings of the pages shown."""
    question = messages[1]["content"]
    findings = [
        {
            "page": int(number),
            "quotation": " ".join(sentence.split()),
            "claim": f"People said: {' '.join(sentence.split())}",
            "aspects": ["coherence"] if "order" in sentence and "- coherence:" in question else [],
            "benchmarks": ["SummEval"] if "SummEval" in sentence else [],
        }
        for number, _, text in FENCED.findall(question)
        for sentence in re.split(r"(?<=\.)\s", text)
        if "raters" in sentence
    ]
    invented = {"page": 1, "quotation": INVENTED, "claim": "Blue is best.", "aspects": [], "benchmarks": []}
    return json.dumps({"reasoning": "Some sentences are about raters.", "findings": [*findings, invented]})
