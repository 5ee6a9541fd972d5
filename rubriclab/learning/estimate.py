"""Estimates of the calls, tokens and cost of a command, made before any call.

Scoring is estimated from the prompts for a sample of the texts. The offline judge answers them, so that prompts which
depend on earlier replies are counted too. Learning is estimated from a typical prompt and the method's number of calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass, replace
from itertools import islice
from typing import Any, Literal

from rubriclab.data.rows import RowError
from rubriclab.display import Displayed
from rubriclab.errors import JudgeRefused, PromptRejected
from rubriclab.judges.batch import ASSUMED_PRICE_SHARE, batch_price_of
from rubriclab.judges.connect import makes_requests
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import Judge
from rubriclab.judges.options import JudgeOptions, Price
from rubriclab.judges.providers import estimated_tokens, price_of
from rubriclab.judges.replies import Reply
from rubriclab.learning import scoring
from rubriclab.methods.holistic import HolisticSettings, ScoreFormat, holistic_prompt, whole_aspect_criterion
from rubriclab.methods.method import LearningCalls
from rubriclab.methods.single_call import judge_group, shared_input, split_texts
from rubriclab.models.aggregation import CallForm, CallGrouping, RivalLimits
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt

SAMPLE = 20  # number of texts, or of calls about several texts, for an estimate of calls and tokens
CALL_SAMPLE = 5  # number of texts for `calls_per_text`; the number of calls hardly differs between texts
# A typical prompt of learning asks for a score with its reason, by the aspect's definition.
TYPICAL_FORMAT = ScoreFormat("direct/rate")
# Tokens that each criterion adds to a call about several criteria, by its wording and by its rating in the reply.
PROMPT_TOKENS_PER_CRITERION, REPLY_TOKENS_PER_CRITERION = 150, 128


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """Numbers of calls and tokens; `completion_tokens` assumes replies of the maximum length."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: CallEstimate) -> CallEstimate:
        return CallEstimate(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, factor: float) -> CallEstimate:
        return CallEstimate(*(round(number * factor) for number in astuple(self)))


class _PromptCollector(EmbeddedJudge):
    """The offline judge, which also collects its prompts. Like most providers, it reports no probabilities."""

    def __init__(self) -> None:
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        self.prompts.append(prompt)
        try:
            return await super().reply(prompt)
        except JudgeRefused as error:  # this error would end the estimate, but another judge may accept the prompt
            raise PromptRejected(error.message) from error


def _collect_prompts(ask: Callable[[Judge], Coroutine[Any, Any, None]]) -> list[Prompt[Any]]:
    judge = _PromptCollector()
    with ThreadPoolExecutor(1) as pool:  # the caller's thread may run an event loop
        pool.submit(lambda: asyncio.run(ask(judge))).result()
    return judge.prompts


def estimate_prompts(prompts: Iterable[Prompt[Any]]) -> CallEstimate:
    estimates = [CallEstimate(1, estimated_tokens(render(prompt)), prompt.max_tokens) for prompt in prompts]
    return sum(estimates, start=CallEstimate())


def estimate_scoring(
    rubric: Rubric, rows: Iterable[Example | RowError], rivals: RivalLimits | Literal["apart"] | None = None
) -> CallEstimate:
    """Return an estimate for scoring `rows`; for `rivals` (texts rated in one call) see `score_stream`."""
    group_limits, assignment = scoring.group_limits(rubric, rivals), rubric.assignment
    examples = (row for row in rows if isinstance(row, Example))
    scored_together: Iterator[Sequence[Example]] = ([text] for text in examples)
    if group_limits:
        scored_together = (
            [group[index] for index in indices]
            for group in scoring.iterate_groups(examples, shared_input)
            for indices in split_texts(group, rubric.parts, assignment, group_limits)
        )
    sample = list(islice(scored_together, SAMPLE))
    if not sample:
        return CallEstimate()
    total = len(sample) + sum(1 for _ in scored_together)

    async def score(judge: Judge) -> None:
        for texts in sample:
            if group_limits:
                await judge_group(texts, rubric.parts, assignment, judge)
            else:
                await scoring.score_text(scoring.without_rivals(rubric), texts[0], judge, "")

    return estimate_prompts(_collect_prompts(score)) * (total / len(sample))


def calls_per_text(
    parts: Sequence[Part],
    grouping: CallGrouping,
    assignment: Assignment,
    texts: Sequence[Example],
    simpler_form: CallForm | None,
) -> float:
    """Return how many calls rate a text by `parts`, the mean over a sample; `simpler_form` limits a call's criteria."""
    sample = texts[:CALL_SAMPLE]

    async def rate(judge: Judge) -> None:
        for example in sample:
            await scoring.ratings_of_text(example, parts, grouping, assignment, judge, form=simpler_form)

    return len(_collect_prompts(rate)) / len(sample)


def estimate_learning(
    calls: LearningCalls, assignment: Assignment, examples: Sequence[Example]
) -> tuple[CallEstimate, CallEstimate]:
    """Return the estimates for the judge and the generator, whose prompts show `calls.shown` texts each."""
    texts = examples[:SAMPLE] or [Example(id="0", output="", group="0")]
    criterion = whole_aspect_criterion(assignment, assignment.aspect.definition)
    prompts = [holistic_prompt(text, criterion, assignment, TYPICAL_FORMAT, HolisticSettings()) for text in texts]
    typical = estimate_prompts(prompts) * (1 / len(prompts))
    generator = typical * calls.generator
    # `calls.judge` includes calls that rate several criteria together; each criterion makes them longer.
    per_rating = CallEstimate(0, PROMPT_TOKENS_PER_CRITERION, REPLY_TOKENS_PER_CRITERION)
    judge = typical * calls.judge + per_rating * (calls.jointly_rated_criteria * len(examples))
    return judge, replace(generator, prompt_tokens=generator.prompt_tokens * max(calls.shown, 1))


@dataclass(frozen=True, slots=True)
class JudgeEstimate(CallEstimate):
    """Calls, tokens and cost of one judge; `cost_usd` is `None` if its price is unknown."""

    judge: str = ""
    cost_usd: float | None = None


@dataclass(frozen=True, repr=False)
class DryRun(Displayed):
    """Estimated calls, tokens and costs by role; if `batch`, the costs are for batches."""

    roles: Mapping[str, JudgeEstimate]
    batch: bool = False
    half_price_assumed: tuple[str, ...] = ()  # judges whose batches are assumed to cost half of the usual price

    def to_row(self) -> dict[str, Any]:
        estimates = {}
        for role, each in self.roles.items():
            tokens = {"prompt": each.prompt_tokens, "completion": each.completion_tokens}
            estimates[role] = {"judge": each.judge, "calls": each.calls, "tokens": tokens, "cost_usd": each.cost_usd}
        return {"dry_run": True, "estimate": estimates}

    def lines(self) -> Iterator[str]:
        for role, estimate in self.roles.items():
            cost = "price unknown (`price`)" if estimate.cost_usd is None else f"${estimate.cost_usd:.4f}"
            if not makes_requests(estimate.judge):
                cost = "free, whatever `price` is given: it sends no requests"
            tokens = f"{estimate.prompt_tokens:,} tokens read, {estimate.completion_tokens:,} written"
            yield f"{role} {estimate.judge}: about {estimate.calls:,} calls, {tokens}, {cost}"
        if self.batch:
            judges = ", ".join(self.half_price_assumed)
            assumption = f" For {judges} half of the usual price is assumed." if judges else ""
            yield f"Costs are those of batches; prompts that are sent one by one cost the usual price.{assumption}"
        yield (
            "An estimate; no calls were made. Cached answers lower it, replies that cannot be used raise it; "
            "`max_calls` and `max_cost` set limits."
        )


def dry_run(calls_by_role: Mapping[str, tuple[str, CallEstimate]], options: JudgeOptions) -> DryRun:
    """Return the estimated costs; `calls_by_role` has, for each role, the name of its judge and the calls."""
    estimates: dict[str, JudgeEstimate] = {}
    assumed_judges: set[str] = set()
    for role, (judge, calls) in calls_by_role.items():
        price: Price | None = Price(0.0, 0.0)
        is_assumed = False
        if makes_requests(judge) and not options.batch:
            price = options.price or price_of(judge)
        elif makes_requests(judge) and options.price:
            price, is_assumed = options.price.times(ASSUMED_PRICE_SHARE), True
        elif makes_requests(judge):
            price, is_listed = batch_price_of(judge)
            is_assumed = price is not None and not is_listed
        cost = price.cost(calls.prompt_tokens, calls.completion_tokens) if price else None
        estimates[role] = JudgeEstimate(**asdict(calls), judge=judge, cost_usd=cost)
        if is_assumed:
            assumed_judges.add(judge)
    batch = options.batch and any(makes_requests(judge) for judge, _ in calls_by_role.values())
    return DryRun(estimates, batch, tuple(sorted(assumed_judges)))
