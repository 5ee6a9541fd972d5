"""One call about all criteria of several methods: for one text, or for several texts of one group."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.judges.judge import Judge, JudgeAnswer, ask
from rubriclab.judges.providers import estimated_tokens
from rubriclab.methods import prompting
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.checkeval.score import TOKENS_PER_ANSWER, AnswerEntry, rate_question, sub_dimension_fields
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.questions import ReadableAnswer
from rubriclab.models.aggregation import CallForm, RivalLimits
from rubriclab.models.rubric import Criterion, Part, criterion_payload, in_prompt_order
from rubriclab.models.text import Assignment, Example, text_digest
from rubriclab.prompts import render
from rubriclab.prompts.prompt import ExpectedEntry, KeyedReply, Prompt, keyed_reply
from rubriclab.prompts.render import Message


def judgments_form(fields: Mapping[str, Any], *, reasons: bool = True) -> type[KeyedReply]:
    score: Any = prompting.score_entry(fields) if reasons else prompting.bare_score(fields)
    answer: Any = AnswerEntry if reasons else ReadableAnswer
    questions = [question for sub in fields["sub_dimensions"] for question in sub["questions"]]
    # A judge may call the only score of the whole text by another name.
    whole = ("whole", "overall", fields["aspect"]["name"]) if len(fields["overall"]) == 1 else ()
    expected = [ExpectedEntry(each["id"], score, "criterion", (each["trait"],)) for each in fields["criteria"]]
    expected += [ExpectedEntry(each["id"], answer, "question", (each["text"],)) for each in questions]
    expected += [ExpectedEntry(each["id"], score, "whole", whole) for each in fields["overall"]]
    return keyed_reply(tuple(expected))


TEMPLATE = "single_call/judge"
# Longest entries, in tokens: with an id, a sentence or two, and the verdict.
TOKENS_PER_RATING = 128
TOKENS_PER_SCORE = 256
TOKENS_AROUND = 256


def can_join(part: Part) -> bool:
    """Return whether a part's criteria can be rated in one call with those of other methods.

    These can: hypotheses, unless they get one score together; questions about whole texts; and scores of the whole
    aspect with one reasoned answer. These cannot: entries without a reason; weighted scores; explanations that follow
    evaluation steps; text features; and criteria of `few_shot`, `analyze_rate`, `seal` and `dcr`.
    """
    return METHODS[part.method].shares_call(part.settings)


def judge_prompt(
    example: Example, parts: Sequence[Part], assignment: Assignment, *, reasons: bool = True
) -> Prompt[KeyedReply]:
    criteria = [criterion for part in parts for criterion in part.criteria]
    fields = {
        **assignment.assessable_fields(),
        **assignment.text_fields(example, with_source=any(each.needs_source for each in criteria)),
        **shown_criteria(parts),
        "score_only": not reasons,
    }
    tokens = {"hypothesis": TOKENS_PER_RATING, "question": TOKENS_PER_ANSWER, "score": TOKENS_PER_SCORE}
    longest = TOKENS_AROUND + sum(tokens[criterion.kind] for criterion in criteria)
    return Prompt(TEMPLATE, fields, judgments_form(fields, reasons=reasons), max_tokens=longest)


def divide_criteria(parts: Sequence[Part], max_criteria: int | None) -> list[list[Part]]:
    """Return as few runs of parts as possible, with at most `max_criteria` criteria in each; `None` sets no limit."""
    criteria = [(index, criterion) for index, part in enumerate(parts) for criterion in part.criteria]
    runs = prompting.chunks(criteria, max_criteria or max(1, len(criteria)))
    return [
        [
            parts[index].model_copy(update={"criteria": tuple(criterion for _, criterion in own), "dropped": ()})
            for index, own in itertools.groupby(run, key=lambda each: each[0])
        ]
        for run in runs
    ]


def shown_criteria(parts: Sequence[Part]) -> dict[str, list[dict[str, Any]]]:
    """Return what a prompt shows of the criteria, whose ids are unique."""
    hypotheses: list[Criterion] = []
    sub_dimensions, overall = [], []
    for part in parts:
        hypotheses += (each for each in part.criteria if each.kind == "hypothesis")
        questions = [each for each in part.criteria if each.kind == "question"]
        sub_dimensions += sub_dimension_fields(questions, part.dimensions or {})
        stated = METHODS[part.method].states
        for criterion in part.criteria:
            if criterion.kind == "score":
                text = "" if stated == "definition" else criterion.statement
                overall.append({"id": criterion.id, "by": stated, "text": text})
    criteria = [criterion_payload(each) for each in in_prompt_order(hypotheses)]
    return {"criteria": criteria, "sub_dimensions": sub_dimensions, "overall": overall}


async def judge_all(
    example: Example, parts: Sequence[Part], assignment: Assignment, judge: Judge, form: CallForm | None = None
) -> tuple[CriterionRating, ...]:
    """Return the text's ratings by the criteria of `parts`, in their order, as the methods' own scoring would.

    All parts that `can_join` are rated in one call, or in several if the `form` says so; other parts are scored by
    their methods.
    """
    max_criteria, reasons = (form.criteria, form.reasons) if form else (None, True)
    calls = divide_criteria([part for part in parts if can_join(part)], max_criteria)
    prompts = [judge_prompt(example, call_parts, assignment, reasons=reasons) for call_parts in calls]
    answers, alone = await asyncio.gather(
        asyncio.gather(*(ask(judge, prompt) for prompt in prompts)), _rate_alone(example, parts, assignment, judge)
    )
    together = dict[str, CriterionRating]()
    for call_parts, prompt, answer in zip(calls, prompts, answers, strict=True):
        together |= _all_ratings(call_parts, answer.value, prompt, answer, "entry for it")
    return _in_order(parts, together, alone)


async def _rate_alone(
    example: Example, parts: Sequence[Part], assignment: Assignment, judge: Judge
) -> list[tuple[CriterionRating, ...]]:
    scored = (METHODS[part.method].score(example, part, assignment, judge) for part in parts if not can_join(part))
    return [ratings for _, ratings in await prompting.gather_in_order(scored)]


def _in_order(
    parts: Sequence[Part], together: Mapping[str, CriterionRating], alone: Sequence[tuple[CriterionRating, ...]]
) -> tuple[CriterionRating, ...]:
    ratings: list[CriterionRating] = []
    remaining = list(alone)
    for part in parts:
        ratings += [together[each.id] for each in part.criteria] if can_join(part) else remaining.pop(0)
    return tuple(ratings)


def _all_ratings(
    parts: Sequence[Part], judgments: KeyedReply | None, prompt: Prompt[Any], answer: JudgeAnswer[Any], noun: str
) -> dict[str, CriterionRating]:
    criteria = {criterion.id: criterion for part in parts for criterion in part.criteria}
    usable = ratings_in(judgments, criteria) if judgments else {}
    missing = prompting.why_missing(prompt, answer, noun) if len(usable) < len(criteria) else ""
    return {name: usable.get(name, CriterionRating(name, None, missing)) for name in criteria}


def ratings_in(judgments: KeyedReply, criteria: Mapping[str, Criterion]) -> dict[str, CriterionRating]:
    ratings = {}
    for name, each in judgments.entries.items():
        if criteria[name].kind == "question":
            ratings[name] = rate_question(criteria[name], each)
        elif isinstance(each, prompting.ScoreEntry):
            ratings[name] = prompting.rating(name, each.score, each.reason)
        else:
            ratings[name] = prompting.rating(name, each, "")
    return ratings


GROUP_TEMPLATE = "single_call/judge_rivals"
# The most tokens of a call, prompt and longest reply together.
MAX_TOKENS = 20_000
# Longest entries, in tokens; reasons are shorter than if a text is judged alone.
TOKENS_PER_ITEM = 80
TOKENS_PER_TEXT = 32
TOKENS_AROUND_GROUP = 128


def group_calls(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, limits: RivalLimits
) -> list[list[int]]:
    """Return the indices in `examples` of each call's texts, in the order in which the call shows them.

    Only texts with the same group, source and context share a call. Groups beyond the limits are divided evenly; a text
    that is too long for `MAX_TOKENS` by itself gets its own call.
    """
    joinable = [part for part in parts if can_join(part)]
    calls, groups = list[list[int]](), dict[tuple[str | None, ...], list[int]]()
    for index, example in enumerate(examples):
        groups.setdefault(shared_input(example), []).append(index)
    for group in groups.values():
        indices = sorted(group, key=lambda index: text_digest(examples[index]))
        # Upper estimates of the tokens of a call without its texts, and of what each text adds to it.
        around, sizes = 0, dict.fromkeys(indices, 0)
        if joinable:
            first, longest = judge_group_prompt([examples[indices[0]]], joinable, assignment), _longest_entry(joinable)
            for index in indices:
                content = Message(role="user", content=examples[index].output)
                sizes[index] = estimated_tokens([content]) + longest
            around = estimated_tokens(render(first)) + first.max_tokens - sizes[indices[0]]
        for most in range(min(limits.texts, len(indices)), 0, -1):
            runs = prompting.chunks(indices, most)
            if most == 1 or all(around + sum(sizes[index] for index in run) <= MAX_TOKENS for run in runs):
                calls += map(list, runs)
                break
    return calls


async def judge_group(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, judge: Judge
) -> list[tuple[CriterionRating, ...]]:
    """Return for each text its ratings by the criteria of `parts`, in their order, from one call about all texts.

    Criteria that cannot share a call are rated text by text. A text without an entry in the reply, or with several, has
    no ratings. All texts have the same group, source and context.
    """
    joinable = [part for part in parts if can_join(part)]

    async def rate_together() -> list[dict[str, CriterionRating]]:
        if not joinable:
            return [{} for _ in examples]
        prompt = judge_group_prompt(examples, joinable, assignment)
        answer = await ask(judge, prompt)
        entries = answer.value.entries if answer.value else {}
        ratings = []
        for number in range(1, len(examples) + 1):
            noun = f"entry for text {number} of its call"
            ratings.append(_all_ratings(joinable, entries.get(f"text {number}"), prompt, answer, noun))
        return ratings

    together, alone = await asyncio.gather(
        rate_together(), asyncio.gather(*(_rate_alone(example, parts, assignment, judge) for example in examples))
    )
    return [_in_order(parts, *ratings) for ratings in zip(together, alone, strict=True)]


def judge_group_prompt(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment
) -> Prompt[KeyedReply]:
    with_source = any(each.needs_source for part in parts for each in part.criteria)
    shown = assignment.text_fields(examples[0], with_source=with_source)
    fields = {
        **assignment.assessable_fields(),
        "source": shown["source"],
        "context": shown["context"],
        **shown_criteria(parts),
        "texts": [{"number": number, "output": example.output} for number, example in enumerate(examples, 1)],
    }
    judgments = judgments_form(fields)  # each text has the entries that it would have alone
    numbers = map(str, range(1, len(examples) + 1))
    expected = tuple(ExpectedEntry(f"text {number}", judgments, names=(number,)) for number in numbers)
    form = keyed_reply(expected, after_text=True)
    longest = TOKENS_AROUND_GROUP + len(examples) * _longest_entry(parts)
    return Prompt(GROUP_TEMPLATE, fields, form, max_tokens=longest)


def shared_input(example: Example) -> tuple[str | None, ...]:
    return example.group, example.source, example.context


def _longest_entry(parts: Sequence[Part]) -> int:
    kinds = [criterion.kind for part in parts for criterion in part.criteria]
    return TOKENS_PER_TEXT + sum(TOKENS_PER_ANSWER if kind == "question" else TOKENS_PER_ITEM for kind in kinds)
