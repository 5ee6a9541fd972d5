"""One text's score by a rubric: a number with its parts and reasons, or why there is none."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from rubriclab.aggregation import Aggregation, Ask, CallForm, RivalLimits, combine
from rubriclab.data.aspect import Aspect, Assignment, task_words
from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.data.scale import Scale
from rubriclab.errors import SettingsError
from rubriclab.judges.ask import UnusableReply, unusable_replies
from rubriclab.judges.judge import Judge
from rubriclab.judges.ledger import FAULTY_ROW, RATINGS_MISSING, SCORED, count_text
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import CriterionRating, UnitVerdict
from rubriclab.methods.prompting import gathered
from rubriclab.methods.single_call import can_join, judge_all, judge_rivals, rival_calls
from rubriclab.option_names import option
from rubriclab.rubric import Part, Rubric


@dataclass(frozen=True, slots=True)
class CriterionScore:
    """A text's score by one criterion, `None` where the judge gave none, and the judge's reason or what went wrong.

    Questions score 1 where the answer speaks for the text, else 0; the mean of that over its units, where a text is
    judged piece by piece. `applies`, `weight` and `units` are as in `CriterionRating`. `contribution` is what it adds
    to the score of an average text, in points, where the rubric combines criteria by learned weights.
    """

    id: str
    score: float | None
    reason: str
    applies: bool = True
    weight: float | None = None
    units: tuple[UnitVerdict, ...] = ()
    contribution: float | None = None

    @property
    def answers_missing(self) -> int:
        """How many answers are not there: of the units, where the text was judged piece by piece."""
        if self.units:
            return sum(unit.value is None for unit in self.units)
        return int(self.applies and self.score is None)

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object, without what its method does not know."""
        # Not by `asdict`, which takes a third of the time of a text that is scored offline.
        row: dict[str, Any] = {"id": self.id, "score": self.score, "reason": self.reason, "applies": self.applies}
        if self.weight is not None:
            row["weight"] = self.weight
        if self.units:
            row["units"] = tuple(asdict(unit) for unit in self.units)
        if self.contribution is not None:
            row["contribution"] = self.contribution
        return row


CANNOT_ASSESS = "the judge says that the whole of this text cannot be assessed"

# A score, its interval, and what they rest on.
Found = tuple[float | None, tuple[float, float] | None, tuple[CriterionScore, ...]]


@dataclass(frozen=True, slots=True)
class Score:
    """A text's score on the rubric's scale, or in `unscored` the reason for its absence; exactly one of them is set.

    `interval` is what holds the score that people would give, with the confidence of the rubric's combination; `None`
    where there is no score, or the rubric has no intervals. `verdict` is the level of a text by a rubric for verdicts,
    whose score is the probability of the better level. `rivals` is `together` if the text was rated in one call
    with others of its group: such a score is not comparable with one from a call about the text alone.
    `replies` are the raw replies that could not be used, where an answer is missing.
    """

    id: str
    aspect: str
    score: float | None
    criteria: tuple[CriterionScore, ...]
    unscored: str | None
    rubric: str
    judge: str
    interval: tuple[float, float] | None = None
    verdict: str | None = None
    rivals: Literal["together"] | None = None
    replies: tuple[UnusableReply, ...] = field(default=(), compare=False, repr=False)

    @property
    def answers(self) -> int:
        """How many answers a complete score would rest on: one for each criterion that applies, or for each unit."""
        return sum(len(criterion.units) or criterion.applies for criterion in self.criteria)

    @property
    def answers_missing(self) -> int:
        """How many of these answers are not there."""
        return sum(criterion.answers_missing for criterion in self.criteria)

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object, without the interval and the mark `rivals` where there is none."""
        row = {
            "id": self.id,
            "aspect": self.aspect,
            "score": self.score,
            "criteria": [criterion.to_row() for criterion in self.criteria],
            "unscored": self.unscored,
            "rubric": self.rubric,
            "judge": self.judge,
        }
        optional = {"interval": self.interval, "verdict": self.verdict, "rivals": self.rivals}
        return row | {name: value for name, value in optional.items() if value}


def assignment_of(rubric: Rubric) -> Assignment:
    """Return what the rubric judges, in the words of its task."""
    return _assignment(rubric.task, rubric.aspect, rubric.scale)


# The same for all texts of a rubric.
@functools.lru_cache(maxsize=64)
def _assignment(task: str, aspect: Aspect, scale: Scale) -> Assignment:
    return Assignment(task_words(task), aspect, scale)


async def score_text(rubric: Rubric, example: Example, judge: Judge, name: str) -> Score:
    """Return the score of one text by `rubric`, which is known as `name` (as in `news-coherence@2`).

    By a rubric that rates texts together with their rivals, it is the score of a text that has none.

    Raises:
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    if rubric.aggregation and rubric.aggregation.rivals:
        (score,) = await score_rivals(rubric, (example,), judge, name)
        return counted(score, judge)
    assignment = assignment_of(rubric)
    with unusable_replies() as replies:
        if aggregation := rubric.aggregation:
            ratings = await ratings_of(example, rubric.parts, aggregation.ask, assignment, judge, form=aggregation.form)
            found = _combined(rubric, aggregation, ratings)
        else:
            found = await _mean_of_parts(rubric, example, assignment, judge)
    return counted(_score(rubric, example, found, name, judge, replies=replies), judge)


def counted(score: Score, judge: Judge) -> Score:
    """Return the score, after counting its text in the judge's ledger."""
    count_text(judge, RATINGS_MISSING if score.score is None else SCORED)
    return score


async def score_rivals(rubric: Rubric, examples: Sequence[Example], judge: Judge, name: str) -> list[Score]:
    """Return the scores of texts of one group from one call about all of them, in the order in which it shows them.

    Raises:
        ValueError: if `why_apart` says that the rubric cannot rate texts so, or the texts are not of one group.
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    if reason := why_apart(rubric):
        raise ValueError(reason)
    with unusable_replies() as replies:
        rated = await judge_rivals(examples, rubric.parts, assignment_of(rubric), judge)
    found = [_combined(rubric, rubric.aggregation, each) if rubric.aggregation else _mean(each) for each in rated]
    return [
        replace(_score(rubric, example, each, name, judge, replies=replies), rivals="together")
        for example, each in zip(examples, found, strict=True)
    ]


def why_apart(rubric: Rubric) -> str | None:
    """Return why the rubric cannot rate several texts in one call, or `None` if it can.

    It can if all criteria that need the judge are asked about in one call.
    """
    asked = [part for part in rubric.parts if any(criterion.kind != "feature" for criterion in part.criteria)]
    if not asked:
        return "its criteria are text features, which need no call"
    if separate := [part.method for part in asked if not can_join(part)]:
        return f"its criteria by {', '.join(separate)} cannot share a call"
    if rubric.aggregation and rubric.aggregation.ask != "in one call":
        return "it calls the judge once for each method, not once for all criteria"
    if rubric.aggregation is None and any(criterion.kind != "score" for criterion in rubric.criteria):
        return "it was learned with a single method, not with several that share a call"
    return None


def limits_of(rubric: Rubric, rivals: RivalLimits | Literal["apart"] | None) -> RivalLimits | None:
    """Return the size of calls about several texts, `None` if each text is asked about by itself.

    Args:
        rivals: as for `score_stream`.

    Raises:
        SettingsError: if the rubric cannot rate several texts in one call.
    """
    if rivals == "apart":
        return None
    if rivals and (reason := why_apart(rubric)):
        raise SettingsError(
            f"{option('rivals', 'together')}: this rubric cannot rate several texts in one call: {reason}.",
            f"Leave {option('rivals')} out, or learn a rubric with {option('settings', 'joint.ask=in one call')}.",
        )
    return rivals or (rubric.aggregation.rivals if rubric.aggregation else None)


def apart(rubric: Rubric) -> Rubric:
    """Return the rubric with a call for each text."""
    if not (rubric.aggregation and rubric.aggregation.rivals):
        return rubric
    return rubric.model_copy(update={"aggregation": rubric.aggregation.model_copy(update={"rivals": None})})


def fault_id(fault: RowError) -> str:
    """Return what a result about a faulty row is known by: the row's own id, or else where it stands."""
    return fault.id or f"{fault.where}:{fault.line}"


def _score(
    rubric: Rubric, example: Example, found: Found, name: str, judge: Judge, *, replies: Sequence[UnusableReply]
) -> Score:
    value, interval, criteria = found
    return Score(
        id=example.id,
        aspect=rubric.aspect.name,
        score=value,
        criteria=criteria,
        unscored=_why(rubric, criteria) if value is None else None,
        rubric=name,
        judge=judge.name,
        interval=interval,
        verdict=rubric.verdict(value),
        replies=tuple(replies) if any(criterion.answers_missing for criterion in criteria) else (),
    )


def unscored(row_id: str, reason: str, rubric: Rubric, name: str, judge: Judge) -> Score:
    """Return the score of a row that could not be judged at all."""
    count_text(judge, FAULTY_ROW)
    return Score(row_id, rubric.aspect.name, None, (), reason, name, judge.name)


async def _mean_of_parts(rubric: Rubric, example: Example, assignment: Assignment, judge: Judge) -> Found:
    """Return the mean of the parts' own scores; every part is needed."""
    results = await _by_part(rubric.parts, example, assignment, judge)
    values = [value for value, _ in results if value is not None]
    criteria = tuple(_criterion(rated) for _, ratings in results for rated in ratings)
    return (sum(values) / len(values) if len(values) == len(results) else None), None, criteria


def _mean(ratings: Sequence[CriterionRating]) -> Found:
    """Return the mean of holistic scores; every one is needed."""
    values = [rated.score for rated in ratings if rated.score is not None]
    complete = len(values) == len(ratings)
    return (sum(values) / len(values) if complete else None), None, tuple(map(_criterion, ratings))


def _combined(rubric: Rubric, aggregation: Aggregation, ratings: Sequence[CriterionRating]) -> Found:
    """Return the score by learned weights, with its interval and each criterion's contribution."""
    holistic = {criterion.id for criterion in rubric.criteria if criterion.kind == "score"}
    whole = [rated.applies for rated in ratings if rated.criterion in holistic]
    if whole and not any(whole):
        return None, None, tuple(map(_criterion, ratings))
    found = combine(aggregation, {r.criterion: r.score for r in ratings if r.applies}, rubric.scale)
    interval = None if found.low is None or found.high is None else (found.low, found.high)
    return (
        found.score,
        interval,
        tuple(_criterion(rated, found.contributions.get(rated.criterion)) for rated in ratings),
    )


async def ratings_of(
    example: Example,
    parts: Sequence[Part],
    ask: Ask,
    assignment: Assignment,
    judge: Judge,
    *,
    form: CallForm | None = None,
) -> tuple[CriterionRating, ...]:
    """Return what the criteria of the parts say of a text, part by part, asked about as `ask` says."""
    if ask == "in one call":
        return await judge_all(example, parts, assignment, judge, form)
    return tuple(rated for _, own in await _by_part(parts, example, assignment, judge) for rated in own)


async def ratings_of_texts(
    examples: Sequence[Example],
    parts: Sequence[Part],
    ask: Ask,
    assignment: Assignment,
    judge: Judge,
    *,
    rivals: RivalLimits | None = None,
    form: CallForm | None = None,
) -> list[tuple[CriterionRating, ...]]:
    """Return what the criteria of the parts say of each text.

    Args:
        rivals: the size of calls in which texts of one group are rated together; `None` for calls about one text.
        form: that of calls about one text, as in `Aggregation`.
    """
    if rivals is None or ask == "by method":
        return await gathered(ratings_of(example, parts, ask, assignment, judge, form=form) for example in examples)
    calls = rival_calls(examples, parts, assignment, rivals)
    rated = await gathered(
        judge_rivals([examples[place] for place in call], parts, assignment, judge) for call in calls
    )
    by_place = dict[int, tuple[CriterionRating, ...]]()
    for call, ratings in zip(calls, rated, strict=True):
        by_place.update(zip(call, ratings, strict=True))
    return [by_place[place] for place in range(len(examples))]


async def _by_part(
    parts: Sequence[Part], example: Example, assignment: Assignment, judge: Judge
) -> list[tuple[float | None, tuple[CriterionRating, ...]]]:
    return await gathered(METHODS[part.method].score(example, part, assignment, judge) for part in parts)


def _criterion(rated: CriterionRating, contribution: float | None = None) -> CriterionScore:
    return CriterionScore(
        rated.criterion, rated.score, rated.reason, rated.applies, rated.weight, rated.units, contribution
    )


def _why(rubric: Rubric, criteria: Sequence[CriterionScore]) -> str:
    failed = [criterion for criterion in criteria if criterion.score is None and criterion.applies]
    if not failed and rubric.scores_on.names:
        return CANNOT_ASSESS
    if not failed:
        return f"none of the {len(criteria)} criteria can be asked of this text"
    return f"{len(failed)} of {len(criteria)} criteria without a usable rating; the first: {failed[0].reason}"
