"""Checklists by the offline judge: questions about measures, and answers read off them.

A question of its own names a measure and a point of its usual range. Anybody else's question is taken to speak of the
measures whose keywords it holds, and is answered yes where these, read the way they usually move with the aspect, stand
above the middle of what is usual.
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
from rubriclab.measures import CATALOGUE, Measure

# Points of a measure's usual range, in percent, at which finer questions cut.
POINTS = (20, 35, 50, 65, 80)
MIDDLE = 50

# Measures that the finer questions of one seed are about.
MEASURES_EACH = 2

_BY_TITLE = {entry.title: entry for entry in CATALOGUE}


def diversify(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return questions on measures that usually move with the aspect and that no seed speaks of."""
    usual, seeds = directions(fields), fields["questions"]
    spoken = spoken_of(" ".join(seed["text"] for seed in seeds))
    about = spoken_of(f"{fields['sub_dimension']['name']} {fields['sub_dimension']['definition']}")
    names = [name for name in BY_NAME if usual[name] and name not in spoken]
    names.sort(key=lambda name: (-about.get(name, 0), name))
    texts = [_worded(BY_NAME[name], MIDDLE, rising=usual[name] > 0) for name in names[: fields["count"]]]
    texts = texts or [_worded(BY_NAME[next(iter(usual))], MIDDLE, rising=True)]
    questions = [{"seed": seeds[place % len(seeds)]["id"], "text": text} for place, text in enumerate(texts)]
    return {"reasoning": "Named measures that no question speaks of yet.", "questions": questions}


def elaborate(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return questions on the measures that the seed speaks of, at several points of their usual range."""
    usual = directions(fields)
    names = _meant(fields, fields["sub_dimension"]["name"], fields["question"]["text"])[:MEASURES_EACH]
    texts = [_worded(BY_NAME[name], point, rising=usual[name] >= 0) for name in names for point in POINTS]
    return {"reasoning": "Cut the measures that it speaks of at several points.", "questions": texts[: fields["most"]]}


def judge_questions(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict on each question: the offline judge finds no fault with any."""
    verdicts = [
        {
            "question": question["id"],
            "reasoning": "Measured texts give no reason against it.",
            "yes_means": "better",
            "about": fields["aspect"]["name"],
            "style": "fine",
        }
        for question in fields["questions"]
    ]
    return {"verdicts": verdicts}


def redundant(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first of the others that cuts the same measure at the same point."""
    wanted = _read(fields["candidate"]["text"])
    same = next((other["id"] for other in fields["others"] if wanted and _read(other["text"]) == wanted), None)
    reason = f"{same} cuts the same measure at the same point." if same else "No other one asks for the same."
    return {"reasoning": reason, "same_as": same or "none"}


def answer(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer to each question about the text."""
    values = measured(fields)
    answers = []
    for group in fields["sub_dimensions"]:
        for question in group["questions"]:
            said, reason = _answer(fields, group["name"], question["text"], values)
            answers.append({"question": question["id"], "reason": reason, "answer": said})
    return {"answers": answers}


def _answer(fields: Mapping[str, Any], dimension: str, question: str, values: Mapping[str, float]) -> tuple[str, str]:
    own = _read(question)
    if own:
        name, above, point = own
        share = _share(fields, name, values)
        if math.isnan(share):
            return "n/a", f"Measured, not read: {BY_NAME[name].title} is undefined here."
        met = share >= point if above else share <= point
        return ("yes" if met else "no"), f"Measured, not read: {BY_NAME[name].title}, {share:.0%} of its usual range."
    names = _meant(fields, dimension, question)
    usual = directions(fields)
    shares = {name: _share(fields, name, values) for name in names}
    good = [share if usual[name] >= 0 else 1 - share for name, share in shares.items() if not math.isnan(share)]
    if not good:
        return "n/a", "It speaks of nothing that can be measured here."
    told = "; ".join(f"{BY_NAME[name].title}, {share:.0%}" for name, share in shares.items() if not math.isnan(share))
    return ("yes" if _mean(good) >= MIDDLE / 100 else "no"), f"Measured, not read: {told} of the usual range."


def _meant(fields: Mapping[str, Any], dimension: str, question: str) -> Sequence[str]:
    return measures_meant({"trait": dimension, "statement": question, "levels": ()}, fields)


def _share(fields: Mapping[str, Any], name: str, values: Mapping[str, float]) -> float:
    value = values[name]
    return value if math.isnan(value) else usual_share(BY_NAME[name], value, fields["words"]["task"])


def _worded(entry: Measure, point: int, *, rising: bool) -> str:
    return f'Is "{entry.title}" {"at or above" if rising else "at or below"} {point} % of its usual range?'


def _read(question: str) -> tuple[str, bool, float] | None:
    """Return measure, direction and point of a question of the offline judge's own; `None` for anybody else's."""
    found = _pattern().search(question)
    return (_BY_TITLE[found[1]].name, found[2] == "at or above", int(found[3]) / 100) if found else None


@functools.cache
def _pattern() -> re.Pattern[str]:
    titles = "|".join(re.escape(title) for title in sorted(_BY_TITLE, key=len, reverse=True))
    return re.compile(rf'Is "({titles})" (at or above|at or below) (\d+) % of its usual range\?')


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
