"""Scores of texts by a rubric; detection of texts that address the judge.

The criteria of a rubric stand in parts, one for each method that learned some of them. The judge is asked about all
parts in one call, or in calls of each part's method. A call is about one text, or about rivals: several texts of one
group. `score_text` scores one text, `score_group` the texts of one group, and `score_stream` rows as they are read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from rubriclab.data.rows import RowError
from rubriclab.errors import SettingsError
from rubriclab.judges.judge import Judge, UnusableReply, count_text, unusable_replies
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.prompting import gather, gather_then_raise
from rubriclab.methods.single_call import can_share_call, judge_all, judge_group, shared_input, split_texts
from rubriclab.models.aggregation import CallForm, CallGrouping, RivalLimits, combine
from rubriclab.models.base import load_patterns, parse_toml
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts.render import inert

TEXT_NOT_ASSESSED = "the judge says that this text cannot be assessed"
# Number of consecutive rows within which the rows of a group are processed together.
WINDOW = 4096
_ADDRESSING_FILE = Path(__file__).with_name("addressing.toml")
_ADDRESSING_PATTERNS = load_patterns(_ADDRESSING_FILE)
_ADDRESSING_WORDS = parse_toml(_ADDRESSING_FILE.read_bytes())["words"]  # by pattern, which matches only texts with one

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Score:
    """A text's score on the rubric's scale, or the reason why it is `unscored`; exactly one of the two is set.

    Attributes:
        interval: the prediction interval of the human score; `None` without a score or if the rubric has no intervals.
        verdict: the text's level by a rubric for two levels, whose score is the probability of the better level.
        rivals: `together` if a call about rivals gave the score; it is not comparable with other calls' scores.
        replies: the raw replies that could not be used, if an answer is missing.
    """

    id: str
    aspect: str
    score: float | None
    criteria: tuple[CriterionRating, ...]
    unscored: str | None
    rubric: str
    judge: str
    interval: tuple[float, float] | None = None
    verdict: str | None = None
    rivals: Literal["together"] | None = None
    replies: tuple[UnusableReply, ...] = field(default=(), compare=False, repr=False)

    @property
    def answers(self) -> int:
        """The number of requested answers: for each applicable criterion one, or one for each judged unit of text."""
        return sum(len(criterion.units) if criterion.units else criterion.applies for criterion in self.criteria)

    @property
    def answers_missing(self) -> int:
        return sum(criterion.answers_missing for criterion in self.criteria)

    @property
    def by_share(self) -> list[CriterionRating]:
        """The ratings, sorted by their share in the score (the absolute contribution), the largest first."""
        return sorted(self.criteria, key=lambda each: -abs(each.contribution or 0.0))

    def to_row(self) -> dict[str, Any]:
        names = ("id", "aspect", "score", "criteria", "unscored", "rubric", "judge")
        row = {name: getattr(self, name) for name in names}
        row["criteria"] = [criterion.to_row() for criterion in self.criteria]
        optional = {"interval": self.interval, "verdict": self.verdict, "rivals": self.rivals}
        return row | {name: value for name, value in optional.items() if value}


async def score_text(rubric: Rubric, example: Example, judge: Judge, ref: str) -> Score:
    """Return the score of one text, rated alone; `ref` names the version, such as `news-coherence@2`.

    Raises the judge's errors that concern every text: JudgeRefused, BudgetReached, ReplayMiss.
    """
    aggregation, assignment = rubric.aggregation, rubric.assignment
    if aggregation and aggregation.rivals:
        counts = RivalCounts()
        return (await score_group(rubric, (example,), judge, ref, limits=aggregation.rivals, counts=counts))[0]
    part_scores = None
    with unusable_replies() as replies:
        if aggregation:
            form = aggregation.form
            ratings = await ratings_of_text(example, rubric.parts, aggregation.ask, assignment, judge, form=form)
        else:
            part_scores, ratings = await _scores_by_part(rubric.parts, example, assignment, judge)
    score = score_of_ratings(rubric, example.id, ratings, ref, judge.name, replies=replies, part_scores=part_scores)
    count_text(judge, "ratings_missing" if score.score is None else "scored")
    return score


def group_limits(rubric: Rubric, rivals: RivalLimits | Literal["apart"] | None = None) -> RivalLimits | None:
    """Return the limits of calls about rivals, by default the rubric's; `None` if each call is about one text."""
    if rivals == "apart":
        return None
    if rubric.aggregation:
        rivals = rivals or rubric.aggregation.rivals
        asks_in_one_call = rubric.aggregation.ask == "in one call"
    else:
        asks_in_one_call = all(criterion.kind == "score" for criterion in rubric.criteria)
    judged_parts = [part for part in rubric.parts if any(each.kind != "feature" for each in part.criteria)]
    if rivals and not (asks_in_one_call and judged_parts and all(map(can_share_call, judged_parts))):
        raise SettingsError(
            "`rivals=together`: this rubric does not ask the judge about all its criteria in one call.",
            "Leave `rivals` out, or learn a rubric with `settings=joint.ask=in one call`.",
        )
    return rivals


def without_rivals(rubric: Rubric) -> Rubric:
    if not (rubric.aggregation and rubric.aggregation.rivals):
        return rubric
    return rubric.model_copy(update={"aggregation": rubric.aggregation.model_copy(update={"rivals": None})})


def faulty_row_id(fault: RowError) -> str:
    return fault.id or f"{fault.where}:{fault.line}"


def score_of_ratings(
    rubric: Rubric,
    text_id: str,
    ratings: Sequence[CriterionRating],
    ref: str,
    judge_name: str,
    *,
    replies: Sequence[UnusableReply] = (),
    part_scores: Sequence[float | None] | None = None,
) -> Score:
    """Return the score of a text: the weighted sum of its ratings on the rubric's scale.

    Without learned weights, the score is the mean of `part_scores` or, if `part_scores` is `None`, of the ratings; the
    text has no score if one of the averaged values is missing. `replies` are the raw replies that could not be used.
    """
    aggregation = rubric.aggregation
    value, interval, contributions = None, None, dict[str, float]()
    if aggregation:
        holistic_ids = {criterion.id for criterion in rubric.criteria if criterion.kind == "score"}
        holistic_ratings = [rating for rating in ratings if rating.id in holistic_ids]
        can_be_assessed = not holistic_ratings or any(rating.applies for rating in holistic_ratings)
        if can_be_assessed:
            scores = {rating.id: rating.score for rating in ratings if rating.applies}
            combined = combine(aggregation, scores, rubric.scale)
            value, contributions = combined.score, dict(combined.contributions)
            if combined.low is not None and combined.high is not None:
                interval = combined.low, combined.high
    else:
        scores_to_average = [rating.score for rating in ratings] if part_scores is None else part_scores
        present_scores = [score for score in scores_to_average if score is not None]
        if len(present_scores) == len(scores_to_average):
            value = sum(present_scores) / len(present_scores)
    titles = {criterion.id: criterion.title for criterion in rubric.criteria}
    criteria = tuple(
        replace(rating, name=titles.get(rating.id, ""), contribution=contributions.get(rating.id)) for rating in ratings
    )
    return Score(
        id=text_id,
        aspect=rubric.aspect.name,
        score=value,
        criteria=criteria,
        unscored=_why_unscored(rubric, criteria) if value is None else None,
        rubric=ref,
        judge=judge_name,
        interval=interval,
        verdict=rubric.verdict(value),
        replies=tuple(replies) if any(criterion.answers_missing for criterion in criteria) else (),
    )


async def ratings_of_text(
    example: Example,
    parts: Sequence[Part],
    grouping: CallGrouping,
    assignment: Assignment,
    judge: Judge,
    *,
    form: CallForm | None = None,
) -> tuple[CriterionRating, ...]:
    """Return the ratings of a text; `form` limits the criteria in a call if the judge cannot rate all at once."""
    if grouping == "in one call":
        return await judge_all(example, parts, assignment, judge, form)
    _, ratings = await _scores_by_part(parts, example, assignment, judge)
    return ratings


async def ratings_of_texts(
    examples: Sequence[Example],
    parts: Sequence[Part],
    grouping: CallGrouping,
    assignment: Assignment,
    judge: Judge,
    *,
    limits: RivalLimits | None = None,
    form: CallForm | None = None,
) -> list[tuple[CriterionRating, ...]]:
    """Return each text's ratings: from calls about rivals if `limits` are given, else from calls about one text."""
    if limits is None or grouping == "by method":
        return await gather(ratings_of_text(each, parts, grouping, assignment, judge, form=form) for each in examples)
    calls = split_texts(examples, parts, assignment, limits)
    rated = await gather(judge_group([examples[index] for index in call], parts, assignment, judge) for call in calls)
    return _in_text_order(calls, rated)


def _in_text_order(calls: Iterable[Sequence[int]], results: Iterable[Sequence[T]]) -> list[T]:
    """Return the results of all calls in the order of the texts; `calls` has the indices of each call's texts."""
    result_by_index: dict[int, T] = {}
    for indices, results_of_call in zip(calls, results, strict=True):
        result_by_index.update(zip(indices, results_of_call, strict=True))
    return [result_by_index[index] for index in sorted(result_by_index)]


async def _scores_by_part(
    parts: Sequence[Part], example: Example, assignment: Assignment, judge: Judge
) -> tuple[list[float | None], tuple[CriterionRating, ...]]:
    scored = await gather(METHODS[part.method].score(example, part, assignment, judge) for part in parts)
    return [value for value, _ in scored], tuple(rating for _, ratings in scored for rating in ratings)


def _why_unscored(rubric: Rubric, criteria: Sequence[CriterionRating]) -> str:
    failed = [rating for rating in criteria if rating.score is None and rating.applies]
    if not failed and rubric.score_scale.has_two_levels:
        return TEXT_NOT_ASSESSED  # an answer that the judge may give only for two levels
    if not failed:
        return f"none of the {len(criteria)} criteria can be asked of this text"
    return f"{len(failed)} of {len(criteria)} criteria without a usable rating; the first: {failed[0].reason}"


def score_stream(
    rubric: Rubric,
    rows: Iterable[Example | RowError],
    judge: Judge,
    ref: str,
    under_way: int = 16,
    *,
    rivals: RivalLimits | Literal["apart"] | None = None,
    counts: RivalCounts | None = None,
) -> AsyncGenerator[Score]:
    """Yield one score per row, in order; a faulty row is unscored with the fault as its reason.

    Args:
        under_way: maximum number of texts, or of groups of texts, that are scored at a time.
        rivals: limits of calls about rivals, or `apart` for calls about one text; by default the rubric's limits.
        counts: the calls about rivals are added to these counts.
    """
    limits, rubric_without_rivals = group_limits(rubric, rivals), without_rivals(rubric)
    counts = counts or RivalCounts()

    async def score(group: Sequence[Example | RowError]) -> Sequence[Score]:
        first = group[0]
        if isinstance(first, RowError):
            count_text(judge, "faulty_row")
            return [Score(faulty_row_id(first), rubric.aspect.name, None, (), str(first), ref, judge.name)]
        if limits is None:
            return [await score_text(rubric_without_rivals, first, judge, ref)]
        examples = [row for row in group if isinstance(row, Example)]
        return await score_group(rubric, examples, judge, ref, limits=limits, counts=counts)

    return process_rows(rows, score, under_way, group_of=rival_group if limits else None)


@dataclass(slots=True)
class RivalCounts:
    """Numbers of calls about rivals, of the texts in these calls, and of calls about a single text."""

    calls: int = 0
    texts: int = 0
    single_text_calls: int = 0


def rival_group(row: Example | RowError) -> Hashable | None:
    """Return the key of a text's group, whose texts may share a call; `None` for a faulty row."""
    return shared_input(row) if isinstance(row, Example) else None


async def score_group(
    rubric: Rubric, examples: Sequence[Example], judge: Judge, ref: str, *, limits: RivalLimits, counts: RivalCounts
) -> list[Score]:
    """Return the scores of texts of one group, in their order."""

    async def score(texts: Sequence[Example]) -> list[Score]:
        counts.calls += 1
        counts.texts += len(texts)
        counts.single_text_calls += len(texts) == 1
        with unusable_replies() as replies:
            rated = await judge_group(texts, rubric.parts, rubric.assignment, judge)
        scores = []
        for text, ratings in zip(texts, rated, strict=True):
            text_score = score_of_ratings(rubric, text.id, ratings, ref, judge.name, replies=replies)
            count_text(judge, "ratings_missing" if text_score.score is None else "scored")
            scores.append(replace(text_score, rivals="together"))
        return scores

    calls = split_texts(examples, rubric.parts, rubric.assignment, limits)
    return _in_text_order(calls, await gather_then_raise(score([examples[index] for index in call]) for call in calls))


def iterate_groups(
    rows: Iterable[R], group_of: Callable[[R], Hashable | None], window: int = WINDOW
) -> Iterator[list[R]]:
    """Yield lists of rows of one group, each from `window` consecutive rows. A row of group `None` stays single."""
    waiting: dict[Hashable, tuple[int, list[R]]] = {}  # by group: the number of its first row, and its rows so far
    for number, row in enumerate(rows):
        group = group_of(row)
        if group is not None:
            waiting.setdefault(group, (number, []))[1].append(row)
        while waiting:
            oldest = next(iter(waiting))
            if number - waiting[oldest][0] < window - 1:
                break
            yield waiting.pop(oldest)[1]
        if group is None:
            yield [row]
    for _, group_rows in waiting.values():
        yield group_rows


async def process_rows(
    rows: Iterable[R],
    process: Callable[[list[R]], Coroutine[Any, Any, Sequence[T]]],
    under_way: int,
    *,
    group_of: Callable[[R], Hashable | None] | None = None,
    window: int = WINDOW,
) -> AsyncGenerator[T]:
    """Yield the result of each row, in the order of the rows.

    At most `under_way` groups are processed at a time. At most twice `window` rows are in memory, or `under_way` rows
    without `group_of`. If a group raises an error, other running groups are awaited, so that paid answers are kept.

    Args:
        process: returns one result for each row of a group, in the order of its rows.
        group_of: returns the group of a row, `None` if the row is a group of its own, as all rows are by default.
    """
    if under_way < 1:
        raise SettingsError(f"`under_way` is {under_way}, so no text would be processed.", "Set it to at least 1.")
    max_waiting = window if group_of else under_way
    loop = asyncio.get_running_loop()
    waiting = deque[tuple[R, asyncio.Future[T]]]()  # each row whose result is not yielded yet, with its result's future
    running = set[asyncio.Task[None]]()
    failure: Exception | None = None
    exhausted = False

    def read() -> Iterator[tuple[R, asyncio.Future[T]]]:
        for row in rows:
            waiting.append((row, loop.create_future()))
            yield waiting[-1]

    groups = iterate_groups(read(), lambda row_and_future: group_of(row_and_future[0]) if group_of else None, window)

    async def process_group(group: Sequence[tuple[R, asyncio.Future[T]]]) -> None:
        nonlocal failure
        try:
            results = await process([row for row, _ in group])
            for (_, future), result in zip(group, results, strict=True):
                future.set_result(result)
        except Exception as error:
            failure = error
            group[0][1].set_exception(error)
            group[0][1].exception()  # read, so that asyncio does not report it if another error ends the stream

    try:
        while True:
            while failure is None and len(running) < under_way and len(waiting) < max_waiting:
                group = next(groups, None)
                if group is None:
                    exhausted = True
                    break
                running.add(asyncio.ensure_future(process_group(group)))
            while waiting and waiting[0][1].done():
                yield waiting.popleft()[1].result()
            if failure and not running:
                raise failure
            if running:
                _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            elif exhausted and not waiting:
                return
    except Exception:
        await asyncio.gather(*running, return_exceptions=True)
        raise
    finally:
        for task in running:
            if not task.cancelling():  # a cancelled task waits a little for its reply; a second `cancel` ends the wait
                task.cancel()


def addresses_judge(text: str) -> bool:
    """Return whether a text seems to speak to the judge, perhaps in hidden characters."""
    visible_text = inert(text).lower()
    names = (name for name, words in _ADDRESSING_WORDS.items() if any(word in visible_text for word in words))
    return any(_ADDRESSING_PATTERNS[name].search(visible_text) for name in names)
