"""The one prompt about all criteria: which parts of a rubric it can ask, what it shows of them, and its reply.

The reply has one list for each kind of criterion, with reasons before verdicts. Every entry has the `id` of its
criterion; the ids of each list are checked against the prompt's fields, which the parser passes as validation context.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ValidationInfo, create_model, model_validator

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.checkeval.answer import TOKENS_PER_ANSWER
from rubriclab.methods.checkeval.replies import Readable, asked_ids
from rubriclab.methods.questions import by_trait, payload
from rubriclab.methods.replies import OnScale, bare_id, is_salvage, keep_usable
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Part, by_id, criterion_payload


def ids_asked(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the ids that a prompt's fields show, in order, for each list of the reply."""
    return {
        "ratings": [criterion["id"] for criterion in fields["criteria"]],
        "answers": asked_ids(fields),
        "whole": [score["id"] for score in fields["overall"]],
    }


def _bare(value: Any, info: ValidationInfo) -> Any:
    return bare_id(value, [name for ids in ids_asked(info.context).values() for name in ids]) if info.context else value


class HolisticScore(BaseModel):
    """A score with its reason."""

    id: Annotated[str, BeforeValidator(_bare)]
    reason: str
    score: OnScale


class CriterionAnswer(BaseModel):
    """An answer with its reason."""

    id: Annotated[str, BeforeValidator(_bare)]
    reason: str
    answer: Readable


def _id_of(item: Mapping[str, Any], info: ValidationInfo) -> str | None:
    name = _bare(item.get("id"), info)
    return name if isinstance(name, str) else None


_ENTRIES: Mapping[str, type[HolisticScore | CriterionAnswer]] = {
    "ratings": HolisticScore,
    "answers": CriterionAnswer,
    "whole": HolisticScore,
}


class Judgments(BaseModel):
    """One entry for each id, in the order given."""

    def entries(self) -> Iterator[HolisticScore | CriterionAnswer]:
        """Yield the entries of all lists."""
        for name in self._lists():
            yield from getattr(self, name)

    @classmethod
    def _lists(cls) -> list[str]:
        return [name for name in cls.model_fields if name in _ENTRIES]

    @model_validator(mode="before")
    @classmethod
    def _complete_lists(cls, raw: Any, info: ValidationInfo) -> Any:
        """Return the raw reply; a list that is missing spoils no other one in salvage mode."""
        return {**dict.fromkeys(cls._lists(), ()), **raw} if is_salvage(info) and isinstance(raw, dict) else raw

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if is_salvage(info):
            if not any(self.entries()):
                raise ValueError("no entry is usable")
            return self
        asked = ids_asked(info.context) if info.context else {}
        wrong = []
        for name in self._lists():
            expected, got = asked.get(name, []), [entry.id for entry in getattr(self, name)]
            if info.context and sorted(got) != sorted(expected):
                wrong.append(f"`{name}` needs one entry each for {_listed(expected)}; got {_listed(got)}")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


def judgments_form(fields: Mapping[str, Any]) -> type[Judgments]:
    """Return the reply model with exactly the lists for which the prompt's fields show criteria."""
    return _form(tuple(name for name, ids in ids_asked(fields).items() if ids))


@functools.cache
def _form(names: tuple[str, ...]) -> type[Judgments]:
    lists: dict[str, Any] = {name: (_list_of(name), ...) for name in names}
    return create_model("Judgments", __base__=Judgments, __doc__=Judgments.__doc__, **lists)


def _list_of(name: str) -> Any:
    usable = keep_usable(lambda fields: ids_asked(fields)[name], _id_of, reasons=("reason",), may_be_empty=True)
    return Annotated[list[_ENTRIES[name]], usable]  # type: ignore[valid-type]


def _listed(ids: list[str]) -> str:
    return ", ".join(ids) or "none"


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


def judge_prompt(example: Example, parts: Sequence[Part], assignment: Assignment) -> Prompt[Judgments]:
    """Return the prompt about all criteria of `parts`, all of which can join.

    Raises:
        ValueError: if an id names two criteria.
    """
    fields = {**assignment.fields(), **assignment.text_fields(example), **shown_criteria(parts)}
    criteria = [criterion for part in parts for criterion in part.criteria]
    return Prompt(TEMPLATE, fields, judgments_form(fields), max_tokens=_longest(criteria))


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
