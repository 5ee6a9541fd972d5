"""Criteria that a person has written: reworded, merged or added."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

from rubriclab.data.scale import Scale
from rubriclab.errors import SettingsError
from rubriclab.methods.catalogue import METHODS
from rubriclab.option_names import option
from rubriclab.rubric import Criterion, CriterionKind, Evidence, Level, Question, Rubric

# The methods that rate an added statement and an added question.
STATEMENTS, QUESTIONS = "hypoeval", "checkeval"

# A question whose better answer is given after it.
_BETTER = re.compile(r"\s*\(better:\s*(yes|no)\)\s*$")

# A statement that begins with its name, as in `Order: each sentence follows from the one before`.
_NAMED = re.compile(r"\s*([^:.]{1,60}):\s+\S")
TRAIT_WORDS = 6

# What a text is like at each level of a statement, from the lowest to the highest.
TRUTH = (
    "Not true of it at all.",
    "Almost entirely untrue of it.",
    "Mostly untrue of it.",
    "As true as untrue of it.",
    "Mostly true of it.",
    "Almost entirely true of it.",
    "Entirely true of it.",
)


def reworded(criterion: Criterion, method: str, text: str, name: str) -> Criterion:
    """Return a criterion with another wording, under another id; a hypothesis keeps the description of its levels.

    Raises:
        SettingsError: if it has no wording that is rated.
    """
    if criterion.kind == "feature":
        raise SettingsError(
            f"{criterion.id} is a text feature, which is computed.", f"Drop it and use {option('add')} for a criterion."
        )
    if criterion.kind == "score" and METHODS[method].states == "definition":
        raise SettingsError(
            f"{criterion.id} asks by the aspect's definition.", f"Change that: {option('definition', '…')}."
        )
    statement, better = _question(text)
    question = criterion.question
    if question and better:
        question = question.model_copy(update={"better": better})
    return Criterion(
        **{
            **dict(criterion),
            "id": name,
            "statement": statement if question else text,
            "question": question,
            "evidence": _evidence([criterion]),
        }
    )


def merged(criteria: Sequence[Criterion], text: str, scale: Scale, name: str) -> Criterion:
    """Return one criterion of the same kind instead of several.

    Raises:
        SettingsError: if they are neither hypotheses nor questions nor traits.
    """
    first = criteria[0]
    if first.kind not in ("hypothesis", "question", "trait"):
        raise SettingsError(
            f"{first.id} cannot be merged: it is a {first.kind}, not a statement or a question.", "Drop it instead."
        )
    statement, better = _question(text)
    update: dict[str, object] = {
        "id": name,
        "statement": statement if first.question else text,
        "weight": sum(criterion.weight for criterion in criteria),
        "evidence": _evidence(criteria),
        "levels": levels(scale) if first.kind == "hypothesis" else (),
        "trait": trait_of(text) if first.kind == "hypothesis" else first.trait,
    }
    if first.question:
        update["question"] = Question(origin="seed", better=better or first.question.better)
    return Criterion(**{**dict(first), **update})


def added(text: str, rubric: Rubric, taken: Collection[str]) -> tuple[str, Criterion]:
    """Return a criterion in a person's own words, and the method that rates it."""
    statement, better = _question(text)
    asks = better is not None or statement.rstrip().endswith("?")
    kind: CriterionKind = "question" if asks else "hypothesis"
    weights = [criterion.weight for criterion in rubric.criteria]
    criterion = Criterion(
        id=next(name for number in range(1, 10_000) if (name := f"a{number:02}") not in taken),
        kind=kind,
        trait=rubric.aspect.name if asks else trait_of(text),
        statement=statement if asks else text,
        levels=() if asks else levels(rubric.scale),
        weight=sum(weights) / len(weights),
        evidence=Evidence(origin="written by hand"),
        question=Question(origin="seed", better=better or "yes") if asks else None,
    )
    return (QUESTIONS if asks else STATEMENTS), criterion


def edited_id(name: str, taken: Collection[str]) -> str:
    """Return the id of a reworded criterion: `h03.2` for `h03`, then `h03.3`."""
    stem, _, number = name.rpartition(".")
    stem = stem if stem and number.isdigit() else name
    return next(new for count in range(2, 10_000) if (new := f"{stem}.{count}") not in taken)


def trait_of(statement: str) -> str:
    """Return the name of a statement: what stands before its colon, or its first words."""
    if match := _NAMED.match(statement):
        return match[1].strip()
    words = statement.split()
    return " ".join(words[:TRAIT_WORDS]) + (" …" if len(words) > TRAIT_WORDS else "")


def levels(scale: Scale) -> tuple[Level, ...]:
    """Return the levels of a statement that describes none of its own: how true it is of the text."""
    anchors, last = scale.anchors(), len(TRUTH) - 1
    steps = max(len(anchors) - 1, 1)
    return tuple(
        Level(score=anchor, description=TRUTH[round(place * last / steps)]) for place, anchor in enumerate(anchors)
    )


def _question(text: str) -> tuple[str, Literal["yes", "no"] | None]:
    """Return a question without the note on its better answer, and that answer."""
    match = _BETTER.search(text)
    if match is None:
        return text, None
    return text[: match.start()], "no" if match[1] == "no" else "yes"


def _evidence(criteria: Sequence[Criterion]) -> Evidence:
    """Return the evidence of a criterion made from others: labels that were used for them were used for it."""
    examples = dict.fromkeys(name for criterion in criteria for name in criterion.evidence.examples)
    reasons = dict.fromkeys(reason for criterion in criteria for reason in criterion.evidence.reasons)
    return Evidence(origin="written by hand", examples=tuple(examples), reasons=tuple(reasons))
