"""What several methods share, in this order:

1. requests: several at once, several samples of one prompt, and errors if no reply is usable;
2. types of what replies contain: entries by id, texts of limited length, numbers, scores, and ratings made from them;
3. labelled texts in prompts, with raters' reasons: the explanations that people gave for their scores. Only prompts
   that propose or reword criteria show them, prompts that judge texts never do.
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
from rubriclab.judges.judge import Judge, JudgeAnswer, ask
from rubriclab.judges.replies import parse_reply
from rubriclab.methods.method import CriterionRating, Progress
from rubriclab.models.base import MAX_NAME_LENGTH, MAX_WORDING_LENGTH, digest
from rubriclab.models.characters import escape_controls
from rubriclab.models.rubric import CitedReason
from rubriclab.models.text import ABSTENTIONS, Example, Scale, Words, named_annotations, named_reasons, text_digest
from rubriclab.prompts.prompt import AROUND_ID, ExpectedEntry, KeyedReply, Prompt, keyed_reply, tolerates_faults

R = TypeVar("R", bound=pydantic.BaseModel)
S = TypeVar("S")
T = TypeVar("T")

# A prompt is sampled again until a reply is usable, but at most this many times in all.
MAX_SAMPLES = 3


async def gather_then_raise(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order. An error is raised only after all requests have ended, so no paid reply is lost."""
    results = await asyncio.gather(*requests, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def gather(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order, as `asyncio.gather` does. A single request gets no task, which is quicker."""
    coroutines = list(requests)
    if len(coroutines) == 1:
        return [await coroutines[0]]
    return await asyncio.gather(*coroutines)


async def for_each(
    items: Sequence[S],
    request: Callable[[S], Coroutine[Any, Any, T]],
    on_progress: Progress,
    progress_words: str,
    start_share: float = 0.0,
) -> list[T]:
    """Return the result of a request for each item, in order. Progress is reported from `start_share` to 1."""
    n_done = 0

    async def request_and_count(item: S) -> T:
        nonlocal n_done
        result = await request(item)
        n_done += 1
        on_progress(f"{n_done} of {len(items)} {progress_words}", start_share + (1 - start_share) * n_done / len(items))
        return result

    return await asyncio.gather(*map(request_and_count, items))


def chunks(items: Sequence[T], max_items: int) -> list[Sequence[T]]:
    """Return the items in as few consecutive runs as possible, of at most `max_items` each and about equal lengths."""
    if not items:
        return []
    n_runs = math.ceil(len(items) / max_items)
    bounds = [len(items) * index // n_runs for index in range(n_runs + 1)]
    return [items[start:end] for start, end in itertools.pairwise(bounds)]


async def first_usable(prompt: Prompt[R], judge: Judge, *, salvage_model: type[R] | None = None) -> JudgeAnswer[R]:
    """Ask up to `MAX_SAMPLES` times, until an answer is usable or no reply comes; `salvage_model`: see `ask`."""
    for sample in range(MAX_SAMPLES):
        answer = await ask(judge, replace(prompt, sample=sample), salvage_model=salvage_model)
        if answer.value is not None or not answer.replied:
            break
    return answer


def require_reply(answers: Sequence[JudgeAnswer[R]], missing_part: str, role: Literal["judge", "generator"]) -> list[R]:
    """Return the usable replies; raises JudgeError if no reply has the requested content, named by `missing_part`."""
    usable = [answer.value for answer in answers if answer.value is not None]
    if not usable:
        raise JudgeError(f"No {missing_part} could be obtained: {answers[0].missing}", f"Try another `{role}`.")
    return usable


def fail_if_all_missing(missing_part: str, values_and_reasons: Sequence[tuple[Any, str]]) -> None:
    """Raise JudgeError if every value (named by `missing_part`) is `None`. The error quotes the first reason."""
    if values_and_reasons and all(value is None for value, _ in values_and_reasons):
        problem = f"The judge gave no usable {missing_part} for any training text: {values_and_reasons[0][1]}"
        raise JudgeError(problem, "Try another `judge`.")


def why_missing(prompt: Prompt[Any], answer: JudgeAnswer[Any], missing_part: str) -> str:
    """Return why content, named by `missing_part`, is missing: there is no answer, or one without this content."""
    if answer.value is None or answer.reply is None:
        return answer.missing
    _, complaint = parse_reply(answer.reply, prompt)
    return f"no usable {missing_part}, also after one repair: {complaint}"


async def ask_entries(judge: Judge, prompt: Prompt[KeyedReply], missing_part: str) -> tuple[dict[str, Any], str]:
    """Return the usable entries of the judge's reply by id, and why there are none for the other ids."""
    answer = await ask(judge, prompt)
    entries = answer.value.entries if answer.value else {}
    missing_reason = why_missing(prompt, answer, missing_part) if len(entries) < len(prompt.reply.expected) else ""
    return entries, missing_reason


def bare_id(value: Any, ids: Sequence[str]) -> Any:
    """Return the id that a judge wrote: without punctuation around it and, if it is none of `ids`, in lower case."""
    if not isinstance(value, str) or value in ids:
        return value
    bare = value.strip(AROUND_ID)
    return bare if bare in ids else bare.lower()


def keep_valid(*, optional_fields: Collection[str]) -> pydantic.WrapValidator:
    """Return the validator of a list, which in salvage mode drops invalid entries instead of rejecting the whole list.

    Salvage mode is for a reply that still has faults after its repair. Entries then need no `optional_fields`.
    """

    def validate(items: Any, handler: pydantic.ValidatorFunctionWrapHandler, info: pydantic.ValidationInfo) -> Any:
        if not tolerates_faults(info):
            return handler(items)
        entries = []
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                present = {name: value for name, value in item.items() if value is not None}
                with contextlib.suppress(pydantic.ValidationError):
                    entries += handler([dict.fromkeys(optional_fields, "") | present])
        if not entries:
            raise ValueError("no entry is usable")
        return entries

    return pydantic.WrapValidator(validate)


def numbered_reply(noun: str, numbers: Iterable[int], entry_type: Any) -> type[KeyedReply]:
    """Return the model of a reply with an `entry_type` for each number, with the id `NOUN NUMBER`."""
    expected = tuple(ExpectedEntry(f"{noun} {number}", entry_type, names=(str(number),)) for number in numbers)
    return keyed_reply(expected, form_after_text=True)  # the numbers differ by text, and prompts should begin alike


def at_most(max_length: int) -> pydantic.AfterValidator:
    """Return a validator of the number of characters; some providers refuse `maxLength` in a JSON schema."""

    def check(text: str) -> str:
        if len(text) > max_length:
            raise ValueError(f"at most {max_length:,} characters were expected; got {len(text):,}")
        return text

    return pydantic.AfterValidator(check)


def _check_is_number(value: Any) -> Any:
    # pydantic would accept `true` as 1 and "0_4" as 4.
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        raise ValueError(f"a number was expected; got {value}")
    return value


# Cached, since all prompts of a rubric have the same scale.
_cached_scale = functools.lru_cache(maxsize=64)(Scale)


def _check_on_scale(score: float, info: pydantic.ValidationInfo) -> float:
    if info.context:
        fields = info.context["scale"]
        scale = _cached_scale(low=fields["low"], high=fields["high"], whole=fields["whole"])
        if not scale.allows(score):
            raise ValueError(f"the score must be {scale.describe()}; got {score}")
    return score


# A stored wording may be a phrase with ids, such as "says what q1 says: ", and a reason, which is therefore shorter.
MAX_REPLY_REASON_LENGTH = MAX_WORDING_LENGTH - 5 * MAX_NAME_LENGTH
Name = Annotated[Words, at_most(MAX_NAME_LENGTH)]  # a name that a model writes
Wording = Annotated[Words, at_most(MAX_WORDING_LENGTH)]
Reason = Annotated[str, at_most(MAX_REPLY_REASON_LENGTH)]

Number = Annotated[float, pydantic.BeforeValidator(_check_is_number)]
WholeNumber = Annotated[int, pydantic.BeforeValidator(_check_is_number)]
# A number that the prompt's scale allows.
OnScale = Annotated[Number, pydantic.AfterValidator(_check_on_scale)]


def _nan_if_not_assessed(value: Any, handler: pydantic.ValidatorFunctionWrapHandler) -> float:
    not_assessed = isinstance(value, str) and value.strip(AROUND_ID).casefold() in ABSTENTIONS
    return math.nan if not_assessed else float(handler(value))


_NOT_ASSESSED_SCHEMA = {"type": "string", "enum": ["n/a"]}


# The whole reply to a prompt; a `ScoreEntry` is one entry of a longer reply.
class Rating(pydantic.BaseModel):
    """A score with its reason."""

    reasoning: str
    score: OnScale


class AssessableRating(Rating):
    """A score with its reason, or n/a if the text cannot be assessed."""

    score: Annotated[
        OnScale,
        pydantic.WrapValidator(_nan_if_not_assessed),
        pydantic.WithJsonSchema({"anyOf": [{"type": "number"}, _NOT_ASSESSED_SCHEMA]}),
    ]


class ScoreEntry(pydantic.BaseModel):
    """A score with its reason."""

    reason: str
    score: OnScale


def score_entry(fields: Mapping[str, Any]) -> type[ScoreEntry]:
    """Return the model of a score and its reason; its JSON schema has the limits of the prompt's scale.

    The score is NaN if the judge replies that the text cannot be assessed.
    """
    scale = fields["scale"]
    return _score_entry(scale["low"], scale["high"], scale["whole"], scale.get("can_abstain", False))


def bare_score(fields: Mapping[str, Any]) -> Any:
    """Return the type of a score like that in `score_entry`, but without a reason."""
    return score_entry(fields).model_fields["score"].rebuild_annotation()


@functools.lru_cache(maxsize=64)
def _score_entry(low: float, high: float, whole: bool, can_abstain: bool) -> type[ScoreEntry]:
    # The schema has 1 instead of 1.0.
    minimum, maximum = (int(end) if float(end).is_integer() else end for end in (low, high))
    number = {"type": "integer" if whole else "number", "minimum": minimum, "maximum": maximum}
    score: Any = Annotated[OnScale, pydantic.WithJsonSchema(number)]
    if can_abstain:
        schema = pydantic.WithJsonSchema({"anyOf": [number, _NOT_ASSESSED_SCHEMA]})
        score = Annotated[OnScale, pydantic.WrapValidator(_nan_if_not_assessed), schema]
    return pydantic.create_model("Score", __base__=ScoreEntry, __doc__=None, score=(score, ...))


def rating_of_answer(criterion_id: str, answer: JudgeAnswer[Any]) -> CriterionRating:
    if answer.value is None:
        return CriterionRating(criterion_id, None, answer.missing)
    return rating_of_score(criterion_id, answer.value.score, answer.value.reasoning)


def rating_of_score(criterion_id: str, score: float, reason: str) -> CriterionRating:
    """Return the rating with a judge's score; a score of NaN means that the criterion does not apply to the text."""
    if math.isnan(score):
        return CriterionRating(criterion_id, None, reason, applies=False)
    return CriterionRating(criterion_id, score, reason)


def mark_shared_sources(texts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each text's fields and two more fields, by which a prompt shows a shared source or context only once.

    `source_as_in` is the number, from 1, of an earlier text with the same source, or `None`; `context_as_in` likewise.
    """
    first_numbers: dict[tuple[str, str | None], int] = {}
    fields_of_texts = []
    for number, text in enumerate(texts, 1):
        fields = dict(text)
        for name in ("source", "context"):
            first_number = first_numbers.setdefault((name, text[name]), number)
            fields[f"{name}_as_in"] = first_number if text[name] and first_number < number else None
        fields_of_texts.append(fields)
    return fields_of_texts


# The largest number of raters' reasons shown for one text. If there are more, this number is drawn.
MAX_REASONS_PER_TEXT = 6


@dataclass(frozen=True, slots=True)
class NumberedReason:
    """A rater's reason for the score of a text, with its number in a prompt, from 1."""

    number: int
    example_id: str
    rater: str
    text: str
    score: float | None


def numbered_reasons(examples: Iterable[Example], aspect: str) -> tuple[NumberedReason, ...]:
    """Return the raters' reasons for their scores of `aspect`, in the order of the texts, then of the raters' names."""
    numbered: list[NumberedReason] = []
    for example in examples:
        scores, reasons = named_annotations(example, aspect), named_reasons(example, aspect)
        # Drawn by a digest, so that the same reasons are drawn each time.
        raters = sorted(reasons, key=lambda rater: digest([text_digest(example), rater]))
        for rater in sorted(raters[:MAX_REASONS_PER_TEXT]):
            numbered.append(NumberedReason(len(numbered) + 1, example.id, rater, reasons[rater], scores.get(rater)))
    return tuple(numbered)


def fields_of_reasons(reasons: Sequence[NumberedReason], example_id: str) -> list[dict[str, Any]]:
    return [
        {"number": reason.number, "text": escape_controls(reason.text), "score": reason.score}
        for reason in reasons
        if reason.example_id == example_id
    ]


def cited_reasons(numbers: Iterable[int], reasons: Sequence[NumberedReason]) -> tuple[CitedReason, ...]:
    cited = set(numbers)
    return tuple(CitedReason(example=each.example_id, rater=each.rater) for each in reasons if each.number in cited)


# One number, perhaps with words around it, as in "reason 3"; negative numbers do not match.
_CITED_NUMBER = re.compile(r"[^\d-]*(\d{1,6})\D*", re.ASCII)


def _read_numbers(value: Any) -> list[int]:
    entries = value if isinstance(value, list) else [value]
    texts = [str(entry) for entry in entries if isinstance(entry, int | str) and not isinstance(entry, bool)]
    matches = [_CITED_NUMBER.fullmatch(text) for text in texts]
    return [int(match[1]) for match in matches if match]


# The numbers of the raters' reasons that a criterion came from. A wrong number does not make a reply unusable.
CitedNumbers = Annotated[list[int], pydantic.BeforeValidator(_read_numbers)]
# The same where a prompt shows no reasons: absent from the schema, and ignored in a reply.
NoCitedNumbers = Annotated[list[int], pydantic.BeforeValidator(lambda _: []), SkipJsonSchema()]
