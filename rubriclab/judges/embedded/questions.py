"""Checklists by the offline judge: questions about measures, and answers read off them.

A question of its own names a measure and a point of its usual range. Anybody else's question is taken to speak of the
measures whose keywords it holds: the answer is the good one where these, read the way they usually move with the
aspect, stand above the middle of what is usual. The good answer is no to a question that asks for a fault.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rubriclab.judges.embedded.knowledge import directions, usual_share
from rubriclab.judges.embedded.rating import measured, measures_meant
from rubriclab.judges.embedded.traits import BY_NAME, spoken_of
from rubriclab.text_features import CATALOGUE

# Points of a measure's usual range, in percent, at which finer questions cut.
POINTS = (20, 35, 50, 65, 80)
MIDDLE = 50

# Measures that the finer questions of one seed are about.
MEASURES_EACH = 2

# What is answered where a measure is undefined, and of a broken text.
_PRESUPPOSED = {"absent": "n/a", "broken": "no"}

_BY_TITLE = {entry.title: entry for entry in CATALOGUE}

# What a question asks for that is no good sign, and the words around it that turn it into one.
_FAULT = re.compile(
    r"\b(?:contradict|inconsisten|at odds|oppos|rules? out|refut|mistake|error|slip|fault|breaks? (?:a|any|off)\b"
    r"|left out|missing|over again|already|repeat|same thing twice|twice in a row|made up|invent|neither"
    r"|no earlier|in no way|evidence does not|stray|stock|lifted|unrelated|afresh|blame|an aside|something else"
    r"|foretell|in almost any)"
)
_WITHOUT = re.compile(r"\b(?:free (?:of|from)|avoid|without|rather than|no more than|that no earlier)\b")


def seeds(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sub-dimension for each of the measures that usually move with the aspect, with one question."""
    usual = directions(fields)
    names = [name for name in usual if usual[name]][: fields["most"]] or [next(iter(usual))]
    subs = [
        {
            "name": BY_NAME[name].title,
            "definition": f"{BY_NAME[name].title} ({BY_NAME[name].unit}).",
            "questions": [own_question(name, MIDDLE, rising=usual[name] >= 0)],
        }
        for name in names
    ]
    return {"reasoning": "Named the measures that usually move with the aspect.", "sub_dimensions": subs}


def diversify(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return questions on measures that usually move with the aspect and that no seed speaks of."""
    usual, seeds = directions(fields), fields["questions"]
    spoken = spoken_of(" ".join(seed["text"] for seed in seeds))
    about = spoken_of(f"{fields['sub_dimension']['name']} {fields['sub_dimension']['definition']}")
    names = [name for name in BY_NAME if usual[name] and name not in spoken]
    names.sort(key=lambda name: (-about.get(name, 0), name))
    texts = [own_question(name, MIDDLE, rising=usual[name] > 0) for name in names[: fields["count"]]]
    texts = texts or [own_question(next(iter(usual)), MIDDLE, rising=True)]
    questions = [{**_stated(text, fields), "seed": seeds[place % len(seeds)]["id"]} for place, text in enumerate(texts)]
    return {"reasoning": "Named measures that no question speaks of yet.", "questions": questions}


def elaborate(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return questions on the measures that the seed speaks of, at several points of their usual range."""
    usual = directions(fields)
    names = meant(fields, fields["sub_dimension"]["name"], fields["question"]["text"])[:MEASURES_EACH]
    texts = [own_question(name, point, rising=usual[name] >= 0) for name in names for point in POINTS]
    return {
        "reasoning": "Cut the measures that it speaks of at several points.",
        "questions": [_stated(text, fields) for text in texts[: fields["most"]]],
    }


def _stated(text: str, fields: Mapping[str, Any]) -> dict[str, str]:
    """Return a question, if asked for with its answers where its measure is undefined and where the text is broken."""
    return {"text": text, **(_PRESUPPOSED if fields["self_contained"] else {})}


def judge_questions(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict on each question: the offline judge finds no fault with any."""
    verdicts = [
        {
            "question": question["id"],
            "reasoning": "Measured texts give no reason against it.",
            **(_PRESUPPOSED if fields["self_contained"] else {}),
            "yes_means": "better",
            "about": fields["aspect"]["name"],
            "style": "fine",
        }
        for question in fields["questions"]
    ]
    return {"verdicts": verdicts}


def answer(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer to each question about the text."""
    answers = []
    for group in fields["sub_dimensions"]:
        for question in group["questions"]:
            said, reason = answered(fields, group["name"], question["text"])
            if fields["bare"] and said == "n/a":
                said = "no"
            answers.append({"question": question["id"], "reason": reason, "answer": said})
    return {"answers": answers}


def answered(fields: Mapping[str, Any], dimension: str, question: str) -> tuple[str, str]:
    """Return "yes", "no" or, where nothing can be measured, "n/a", with the measures it was read off."""
    own = own_reading(question)
    if own:
        name, above, point = own
        share = _share(fields, name)
        if math.isnan(share):
            return "n/a", f"Measured, not read: {BY_NAME[name].title} is undefined here."
        met = share >= point if above else share <= point
        return ("yes" if met else "no"), f"Measured, not read: {BY_NAME[name].title}, {share:.0%} of its usual range."
    usual = directions(fields)
    shares = {name: _share(fields, name) for name in meant(fields, dimension, question)}
    good = [share if usual[name] >= 0 else 1 - share for name, share in shares.items() if not math.isnan(share)]
    if not good:
        return "n/a", "It speaks of nothing that can be measured here."
    told = "; ".join(f"{BY_NAME[name].title}, {share:.0%}" for name, share in shares.items() if not math.isnan(share))
    met = (_mean(good) >= MIDDLE / 100) != asks_for_fault(question)
    return ("yes" if met else "no"), f"Measured, not read: {told} of the usual range."


def asks_for_fault(question: str) -> bool:
    """Return whether no is the good answer to a question, going by its words."""
    said = question.lower()
    return bool(_FAULT.search(said)) and not _WITHOUT.search(said)


def meant(fields: Mapping[str, Any], dimension: str, question: str) -> Sequence[str]:
    """Return the measures that a question of anybody's speaks of most."""
    return measures_meant({"trait": dimension, "statement": question, "levels": ()}, fields)


def is_own(question: str) -> bool:
    """Return whether a question is one that the offline judge has worded."""
    return own_reading(question) is not None


def own_question(name: str, point: int, *, rising: bool) -> str:
    """Return a question on a measure, which is answered by whether a text reaches the point of its usual range."""
    return f'Is "{BY_NAME[name].title}" {"at or above" if rising else "at or below"} {point} % of its usual range?'


def _share(fields: Mapping[str, Any], name: str) -> float:
    value = measured(fields)[name]
    return value if math.isnan(value) else usual_share(BY_NAME[name], value, fields["words"]["task"])


def own_reading(question: str) -> tuple[str, bool, float] | None:
    """Return measure, direction and point of a question that the offline judge has worded; `None` for any other."""
    found = _pattern().search(question)
    return (_BY_TITLE[found[1]].name, found[2] == "at or above", int(found[3]) / 100) if found else None


@functools.cache
def _pattern() -> re.Pattern[str]:
    titles = "|".join(re.escape(title) for title in sorted(_BY_TITLE, key=len, reverse=True))
    return re.compile(rf'Is "({titles})" (at or above|at or below) (\d+) % of its usual range\?')


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
