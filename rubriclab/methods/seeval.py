"""SEEval: the judge explains the task once for an aspect, and scores texts with its explanation in the prompt.

The paper (sections 2.2 and 2.3, figure 2) elicits one explanation and leaves refinement to future work (section 6).
Here the explanation is chosen by labels:

1. The judge writes several explanations. It scores the same ten or more texts, the trial, by each explanation. The
   explanation whose scores correlate best with the labels (Pearson) is the base. Other texts are scored by it alone.
2. The generator rewrites the base twice, each time in view of its errors on one half of the texts. The other half is
   scored by the rewriting. The gain is the mean increase in the correlation with the labels by rewriting.
3. If there is a gain, the base is rewritten once more, in view of its errors on all texts, and this rewriting is kept.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rubriclab.judges.judge import Judge, ask
from rubriclab.methods import holistic, method as interface, prompting
from rubriclab.methods.method import CriterionRating
from rubriclab.models.base import MAX_WORDING_LENGTH
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import Criterion, DroppedCriterion, Evidence, Part
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import BoolArray, FloatArray, floats, pearson
from rubriclab.stats.intervals import DIGITS, round_or_none

# Sections 2.2 and 2.3; the explanation is requested with the prompt and the evaluation steps of G-Eval.
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
    """Whether the best explanation is rewritten in view of its largest errors, if that helps on other texts."""


SCORE_FORMAT = holistic.ScoreFormat(
    "seeval/rate", lambda criterion: {"explanation": criterion.statement, "steps": criterion.steps}
)

EXPLANATION_TOKENS = 1536
REFINED_TOKENS = 2 * EXPLANATION_TOKENS  # since the reply has a reasoning too


def _require_words(text: str) -> str:
    if is_blank(text):
        raise ValueError("an explanation needs words")
    return text.strip()


Words = Annotated[str, AfterValidator(_require_words), prompting.at_most(MAX_WORDING_LENGTH)]


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


async def elicit(
    count: int, assignment: Assignment, judge: Judge, settings: SEEvalSettings, steps: str = ""
) -> tuple[str, ...]:
    """Return up to `count` different explanations, the one at temperature 0 first; JudgeError if there are none."""
    fields = {**holistic.with_answer_scale(assignment, settings).fields(), "steps": steps}
    first = Prompt("seeval/explain", fields, Explanation, max_tokens=EXPLANATION_TOKENS)
    sample_numbers = (holistic.SAMPLE_STEP * number for number in range(1, count))
    samples = (replace(first, temperature=holistic.TEMPERATURE, sample=number) for number in sample_numbers)
    answers = await asyncio.gather(*(ask(judge, prompt) for prompt in (first, *samples)))
    replies = prompting.require_reply(answers, "explanation", "judge")
    return tuple(dict.fromkeys(reply.explanation for reply in replies))


def refine_prompt(
    explanation: str, mistakes: Sequence[tuple[Example, float]], assignment: Assignment
) -> Prompt[Refined]:
    """Return the prompt for a better explanation; `mistakes` are texts with the scores that the judge gave them."""
    aspect = assignment.aspect.name
    reasons = prompting.numbered_reasons((text for text, _ in mistakes), aspect)
    observations = [
        {
            **assignment.text_fields(text),
            "score": float(text.scores[aspect]),
            "given": mistaken_score,
            "reasons": prompting.fields_of_reasons(reasons, text.id),
        }
        for text, mistaken_score in mistakes
    ]
    fields = {
        **assignment.fields(),
        "explanation": explanation,
        "observations": prompting.mark_shared_sources(observations),
        "reasons_shown": len(reasons),
    }
    return Prompt("seeval/refine", fields, CitingRefined if reasons else Refined, max_tokens=REFINED_TOKENS)


NOT_BEST = "not scored: another explanation agreed better with the labels of the texts in the trial"
MIN_TEXTS_IN_TRIAL = 10
MIN_TEXTS_IN_HALF = 5  # for a gain to be measured
TEXTS_SHOWN = 6  # in the prompt for a rewriting


@dataclass
class _SEEvalRun:
    training_input: interface.TrainingInput
    settings: SEEvalSettings
    judge: Judge
    generator: Judge
    seed: int = 0
    on_progress: interface.Progress = interface.ignore_progress

    def __post_init__(self) -> None:
        self.steps = ""
        self.assignment, self.texts = self.training_input.assignment, self.training_input.in_order
        self.labels, self.groups = self.training_input.label_array, self.training_input.groups
        self.ids = tuple(text.id for text in self.texts)
        # By the id of an explanation, then by the id of a text.
        self.ratings: dict[str, dict[str, CriterionRating]] = {}

    async def run(self) -> interface.Learned:
        settings = self.settings
        if settings.elicitation == "open":
            self.steps = await holistic.write_steps(self.assignment, settings, self.generator)
        count = settings.explanations if self.texts else 1
        wordings = await elicit(count, self.assignment, self.judge, settings, self.steps)
        criteria = [self._make_criterion(f"e{number}", wording) for number, wording in enumerate(wordings, 1)]
        self.on_progress(f"{len(criteria)} explanations elicited", 0.1)
        # Step 1: the base.
        best_index, held_out_scores = await self._choose(criteria)
        explanations = [self._with_agreement(each) for each in criteria]
        base = selected = explanations[best_index]
        candidates = [each.id for each in criteria]
        reason = f"{base.id} tracks the labels better"
        dropped = [DroppedCriterion(criterion=each, reason=reason) for each in explanations if each is not base]
        # Step 2: one rewriting from each half of the texts.
        test = await self._test_rewriting(base)
        if test is not None:
            gain, first_half, rewritings_from_halves = test
            change = f"rewriting changed the correlation on unseen texts by {gain:+.2f}"
            reason = f"a trial rewriting, from one half of the texts; {change}"
            dropped += (DroppedCriterion(criterion=each, reason=reason) for each in rewritings_from_halves)
            # Each half was scored by the rewriting from the other half.
            base_scores = self._scores(base.id)
            half_scores = np.where(first_half, self._scores("r2"), self._scores("r1"))
            # Step 3: the rewriting from all texts. If it fails, the base and `held_out_scores` stay.
            rewritten = await self._rewrite("r", base, np.ones(len(self.texts), dtype=bool)) if gain > 0 else None
            correlation = _correlation(await self._rate(rewritten, self.texts), self.labels) if rewritten else np.nan
            if gain <= 0 or not np.isnan(correlation):
                # The choice whether to rewrite is cross-validated too.
                held_out_scores = cross_validate_rewriting(
                    held_out_scores, base_scores, half_scores, first_half, labels=self.labels, groups=self.groups
                )
            if rewritten and not np.isnan(correlation):
                heldout = round_or_none(_correlation(held_out_scores, self.labels))
                selected = self._with_agreement(rewritten).with_evidence(heldout=heldout)
                candidates.append(rewritten.id)
                dropped.append(DroppedCriterion(criterion=base, reason=change))
        self.on_progress("explanation chosen", 1.0)
        not_scored = {id_: CriterionRating(id_, None, NOT_BEST) for id_ in candidates}
        ratings = [tuple(self.ratings[id_].get(text_id, not_scored[id_]) for id_ in candidates) for text_id in self.ids]
        return interface.Learned(
            part=Part(
                method="seeval", settings=settings.model_dump(mode="json"), criteria=(selected,), dropped=tuple(dropped)
            ),
            examples=self.ids,
            candidates=tuple(candidates),
            ratings=tuple(ratings),
            scores=self._scores(selected.id),
            reselected=held_out_scores,  # of each group, by the explanation that other groups' labels choose
            optimistic=bool(dropped),
        )

    async def _choose(self, criteria: Sequence[Criterion]) -> tuple[int, FloatArray]:
        """Return the best explanation's index, and each group's scores by the one that other groups' labels choose."""
        # All texts of a group are in the trial, or none.
        in_trial = np.ones(len(self.texts), dtype=bool)
        if len(criteria) > 1 and len(self.texts) > MIN_TEXTS_IN_TRIAL:
            in_trial[:] = False
            for group in dict.fromkeys(self.groups):
                if in_trial.sum() < MIN_TEXTS_IN_TRIAL:
                    in_trial |= np.array(self.groups) == group
        for criterion in criteria:
            await self._rate(criterion, list(itertools.compress(self.texts, in_trial)))
        ratings = [rating for criterion in criteria for rating in self.ratings[criterion.id].values()]
        prompting.fail_if_all_missing("score", [(rating.score, rating.reason) for rating in ratings])

        def choose_by(rows: BoolArray) -> int:
            trial_rows = rows & in_trial
            columns = (self._scores(each.id)[trial_rows] for each in criteria)
            correlations = [_correlation(column, self.labels[trial_rows]) for column in columns]
            return int(np.argmax(np.nan_to_num(correlations, nan=-2.0)))

        best_index = choose_by(in_trial)
        if not in_trial.all():
            await self._rate(criteria[best_index], list(itertools.compress(self.texts, ~in_trial)))
        return best_index, interface.cross_validated(
            self.groups, lambda training, held_out: self._scores(criteria[choose_by(training)].id)[held_out]
        )

    async def _rate(self, criterion: Criterion, examples: Sequence[Example]) -> FloatArray:
        requests = (
            holistic.holistic_rating(text, criterion, self.assignment, self.judge, SCORE_FORMAT, settings=self.settings)
            for text in examples
        )
        ratings = zip((text.id for text in examples), await asyncio.gather(*requests), strict=True)
        self.ratings.setdefault(criterion.id, {}).update(ratings)
        self.on_progress(f"{len(examples)} texts scored by explanation {criterion.id}", 0.5)
        return self._scores(criterion.id)

    def _scores(self, criterion_id: str) -> FloatArray:
        ratings = self.ratings[criterion_id]
        return floats(ratings[text_id].score if text_id in ratings else None for text_id in self.ids)

    def _make_criterion(self, id_: str, explanation: str, evidence: Evidence | None = None) -> Criterion:
        evidence = evidence or Evidence(origin="prior knowledge")
        criterion = holistic.whole_aspect_criterion(self.assignment, explanation, evidence)
        return criterion.model_copy(update={"id": id_, "steps": self.steps})

    def _with_agreement(self, criterion: Criterion) -> Criterion:
        is_rated = np.array([text_id in self.ratings[criterion.id] for text_id in self.ids], dtype=bool)
        scores, labels = self._scores(criterion.id)[is_rated], self.labels[is_rated]
        return interface.with_agreement(criterion, scores, labels, len(scores), min_scores=2)

    async def _test_rewriting(self, base: Criterion) -> tuple[float, BoolArray, list[Criterion]] | None:
        """Return the mean gain in correlation, a mask of the first half, and the rewritings from the two halves.

        `None` if the halves have too few texts, or if the generator failed to rewrite.
        """
        # The largest groups that together have about half of the texts; no group is in both halves.
        half_groups, half_size = set[str](), 0
        for group, size in Counter(self.groups).most_common():
            if half_size + size <= (len(self.texts) + 1) // 2:
                half_groups.add(group)
                half_size += size
        first_half = np.array([group in half_groups for group in self.groups], dtype=bool)
        if not self.settings.refine or min(first_half.sum(), (~first_half).sum()) < MIN_TEXTS_IN_HALF:
            return None
        gains, rewritings, base_scores = [], [], self._scores(base.id)
        for criterion_id, visible in (("r1", first_half), ("r2", ~first_half)):
            rewritten = await self._rewrite(criterion_id, base, visible)
            if rewritten is None:
                return None
            scores = await self._rate(rewritten, list(itertools.compress(self.texts, ~visible)))
            labels = self.labels[~visible]
            gains.append(_correlation(scores[~visible], labels) - _correlation(base_scores[~visible], labels))
            tested = self._with_agreement(rewritten)
            rewritings.append(tested.with_evidence(heldout=tested.evidence.pearson))
        gain = float(np.mean(gains))
        return None if np.isnan(gain) else (gain, first_half, rewritings)

    async def _rewrite(self, criterion_id: str, base: Criterion, visible: BoolArray) -> Criterion | None:
        """Return the explanation rewritten in view of its largest errors on the `visible` texts; `None` if that fails.

        Errors are residuals of the regression of labels on scores, since it is no error if a judge is more lenient than
        people by a constant. Half of the errors that are shown are positive, half negative.
        """
        scores = self._scores(base.id)
        indices = np.flatnonzero(visible & ~np.isnan(scores))
        if len(indices) < 2:
            return None
        x, y = scores[indices], self.labels[indices]
        slope = float(np.cov(x, y)[0, 1] / np.var(x, ddof=1)) if np.ptp(x) else 0.0
        # With a negative slope, a judge that scores in reverse would have small errors. So the slope is at least 0.
        errors = (y - y.mean() - max(slope, 0.0) * (x - x.mean())).round(DIGITS)
        largest_first = sorted(range(len(indices)), key=lambda i: (-abs(errors[i]), i))
        positive = [i for i in largest_first if errors[i] > 0][: TEXTS_SHOWN // 2]
        negative = [i for i in largest_first if errors[i] < 0][: TEXTS_SHOWN // 2]
        shown = sorted((*positive, *negative), key=largest_first.index)
        mistakes = [(self.texts[indices[i]], float(x[i])) for i in shown]
        if not mistakes:
            return None
        reply = (await ask(self.generator, refine_prompt(base.statement, mistakes, self.assignment))).value
        if reply is None or reply.explanation == base.statement:
            return None
        reasons = prompting.numbered_reasons((text for text, _ in mistakes), self.assignment.aspect.name)
        evidence = Evidence(
            origin="labels",
            examples=tuple(text.id for text, _ in mistakes),
            reasons=prompting.cited_reasons(getattr(reply, "reasons", ()), reasons),
            refined=1,
        )
        return self._make_criterion(criterion_id, reply.explanation, evidence)


def cross_validate_rewriting(
    held_out_scores: FloatArray,
    base_scores: FloatArray,
    half_scores: FloatArray,
    first_half: BoolArray,
    *,
    labels: FloatArray,
    groups: Sequence[str],
) -> FloatArray:
    """Return `held_out_scores`, but `half_scores` for each group whose half shows a gain by rewriting.

    `half_scores` has each half's scores by the rewriting from the other half, `base_scores` has scores by the base. The
    gain is measured without the group's own labels, in its half only: the rewriting was made from the other half.
    """

    def predict(training: BoolArray, held_out: BoolArray) -> FloatArray:
        scores = held_out_scores.copy()
        for half in (first_half, ~first_half):
            rows = training & half
            gain = _correlation(half_scores[rows], labels[rows]) - _correlation(base_scores[rows], labels[rows])
            if gain > 0:
                # Scores by other explanations stay, since only the base was rewritten.
                replaced = half & (held_out_scores == base_scores)
                scores[replaced] = half_scores[replaced]
        return scores[held_out]

    return interface.cross_validated(groups, predict)


def _correlation(scores: FloatArray, labels: FloatArray) -> float:
    """Return Pearson's correlation: NaN if less than half of the texts have a score, and 0 if it is undefined."""
    has_score = ~np.isnan(scores)
    if has_score.sum() < len(scores) / 2:
        return np.nan
    # Over two texts, the correlation is always 1 or -1, which says nothing.
    r = pearson(scores[has_score], labels[has_score]) if has_score.sum() > 2 else 0.0
    return 0.0 if np.isnan(r) else float(r)


def learning_calls(training_input: interface.TrainingInput, settings: SEEvalSettings) -> interface.LearningCalls:
    n_texts, is_joint = len(training_input.examples), bool(training_input.jointly_rated_examples)
    generator_calls = 1 if settings.elicitation == "open" else 0  # writes the steps
    if not n_texts:
        return interface.LearningCalls(1, generator_calls, jointly_rated_criteria=int(is_joint))
    n_scores = n_texts + min(MIN_TEXTS_IN_TRIAL, n_texts) * (settings.explanations - 1)
    if settings.refine:
        # Each half is scored by the rewriting from the other half, and all texts by the last rewriting.
        n_scores += 2 * n_texts
        generator_calls += 3
    return interface.LearningCalls(settings.explanations + n_scores * settings.calls, generator_calls, TEXTS_SHOWN)


SEEVAL = interface.Method(
    name="seeval",
    note="one score, by the judge's own explanation of the aspect",
    settings=SEEvalSettings,
    presets=PRESETS,
    prompts=("seeval/explain", "seeval/refine", "seeval/rate", "geval/steps"),
    learn=lambda training_input, settings, **options: _SEEvalRun(training_input, settings, **options).run(),
    score=holistic.make_score_function(SCORE_FORMAT),
    learning_calls=learning_calls,
    single_criterion=True,
    statement_kind="explanation",
    shares_call=lambda settings: holistic.has_one_reasoned_score(settings) and settings.get("elicitation") != "open",
    generator_sees_reasons=lambda settings: settings.refine,
    # In joint training, no label would be left to evaluate a rewriting, which is made from the errors on all labels.
    # Several explanations of one model give similar scores, and selection by labels would be optimistic.
    joint_settings={"refine": False, "explanations": 1},
    leaves_rating_to_joint_training=lambda settings: not settings.refine and settings.explanations == 1,
    needs_labels=False,
)
