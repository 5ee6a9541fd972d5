"""Scores of a whole aspect by the offline judge: by its definition, by labelled texts, or by its own explanation.

Its explanations and evaluation steps are worded like its hypotheses, and are read back as these are.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.data.scale import show
from rubriclab.judges.embedded import questions
from rubriclab.judges.embedded.proposing import Belief, beliefs_about, distinct_beliefs, worded
from rubriclab.judges.embedded.rating import on_scale, rate_together, rating
from rubriclab.judges.embedded.wording import BY_NAME, directions, spoken_of

# Features that an explanation names.
MOST_FEATURES = 4

_LEVEL = re.compile(r"^(?:\d+\. )?A score of (-?\d+(?:\.\d+)?): (.+)$", re.MULTILINE)


def rate_by_definition(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by the text features that the aspect's definition speaks of."""
    return _verdict(fields, fields["aspect"]["definition"])


def analyse(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same, with the features as the analysis, also where a score alone is asked for."""
    verdict = rate_by_definition({**fields, "score_only": False})
    return {"analysis": verdict["reasoning"], "score": verdict["score"]}


def rate_by_demonstrations(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by the aspect's usual features, their levels fitted to the labelled texts that are shown."""
    return _verdict(fields, _learned(fields, fields["demonstrations"]))


def explain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an explanation of the task: the text features that usually move with the aspect."""
    return {"explanation": f"I measure texts and do not read them. {_usual(fields)}"}


def refine(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an explanation by the text features that the texts shown and general knowledge speak for."""
    shown = fields["observations"]
    return {
        "reasoning": f"Compared the text features with the labels of {len(shown)} texts.",
        "explanation": f"I measure texts and do not read them. {_learned(fields, shown)}",
    }


def rate_by_explanation(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by the stored explanation."""
    return _verdict(fields, fields["explanation"])


def steps(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return evaluation steps: the features to measure, and what each score looks like in them."""
    return {"steps": _usual(fields).split("\n")}


def rate_by_steps(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by the steps."""
    return _verdict(fields, fields["steps"])


def _verdict(fields: Mapping[str, Any], text: str) -> dict[str, Any]:
    exact, reason = rating(fields, _criterion(fields, text))
    score = exact if fields["exact"] else on_scale(exact, fields["scale"])
    return {"score": score} if fields["score_only"] else {"reasoning": reason, "score": score}


def _criterion(fields: Mapping[str, Any], text: str) -> dict[str, Any]:
    levels = [{"score": float(score), "description": description} for score, description in _LEVEL.findall(text)]
    return {"trait": fields["aspect"]["name"], "statement": _LEVEL.sub("", text), "levels": levels}


def _usual(fields: Mapping[str, Any]) -> str:
    """Return a description by usual features: those that the definition speaks of, in later samples random ones."""
    usual, aspect = directions(fields), fields["aspect"]
    spoken = spoken_of(f"{aspect['name']} {aspect['definition']}")
    names = sorted((name for name in BY_NAME if usual[name]), key=lambda name: (-spoken.get(name, 0), name))
    chosen = names[:MOST_FEATURES]
    if fields["sample"]:
        chosen = random.Random(fields["sample"]).sample(names, min(MOST_FEATURES, len(names)))
    return _described(fields, [Belief(name, usual[name]) for name in chosen], ())


def _learned(fields: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> str:
    """Return a description by the text features that labelled texts and general knowledge speak for."""
    beliefs = beliefs_about({**fields, "findings": ()}, shown)
    return _described(fields, distinct_beliefs(beliefs, shown, MOST_FEATURES), shown)


def _described(fields: Mapping[str, Any], bundle: Sequence[Belief], observations: Sequence[Mapping[str, Any]]) -> str:
    hypothesis = worded(fields, bundle, observations)
    levels = (f"A score of {show(level['score'])}: {level['description']}" for level in hypothesis["levels"])
    return "\n".join((hypothesis["statement"], *levels))


def judge_together(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what separate calls would: ratings by the criteria, answers to the questions, and holistic scores."""
    by = {"definition": rate_by_definition, "explanation": rate_by_explanation, "steps": rate_by_steps}
    holistic = [
        (entry["id"], by[entry["by"]]({**fields, "score_only": False, entry["by"]: entry["text"]}))
        for entry in fields["overall"]
    ]
    lists = {
        "ratings": [
            {"id": entry["criterion"], "reason": entry["reasoning"], "score": entry["score"]}
            for entry in rate_together(fields)["ratings"]
        ],
        "answers": [
            {"id": entry["question"], "reason": entry["reason"], "answer": entry["answer"]}
            for entry in questions.answer({**fields, "bare": False})["answers"]
        ],
        "whole": [
            {"id": name, "reason": verdict["reasoning"], "score": verdict["score"]} for name, verdict in holistic
        ],
    }
    return {name: entries for name, entries in lists.items() if entries}


def judge_rivals(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each text what a call about it alone would."""
    return {
        "texts": [
            {"text": text["number"], **judge_together({**fields, "output": text["output"]})} for text in fields["texts"]
        ]
    }
