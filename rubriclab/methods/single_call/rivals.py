"""Several texts of one group rated in one call, by the criteria of a single call for each text.

The texts stand in an order drawn from the group and the texts, so that it is the same whenever the same texts are asked
about, whatever the order of the input.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rubriclab.judges.ask import JudgeAnswer, ask
from rubriclab.judges.judge import Judge
from rubriclab.judges.price import estimated_tokens
from rubriclab.methods.checkeval.answer import TOKENS_PER_ANSWER
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.prompting import chunks
from rubriclab.methods.replies import why_missing
from rubriclab.methods.single_call.judge import alone, in_order, ratings_in
from rubriclab.methods.single_call.prompt import can_join, judgments_form, shown_criteria
from rubriclab.models.aggregation import RivalLimits
from rubriclab.models.base import digest
from rubriclab.models.rubric import Part
from rubriclab.models.text import Assignment, Example, text_digest
from rubriclab.prompts import Message, Prompt, render
from rubriclab.prompts.keyed import AskedEntry, KeyedReply, keyed_reply

RIVALS_TEMPLATE = "single_call/judge_rivals"

# The most tokens of a call, prompt and longest reply together.
MOST_TOKENS = 20_000
# Longest entries, in tokens; reasons are shorter than where a text is judged by itself.
TOKENS_PER_ITEM = 80
TOKENS_PER_TEXT = 32
TOKENS_AROUND_GROUP = 128


def rival_calls(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, limits: RivalLimits
) -> list[list[int]]:
    """Return the places in `examples` of the texts of each call, in the order in which the call shows them.

    Only texts with the same group, source and context share a call. Groups beyond the limits are divided into calls of
    about the same number of texts; a text that is too long for `MOST_TOKENS` by itself gets its own call.
    """
    calls = list[list[int]]()
    for places in _by_input(examples).values():
        shown = sorted(places, key=lambda place: _shuffled(examples[place]))
        calls += _within([examples[place] for place in shown], shown, parts, assignment, limits)
    return calls


async def judge_rivals(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, judge: Judge
) -> list[tuple[CriterionRating, ...]]:
    """Return for each text its ratings by the criteria of `parts`, in their order, from one call about all texts.

    The texts are shown in the order given. Criteria that cannot share a call are rated text by text.

    A reply that cannot be used is asked for once more; after that the entries that can be used count. A text without
    an entry, or with several, has no ratings, with the reason; the other texts keep theirs.

    Raises:
        ValueError: if the texts are not of one group, source and context, or an id names two criteria.
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    together, rest = await asyncio.gather(
        _rate_group(examples, [part for part in parts if can_join(part)], assignment, judge),
        asyncio.gather(*(alone(example, parts, assignment, judge) for example in examples)),
    )
    return [in_order(parts, joint, others) for joint, others in zip(together, rest, strict=True)]


def rivals_prompt(examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment) -> Prompt[KeyedReply]:
    """Return the prompt about texts of one group by all criteria of `parts`, all of which can join.

    Raises:
        ValueError: if the texts are not of one group, source and context, or an id names two criteria.
    """
    if len(_by_input(examples)) > 1:
        raise ValueError("texts rated in one call belong to one group and have the same source and context")
    shown = assignment.text_fields(examples[0])
    fields = {
        **assignment.assessable_fields(),
        "source": shown["source"],
        "context": shown["context"],
        **shown_criteria(parts),
        "texts": [{"number": number, "output": example.output} for number, example in enumerate(examples, 1)],
    }
    longest = TOKENS_AROUND_GROUP + len(examples) * _longest_entry(parts)
    return Prompt(RIVALS_TEMPLATE, fields, rivals_form(fields), max_tokens=longest)


async def _rate_group(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, judge: Judge
) -> list[Mapping[str, CriterionRating]]:
    if not parts:
        return [{} for _ in examples]
    prompt = rivals_prompt(examples, parts, assignment)
    answer = await ask(judge, prompt)
    criteria = {criterion.id: criterion for part in parts for criterion in part.criteria}
    entries = answer.value.entries if answer.value else {}
    given = {name: ratings_in(judgments, criteria) for name, judgments in entries.items()}
    found = [given.get(f"text {number}", {}) for number in range(1, len(examples) + 1)]
    if all(len(ratings) == len(criteria) for ratings in found):
        return list(found)
    return [_completed(ratings, criteria, prompt, answer, number) for number, ratings in enumerate(found, 1)]


def _completed(
    ratings: Mapping[str, CriterionRating],
    criteria: Iterable[str],
    prompt: Prompt[KeyedReply],
    answer: JudgeAnswer[KeyedReply],
    number: int,
) -> dict[str, CriterionRating]:
    """Return a text's rating by each criterion; where there is none, the reason."""
    missing = why_missing(prompt, answer, f"entry for text {number} of its call")
    return {name: ratings.get(name, CriterionRating(name, None, missing)) for name in criteria}


def _by_input(examples: Sequence[Example]) -> dict[tuple[str | None, ...], list[int]]:
    groups: dict[tuple[str | None, ...], list[int]] = {}
    for place, example in enumerate(examples):
        groups.setdefault(rivals_key(example), []).append(place)
    return groups


def rivals_key(example: Example) -> tuple[str | None, ...]:
    """Return what is the same for all texts that may share a call."""
    return example.group, example.source, example.context


def _shuffled(example: Example) -> str:
    """Return a sort key that puts the texts of a group in an order drawn from their content and the group's name."""
    return digest(["rivals", example.group, text_digest(example)])


def _within(
    examples: Sequence[Example],
    places: Sequence[int],
    parts: Sequence[Part],
    assignment: Assignment,
    limits: RivalLimits,
) -> Iterator[list[int]]:
    """Yield the places of one group's texts in as few calls within the limits as possible."""
    joined = [part for part in parts if can_join(part)]
    around, by_text = _sizes(examples, joined, assignment) if joined else (0, [0] * len(examples))
    size_of = dict(zip(places, by_text, strict=True))
    for most in range(min(limits.texts, len(places)), 0, -1):
        runs = chunks(places, most)
        if most == 1 or all(around + sum(size_of[place] for place in run) <= MOST_TOKENS for run in runs):
            yield from map(list, runs)
            return


def _sizes(examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment) -> tuple[int, list[int]]:
    """Return upper estimates of the tokens of a call without its texts, and of what each text adds to it."""
    prompt = rivals_prompt(examples[:1], parts, assignment)
    first = estimated_tokens(render(prompt)) + prompt.max_tokens
    own = [estimated_tokens([Message(role="user", content=example.output)]) + _longest_entry(parts) for example in examples]
    return first - own[0], own


def _longest_entry(parts: Sequence[Part]) -> int:
    kinds = [criterion.kind for part in parts for criterion in part.criteria]
    return TOKENS_PER_TEXT + sum(TOKENS_PER_ANSWER if kind == "question" else TOKENS_PER_ITEM for kind in kinds)


def rivals_form(fields: Mapping[str, Any]) -> type[KeyedReply]:
    """Return the reply model for the texts that a prompt's fields show: the entries of a single text for each."""
    judgments = judgments_form(fields)
    texts = (AskedEntry(f"text {each['number']}", judgments, names=(str(each["number"]),)) for each in fields["texts"])
    return keyed_reply(tuple(texts), of_text=True)
