"""Sides of an aspect that the offline judge proposes (SEAL): measures that the labels follow, asked for by yes/no."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from rubriclab.judges.embedded.clauses import clauses
from rubriclab.judges.embedded.knowledge import usual_share
from rubriclab.judges.embedded.proposing import Belief, beliefs_about, distinct_beliefs
from rubriclab.judges.embedded.questions import MIDDLE, POINTS, own_question
from rubriclab.judges.embedded.rating import measured
from rubriclab.judges.embedded.traits import BY_NAME, spoken_of
from rubriclab.sentences import split_sentences


def propose(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `count` sub-dimensions, fewer where not so many measures tell the units apart: each asks for a measure.

    The question cuts the measure where the units of the texts that are shown lie in the middle.
    """
    texts = fields["texts"]
    about = {**fields, "findings": ()}
    # Texts that no measure tells apart teach nothing; what is usual is then all there is.
    beliefs = beliefs_about(about, texts) or beliefs_about(about, ())
    spoken = spoken_of(" ".join(f"{known['name']} {known['question']}" for known in fields["known"]))
    units = [unit for text in texts for unit in _units(text, fields["kind"])]
    shares = {belief.measure: _shares(belief.measure, units, fields) for belief in beliefs}
    telling = [each for each in beliefs if not units or len(set(shares[each.measure])) > 1] or beliefs
    new = [each for each in telling if each.measure not in spoken] or telling
    chosen = distinct_beliefs(new, texts, fields["count"])
    seen = (
        f"Compared measures with the labels of {len(texts)} texts." if texts else "Took measures that usually matter."
    )
    return {"reasoning": seen, "sub_dimensions": [_side(belief, shares[belief.measure]) for belief in chosen]}


def _units(text: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the text's fields, once for each of its units with this in the text's place."""
    sentences = split_sentences(text["output"])
    pieces: Mapping[str, Sequence[str]] = {
        "sentence": sentences,
        "sentence pair": [" ".join(pair) for pair in pairwise(sentences)],
        "fact": [clause for sentence in sentences for clause in clauses(sentence)],
    }
    return [{**text, "output": piece} for piece in pieces.get(kind, [text["output"]])]


def _shares(name: str, units: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> list[float]:
    values = [measured(unit)[name] for unit in units]
    return [usual_share(BY_NAME[name], value, fields["words"]["task"]) for value in values if not math.isnan(value)]


def _side(belief: Belief, shares: Sequence[float]) -> dict[str, str]:
    entry, rising = BY_NAME[belief.measure], belief.r > 0
    middle = 100 * sum(shares) / len(shares) if shares else MIDDLE
    point = min(POINTS, key=lambda each: (abs(each - middle), each))
    return {
        "name": entry.title,
        "definition": f"Measured in {entry.unit}; {'more' if rising else 'less'} of it goes with higher scores.",
        "question": own_question(belief.measure, point, rising=rising),
    }
