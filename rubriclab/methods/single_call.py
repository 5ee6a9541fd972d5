"""Rating a text by the criteria of several methods in one call, or several texts of one group (rivals) in one call.

A rubric has a part for each method. The parts that cannot share a call are rated as their own methods do it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rubriclab.judges.judge import Judge, JudgeAnswer, ask
from rubriclab.judges.providers import estimated_tokens
from rubriclab.methods import prompting
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.checkeval.score import TOKENS_PER_ANSWER, AnswerEntry, rate_question, sub_dimension_fields
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.questions import ReadableAnswer
from rubriclab.models.aggregation import CallForm, RivalLimits
from rubriclab.models.rubric import Criterion, Part, criterion_prompt_fields, in_prompt_order
from rubriclab.models.text import Assignment, Example, text_digest
from rubriclab.prompts import render
from rubriclab.prompts.prompt import ExpectedEntry, KeyedReply, Prompt, keyed_reply
from rubriclab.prompts.render import Message


def reply_form(fields: Mapping[str, Any], *, with_reasons: bool = True) -> type[KeyedReply]:
    """Return the reply model with an entry for each criterion that a prompt's `fields` show."""
    score: Any = prompting.score_entry(fields) if with_reasons else prompting.bare_score(fields)
    answer: Any = AnswerEntry if with_reasons else ReadableAnswer
    questions = [question for sub in fields["sub_dimensions"] for question in sub["questions"]]
    # A judge may call the only score of the whole text by another name.
    names_of_whole = ("whole", "overall", fields["aspect"]["name"]) if len(fields["overall"]) == 1 else ()
    expected = [ExpectedEntry(each["id"], score, "criterion", (each["trait"],)) for each in fields["criteria"]]
    expected += [ExpectedEntry(each["id"], answer, "question", (each["text"],)) for each in questions]
    expected += [ExpectedEntry(each["id"], score, "whole", names_of_whole) for each in fields["overall"]]
    return keyed_reply(tuple(expected))


TEMPLATE = "single_call/judge"
# Limits of a reply in tokens: for each rating by a hypothesis, for each score of the whole aspect, and for the rest.
TOKENS_PER_RATING = 128
TOKENS_PER_SCORE = 256
TOKENS_BESIDE_RATINGS = 256


def can_share_call(part: Part) -> bool:
    """Return whether the criteria of a part can be rated in one call with criteria of other parts."""
    return METHODS[part.method].shares_call(part.settings)


def judge_prompt(
    example: Example, parts: Sequence[Part], assignment: Assignment, *, with_reasons: bool = True
) -> Prompt[KeyedReply]:
    criteria = [criterion for part in parts for criterion in part.criteria]
    fields = {
        **assignment.fields_with_abstention(),
        **assignment.text_fields(example, with_source=any(each.needs_source for each in criteria)),
        **criteria_fields(parts),
        "score_only": not with_reasons,
    }
    tokens = {"hypothesis": TOKENS_PER_RATING, "question": TOKENS_PER_ANSWER, "score": TOKENS_PER_SCORE}
    max_tokens = TOKENS_BESIDE_RATINGS + sum(tokens[criterion.kind] for criterion in criteria)
    return Prompt(TEMPLATE, fields, reply_form(fields, with_reasons=with_reasons), max_tokens=max_tokens)


def split_criteria(parts: Sequence[Part], max_criteria: int | None) -> list[list[Part]]:
    """Divide the criteria among calls, at most `max_criteria` (if given) in each. Return the parts of each call."""
    indexed_criteria = [(part_index, each) for part_index, part in enumerate(parts) for each in part.criteria]
    calls = []
    for call_criteria in prompting.chunks(indexed_criteria, max_criteria or len(indexed_criteria)):
        call_parts = []
        for index in dict.fromkeys(part_index for part_index, _ in call_criteria):
            criteria = tuple(criterion for part_index, criterion in call_criteria if part_index == index)
            call_parts.append(parts[index].model_copy(update={"criteria": criteria, "dropped": ()}))
        calls.append(call_parts)
    return calls


def criteria_fields(parts: Sequence[Part]) -> dict[str, list[dict[str, Any]]]:
    """Return the fields of a prompt that show the criteria."""
    hypotheses = [each for part in parts for each in part.criteria if each.kind == "hypothesis"]
    sub_dimensions: list[dict[str, Any]] = []
    overall: list[dict[str, Any]] = []
    for part in parts:
        questions = [each for each in part.criteria if each.kind == "question"]
        sub_dimensions += sub_dimension_fields(questions, part.dimensions or {})
        statement_kind = METHODS[part.method].statement_kind
        for criterion in part.criteria:
            if criterion.kind == "score":
                # A definition is not repeated: the prompt always shows the definition of the aspect.
                text = "" if statement_kind == "definition" else criterion.statement
                overall.append({"id": criterion.id, "by": statement_kind, "text": text})
    criteria = [criterion_prompt_fields(each) for each in in_prompt_order(hypotheses)]
    return {"criteria": criteria, "sub_dimensions": sub_dimensions, "overall": overall}


async def judge_all(
    example: Example, parts: Sequence[Part], assignment: Assignment, judge: Judge, call_form: CallForm | None = None
) -> tuple[CriterionRating, ...]:
    """Return the text's ratings by the criteria of `parts`, in their order.

    The parts that share a call are rated in one call, or in several if `call_form` limits the number of criteria.
    """
    shared_parts = [part for part in parts if can_share_call(part)]
    calls = split_criteria(shared_parts, call_form.criteria if call_form else None)
    with_reasons = call_form.reasons if call_form else True
    prompts = [judge_prompt(example, call_parts, assignment, with_reasons=with_reasons) for call_parts in calls]
    answers, separate_ratings = await asyncio.gather(
        asyncio.gather(*(ask(judge, prompt) for prompt in prompts)), _rate_separately(example, parts, assignment, judge)
    )
    joint_ratings: dict[str, CriterionRating] = {}
    for call_parts, prompt, answer in zip(calls, prompts, answers, strict=True):
        joint_ratings |= _complete_ratings(call_parts, answer.value, prompt, answer, "entry for the criterion")
    return _in_order_of_parts(parts, joint_ratings, separate_ratings)


async def _rate_separately(
    example: Example, parts: Sequence[Part], assignment: Assignment, judge: Judge
) -> list[tuple[CriterionRating, ...]]:
    separate_parts = (part for part in parts if not can_share_call(part))
    requests = (METHODS[part.method].score(example, part, assignment, judge) for part in separate_parts)
    return [ratings for _, ratings in await prompting.gather(requests)]


def _in_order_of_parts(
    parts: Sequence[Part], joint: Mapping[str, CriterionRating], separate: Iterable[tuple[CriterionRating, ...]]
) -> tuple[CriterionRating, ...]:
    ratings: list[CriterionRating] = []
    remaining = iter(separate)
    for part in parts:
        ratings += [joint[criterion.id] for criterion in part.criteria] if can_share_call(part) else next(remaining)
    return tuple(ratings)


def _complete_ratings(
    parts: Sequence[Part], reply: KeyedReply | None, prompt: Prompt[Any], answer: JudgeAnswer[Any], missing_part: str
) -> dict[str, CriterionRating]:
    """Return a rating for each criterion: by its entry in `reply`, or else missing, with the reason from `answer`."""
    criteria = {criterion.id: criterion for part in parts for criterion in part.criteria}
    usable = usable_ratings(reply, criteria) if reply else {}
    missing_reason = prompting.why_missing(prompt, answer, missing_part) if len(usable) < len(criteria) else ""
    return {id_: usable.get(id_, CriterionRating(id_, None, missing_reason)) for id_ in criteria}


def usable_ratings(reply: KeyedReply, criteria: Mapping[str, Criterion]) -> dict[str, CriterionRating]:
    ratings = {}
    for id_, entry in reply.entries.items():
        if criteria[id_].kind == "question":
            ratings[id_] = rate_question(criteria[id_], entry)
        else:
            score, reason = (entry.score, entry.reason) if isinstance(entry, prompting.ScoreEntry) else (entry, "")
            ratings[id_] = prompting.rating_of_score(id_, score, reason)
    return ratings


GROUP_TEMPLATE = "single_call/judge_rivals"
# Limit of a call about several texts, in tokens of the prompt and the reply together.
MAX_TOKENS = 20_000
# Limits of the reply to this call, in tokens: for each rating, for each text besides its ratings, and for the rest.
TOKENS_PER_GROUP_RATING = 80
TOKENS_PER_TEXT = 32
TOKENS_BESIDE_TEXTS = 128


def split_texts(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, limits: RivalLimits
) -> list[list[int]]:
    """Return for each call the indices of its texts in `examples`, in the order in which the call shows them.

    Only texts with the same group, source and context share a call. If these are too many or too long for one call,
    they are divided evenly among several.
    """
    shared_parts = [part for part in parts if can_share_call(part)]
    calls: list[list[int]] = []
    groups: dict[tuple[str | None, ...], list[int]] = {}
    for index, example in enumerate(examples):
        groups.setdefault(shared_input(example), []).append(index)
    for group in groups.values():
        indices = sorted(group, key=lambda index: text_digest(examples[index]))
        # Largest numbers of tokens, in the prompt and the reply: for each text, and for the rest of the call.
        text_tokens = dict.fromkeys(indices, 0)
        other_tokens = 0
        if shared_parts:
            for index in indices:
                message = Message(role="user", content=examples[index].output)
                text_tokens[index] = estimated_tokens([message]) + _max_tokens_per_text(shared_parts)
            first_prompt = group_prompt([examples[indices[0]]], shared_parts, assignment)
            other_tokens = estimated_tokens(render(first_prompt)) + first_prompt.max_tokens - text_tokens[indices[0]]
        for max_texts in range(min(limits.texts, len(indices)), 0, -1):
            runs = prompting.chunks(indices, max_texts)
            tokens_of_runs = [other_tokens + sum(text_tokens[index] for index in run) for run in runs]
            if max_texts == 1 or max(tokens_of_runs) <= MAX_TOKENS:
                calls += map(list, runs)
                break
    return calls


async def judge_group(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, judge: Judge
) -> list[tuple[CriterionRating, ...]]:
    """Return for each text its ratings by the criteria of `parts`, in their order.

    The parts that share a call are rated in one call about all texts, which have the same group, source and context. A
    text without an entry in the reply, or with several, has no ratings by these parts.
    """
    shared_parts = [part for part in parts if can_share_call(part)]
    requests = asyncio.gather(*(_rate_separately(example, parts, assignment, judge) for example in examples))
    if not shared_parts:
        return [_in_order_of_parts(parts, {}, separate) for separate in await requests]
    prompt = group_prompt(examples, shared_parts, assignment)
    answer, separate_ratings = await asyncio.gather(ask(judge, prompt), requests)
    ratings = []
    for number, separate in enumerate(separate_ratings, 1):
        entry = answer.value.entries.get(f"text {number}") if answer.value else None
        joint = _complete_ratings(shared_parts, entry, prompt, answer, f"entry for text {number} of its call")
        ratings.append(_in_order_of_parts(parts, joint, separate))
    return ratings


def group_prompt(examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment) -> Prompt[KeyedReply]:
    with_source = any(each.needs_source for part in parts for each in part.criteria)
    first_text = assignment.text_fields(examples[0], with_source=with_source)
    fields = {
        **assignment.fields_with_abstention(),
        "source": first_text["source"],
        "context": first_text["context"],
        **criteria_fields(parts),
        "texts": [{"number": number, "output": example.output} for number, example in enumerate(examples, 1)],
    }
    # The entry for a text has the form of the whole reply about a single text.
    reply_model = prompting.numbered_reply("text", range(1, len(examples) + 1), reply_form(fields))
    max_tokens = TOKENS_BESIDE_TEXTS + len(examples) * _max_tokens_per_text(parts)
    return Prompt(GROUP_TEMPLATE, fields, reply_model, max_tokens=max_tokens)


def shared_input(example: Example) -> tuple[str | None, ...]:
    """Return what the texts of one call have in common."""
    return example.group, example.source, example.context


def _max_tokens_per_text(parts: Sequence[Part]) -> int:
    kinds = [criterion.kind for part in parts for criterion in part.criteria]
    n_questions = kinds.count("question")
    return TOKENS_PER_TEXT + TOKENS_PER_ANSWER * n_questions + TOKENS_PER_GROUP_RATING * (len(kinds) - n_questions)
