"""Sensible answers to the prompts of CheckEval, SEEval and the baselines without a model, for the local server.

    python tests/server.py --brain methods_brain:reply

A score follows how much of the judged text keeps to the order of its source, the more closely if the judge was told to
look at that: an explanation that was rewritten, and evaluation steps, say so. So do the answers to the questions of a
checklist, to some closely and to others hardly; some of them ask for a fault, and some cannot be asked of some texts.
The rest hangs on what is asked, on the text and on the model's name alone, so that two models differ and a run can be
repeated.

Kinds of question are told apart by the fields of the JSON schema at the end, and what a question says is found by its
form, as in `hypoeval_brain`.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from hypoeval_brain import PLACES, PROPERTIES, Question

# How far a score follows the quality, and how much farther where the judge was told what to look at.
CLOSENESS, BETTER_CLOSENESS = 0.4, 0.95
HINT = "how closely the source's order is kept"
# Share of words in the source's order of a text that deserves the lowest and the highest score.
WORST, BEST = 0.3, 0.6
# Share of texts that a question cannot be asked of.
INAPPLICABLE = 0.06

_LISTED = re.compile(r"^\[([\w.-]+)\] (.+?)(?: \(Here \"no\" is the good answer\.\))?$", re.MULTILINE)
_NEW = re.compile(r"Add (\d+) question")
_FINER = re.compile(r"into (\d+)(?: to (\d+))? finer")
_FAULT = re.compile(r"repeat|filler|another subject|start afresh", re.IGNORECASE)
_UNRELATED = re.compile(r"figures and dates|quoted voices")
_EXAGGERATED = "throughout"


@dataclass(frozen=True)
class Asked(Question):
    """A question, with what else an answer hangs on: what the judge said before, its name, and whether it samples."""

    earlier: str
    model: str
    sampled: bool

    @property
    def listed(self) -> list[tuple[str, str]]:
        """Id and wording of each question of a checklist that is shown."""
        return _LISTED.findall(self.instructions)

    @property
    def quality(self) -> float:
        """What the judged text deserves, in [0, 1]."""
        return min(1.0, max(0.0, (in_order(*self.texts[-2:]) - WORST) / (BEST - WORST)))

    def lot(self, *about: str) -> random.Random:
        """Return what is drawn for this model `about` something, always the same."""
        return random.Random("\n".join((self.model, *about)))


def reply(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Return the answer as JSON in the form that is asked for; a repair is answered like the question.

    Raises:
        ValueError: if the question does not say what an answer needs.
    """
    asked = question_in(messages, body)
    return json.dumps(ANSWERS[_kind(asked.form)](asked))


def question_in(messages: list[dict[str, str]], body: dict[str, Any]) -> Asked:
    """Return the question: the user's turn that ends in a schema, whatever was said before and complained of after."""
    turns = [n for n, turn in enumerate(messages) if turn["role"] == "user" and _ends_in_schema(turn["content"])]
    earlier = "\n".join(turn["content"] for turn in messages[: turns[-1]] if turn["role"] == "assistant")
    return Asked(messages[turns[-1]]["content"], earlier, body["model"], body["temperature"] > 0)


def is_repair(messages: list[dict[str, str]]) -> bool:
    """Return whether the messages ask once more for an answer that could not be used."""
    return not _ends_in_schema(messages[-1]["content"])


@functools.cache
def in_order(source: str, output: str) -> float:
    """Return the share of the output's words that stand in the source in the same order."""
    read, wrote = (re.findall(r"\w+", text.lower()) for text in (source, output))
    blocks = SequenceMatcher(None, read, wrote, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(wrote)


def _ends_in_schema(text: str) -> bool:
    return text.rsplit("\n", 1)[-1].startswith("{")


def _kind(form: Mapping[str, Any]) -> str:
    """Return what the answer's fields make of a question; questions with a seed are on other sides than its own."""
    *_, last = form
    if last == "questions":
        return "other sides" if "$ref" in form["questions"]["items"] else "finer points"
    return "rewriting" if list(form) == ["reasoning", "explanation"] else last


def _explanation(asked: Asked) -> dict[str, Any]:
    look = "in what order things come" if asked.sampled else "whether it is one piece"
    return {"explanation": f"I am to say how good a text is in one respect. I ask myself {look}."}


def _rewriting(asked: Asked) -> dict[str, Any]:
    explanation, *texts = asked.texts
    note = f"(Note {asked.lot(*texts).randrange(10**6)}.)"
    return {"reasoning": "People reward a plain order.", "explanation": f"{explanation} I look at {HINT}. {note}"}


def _steps(_asked: Asked) -> dict[str, Any]:
    return {"steps": ["Read the text once.", f"Consider {HINT}.", "Settle on a score."]}


def _score(asked: Asked) -> dict[str, Any]:
    closeness = BETTER_CLOSENESS if HINT in asked.instructions + asked.earlier else CLOSENESS
    noise = asked.lot(*asked.form, asked.earlier, *asked.texts).random()
    score = asked.on_scale(closeness * asked.quality + (1 - closeness) * noise)
    return {**dict.fromkeys(asked.form, "It was read once, from beginning to end."), "score": score}


def _finer_points(asked: Asked) -> dict[str, Any]:
    fewest, most = asked.find(_FINER).groups()
    return {"reasoning": "It comprises these.", "questions": _new_questions(asked, int(most or fewest))}


def _other_sides(asked: Asked) -> dict[str, Any]:
    (seed, _), *_others = asked.listed
    texts = _new_questions(asked, int(asked.find(_NEW)[1]))
    return {"reasoning": "These are missed.", "questions": [{"seed": seed, "text": text} for text in texts]}


def _new_questions(asked: Asked, number: int) -> list[str]:
    known = list(itertools.product(PROPERTIES, PLACES))
    about = " ".join(wording for _name, wording in asked.listed)
    return [f"Is there {what} {where}?" for what, where in asked.lot(_kind(asked.form), about).sample(known, number)]


def _verdicts(asked: Asked) -> dict[str, Any]:
    aspect = re.search(r'judged for "([^"]+)"', asked.instructions)
    return {"verdicts": [_verdict(name, wording, aspect[1] if aspect else "") for name, wording in asked.listed]}


def _verdict(name: str, wording: str, aspect: str) -> dict[str, str]:
    return {
        "question": name,
        "reasoning": "By its wording.",
        "yes_means": "worse" if _FAULT.search(wording) else "better",
        "about": "something else" if _UNRELATED.search(wording) else aspect,
        "style": "exaggerated" if _EXAGGERATED in wording else "fine",
    }


def _redundancy(asked: Asked) -> dict[str, Any]:
    (_, candidate), *others = asked.listed
    what = next((what for what in PROPERTIES if what in candidate), None)
    same = next((name for name, wording in others if what and what in wording), "none")
    return {"reasoning": "Compared by what they look at.", "same_as": same}


def _answers(asked: Asked) -> dict[str, Any]:
    return {
        "answers": [
            {"question": name, "reason": "It was looked up.", "answer": _answer(asked, wording)}
            for name, wording in asked.listed
        ]
    }


def _answer(asked: Asked, wording: str) -> str:
    closeness = random.Random(wording).uniform(0.4, 0.9)
    draw = asked.lot(wording, asked.texts[-1])
    if draw.random() < INAPPLICABLE:
        return "n/a"
    good = closeness * asked.quality + (1 - closeness) * draw.random() > 0.5
    return "yes" if good != bool(_FAULT.search(wording)) else "no"


ANSWERS: dict[str, Callable[[Asked], dict[str, Any]]] = {
    "explanation": _explanation,
    "rewriting": _rewriting,
    "steps": _steps,
    "score": _score,
    "finer points": _finer_points,
    "other sides": _other_sides,
    "verdicts": _verdicts,
    "same_as": _redundancy,
    "answers": _answers,
}
