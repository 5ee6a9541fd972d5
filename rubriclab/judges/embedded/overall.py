"""Scores of a whole aspect by the offline judge: by its definition, by labelled texts, or by its own explanation.

What it explains to itself, and the steps it writes down, are measures with what each score looks like in them, in the
wording of its hypotheses; reading them back is reading a hypothesis.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.data.scale import show
from rubriclab.judges.embedded.knowledge import directions
from rubriclab.judges.embedded.proposing import Belief, beliefs_about, distinct_beliefs, worded
from rubriclab.judges.embedded.rating import on_scale, rating
from rubriclab.judges.embedded.traits import BY_NAME, spoken_of

# Measures that an explanation goes by.
MEASURES = 4

_LEVEL = re.compile(r"^(?:\d+\. )?A score of (-?\d+(?:\.\d+)?): (.+)$", re.MULTILINE)


def rate_by_definition(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by the measures that the aspect's definition speaks of."""
    return _verdict(fields, fields["aspect"]["definition"])


def analyse(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same, with the measures as the analysis; a score alone too is asked for with its analysis."""
    verdict = rate_by_definition({**fields, "score_only": False})
    return {"analysis": verdict["reasoning"], "score": verdict["score"]}


def rate_by_demonstrations(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by the aspect's usual measures, their levels fitted to the labelled texts that are shown."""
    return _verdict(fields, _learned(fields, fields["demonstrations"]))


def explain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an explanation of the task: the measures that usually move with the aspect."""
    return {"explanation": f"I measure texts and do not read them. {_usual(fields)}"}


def refine(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an explanation by the measures that the texts shown and general knowledge speak for."""
    shown = fields["observations"]
    return {
        "reasoning": f"Compared the measures with the labels of {len(shown)} texts.",
        "explanation": f"I measure texts and do not read them. {_learned(fields, shown)}",
    }


def rate_by_explanation(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by the explanation that is told again."""
    return _verdict(fields, fields["explanation"])


def steps(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return evaluation steps: the measures to take, and what each score looks like in them."""
    return {"steps": _usual(fields).split("\n")}


def rate_by_steps(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by the steps."""
    return _verdict(fields, fields["steps"])


def _verdict(fields: Mapping[str, Any], text: str) -> dict[str, Any]:
    exact, reason = rating(fields, _criterion(fields, text))
    score = exact if fields["exact"] else on_scale(exact, fields["scale"])
    return {"score": score} if fields["score_only"] else {"reasoning": reason, "score": score}


def _criterion(fields: Mapping[str, Any], text: str) -> dict[str, Any]:
    levels = [{"score": float(score), "description": said} for score, said in _LEVEL.findall(text)]
    return {"trait": fields["aspect"]["name"], "statement": _LEVEL.sub("", text), "levels": levels}


def _usual(fields: Mapping[str, Any]) -> str:
    """Return a description by usual measures: those that the definition speaks of, or in later samples some by lot."""
    usual, aspect = directions(fields), fields["aspect"]
    spoken = spoken_of(f"{aspect['name']} {aspect['definition']}")
    names = sorted((name for name in BY_NAME if usual[name]), key=lambda name: (-spoken.get(name, 0), name))
    chosen = names[:MEASURES]
    if fields["sample"]:
        chosen = random.Random(fields["sample"]).sample(names, min(MEASURES, len(names)))
    return _described(fields, [Belief(name, usual[name]) for name in chosen], ())


def _learned(fields: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> str:
    """Return a description by the measures that labelled texts and general knowledge speak for."""
    known = {**fields, "findings": ()}
    # Texts that no measure tells apart teach nothing; what is usual is then all there is.
    beliefs = beliefs_about(known, shown) or beliefs_about(known, ())
    return _described(fields, distinct_beliefs(beliefs, shown, MEASURES), shown)


def _described(fields: Mapping[str, Any], bundle: Sequence[Belief], observations: Sequence[Mapping[str, Any]]) -> str:
    told = worded(fields, bundle, observations)
    levels = (f"A score of {show(level['score'])}: {level['description']}" for level in told["levels"])
    return "\n".join((told["statement"], *levels))
