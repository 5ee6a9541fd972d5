"""The one prompt about all criteria: which parts of a rubric it can ask, what it shows of them, and its reply."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.checkeval.answer import TOKENS_PER_ANSWER
from rubriclab.methods.checkeval.replies import AnswerEntry, Readable
from rubriclab.methods.prompting import chunks
from rubriclab.methods.questions import by_trait, payload
from rubriclab.methods.replies import bare_score, score_entry
from rubriclab.models.rubric import (
    Criterion,
    Part,
    by_id,
    criterion_payload,
)
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts import Prompt
from rubriclab.prompts.keyed import AskedEntry, KeyedReply, keyed_reply


def judgments_form(fields: Mapping[str, Any], *, reasons: bool = True) -> type[KeyedReply]:
    """Return the reply model for the criteria that a prompt's fields show: one entry for each, in order.

    Args:
        reasons: whether each entry has a reason, or is the score or the answer alone.
    """
    score: Any = score_entry(fields)
    answer: Any = AnswerEntry
    if not reasons:
        score, answer = bare_score(fields), Readable
    aspect = fields["aspect"]["name"]
    whole = ("whole", "overall", aspect) if len(fields["overall"]) == 1 else ()
    questions = [question for sub in fields["sub_dimensions"] for question in sub["questions"]]
    return keyed_reply(
        (
            *(AskedEntry(each["id"], score, "criterion", (each["trait"],)) for each in fields["criteria"]),
            *(AskedEntry(each["id"], answer, "question", (each["text"],)) for each in questions),
            *(AskedEntry(each["id"], score, "whole", whole) for each in fields["overall"]),
        )
    )


TEMPLATE = "single_call/judge"

# Longest entries, in tokens: with an id, a sentence or two, and the verdict.
TOKENS_PER_RATING = 128
TOKENS_PER_SCORE = 256
TOKENS_AROUND = 256


def can_join(part: Part) -> bool:
    """Return whether the criteria of `part` can be asked beside those of others."""
    return joins(part.method, part.settings)


def joins(method: str, settings: Mapping[str, Any]) -> bool:
    """Return whether criteria of a method, with these settings, can be asked beside those of others.

    Hypotheses can unless they get one score together; questions, of texts that are judged whole; scores of the whole
    aspect, where one answer is asked for. What cannot: answers and scores without a reason, since every entry of the
    reply has one; weighted scores, whose probabilities need a reply of their own; explanations that follow evaluation
    steps, as turns of a conversation; `few_shot`, which shows other texts; `analyze_rate`, which is a long analysis
    before one score; methods that take texts apart (`seal`, `dcr`); and measures, which need no judge.
    """
    return METHODS[method].shares_call(settings)


def judge_prompt(
    example: Example, parts: Sequence[Part], assignment: Assignment, *, reasons: bool = True
) -> Prompt[KeyedReply]:
    """Return the prompt about all criteria of `parts`, all of which can join.

    Args:
        reasons: whether each score is to have a reason.

    Raises:
        ValueError: if an id names two criteria.
    """
    fields = {
        **assignment.assessable_fields(),
        **assignment.text_fields(example),
        **shown_criteria(parts),
        "score_only": not reasons,
    }
    criteria = [criterion for part in parts for criterion in part.criteria]
    return Prompt(TEMPLATE, fields, judgments_form(fields, reasons=reasons), max_tokens=_longest(criteria))


def divided(parts: Sequence[Part], most: int | None) -> list[list[Part]]:
    """Return the parts with their criteria in as few runs of at most `most` as possible; all in one by default."""
    every = [(place, criterion) for place, part in enumerate(parts) for criterion in part.criteria]
    runs = chunks(every, most or max(1, len(every)))
    return [
        [
            parts[place].model_copy(update={"criteria": tuple(criterion for _, criterion in own), "dropped": ()})
            for place, own in itertools.groupby(run, key=lambda each: each[0])
        ]
        for run in runs
    ]


def shown_criteria(parts: Sequence[Part]) -> dict[str, list[dict[str, Any]]]:
    """Return what a prompt shows of the criteria of `parts`, all of which can join.

    Raises:
        ValueError: if an id names two criteria.
    """
    criteria = [criterion for part in parts for criterion in part.criteria]
    twice = [name for name, count in Counter(criterion.id for criterion in criteria).items() if count > 1]
    if twice:
        raise ValueError(f"criteria asked about in one call need ids of their own; twice: {', '.join(twice)}")
    return {
        "criteria": [criterion_payload(each) for each in by_id(criteria) if each.kind == "hypothesis"],
        "sub_dimensions": [sub for part in parts for sub in _sub_dimensions(part)],
        "overall": [_overall(part.method, each) for part in parts for each in part.criteria if each.kind == "score"],
    }


def _longest(criteria: Sequence[Criterion]) -> int:
    each = {"hypothesis": TOKENS_PER_RATING, "question": TOKENS_PER_ANSWER, "score": TOKENS_PER_SCORE}
    return TOKENS_AROUND + sum(each[criterion.kind] for criterion in criteria)


def _sub_dimensions(part: Part) -> list[dict[str, Any]]:
    groups = by_trait([each for each in part.criteria if each.kind == "question"])
    definitions = part.dimensions or {}
    return [
        {"name": name, "definition": definitions.get(name, ""), "questions": [payload(each) for each in questions]}
        for name, questions in groups.items()
    ]


def _overall(method: str, criterion: Criterion) -> dict[str, Any]:
    by = METHODS[method].states
    return {"id": criterion.id, "by": by, "text": "" if by == "definition" else criterion.statement}
