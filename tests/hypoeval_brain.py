"""Sensible answers to HypoEval's prompts without a language model, for the local server.

    python tests/server.py --brain hypoeval_brain:reply

Hypotheses are drawn from the question's own wording, so the same question always gets the same ones and another
question others. A rating follows the number of distinct words of the judged text, more closely for some traits than for
others, so that learning has something to find; what a trait adds of its own follows from trait and text alone.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from typing import Any

PROPERTIES = (
    "range of vocabulary",
    "facts per sentence",
    "links between neighbouring sentences",
    "named people and places",
    "figures and dates",
    "repeated statements",
    "an ending that closes the matter",
    "an opening that says what happened",
    "completeness of clauses",
    "agreement of pronouns",
    "sentences on another subject",
    "order of events",
    "precision of verbs",
    "reasons given for what happened",
    "consequences spelled out",
    "quoted voices",
    "balance of detail",
    "filler words",
)
PLACES = ("throughout", "at the start", "towards the end", "from one sentence to the next")
DEGREES = ("nothing at all", "very little", "a fair amount", "a good deal", "as much as there could be")
# Distinct words of a text that deserves the lowest and the highest score.
FEWEST, MOST = 40, 80

_FENCED = re.compile(r"<<<([^>]+) ([0-9a-f]{8})>>>\n(.*?)\n<<<end of \1 \2>>>", re.DOTALL)
_SCALE = re.compile(r"from (-?[\d.]+) \(lowest\) to (-?[\d.]+) \(highest\)(, whole numbers only)?")
_ANCHORS = re.compile(r"for each of the scores ([-\d., ]*\d)")
_NUMBERED = re.compile(r"^\d+\. ([^:\n]+): (.+)$", re.MULTILINE)
_NAMED = re.compile(r"^\[([\w.-]+)\] ([^:\n]+):", re.MULTILINE)
_ALONE = re.compile(r"^([^:\n]+): .+\n {3}-?[\d.]+: ", re.MULTILINE)


def reply(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Return the answer to the last question, as JSON in the form that its schema names; a repair is answered alike."""
    question = messages[1]["content"]
    *_, verdict = json.loads(question.rsplit("\n", 1)[1])["properties"]
    return json.dumps(_ANSWERS[verdict](question))


def _proposal(question: str) -> dict[str, Any]:
    draw = random.Random(question)
    listed = re.search(r"^State (\d+) hypotheses", question, re.MULTILINE)
    if listed:
        traits = draw.sample([f"{what}, {where}" for what, where in itertools.product(PROPERTIES, PLACES)], int(listed[1]))
    else:
        traits = [trait for trait, _statement in _NUMBERED.findall(question.split("The hypotheses so far:")[1])]
    found = _ANCHORS.search(question)
    assert found, "the question does not name the scores that need levels"
    anchors = [float(score) for score in found[1].split(",")]
    hypotheses = [_hypothesis(trait, anchors, draw) for trait in traits]
    return {"reasoning": "The texts rated high differ from the others in these.", "hypotheses": hypotheses}


def _hypothesis(trait: str, anchors: list[float], draw: random.Random) -> dict[str, Any]:
    what, _, where = trait.partition(", ")
    example = draw.choice(("read it aloud", "underline each case", "count the cases", "compare it with its neighbours"))
    degrees = [DEGREES[round(place * (len(DEGREES) - 1) / (len(anchors) - 1))] for place in range(len(anchors))]
    return {
        "trait": trait,
        "statement": f"Raters look for {what} {where}; to tell how much of it there is, {example}.",
        "levels": [
            {"score": score, "description": f"{degree} of what is meant by {what}"}
            for score, degree in zip(anchors, degrees, strict=True)
        ],
    }


def _rating(question: str) -> dict[str, Any]:
    found = _ALONE.search(question.rsplit("is being rated for", 1)[1])
    assert found, "the question names no criterion"
    return {"reasoning": f"It was read for {found[1]}.", "score": _score(question, found[1])}


def _ratings(question: str) -> dict[str, Any]:
    criteria = _NAMED.findall(question.rsplit("is being rated for", 1)[1])
    return {
        "ratings": [
            {"criterion": name, "reasoning": f"It was read for {trait}.", "score": _score(question, trait)}
            for name, trait in criteria
        ]
    }


def _score(question: str, trait: str) -> float:
    found = _SCALE.search(question)
    assert found, "the question does not say its scale"
    low, high = float(found[1]), float(found[2])
    output = _FENCED.findall(question)[-1][2]
    distinct = len(set(re.findall(r"\w+", output.lower())))
    quality = min(1.0, max(0.0, (distinct - FEWEST) / (MOST - FEWEST)))
    closeness = random.Random(trait).random()
    share = closeness * quality + (1 - closeness) * random.Random(f"{trait}\n{output}").random()
    score = low + share * (high - low)
    return float(round(score)) if found[3] else round(score, 2)


def _redundancy(question: str) -> dict[str, Any]:
    (_, candidate), *others = _NAMED.findall(question)
    what = candidate.split(",")[0]
    same = next((name for name, trait in others if trait.split(",")[0] == what), "none")
    return {"reasoning": f"Compared by {what}.", "same_as": same}


# By the field of the reply that holds the verdict.
_ANSWERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "hypotheses": _proposal,
    "score": _rating,
    "ratings": _ratings,
    "same_as": _redundancy,
}
