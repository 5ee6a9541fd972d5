"""What several methods share: concurrent requests, texts and raters' reasons in prompts, and reply models.

Only prompts that propose or reword criteria show raters' reasons; prompts that judge texts never do.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import math
import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic.json_schema import SkipJsonSchema

from rubriclab.errors import JudgeError
from rubriclab.judges.judge import Judge, JudgeAnswer, ask, parse_reply
from rubriclab.methods.method import CriterionRating, Progress
from rubriclab.models.base import MAX_NAME_LENGTH, MAX_WORDING_LENGTH, digest
from rubriclab.models.characters import plain
from rubriclab.models.rubric import CitedReason
from rubriclab.models.text import CANNOT_ASSESS, Example, Scale, Words, named_annotations, named_reasons, text_digest
from rubriclab.prompts.prompt import AROUND_ID, KeyedReply, Prompt, is_salvage

R = TypeVar("R", bound=pydantic.BaseModel)
S = TypeVar("S")
T = TypeVar("T")

# The most independent samples that are requested until one is usable.
SAMPLES = 3
# Reasons shown for one text. With more raters, some are drawn, since one text should not fill a prompt.
MAX_REASONS_PER_TEXT = 6
_CITED_NUMBER = re.compile(r"[^\d-]*(\d{1,6})\D*", re.ASCII)


async def gather_all(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order; the first error is raised when all have ended, as their replies are paid for."""
    results = await asyncio.gather(*requests, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def gather_in_order(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order, as `asyncio.gather`; a single request is quicker in the caller's task."""
    coroutines = list(requests)
    if len(coroutines) == 1:
        return [await coroutines[0]]
    return await asyncio.gather(*coroutines)


async def for_each(
    items: Sequence[S],
    request: Callable[[S], Coroutine[Any, Any, T]],
    on_progress: Progress,
    progress_words: str,
    start: float = 0.0,
) -> list[T]:
    """Return the result of a request for each item, in order; progress starts at the share `start` of all work."""
    done = 0

    async def counted(item: S) -> T:
        nonlocal done
        result = await request(item)
        done += 1
        on_progress(f"{done} of {len(items)} {progress_words}", start + (1 - start) * done / len(items))
        return result

    return await asyncio.gather(*map(counted, items))


def chunks(items: Sequence[T], max_items: int) -> list[Sequence[T]]:
    """Return `items` in as few runs of at most `max_items` as possible, all of about the same length."""
    count = math.ceil(len(items) / max_items)
    ends = [len(items) * number // count for number in range(count + 1)] if items else []
    return [items[start:end] for start, end in itertools.pairwise(ends)]


def by_source(examples: Sequence[Example]) -> list[Example]:
    first_index: dict[str | None, int] = {}
    for index, example in enumerate(examples):
        first_index.setdefault(example.source, index)
    return sorted(examples, key=lambda example: first_index[example.source])


def show_once(texts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the fields of each text, with the number of an earlier text that has the same source or context.

    The number, from 1, is in `source_as_in` or `context_as_in`, `None` if the text shows its own source or context.
    """
    first: dict[tuple[str, str], int] = {}
    shown = []
    for number, text in enumerate(texts, 1):
        earlier = {}
        for name in ("source", "context"):
            shown_in = first.setdefault((name, text[name] or ""), number)
            is_repeated = shown_in < number and text[name]
            earlier[f"{name}_as_in"] = shown_in if is_repeated else None
        shown.append({**text, **earlier})
    return shown


async def first_usable(prompt: Prompt[R], judge: Judge, *, salvage: type[R] | None = None) -> JudgeAnswer[R]:
    """Return the first usable answer of up to `SAMPLES` independent samples, or the last one."""
    for sample in range(SAMPLES):
        answer = await ask(judge, replace(prompt, sample=sample), salvage=salvage)
        if answer.value is not None or not answer.replied:
            break
    return answer


def require_reply(answers: Sequence[JudgeAnswer[R]], noun: str, role: Literal["judge", "generator"]) -> list[R]:
    """Return the usable replies to requests for a `noun`; without any, a JudgeError advises another `role`."""
    usable = [answer.value for answer in answers if answer.value is not None]
    if not usable:
        raise JudgeError(f"No {noun} could be obtained: {answers[0].missing}", f"Try another `{role}`.")
    return usable


def require_any(noun: str, values: Sequence[tuple[Any, str]]) -> None:
    """Raise JudgeError if no `noun` was usable: if all values, each with its reason, are `None`."""
    if values and all(value is None for value, _ in values):
        reason = f"The judge gave no usable {noun} for any training text: {values[0][1]}"
        raise JudgeError(reason, "Try another `judge`.")


def bare_id(value: Any, ids: Sequence[str]) -> Any:
    """Return an id without surrounding marks, in lower case if it is not in `ids`; any other value unchanged."""
    if not isinstance(value, str) or value in ids:
        return value
    bare = value.strip(AROUND_ID)
    return bare if bare in ids else bare.lower()


def keep_valid(optional: Collection[str]) -> pydantic.WrapValidator:
    """Return the validator of a list that keeps every valid entry in salvage mode; `optional` fields may be missing."""

    def validate(items: Any, handler: pydantic.ValidatorFunctionWrapHandler, info: pydantic.ValidationInfo) -> Any:
        if not is_salvage(info):
            return handler(items)
        entries = []
        candidates = items if isinstance(items, list) else []
        for item in candidates:
            if isinstance(item, dict):
                filled = dict.fromkeys(optional, "") | {name: each for name, each in item.items() if each is not None}
                with contextlib.suppress(pydantic.ValidationError):
                    entries += handler([filled])
        if not entries:
            raise ValueError("no entry is usable")
        return entries

    return pydantic.WrapValidator(validate)


def why_missing(prompt: Prompt[Any], answer: JudgeAnswer[Any], noun: str) -> str:
    if answer.value is None or answer.reply is None:
        return answer.missing
    _, complaint = parse_reply(answer.reply, prompt)
    return f"no usable {noun}, also after one repair: {complaint}"


async def ask_entries(judge: Judge, prompt: Prompt[KeyedReply], noun: str) -> tuple[dict[str, Any], str]:
    """Return the usable entries of the judge's reply by id, and why there is no usable `noun` for the other ids."""
    answer = await ask(judge, prompt)
    entries = answer.value.entries if answer.value else {}
    missing = why_missing(prompt, answer, noun) if len(entries) < len(prompt.reply.expected) else ""
    return entries, missing


def at_most(max_length: int) -> pydantic.AfterValidator:
    """Return a validator of texts of at most so many characters; some providers refuse such limits in JSON schemas."""

    def check(text: str) -> str:
        if len(text) > max_length:
            raise ValueError(f"at most {max_length:,} characters were expected; got {len(text):,}")
        return text

    return pydantic.AfterValidator(check)


def _check_is_number(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        raise ValueError(f"a number was expected; got {value}")
    return value


# Cached, since all prompts of a rubric have the same scale.
@functools.lru_cache(maxsize=64)
def _scale(low: float, high: float, whole: bool) -> Scale:
    return Scale(low=low, high=high, whole=whole)


def _on_scale(score: float, info: pydantic.ValidationInfo) -> float:
    if info.context:
        fields = info.context["scale"]
        scale = _scale(fields["low"], fields["high"], fields["whole"])
        if not scale.holds(score):
            raise ValueError(f"the score must be {scale.describe()}; got {score}")
    return score


# The reason for dropping a criterion is stored with some words around it.
MAX_REASON_LENGTH = MAX_WORDING_LENGTH - 5 * MAX_NAME_LENGTH
# What a rubric stores of a reply: names of traits or sub-dimensions, longer wordings, and reasons.
NewName = Annotated[Words, at_most(MAX_NAME_LENGTH)]
Wording = Annotated[Words, at_most(MAX_WORDING_LENGTH)]
Reason = Annotated[str, at_most(MAX_REASON_LENGTH)]

# pydantic would accept `true` as 1 and "0_4" as 4.
Number = Annotated[float, pydantic.BeforeValidator(_check_is_number)]
Whole = Annotated[int, pydantic.BeforeValidator(_check_is_number)]
# A number that the prompt's scale allows.
OnScale = Annotated[Number, pydantic.AfterValidator(_on_scale)]


def _or_not_assessed(value: Any, handler: pydantic.ValidatorFunctionWrapHandler) -> float:
    not_assessed = isinstance(value, str) and value.strip(AROUND_ID).casefold() in CANNOT_ASSESS
    return math.nan if not_assessed else float(handler(value))


def _number_or_not_assessed(number: dict[str, Any]) -> pydantic.WithJsonSchema:
    return pydantic.WithJsonSchema({"anyOf": [number, {"type": "string", "enum": ["n/a"]}]})


class Rating(pydantic.BaseModel):
    """A score with its reason."""

    reasoning: str
    score: OnScale


class AssessableRating(Rating):
    """A score with its reason, or n/a if the text cannot be assessed."""

    # NaN where the judge says n/a.
    score: Annotated[OnScale, pydantic.WrapValidator(_or_not_assessed), _number_or_not_assessed({"type": "number"})]


class ScoreEntry(pydantic.BaseModel):
    """A score with its reason."""

    reason: str
    score: OnScale


def score_entry(fields: Mapping[str, Any]) -> type[ScoreEntry]:
    """Return the model of a score, with the limits of the scale in its JSON schema; NaN for "cannot be assessed"."""
    scale = fields["scale"]
    return _score_entry(scale["low"], scale["high"], scale["whole"], scale.get("assessable", False))


def bare_score(fields: Mapping[str, Any]) -> Any:
    return score_entry(fields).model_fields["score"].rebuild_annotation()


@functools.lru_cache(maxsize=64)
def _score_entry(low: float, high: float, whole: bool, assessable: bool) -> type[ScoreEntry]:
    low, high = (int(end) if float(end).is_integer() else end for end in (low, high))
    number = {"type": "integer" if whole else "number", "minimum": low, "maximum": high}
    score: Any = Annotated[OnScale, pydantic.WithJsonSchema(number)]
    if assessable:
        score = Annotated[OnScale, pydantic.WrapValidator(_or_not_assessed), _number_or_not_assessed(number)]
    return pydantic.create_model("Score", __base__=ScoreEntry, __doc__=None, score=(score, ...))


def answer_rating(criterion: str, answer: JudgeAnswer[Any]) -> CriterionRating:
    if answer.value is None:
        return CriterionRating(criterion, None, answer.missing)
    return rating(criterion, answer.value.score, answer.value.reasoning)


def rating(criterion: str, score: float, reason: str) -> CriterionRating:
    """Return a judge's rating; NaN is the judge's answer that the text cannot be assessed."""
    if math.isnan(score):
        return CriterionRating(criterion, None, reason, applies=False)
    return CriterionRating(criterion, score, reason)


@dataclass(frozen=True, slots=True)
class NumberedReason:
    """A rater's reason, numbered from 1 in the order of the prompt, with the rater's own score, `None` if unknown."""

    number: int
    example: str
    rater: str
    text: str
    score: float | None


def numbered_reasons(examples: Iterable[Example], aspect: str) -> tuple[NumberedReason, ...]:
    """Return the raters' reasons for their scores of `aspect`, numbered in the order of the texts and raters.

    If a text has more than `MAX_REASONS_PER_TEXT` reasons, that many are drawn, always the same ones.
    """
    numbered: list[NumberedReason] = []
    for example in examples:
        scores, reasons = named_annotations(example, aspect), named_reasons(example, aspect)
        raters = sorted(reasons, key=lambda rater: digest([text_digest(example), rater]))  # an arbitrary, stable order
        for rater in sorted(raters[:MAX_REASONS_PER_TEXT]):
            number = len(numbered) + 1
            numbered.append(NumberedReason(number, example.id, rater, reasons[rater], scores.get(rater)))
    return tuple(numbered)


def fields_of_reasons(reasons: Sequence[NumberedReason], example: str) -> list[dict[str, Any]]:
    return [
        {"number": reason.number, "text": plain(reason.text), "score": reason.score}
        for reason in reasons
        if reason.example == example
    ]


def cited_reasons(numbers: Iterable[int], reasons: Sequence[NumberedReason]) -> tuple[CitedReason, ...]:
    cited = set(numbers)
    return tuple(CitedReason(example=each.example, rater=each.rater) for each in reasons if each.number in cited)


def _numbers(value: Any) -> list[int]:
    entries = value if isinstance(value, list) else [value]
    texts = [str(entry) for entry in entries if isinstance(entry, int | str) and not isinstance(entry, bool)]
    matches = [_CITED_NUMBER.fullmatch(text) for text in texts]
    return [int(match[1]) for match in matches if match]


# The numbers of the reasons that a criterion came from. A wrong number does not make a reply unusable.
CitedNumbers = Annotated[list[int], pydantic.BeforeValidator(_numbers)]
# Where no reasons are shown: absent from the schema, and ignored in a reply.
NothingToCite = Annotated[list[int], pydantic.BeforeValidator(lambda _: []), SkipJsonSchema()]
