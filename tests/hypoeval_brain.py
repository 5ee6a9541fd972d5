"""Sensible answers to HypoEval's prompts without a language model, for the local server.

Hypotheses are drawn from the question's own wording, so the same question always gets the same ones and another
question others. A rating follows the number of distinct words of the judged text, more closely for some traits than for
others, so that learning has something to find; the rest of it hangs on trait and text alone.

What a question says is found by its form (fenced texts, criteria with indented levels, the schema in the last line)
rather than by its wording, which may be improved without a change here.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rubriclab.models.text import format_score

PROPERTIES = (
    "range of vocabulary",
    "facts per sentence",
    "links between neighbouring sentences",
    "named people and places",
    "figures and dates",
    "repeated statements",
    "an ending that closes all that was begun",
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
ADVICE = ("read it aloud", "underline each case", "count the cases", "compare it with its neighbours")
DEGREES = ("nothing at all", "very little", "a fair amount", "a good deal", "as much as there could be")
# Distinct words of a text that deserves the lowest and the highest score.
FEWEST, MOST = 40, 80

_FENCED = re.compile(r"<<<([^>]+) ([0-9a-f]{16})>>>\n(.*?)\n<<<end of \1 \2>>>", re.DOTALL)
_CRITERION = re.compile(r"^(?:\[([\w.-]+)\] |\d+\. )?([^\s:][^:\n]*): .+\n {3}-?[\d.]+: ", re.MULTILINE)
_SCALE = re.compile(r"(-?[\d.]+) \((?:lowest|certainly '.*')\) to (-?[\d.]+) \([^)]+\)(, whole numbers only)?")
SCHEMA = re.compile(r"^Answer with one JSON object .*:\n(\{.*\})$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"<[^<>]+>(?=[,}])")
_ANCHORS = re.compile(r"scores ((?:-?[\d.]+, )+-?[\d.]+)")
_COUNT = re.compile(r"(\d+) hypothes[ie]s")


def reply(messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
    """Return the answer to the question as JSON in the form that it asks for; a repair is answered like the question.

    Raises:
        ValueError: if the question does not say what an answer needs.
    """
    question = Question(messages[1]["content"])
    return json.dumps(ANSWERS[question.verdict](question))


@dataclass(frozen=True)
class Question:
    """One question, with what can be read off its form."""

    text: str

    @cached_property
    def form(self) -> dict[str, Any]:
        """The fields of the reply, each with its JSON schema, or with an example of its entry."""
        fields: dict[str, Any] = self.schema.get("properties", self.schema)
        return fields

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply, or its example if it has an entry for each id."""
        shown = _PLACEHOLDER.sub("0", self.find(SCHEMA)[1])
        return dict(json.loads(shown.replace("{...}", "{}").replace(", ...]", "]")))

    @property
    def is_keyed(self) -> bool:
        """Whether the reply has an entry for each id."""
        return "properties" not in self.schema

    @property
    def verdict(self) -> str:
        """What tells the kinds of question apart: the reply's last field, or `ids`."""
        return "ids" if self.is_keyed else list(self.form)[-1]

    @cached_property
    def instructions(self) -> str:
        """The question without the texts that it is about."""
        return _FENCED.sub("", self.text)

    @cached_property
    def texts(self) -> list[str]:
        """The texts that it is about; the one to judge is the last."""
        return [text for _label, _tag, text in _FENCED.findall(self.text)]

    @cached_property
    def criteria(self) -> list[tuple[str, str]]:
        """Id, if it has one, and trait of each criterion in the question."""
        return _CRITERION.findall(self.instructions)

    def find(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Return where `pattern` stands in the instructions."""
        found = pattern.search(self.instructions)
        if not found:
            raise ValueError(f"nothing like {pattern.pattern!r} in: {self.instructions}")
        return found

    def on_scale(self, share: float) -> float:
        """Return the legal score that lies this share of the way from the lowest to the highest."""
        scale = self.find(_SCALE)
        low, high = float(scale[1]), float(scale[2])
        score = low + share * (high - low)
        return round(score) if scale[3] else round(score, 2)


def _proposal(question: Question) -> dict[str, Any]:
    draw = random.Random(question.text)
    traits = [trait for _name, trait in question.criteria]
    if not traits:
        known = [f"{what}, {where}" for what, where in itertools.product(PROPERTIES, PLACES)]
        traits = draw.sample(known, int(question.find(_COUNT)[1]))
    anchors = [float(score) for score in question.find(_ANCHORS)[1].split(", ")]
    hypotheses = [_hypothesis(trait, anchors, draw.choice(ADVICE)) for trait in traits]
    return {"reasoning": "The texts rated high differ from the others in these.", "hypotheses": hypotheses}


def _hypothesis(trait: str, anchors: list[float], advice: str) -> dict[str, Any]:
    what, _, where = trait.partition(", ")
    degrees = [DEGREES[round(place * (len(DEGREES) - 1) / (len(anchors) - 1))] for place in range(len(anchors))]
    return {
        "trait": trait,
        "statement": f"Raters look for {what} {where}; to tell how much of it there is, {advice}.",
        "levels": {
            format_score(score): f"{degree} of what is meant by {what}"
            for score, degree in zip(anchors, degrees, strict=True)
        },
    }


def _rating(question: Question) -> dict[str, Any]:
    traits = " and ".join(trait for _name, trait in question.criteria)
    return {"reasoning": f"It was read for {traits}.", "score": _score(question, traits)}


def _ratings(question: Question) -> dict[str, Any]:
    return {
        name: {"reason": f"It was read for {trait}.", "score": _score(question, trait)}
        for name, trait in question.criteria
    }


def _score(question: Question, trait: str) -> float:
    output = question.texts[-1]
    distinct = len(set(re.findall(r"\w+", output.lower())))
    quality = min(1.0, max(0.0, (distinct - FEWEST) / (MOST - FEWEST)))
    closeness = random.Random(trait).random()
    share = closeness * quality + (1 - closeness) * random.Random(f"{trait}\n{output}").random()
    return question.on_scale(share)


def _groups(question: Question) -> dict[str, Any]:
    """Return hypotheses on the same trait as groups."""
    members: dict[str, list[str]] = {}
    for name, trait in question.criteria:
        members.setdefault(trait, []).append(name)
    return {"groups": [same(f"Both are about {trait}.", names) for trait, names in members.items() if len(names) > 1]}


def same(reason: str, members: list[str]) -> dict[str, Any]:
    """Return a group of what is the same."""
    return {"reason": reason, "relation": "same", "members": members, "best": members[0]}


ANSWERS: dict[str, Callable[[Question], dict[str, Any]]] = {
    "hypotheses": _proposal,
    "score": _rating,
    "ids": _ratings,
    "groups": _groups,
}


def two_minds(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Rate as `reply` does; the model called `mild` a point higher, as far as the scale goes."""
    rated = json.loads(reply(messages, body))
    if body["model"] == "mild":
        rated["score"] = min(5, rated["score"] + 1)
    return json.dumps(rated)
