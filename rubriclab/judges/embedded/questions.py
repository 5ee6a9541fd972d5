"""Checklists by the offline judge: questions about text features, and answers read off them.

A question of its own names a feature and a point of its usual range. Anybody else's question is taken to speak of the
features whose keywords it holds: the answer is the good one where these, read the way they usually move with the
aspect, stand above the middle of the usual range. The good answer is no to a question that asks for a fault.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rubriclab.judges.embedded.rating import features_meant, goodness
from rubriclab.judges.embedded.wording import BY_NAME, BY_TITLE, TITLES, directions, spoken_of, usual_share, values_of
from rubriclab.text_features.lexicon import FAULT_ADJECTIVES, FAULT_NOUNS, FAULT_VERBS, NEGATIONS

# Points of a feature's usual range, in percent, at which finer questions cut.
POINTS = (20, 35, 50, 65, 80)
MIDDLE = 50

# Features that the finer questions of one seed are about.
FEATURES_EACH = 2

# What is answered where a feature is undefined, and of a broken text.
_PRESUPPOSED = {"absent": "n/a", "broken": "no"}

_OWN = re.compile(rf'Is "({TITLES})" at or (above|below) (\d+) % of its usual range\?')
_FAULTS = FAULT_NOUNS | FAULT_ADJECTIVES | FAULT_VERBS
_INFLECTION = re.compile(r"(?:s|es|d|ed|ing)$")
# Something that is not as it should be: "a name that is not in the source", "a word is left out".
_LACKING = re.compile(
    r"\b(?:that|which|who)\b[^,?]*\b(?:not|never|nobody)\b|\b(?:left|leaves?|rules?) out\b|\bat odds\b"
)


def seeds(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sub-dimension for each of the features that usually move with the aspect, with one question."""
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
    return {"reasoning": "Named the features that usually move with the aspect.", "sub_dimensions": subs}


def diversify(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return questions on features that usually move with the aspect and that no seed speaks of."""
    usual, seed_questions = directions(fields), fields["questions"]
    spoken = spoken_of(" ".join(seed["text"] for seed in seed_questions))
    about = spoken_of(f"{fields['sub_dimension']['name']} {fields['sub_dimension']['definition']}")
    names = [name for name in BY_NAME if usual[name] and name not in spoken] or [next(iter(usual))]
    names.sort(key=lambda name: (-about.get(name, 0), name))
    questions = [
        {
            **_with_presupposed(own_question(name, MIDDLE, rising=usual[name] >= 0), fields),
            "seed": seed_questions[place % len(seed_questions)]["id"],
        }
        for place, name in enumerate(names[: fields["count"]])
    ]
    return {"reasoning": "Named features that no question speaks of yet.", "questions": questions}


def elaborate(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return questions on the features that the seed speaks of, at several points of their usual range."""
    usual = directions(fields)
    names = meant(fields, fields["sub_dimension"]["name"], fields["question"]["text"])[:FEATURES_EACH]
    texts = [own_question(name, point, rising=usual[name] >= 0) for name in names for point in POINTS]
    return {
        "reasoning": "Cut the features that it speaks of at several points.",
        "questions": [_with_presupposed(text, fields) for text in texts[: fields["most"]]],
    }


def _with_presupposed(text: str, fields: Mapping[str, Any]) -> dict[str, str]:
    return {"text": text, **(_PRESUPPOSED if fields["self_contained"] else {})}


def judge_questions(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict on each question: the offline judge finds no fault with any."""
    verdict = {
        "reasoning": "Text features give no reason against it.",
        **(_PRESUPPOSED if fields["self_contained"] else {}),
        "yes_means": "better",
        "about": fields["aspect"]["name"],
        "style": "fine",
    }
    return {"verdicts": [{"question": question["id"], **verdict} for question in fields["questions"]]}


def answer(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer to each question about the text."""
    answers = []
    for group in fields["sub_dimensions"]:
        for question in group["questions"]:
            verdict, reason = answered(fields, group["name"], question["text"])
            if fields["bare"] and verdict == "n/a":
                verdict = "no"
            answers.append({"question": question["id"], "reason": reason, "answer": verdict})
    return {"answers": answers}


def answered(fields: Mapping[str, Any], dimension: str, question: str) -> tuple[str, str]:
    """Return "yes", "no" or, where nothing can be measured, "n/a", with the features it was read off."""
    values, task = values_of(fields), fields["words"]["task"]
    own = own_reading(question)
    names = [own[0]] if own else meant(fields, dimension, question)
    shares = {name: usual_share(name, values[name], task) for name in names}
    defined = [name for name in names if not math.isnan(shares[name])]
    if not defined:
        return "n/a", f"Measured, not read: {BY_NAME[names[0]].title} is undefined here."
    if own:
        name, above, point = own
        met = shares[name] >= point if above else shares[name] <= point
    else:
        met = (fmean(goodness(fields, name) for name in defined) >= MIDDLE / 100) != asks_for_fault(question)
    shown = "; ".join(f"{BY_NAME[name].title}, {shares[name]:.0%}" for name in defined)
    return ("yes" if met else "no"), f"Measured, not read: {shown} of the usual range."


# Every text is asked the same questions.
@functools.lru_cache(maxsize=1024)
def asks_for_fault(question: str) -> bool:
    """Return whether no is the good answer to a question: it names a fault without denying it, or something lacking."""
    text = question.lower().replace("n't", " not")
    words = re.findall(r"[\w-]+", text)
    return bool(_LACKING.search(text)) or (any(map(_is_fault, words)) and NEGATIONS.isdisjoint(words))


def _is_fault(word: str) -> bool:
    stem = _INFLECTION.sub("", word)
    return not _FAULTS.isdisjoint({word, stem, f"{stem}e", word.removesuffix("s"), word.removesuffix("ly")})


def meant(fields: Mapping[str, Any], dimension: str, question: str) -> Sequence[str]:
    """Return the features that anybody's question speaks of most; at least one."""
    return features_meant({"trait": dimension, "statement": question, "levels": ()}, fields) or [next(iter(BY_NAME))]


def own_question(name: str, point: int, *, rising: bool) -> str:
    """Return a question on a feature: whether a text reaches the point of the feature's usual range."""
    return f'Is "{BY_NAME[name].title}" at or {"above" if rising else "below"} {point} % of its usual range?'


@functools.lru_cache(maxsize=1024)
def own_reading(question: str) -> tuple[str, bool, float] | None:
    """Return feature, direction and point of a question that the offline judge has worded; `None` for any other."""
    match = _OWN.search(question)
    return (BY_TITLE[match[1]].name, match[2] == "above", int(match[3]) / 100) if match else None
