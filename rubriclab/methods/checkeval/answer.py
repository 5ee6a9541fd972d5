"""A judge's answers to a rubric's questions about one text (CheckEval, section 3.3).

Long texts can be judged in parts, since one yes or no may not suit a text of mixed quality. The paper names this as its
third limitation.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.replies import (
    BareAnswers,
    ChecklistAnswers,
    asked_ids,
)
from rubriclab.methods.checkeval.settings import AnswerForm, Ask, CheckEvalScoringSettings
from rubriclab.methods.gathering import gathered
from rubriclab.methods.questions import by_trait, payload
from rubriclab.methods.replies import why_missing
from rubriclab.methods.yes_no import YesNo
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion
from rubriclab.sentences import sentence_spans

# Chinese and Japanese have no spaces between words: each character counts as a word, with the punctuation around it.
_CHARACTER = r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OPENING = r"「『（〈《【〔“‘(\["
_WORD = re.compile(rf"[{_OPENING}]*[{_CHARACTER}][^\s\w{_OPENING}]*|[^\s{_CHARACTER}]+")
_BLANK_LINE = re.compile(r"\n\s*\n")

# The largest distance of a cut from the point that makes all parts equal, as a share of a part's length. With this
# limit no part is less than half as long as intended.
SLACK = 0.25


def split_into_parts(text: str, length: int) -> tuple[str, ...]:
    """Return `text` in nearly equal parts of about `length` words, none empty.

    A text of at most `length` words, or any text if `length` is 0, is returned unchanged. Each Chinese or Japanese
    character is a word. Cuts are between paragraphs if possible near the point of equal parts, otherwise between
    sentences, otherwise between words.
    """
    # The words of an ASCII text are those between spaces, which are found sooner.
    if not length or (text.isascii() and len(text.split()) <= length):
        return (text,)
    words = list(_WORD.finditer(text))
    if len(words) <= length:
        return (text,)
    number = math.ceil(len(words) / length)
    equal, good = len(words) / number, _preferences(text, words)
    cuts = [0, *(_cut(good, place * equal, SLACK * equal) for place in range(1, number)), len(words)]
    return tuple(text[words[a].start() : words[b - 1].end()] for a, b in itertools.pairwise(cuts))


def _cut(preferences: list[int], ideal: float, slack: float) -> int:
    """Return the number of words before the best cut near `ideal`."""
    near = range(math.ceil(ideal - slack), math.floor(ideal + slack) + 1)
    return min(near or [math.floor(ideal)], key=lambda at: (-preferences[at], abs(at - ideal)))


def _preferences(text: str, words: list[re.Match[str]]) -> list[int]:
    """Return the preference for a cut after each number of words: 2 at a paragraph's end, 1 at a sentence's, else 0."""
    sentences = {end for _, end in sentence_spans(text)}
    preferences = [0]
    for word, following in itertools.pairwise(words):
        paragraph = _BLANK_LINE.search(text, word.end(), following.start())
        preferences.append(2 if paragraph else int(word.end() in sentences))
    return preferences


TOKENS_PER_ANSWER = 96

FORMS: Mapping[AnswerForm, type[BaseModel]] = {"with reasons": ChecklistAnswers, "yes or no": BareAnswers}


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """A judge's answer to one question about one part of a text with its reason, or no answer and what went wrong."""

    answer: YesNo | None
    reason: str


async def ask_questions(
    example: Example,
    questions: Sequence[Criterion],
    dimensions: Mapping[str, str],
    assignment: Assignment,
    judge: Judge,
    *,
    settings: CheckEvalScoringSettings,
) -> dict[str, tuple[QuestionAnswer, ...]]:
    """Return the answers to each question, by its id: one for each part of the text, in order."""
    prompts = answer_prompts(example, questions, dimensions, assignment, settings)
    answers: dict[str, tuple[QuestionAnswer, ...]] = {question.id: () for question in questions}
    for reply in await gathered(_answered(prompt, judge) for prompt in prompts):
        for name, answered in reply.items():
            answers[name] += (answered,)
    return answers


def answer_prompts(
    example: Example,
    questions: Sequence[Criterion],
    dimensions: Mapping[str, str],
    assignment: Assignment,
    settings: CheckEvalScoringSettings,
) -> list[Prompt[Any]]:
    """Return the prompts with all questions about a text, part by part.

    Args:
        dimensions: definitions of the sub-dimensions that the questions' traits name.
    """
    pieces = split_into_parts(example.output, settings.part_words)
    groups, bare = _groups(questions, settings.ask), settings.answers == "yes or no"
    prompts = []
    for number, piece in enumerate(pieces, 1):
        fields = {
            **assignment.fields(),
            **assignment.text_fields(replace(example, output=piece)),
            "bare": bare,
            "part": {"number": number, "of": len(pieces)} if len(pieces) > 1 else None,
        }
        for group in groups:
            shown = {**fields, "sub_dimensions": _sub_dimensions(group, dimensions, bare)}
            longest = 256 + TOKENS_PER_ANSWER * len(group)
            prompts.append(Prompt("checkeval/answer", shown, FORMS[settings.answers], max_tokens=longest))
    return prompts


async def _answered(prompt: Prompt[Any], judge: Judge) -> dict[str, QuestionAnswer]:
    ids = asked_ids(prompt.fields)
    answer = await ask(judge, prompt, salvage=prompt.reply)
    entries = answer.value.answers if answer.value else ()
    by_id = {entry.question: QuestionAnswer(entry.answer, entry.reason.strip()) for entry in entries}
    if len(by_id) < len(ids):
        by_id = dict.fromkeys(ids, QuestionAnswer(None, why_missing(prompt, answer, "answer"))) | by_id
    return by_id


def _groups(questions: Sequence[Criterion], how: Ask) -> list[list[Criterion]]:
    """Return the questions in groups, one for each call."""
    if how == "one by one":
        return [[question] for question in questions]
    return [list(questions)] if how == "together" else list(by_trait(questions).values())


def _sub_dimensions(group: Sequence[Criterion], dimensions: Mapping[str, str], bare: bool) -> list[dict[str, object]]:
    # Answers stated for an absent subject may be n/a, which is not allowed where only yes or no is requested.
    return [
        {
            "name": name,
            "definition": dimensions.get(name, ""),
            "questions": [payload(each, presupposed=not bare) for each in questions],
        }
        for name, questions in by_trait(group).items()
    ]
