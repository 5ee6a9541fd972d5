"""SEEval: the judge explains the task once for an aspect, and scores texts with its explanation in the prompt.

The paper (sections 2.2 and 2.3, figure 2) elicits one explanation and leaves refinement to future work (section 6);
`preset=paper` does the same. Here the best of several is rewritten by its errors, if that helps on other texts:

elicit                        -> explanations without labels; each scores the texts of a trial
best by Pearson correlation   -> scores the other texts too; kept, unless a rewriting is better
rewrite by the errors on one half and score the other half, and vice versa: is there a gain on held-out texts?
if so                         -> one more rewriting, by the errors on all labelled texts, is kept
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rubriclab.judges.judge import Judge, ask
from rubriclab.methods import holistic, method as interface, prompting
from rubriclab.models.base import MAX_WORDING_LENGTH
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import Criterion, DroppedCriterion, Evidence, Part
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import BoolArray, FloatArray, pearson
from rubriclab.stats.intervals import DIGITS, rounded

# One explanation, elicited at temperature 0 from G-Eval's prompt with its steps, unchanged; a reply with the score
# only, once at temperature 0 (with `scoring=sampled`: 20 times at temperature 1, since the model has no
# log-probabilities).
PRESETS: interface.Presets = {
    "paper": {"explanations": 1, "elicitation": "open", "refine": False, "form": "score only"}
}


class SEEvalSettings(holistic.HolisticSettings):
    """Hyperparameters of SEEval; part of the digest of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    explanations: int = Field(default=3, ge=1, le=20)
    """Explanations elicited: the first at temperature 0 (the paper's only one), the others sampled. The one whose
    scores correlate best with the labels is kept; without labels only the first is elicited."""

    elicitation: Literal["guided", "open"] = "guided"
    """What is requested: an explanation that divides the quality into simpler questions and says what distinguishes low
    from high scores; or, with G-Eval's evaluation steps in the prompt, what the task means, what is new in it and how
    it relates to what is known (paper)."""

    refine: bool = True
    """Whether the best explanation is rewritten by the texts with its largest errors, and the rewriting kept if it
    helps on held-out texts."""


FORM = holistic.ScoreFormat(
    "seeval/rate", lambda criterion: {"explanation": criterion.statement, "steps": criterion.steps}
)

# In tokens; a rewriting comes after its reasoning.
EXPLANATION_TOKENS = 1536
REFINED_TOKENS = 2 * EXPLANATION_TOKENS


def _strip_words(text: str) -> str:
    if is_blank(text):
        raise ValueError("an explanation needs words")
    return text.strip()


Words = Annotated[str, AfterValidator(_strip_words), prompting.at_most(MAX_WORDING_LENGTH)]


class Explanation(BaseModel):
    """What a judge understands a task to ask of it."""

    explanation: Words


class Refined(BaseModel):
    """A better explanation, after the reasoning that led to it."""

    reasoning: str
    explanation: Words


class CitingRefined(Refined):
    """A better explanation, with the numbers of the raters' reasons that it came from."""

    reasons: prompting.CitedNumbers = []


@dataclass(frozen=True, slots=True)
class Mistake:
    """A text whose score differs from its label."""

    example: Example
    label: float
    given: float


async def elicit(
    count: int, assignment: Assignment, judge: Judge, settings: SEEvalSettings, steps: str = ""
) -> tuple[str, ...]:
    """Return up to `count` different explanations, the one at temperature 0 first; raises JudgeError without any."""
    prompts = (explain_prompt(number, assignment, settings, steps) for number in range(count))
    answers = await asyncio.gather(*(ask(judge, prompt) for prompt in prompts))
    replies = prompting.require_reply(answers, "explanation", "judge")
    return tuple(dict.fromkeys(reply.explanation for reply in replies))


def explain_prompt(
    number: int, assignment: Assignment, settings: SEEvalSettings, steps: str = ""
) -> Prompt[Explanation]:
    """Return the prompt for the explanation with this number, from 0; scoring repeats it verbatim."""
    return Prompt(
        "seeval/explain",
        {**holistic.with_answer_scale(assignment, settings).fields(), "steps": steps},
        Explanation,
        temperature=holistic.TEMPERATURE if number else 0.0,
        max_tokens=EXPLANATION_TOKENS,
        sample=holistic.STRIDE * number,
    )


def refine_prompt(explanation: str, mistakes: Sequence[Mistake], assignment: Assignment) -> Prompt[Refined]:
    """Return the prompt that shows `mistakes` and requests a better explanation."""
    reasons = _reasons(mistakes, assignment)
    observations = [
        {
            **assignment.text_fields(mistake.example),
            "score": mistake.label,
            "given": mistake.given,
            "reasons": prompting.fields_of_reasons(reasons, mistake.example.id),
        }
        for mistake in mistakes
    ]
    fields = {
        **assignment.fields(),
        "explanation": explanation,
        "observations": prompting.show_once(observations),
        "reasons_shown": len(reasons),
    }
    return Prompt("seeval/refine", fields, CitingRefined if reasons else Refined, max_tokens=REFINED_TOKENS)


def _reasons(mistakes: Sequence[Mistake], assignment: Assignment) -> tuple[prompting.NumberedReason, ...]:
    return prompting.numbered_reasons((mistake.example for mistake in mistakes), assignment.aspect.name)


NOT_BEST = "not asked: another explanation tracked the labels of the texts tried first better"

# Labelled texts, in whole groups, that all explanations score; only the best explanation scores the other texts too.
TRIED = 10

# Texts in the prompt of a rewriting.
SHOWN = 6

# Fewest texts in a half to evaluate a rewriting.
MIN_IN_HALF = 5


@dataclass(frozen=True, slots=True)
class PromptRewrite:
    """The two-fold evaluation of rewriting: the mean gain in Pearson correlation on the held-out half.

    `scores` are each text's by the rewriting from the other half.
    """

    gain: float
    halves: tuple[BoolArray, BoolArray]
    scores: FloatArray
    criteria: tuple[Criterion, ...]


async def learn(
    training_input: interface.TrainingInput,
    settings: SEEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    on_progress: interface.Progress = interface.ignore_progress,
    **_unused: Any,
) -> interface.Learned:
    """Return the part with the explanation that SEEval keeps, and the dropped ones.

    Raises:
        JudgeError: if the judge gives no explanation, or no usable score for any labelled text.
    """
    return await _SEEvalRun(training_input, settings, judge, generator, on_progress).run()


@dataclass
class _SEEvalRun:
    """One run of learning."""

    training_input: interface.TrainingInput
    settings: SEEvalSettings
    judge: Judge
    generator: Judge
    on_progress: interface.Progress

    def __post_init__(self) -> None:
        self.steps = ""
        self.order, self.labels = self.training_input.in_order, self.training_input.label_array
        self.ids = tuple(example.id for example in self.order)
        self.groups = self.training_input.groups
        # The explanations that texts are rated by, and the ratings by each, by text.
        self.criteria: list[Criterion] = []
        self.ratings: list[dict[str, interface.CriterionRating]] = []

    async def run(self) -> interface.Learned:
        best = await self._elicit()
        base = self.criteria[best]
        matrix = np.column_stack([holistic.score_array(each, self.ids) for each in self.ratings])
        scores_before, reselected = matrix[:, best], self._reselected(matrix)
        outdone = f"{base.id} tracks the labels better"
        dropped = [DroppedCriterion(criterion=each, reason=outdone) for each in self.criteria if each is not base]
        trial = await self._try_rewriting(base, scores_before)
        if trial is None:
            return self._learned(base, dropped, reselected)
        change = f"rewriting changed the correlation on unseen texts by {trial.gain:+.2f}"
        half = f"a trial rewriting, from one half of the texts; {change}"
        dropped += (DroppedCriterion(criterion=criterion, reason=half) for criterion in trial.criteria)
        final = await self._rewritten("r", base, scores_before, self.order) if trial.gain > 0 else None
        rated = await self._rate(final, self.order) if final else {}
        scores = holistic.score_array(rated, self.ids)
        reselected = reselect_rewriting(reselected, scores_before, trial, self.labels, self.groups)
        if final is None or np.isnan(_correlation(scores, self.labels)):
            return self._learned(base, dropped, reselected)
        kept = _heldout(holistic.with_evidence(final, scores, self.labels), _correlation(reselected, self.labels))
        self.criteria.append(kept)
        self.ratings.append(rated)
        dropped.append(DroppedCriterion(criterion=base, reason=change))
        return self._learned(kept, dropped, reselected)

    async def _elicit(self) -> int:
        """Elicit and rate the explanations, and return the index of the best one, which alone scores the texts outside
        the trial.

        The trial has whole groups, or all texts with a single explanation.
        """
        assignment, settings = self.training_input.assignment, self.settings
        if settings.elicitation == "open":
            self.steps = await holistic.write_steps(assignment, settings, self.generator)
        count = settings.explanations if self.order else 1
        elicited = await elicit(count, assignment, self.judge, settings, self.steps)
        criteria = [self._criterion(f"e{place}", text) for place, text in enumerate(elicited, 1)]
        self.on_progress(f"{len(criteria)} explanations elicited", 0.1)

        self.trial = np.ones(len(self.order), dtype=bool)
        if len(criteria) > 1 and len(self.order) > TRIED:
            self.trial[:] = False
            for group in dict.fromkeys(self.groups):
                if self.trial.sum() < TRIED:
                    self.trial |= np.array(self.groups) == group
        tried = [example for example, inside in zip(self.order, self.trial, strict=True) if inside]
        rest = [example for example, inside in zip(self.order, self.trial, strict=True) if not inside]
        self.ratings = [await self._rate(criterion, tried) for criterion in criteria]
        holistic.require_scores([each for scores in self.ratings for each in scores.values()])
        best = self._best(
            np.column_stack([holistic.score_array(scores, self.ids) for scores in self.ratings]), self.trial
        )
        self.ratings[best] |= await self._rate(criteria[best], rest) if rest else {}
        for criterion, scores in zip(criteria, self.ratings, strict=True):
            requested = np.array([name in scores for name in self.ids], dtype=bool)
            column = holistic.score_array(scores, self.ids)[requested]
            self.criteria.append(holistic.with_evidence(criterion, column, self.labels[requested]))
        return best

    def _best(self, matrix: FloatArray, rows: BoolArray) -> int:
        inside = rows & self.trial
        correlations = [_correlation(column, self.labels[inside]) for column in matrix[inside].T]
        return int(np.argmax(np.nan_to_num(correlations, nan=-2.0)))

    def _criterion(self, name: str, explanation: str, evidence: Evidence | None = None) -> Criterion:
        evidence = evidence or Evidence(origin="prior knowledge")
        criterion = holistic.whole_aspect(self.training_input.assignment, explanation, evidence)
        return criterion.model_copy(update={"id": name, "steps": self.steps})

    async def _rate(self, criterion: Criterion, examples: Sequence[Example]) -> dict[str, interface.CriterionRating]:
        assignment, settings = self.training_input.assignment, self.settings
        requests = (
            holistic.holistic_rating(text, criterion, assignment, self.judge, form=FORM, settings=settings)
            for text in examples
        )
        rated = dict(zip((text.id for text in examples), await asyncio.gather(*requests), strict=True))
        self.on_progress(f"{len(examples)} texts scored by explanation {criterion.id}", 0.5)
        return rated

    def _reselected(self, matrix: FloatArray) -> FloatArray:
        def predict(others: BoolArray, held_out: BoolArray) -> FloatArray:
            column: FloatArray = matrix[held_out, self._best(matrix, others)]
            return column

        return interface.cross_validated(self.groups, predict)

    async def _try_rewriting(self, base: Criterion, base_scores: FloatArray) -> PromptRewrite | None:
        """Return the evaluation of rewriting on held-out halves without common groups; `None` if too small."""
        sizes, first = Counter(self.groups), set[str]()
        for group in sorted(sizes, key=lambda name: -sizes[name]):
            if sum(sizes[each] for each in first) + sizes[group] <= (len(self.order) + 1) // 2:
                first.add(group)
        in_first = np.array([group in first for group in self.groups], dtype=bool)
        if not self.settings.refine or min(in_first.sum(), (~in_first).sum()) < MIN_IN_HALF:
            return None
        gains, criteria = [], []
        scores = np.full(len(self.order), np.nan)
        for name, seen in (("r1", in_first), ("r2", ~in_first)):
            shown, others = ([self.order[i] for i in np.flatnonzero(half)] for half in (seen, ~seen))
            rewritten = await self._rewritten(name, base, base_scores, shown)
            if rewritten is None:
                return None
            unseen, labels = ~seen, self.labels[~seen]
            rewritten_scores = holistic.score_array(await self._rate(rewritten, others), self.ids)
            scores[unseen] = rewritten_scores[unseen]
            gains.append(_correlation(rewritten_scores[unseen], labels) - _correlation(base_scores[unseen], labels))
            criteria.append(_heldout(holistic.with_evidence(rewritten, rewritten_scores[unseen], labels)))
        gain = float(np.mean(gains))
        return None if np.isnan(gain) else PromptRewrite(gain, (in_first, ~in_first), scores, tuple(criteria))

    async def _rewritten(
        self, name: str, base: Criterion, base_scores: FloatArray, seen: Sequence[Example]
    ) -> Criterion | None:
        mistakes = self._mistakes(base_scores, {example.id for example in seen})
        if not mistakes:
            return None
        assignment = self.training_input.assignment
        reply = (await ask(self.generator, refine_prompt(base.statement, mistakes, assignment))).value
        if reply is None or reply.explanation == base.statement:
            return None
        cited = prompting.cited_reasons(getattr(reply, "reasons", ()), _reasons(mistakes, assignment))
        ids = tuple(mistake.example.id for mistake in mistakes)
        evidence = Evidence(origin="labels", examples=ids, reasons=cited, refined=1)
        return self._criterion(name, reply.explanation, evidence)

    def _mistakes(self, base_scores: FloatArray, seen: set[str]) -> list[Mistake]:
        """Return the texts of `seen` with the largest residuals of the regression of labels on scores.

        The differences of scores and labels would not do: a judge that is only more lenient than people ranks all texts
        correctly. Half of the residuals are positive and half negative, so that more than a shift can be learned.
        """
        places = [i for i, name in enumerate(self.ids) if name in seen and not np.isnan(base_scores[i])]
        if len(places) < 2:
            return []
        x, y = base_scores[places], self.labels[places]
        slope = float(np.cov(x, y)[0, 1] / np.var(x, ddof=1)) if np.ptp(x) else 0.0
        # With a negative slope, a reversed judge would have small residuals.
        errors = (y - y.mean() - max(slope, 0.0) * (x - x.mean())).round(DIGITS)
        ranked = sorted(range(len(places)), key=lambda i: (-abs(errors[i]), i))
        above = [i for i in ranked if errors[i] > 0][: SHOWN // 2]
        below = [i for i in ranked if errors[i] < 0][: SHOWN // 2]
        shown = sorted((*above, *below), key=ranked.index)
        return [Mistake(self.order[places[i]], float(y[i]), float(x[i])) for i in shown]

    def _learned(
        self, kept: Criterion, dropped: Sequence[DroppedCriterion], reselected: FloatArray
    ) -> interface.Learned:
        self.on_progress("explanation chosen", 1.0)
        settings = self.settings.model_dump(mode="json")
        return interface.Learned(
            part=Part(method="seeval", settings=settings, criteria=(kept,), dropped=tuple(dropped)),
            examples=self.ids,
            candidates=tuple(criterion.id for criterion in self.criteria),
            ratings=tuple(
                tuple(
                    ratings.get(name, interface.CriterionRating(criterion.id, None, NOT_BEST))
                    for criterion, ratings in zip(self.criteria, self.ratings, strict=True)
                )
                for name in self.ids
            ),
            scores=holistic.score_array(self.ratings[[each.id for each in self.criteria].index(kept.id)], self.ids),
            reselected=reselected,
            optimistic=bool(dropped),
        )


def reselect_rewriting(
    explained: FloatArray, before: FloatArray, trial: PromptRewrite, labels: FloatArray, groups: Sequence[str]
) -> FloatArray:
    """Return cross-validated scores: those of each group by the rewriting from the other half, if it gains on the other
    groups of its own half, or else by the explanations (`explained`).

    The gain on the other half says nothing there: it grows with the labels of this half, which made that rewriting.
    `before` are the scores by the explanation that was rewritten.
    """

    def predict(others: BoolArray, held_out: BoolArray) -> FloatArray:
        chosen = explained.copy()
        for half in trial.halves:
            rows = others & half
            gain = _correlation(trial.scores[rows], labels[rows]) - _correlation(before[rows], labels[rows])
            # Where the other groups choose another explanation, there is no rewriting of it.
            rewritten = half & (gain > 0) & (explained == before)
            chosen[rewritten] = trial.scores[rewritten]
        return chosen[held_out]

    return interface.cross_validated(groups, predict)


def _heldout(criterion: Criterion, pearson: float | None = None) -> Criterion:
    correlation = criterion.evidence.pearson if pearson is None else rounded(pearson)
    return criterion.model_copy(update={"evidence": criterion.evidence.model_copy(update={"heldout": correlation})})


def _correlation(scores: FloatArray, labels: FloatArray) -> float:
    """Return Pearson's correlation, 0 if undefined or of two scores, NaN if less than half of the texts have one."""
    judged = ~np.isnan(scores)
    if judged.sum() < len(scores) / 2:
        return np.nan
    r = pearson(scores[judged], labels[judged]) if judged.sum() > 2 else np.nan
    return 0.0 if np.isnan(r) else float(r)


def learning_calls(training_input: interface.TrainingInput, settings: SEEvalSettings) -> interface.LearningCalls:
    """Return the explanations, their scores of the texts that they are tried on, and the rewritings with theirs."""
    n, steps = len(training_input.examples), int(settings.elicitation == "open")
    if not n:
        return interface.LearningCalls(1, steps, unrated=int(bool(training_input.unrated)))
    tried = min(TRIED, n)
    scores = n + tried * (settings.explanations - 1)
    # Each half is scored by the rewriting from the other half, and all texts by the last rewriting.
    scores += 2 * n if settings.refine else 0
    rewritings = 3 if settings.refine else 0
    return interface.LearningCalls(settings.explanations + scores * settings.calls, steps + rewritings, SHOWN)


SEEVAL = interface.Method(
    name="seeval",
    settings=SEEvalSettings,
    presets=PRESETS,
    prompts=("seeval/explain", "seeval/refine", "seeval/rate", "geval/steps"),
    learn=learn,
    score=holistic.scorer(FORM),
    learning_calls=learning_calls,
    single_criterion=True,
    states="explanation",
    shares_call=lambda settings: holistic.has_one_reasoned_score(settings) and settings.get("elicitation") != "open",
    shows_reasons=lambda settings: settings.refine,
    # A rewritten explanation has seen the errors on all labels, so no label is left to evaluate it. Explanations of one
    # model give similar scores; selection by labels would be optimistic.
    joint_settings={"refine": False, "explanations": 1},
    rated_later=lambda settings: not settings.refine and settings.explanations == 1,
    needs_labels=False,
)
